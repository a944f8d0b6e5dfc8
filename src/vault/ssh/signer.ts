import { createPrivateKey, type KeyObject } from "node:crypto";
import { Denied, Fault } from "../../kernel/failure.ts";
import type { Secret } from "../../kernel/secret.ts";
import { readSshPublicLine, signSsh } from "../../kernel/ssh-key.ts";
import type { SshSigner } from "../lent.ts";

/** `privateKey` is PKCS8 DER; `publicKey` the `type base64` that was bound with it. */
export function signerFor(label: string, privateKey: Secret, publicKey: string): SshSigner {
  const half = readSshPublicLine(publicKey);
  if (half === undefined) throw new Fault("an ssh credential has a public key that import does not make");
  let key: KeyObject | null = privateKey.use((der) => createPrivateKey({ key: der, format: "der", type: "pkcs8" }));
  return {
    label,
    publicKeyBlob: half.blob,
    algorithm: half.type,
    sign(data, flags) {
      if (key === null) throw new Fault("a signer was used after its release");
      return signSsh(key, data, flags) ?? refuseFlags();
    },
    release() {
      key = null;
    },
  };
}

function refuseFlags(): never {
  throw new Denied(
    "ssh_signature_refused",
    "The host asks for a signature that gw does not make, such as RSA with SHA-1. Update the host, or use an Ed25519 key.",
  );
}
