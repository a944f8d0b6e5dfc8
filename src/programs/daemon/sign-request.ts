import { lockedError, type OpenCompartment } from "./unlocked.ts";

/** The gateway's own key signs one request and is dropped again; null where the vault has none, refused while locked. */
export function signRequest(opened: Pick<OpenCompartment, "service"> | null, data: Buffer): Buffer | null {
  if (opened === null) throw lockedError();
  const signer = opened.service.lendRequestSigner();
  if (signer === null) return null;
  try {
    return signer.sign(data, 0);
  } finally {
    signer.release();
  }
}
