import { readSsh, type SshReader, sshMpint, sshString } from "../../kernel/ssh-wire.ts";
import { derBits, derContext, derInteger, derOctets, derSequence } from "./der.ts";

export interface PrivateSection {
  readonly der: Buffer;
  readonly type: "pkcs8" | "pkcs1" | "sec1";
  /** The public half as this section states it. */
  readonly publicBlob: Buffer;
}

const ED25519_PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");
const RSA_BYTES_MAX = 2_048;

interface Curve {
  readonly name: string;
  readonly oid: string;
  readonly bytes: number;
}

const CURVES: readonly Curve[] = [
  { name: "nistp256", oid: "06082a8648ce3d030107", bytes: 32 },
  { name: "nistp384", oid: "06052b81040022", bytes: 48 },
  { name: "nistp521", oid: "06052b81040023", bytes: 66 },
];

/** The deciphered section: two check words, one key, a comment and the padding 1, 2, 3 … Undefined when it is not that. */
export function readPrivateSection(section: Buffer): PrivateSection | undefined {
  return readSsh(section.subarray(8), (reader) => {
    const key = readKey(reader.text(), reader);
    reader.string();
    for (let expected = 1; reader.left > 0; expected++) if (reader.byte() !== (expected & 255)) return undefined;
    return key;
  });
}

function readKey(type: string, reader: SshReader): PrivateSection | undefined {
  if (type === "ssh-ed25519") return readEd25519(reader);
  if (type === "ssh-rsa") return readRsa(reader);
  const curve = CURVES.find(({ name }) => type === `ecdsa-sha2-${name}`);
  return curve === undefined ? undefined : readEcdsa(curve, reader);
}

function readEd25519(reader: SshReader): PrivateSection | undefined {
  const point = reader.string();
  const pair = reader.string();
  if (point.length !== 32 || pair.length !== 64 || !pair.subarray(32).equals(point)) return undefined;
  return {
    der: Buffer.concat([ED25519_PKCS8, pair.subarray(0, 32)]),
    type: "pkcs8",
    publicBlob: Buffer.concat([sshString("ssh-ed25519"), sshString(point)]),
  };
}

function readEcdsa({ name, oid, bytes }: Curve, reader: SshReader): PrivateSection | undefined {
  const named = reader.text();
  const point = reader.string();
  const scalar = reader.mpint();
  if (named !== name || point.length !== 1 + 2 * bytes || scalar.length > bytes) return undefined;
  const padded = Buffer.concat([Buffer.alloc(bytes - scalar.length), scalar]);
  return {
    der: derSequence(
      derInteger(Buffer.of(1)),
      derOctets(padded),
      derContext(0, Buffer.from(oid, "hex")),
      derContext(1, derBits(point)),
    ),
    type: "sec1",
    publicBlob: Buffer.concat([sshString(`ecdsa-sha2-${name}`), sshString(name), sshString(point)]),
  };
}

function readRsa(reader: SshReader): PrivateSection | undefined {
  const n = reader.mpint();
  const e = reader.mpint();
  const d = reader.mpint();
  const inverse = reader.mpint();
  const p = reader.mpint();
  const q = reader.mpint();
  if ([n, e, d, inverse, p, q].some((number) => number.length === 0 || number.length > RSA_BYTES_MAX)) return undefined;
  const [bigD, bigP, bigQ] = [bigOf(d), bigOf(p), bigOf(q)];
  if (bigP <= 1n || bigQ <= 1n || bigP * bigQ !== bigOf(n)) return undefined;
  const parts = [Buffer.of(0), n, e, d, p, q, bytesOf(bigD % (bigP - 1n)), bytesOf(bigD % (bigQ - 1n)), inverse];
  return {
    der: derSequence(...parts.map(derInteger)),
    type: "pkcs1",
    publicBlob: Buffer.concat([sshString("ssh-rsa"), sshMpint(e), sshMpint(n)]),
  };
}

function bigOf(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString("hex")}`);
}

function bytesOf(value: bigint): Buffer {
  const hex = value.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex");
}
