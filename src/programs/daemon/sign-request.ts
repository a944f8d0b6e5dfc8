import { Denied } from "../../kernel/failure.ts";
import type { OpenCompartment } from "./unlocked.ts";

/** The gateway's own key signs one request and is dropped again; null where the vault has none, refused while locked. */
export function signRequest(opened: Pick<OpenCompartment, "service"> | null, data: Buffer): Buffer | null {
  if (opened === null)
    throw new Denied("gateway_locked", "The gateway is locked. An operator unlocks it with: gw unlock");
  const signer = opened.service.lendRequestSigner();
  if (signer === null) return null;
  try {
    return signer.sign(data, 0);
  } finally {
    signer.release();
  }
}
