import { createPrivateKey, type KeyObject, randomBytes } from "node:crypto";
import { Denied } from "../../kernel/failure.ts";
import { Secret } from "../../kernel/secret.ts";
import {
  decodeSshPublicKey,
  encodeSshPublicKey,
  SSH_AGENT_RSA_SHA2_512,
  type SshPublicKey,
  signSsh,
  verifySsh,
  writeSshPublicLine,
} from "../../kernel/ssh-key.ts";
import { isOpenSshKey, readOpenSshKey } from "./openssh-key.ts";
import { keyMalformed, keyMismatch, keyPassphraseNeeded, keyPassphraseWrong, keyUnsupported } from "./refuse.ts";

export interface ImportedKey {
  /** PKCS8 DER, unencrypted: the vault seals it. */
  readonly privateKey: Secret;
  /** `type base64`, as in authorized_keys without options and comment. */
  readonly publicKey: string;
}

const RSA_BITS_MIN = 2_048;

/** Takes an OpenSSH or PEM private key file, checks that its halves belong together, and lets it sign once. */
export async function importSshKey(file: Secret, passphrase: Secret | undefined): Promise<ImportedKey> {
  const key = file.use(isOpenSshKey) ? await readOpenSshKey(file, passphrase) : readPem(file, passphrase);
  const publicKey = publicHalf(key);
  if (!signsForItself(key, publicKey)) keyMismatch();
  const der = key.export({ format: "der", type: "pkcs8" });
  return { privateKey: Secret.take(der), publicKey: writeSshPublicLine(publicKey) };
}

function publicHalf(key: KeyObject): SshPublicKey {
  const bits = key.asymmetricKeyDetails?.modulusLength ?? RSA_BITS_MIN;
  if (bits < RSA_BITS_MIN) {
    throw new Denied(
      "ssh_key_weak",
      `The RSA key has ${bits} bits; ${RSA_BITS_MIN} or more are needed. Make a new key: ssh-keygen -t ed25519.`,
    );
  }
  const blob = encodeSshPublicKey(key);
  const half = blob === undefined ? undefined : decodeSshPublicKey(blob);
  return half ?? keyUnsupported("A key of this kind");
}

/** Signs fresh bytes and verifies them with a key that was rebuilt from the public blob alone. */
function signsForItself(key: KeyObject, half: SshPublicKey): boolean {
  const challenge = randomBytes(32);
  const signature = signSsh(key, challenge, half.type === "ssh-rsa" ? SSH_AGENT_RSA_SHA2_512 : 0);
  return signature !== undefined && verifySsh(half, challenge, signature);
}

function readPem(file: Secret, passphrase: Secret | undefined): KeyObject {
  return file.use((pem) => {
    const encrypted = pem.includes("ENCRYPTED");
    if (encrypted && passphrase === undefined) keyPassphraseNeeded();
    try {
      if (passphrase === undefined || !encrypted) return createPrivateKey({ key: pem, format: "pem" });
      return passphrase.use((phrase) => createPrivateKey({ key: pem, format: "pem", passphrase: phrase }));
    } catch {
      return encrypted ? keyPassphraseWrong() : keyMalformed();
    }
  });
}
