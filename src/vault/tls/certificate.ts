import { createHash, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { Denied } from "../../kernel/failure.ts";
import { sayOpenssl } from "../../kernel/openssl.ts";
import { Secret } from "../../kernel/secret.ts";
import { CERTIFICATE_BYTES } from "../extras.ts";
import type { ClientCertificate } from "../lent.ts";
import { RSA_BITS_MIN, readPemKey } from "../pem-key.ts";

const BEGIN = "-----BEGIN CERTIFICATE-----";
const END = "-----END CERTIFICATE-----";
const CURVES = ["prime256v1", "secp384r1", "secp521r1"];
const CHAIN_MAX = 8;

/** A private key and the certificates that speak for it, in one PEM text: the key is sealed, the rest is public. */
export function readClientCertificate(
  given: Secret,
  wallMs: number,
): { readonly secret: Secret; readonly certificate: string } {
  return given.use((bytes) => {
    const text = bytes.toString("latin1");
    const chain = text
      .split(BEGIN)
      .slice(1)
      .map((block) => `${BEGIN}${block.split(END)[0]}${END}\n`);
    const key = requireStrong(readPemKey(given, ", beside its certificate"));
    const certificates = chain.map(readCertificate);
    const [leaf] = certificates;
    if (leaf === undefined || chain.length > CHAIN_MAX || chain.join("").length > CERTIFICATE_BYTES)
      return invalid(
        `A client certificate is 1 to ${CHAIN_MAX} certificates and their private key, in PEM: cat chain.pem key.pem`,
      );
    if (!leaf.checkPrivateKey(key)) invalid("The private key is not the key of the first certificate.");
    if (leaf.validToDate.getTime() <= wallMs) invalid(`The certificate ended at ${leaf.validToDate.toISOString()}.`);
    const pem = key.export({ type: "pkcs8", format: "pem" });
    requireUsable(chain.join(""), pem);
    return { secret: Secret.take(Buffer.from(pem)), certificate: chain.join("") };
  });
}

/** When the first certificate of the chain ends. */
export function endOfCertificate(certificate: string): string {
  return new X509Certificate(certificate).validToDate.toISOString();
}

/** Takes ownership of the key. */
export function certificateLoan(label: string, certificate: string, key: Secret): ClientCertificate {
  return { label, certificate, key, id: createHash("sha256").update(certificate).digest("base64url") };
}

function requireStrong(key: KeyObject): KeyObject {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === "rsa" && (details?.modulusLength ?? 0) >= RSA_BITS_MIN) return key;
  if (type === "ed25519" || CURVES.includes(details?.namedCurve ?? "")) return key;
  return invalid(`The key is RSA of ${RSA_BITS_MIN} bits or more, P-256, P-384, P-521 or Ed25519.`);
}

/** Asked of what makes the connections: it does not take all that it can read. */
function requireUsable(cert: string, key: string | Buffer): void {
  try {
    createSecureContext({ cert, key });
  } catch (cause) {
    invalid(`No connection can be made with this certificate: ${sayOpenssl(cause)}.`);
  }
}

function readCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    return invalid("A certificate cannot be read: PEM is expected.");
  }
}

function invalid(message: string): never {
  throw new Denied("credential_invalid", message);
}
