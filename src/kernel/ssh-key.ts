import { createHash, createPublicKey, type JsonWebKey, type KeyObject, sign, verify } from "node:crypto";
import { readSsh, sshMpint, sshString } from "./ssh-wire.ts";

/**
 * SSH public keys and signatures over Node's key objects: Ed25519, ECDSA on the NIST curves, and RSA with SHA-2.
 * SHA-1 (`ssh-rsa` signatures), DSA, certificates and hardware keys have no form here.
 */
export type SshKeyType =
  | "ssh-ed25519"
  | "ecdsa-sha2-nistp256"
  | "ecdsa-sha2-nistp384"
  | "ecdsa-sha2-nistp521"
  | "ssh-rsa";
export type SshSignatureAlgorithm = Exclude<SshKeyType, "ssh-rsa"> | "rsa-sha2-256" | "rsa-sha2-512";

/** Flags of a sign request to an ssh-agent. */
export const SSH_AGENT_RSA_SHA2_256 = 2;
export const SSH_AGENT_RSA_SHA2_512 = 4;

const RSA_BITS_MIN = 2048;
const RSA_BITS_MAX = 16_384;

interface Curve {
  readonly type: Exclude<SshKeyType, "ssh-rsa" | "ssh-ed25519">;
  readonly name: string;
  readonly jwk: string;
  readonly hash: string;
  readonly bytes: number;
}

const curves: readonly Curve[] = [
  { type: "ecdsa-sha2-nistp256", name: "nistp256", jwk: "P-256", hash: "sha256", bytes: 32 },
  { type: "ecdsa-sha2-nistp384", name: "nistp384", jwk: "P-384", hash: "sha384", bytes: 48 },
  { type: "ecdsa-sha2-nistp521", name: "nistp521", jwk: "P-521", hash: "sha512", bytes: 66 },
];

export interface SshPublicKey {
  readonly type: SshKeyType;
  readonly blob: Buffer;
  readonly key: KeyObject;
}

/** The wire form of the public half of `key`; undefined for a kind of key that we do not use. */
export function encodeSshPublicKey(key: KeyObject): Buffer | undefined {
  const jwk = (key.type === "public" ? key : createPublicKey(key)).export({ format: "jwk" });
  if (jwk.kty === "OKP" && jwk.crv === "Ed25519") {
    return Buffer.concat([sshString("ssh-ed25519"), sshString(fromBase64Url(jwk.x))]);
  }
  if (jwk.kty === "RSA") {
    return Buffer.concat([sshString("ssh-rsa"), sshMpint(fromBase64Url(jwk.e)), sshMpint(fromBase64Url(jwk.n))]);
  }
  const curve = jwk.kty === "EC" ? curves.find((each) => each.jwk === jwk.crv) : undefined;
  if (curve === undefined) return undefined;
  const point = Buffer.concat([Buffer.of(4), fromBase64Url(jwk.x), fromBase64Url(jwk.y)]);
  return Buffer.concat([sshString(curve.type), sshString(curve.name), sshString(point)]);
}

export function decodeSshPublicKey(blob: Buffer): SshPublicKey | undefined {
  const read = readSsh(blob, (reader): { readonly type: SshKeyType; readonly jwk: JsonWebKey } | undefined => {
    const type = reader.text();
    if (type === "ssh-ed25519") {
      const point = reader.string();
      return point.length === 32 ? { type, jwk: { kty: "OKP", crv: "Ed25519", x: toBase64Url(point) } } : undefined;
    }
    if (type === "ssh-rsa") {
      const e = reader.mpint();
      const n = reader.mpint();
      if (n.length * 8 < RSA_BITS_MIN || n.length * 8 > RSA_BITS_MAX || e.length > 8) return undefined;
      return { type, jwk: { kty: "RSA", e: toBase64Url(e), n: toBase64Url(n) } };
    }
    const curve = curves.find((each) => each.type === type);
    if (curve === undefined || reader.text() !== curve.name) return undefined;
    const point = reader.string();
    if (point.length !== 1 + 2 * curve.bytes || point[0] !== 4) return undefined;
    const x = toBase64Url(point.subarray(1, 1 + curve.bytes));
    const y = toBase64Url(point.subarray(1 + curve.bytes));
    return { type: curve.type, jwk: { kty: "EC", crv: curve.jwk, x, y } };
  });
  if (read === undefined) return undefined;
  try {
    return { type: read.type, blob, key: createPublicKey({ key: read.jwk, format: "jwk" }) };
  } catch {
    // Not a point on its curve, or a modulus that OpenSSL refuses.
    return undefined;
  }
}

/** Reads `TYPE BASE64 [comment]`, as public key files and known hosts write it. */
export function readSshPublicLine(line: string): SshPublicKey | undefined {
  const [type, base64] = line.trim().split(" ");
  if (type === undefined || base64 === undefined || base64.length > 16_384) return undefined;
  const blob = Buffer.from(base64, "base64");
  if (blob.toString("base64") !== base64) return undefined;
  const key = decodeSshPublicKey(blob);
  return key?.type === type ? key : undefined;
}

export function writeSshPublicLine(key: Pick<SshPublicKey, "type" | "blob">): string {
  return `${key.type} ${key.blob.toString("base64")}`;
}

/** `SHA256:…`, as OpenSSH shows it. */
export function sshFingerprint(blob: Buffer): string {
  return `SHA256:${createHash("sha256").update(blob).digest("base64").replace(/=+$/, "")}`;
}

/** The signature algorithm that an agent must use for this key and these flags; undefined when we refuse it. */
export function chooseSshAlgorithm(type: SshKeyType, flags: number): SshSignatureAlgorithm | undefined {
  if (type !== "ssh-rsa") return flags === 0 ? type : undefined;
  if (flags === SSH_AGENT_RSA_SHA2_512) return "rsa-sha2-512";
  return flags === SSH_AGENT_RSA_SHA2_256 ? "rsa-sha2-256" : undefined;
}

/** Signs as an ssh-agent does; undefined where the key or the flags ask for something that we refuse. */
export function signSsh(privateKey: KeyObject, data: Buffer, flags: number): Buffer | undefined {
  const blob = encodeSshPublicKey(privateKey);
  const type = blob === undefined ? undefined : decodeSshPublicKey(blob)?.type;
  const algorithm = type === undefined ? undefined : chooseSshAlgorithm(type, flags);
  if (algorithm === undefined) return undefined;
  const curve = curves.find((each) => each.type === algorithm);
  if (curve !== undefined) {
    const raw = sign(curve.hash, data, { key: privateKey, dsaEncoding: "ieee-p1363" });
    const half = raw.length / 2;
    const pair = Buffer.concat([sshMpint(raw.subarray(0, half)), sshMpint(raw.subarray(half))]);
    return Buffer.concat([sshString(algorithm), sshString(pair)]);
  }
  const hash = algorithm === "rsa-sha2-256" || algorithm === "rsa-sha2-512" ? rsaHash(algorithm) : null;
  return Buffer.concat([sshString(algorithm), sshString(sign(hash, data, privateKey))]);
}

export function verifySsh(publicKey: SshPublicKey, data: Buffer, signature: Buffer): boolean {
  const parts = readSsh(signature, (reader) => ({ algorithm: reader.text(), value: reader.string() }));
  if (parts === undefined) return false;
  const { algorithm, value } = parts;
  try {
    switch (publicKey.type) {
      case "ssh-ed25519":
        return algorithm === publicKey.type && verify(null, data, publicKey.key, value);
      case "ssh-rsa":
        return (
          (algorithm === "rsa-sha2-256" || algorithm === "rsa-sha2-512") &&
          verify(rsaHash(algorithm), data, publicKey.key, value)
        );
      case "ecdsa-sha2-nistp256":
      case "ecdsa-sha2-nistp384":
      case "ecdsa-sha2-nistp521":
        return algorithm === publicKey.type && verifyEcdsa(publicKey, data, value);
    }
  } catch {
    return false;
  }
}

function verifyEcdsa(publicKey: SshPublicKey, data: Buffer, value: Buffer): boolean {
  const curve = curves.find((each) => each.type === publicKey.type);
  const pair = readSsh(value, (reader) => [reader.mpint(), reader.mpint()]);
  if (curve === undefined || pair === undefined || pair.some((part) => part.length > curve.bytes)) return false;
  const raw = Buffer.concat(pair.map((part) => Buffer.concat([Buffer.alloc(curve.bytes - part.length), part])));
  return verify(curve.hash, data, { key: publicKey.key, dsaEncoding: "ieee-p1363" }, raw);
}

function rsaHash(algorithm: "rsa-sha2-256" | "rsa-sha2-512"): string {
  return algorithm === "rsa-sha2-256" ? "sha256" : "sha512";
}

function fromBase64Url(text: string | undefined): Buffer {
  return Buffer.from(text ?? "", "base64url");
}

function toBase64Url(bytes: Buffer): string {
  return bytes.toString("base64url");
}
