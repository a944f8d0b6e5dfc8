import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { Clock, Random } from "../../kernel/clock.ts";
import { bits, der, explicit, integer, octets, oid, sequence, set, utcTime, utf8, yes } from "./der.ts";

/**
 * The certificate authority of one contained run. Its key is made for the run, lives in the wrapper's memory, and is trusted
 * nowhere but in the box; so it may speak for every name, and a tool that asks for one nobody knows can be told so in words.
 */
export interface Authority {
  /** PEM. What the box trusts, and all it trusts. */
  readonly certificate: string;
  /** The name under which OpenSSL looks for it in a folder of certificates. */
  readonly subjectHash: string;
  /** PEM, of every leaf. */
  readonly leafKey: string;
  /** PEM: the leaf of a host and the authority. */
  chainFor(host: string): string;
}

const ECDSA_SHA256 = sequence(oid("1.2.840.10045.4.3.2"));
const SUBJECT_KEY = "2.5.29.14";
const KEY_USAGE = "2.5.29.15";
const ALTERNATIVE_NAME = "2.5.29.17";
const BASIC_CONSTRAINTS = "2.5.29.19";
const AUTHORITY_KEY = "2.5.29.35";
const EXTENDED_USAGE = "2.5.29.37";
const SERVER = "1.3.6.1.5.5.7.3.1";
/** The clock inside is the one outside; an hour is for tools that round. */
const BEFORE_MS = 3_600_000;
const LIFE_MS = 30 * 86_400_000;
const POINT_BYTES = 65;
const COMMON_NAME = 64;

export function createAuthority(clock: Pick<Clock, "wallMs">, random: Random): Authority {
  const now = clock.wallMs();
  const valid = sequence(utcTime(new Date(now - BEFORE_MS)), utcTime(new Date(now + LIFE_MS)));
  const serial = (): Buffer => {
    const bytes = random.bytes(16);
    // Positive, and never with leading zeros.
    bytes.writeUInt8((bytes.readUInt8(0) & 0x3f) | 0x40, 0);
    return integer(bytes);
  };
  const own = makeKey();
  // Lower case with single spaces is OpenSSL's own canonical form, so that its hash is a hash of these bytes.
  const subject = nameOf(`gw contained run ${random.bytes(6).toString("hex")}`);
  const issue = (name: Buffer, publicKey: Buffer, extensions: readonly Buffer[]): string => {
    const body = sequence(
      explicit(0, integer(2)),
      serial(),
      ECDSA_SHA256,
      subject,
      valid,
      name,
      publicKey,
      explicit(3, sequence(...extensions)),
    );
    return pemOf(sequence(body, ECDSA_SHA256, bits(sign("sha256", body, own.privateKey))));
  };
  const certificate = issue(subject, own.spki, [
    extension(BASIC_CONSTRAINTS, true, sequence(yes(), integer(0))),
    // Signs certificates and lists of them.
    extension(KEY_USAGE, true, der(0x03, Buffer.from([1, 0x06]))),
    extension(SUBJECT_KEY, false, octets(own.id)),
  ]);
  const leaf = makeKey();
  const leafOf = (host: string): string =>
    issue(nameOf(host.slice(0, COMMON_NAME)), leaf.spki, [
      extension(BASIC_CONSTRAINTS, true, sequence()),
      extension(KEY_USAGE, true, der(0x03, Buffer.from([7, 0x80]))),
      extension(EXTENDED_USAGE, false, sequence(oid(SERVER))),
      extension(ALTERNATIVE_NAME, false, sequence(der(0x82, Buffer.from(host, "latin1")))),
      extension(AUTHORITY_KEY, false, sequence(der(0x80, own.id))),
      extension(SUBJECT_KEY, false, octets(leaf.id)),
    ]);
  return {
    certificate,
    subjectHash: hashOf(subject),
    leafKey: leaf.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    chainFor: (host) => leafOf(host) + certificate,
  };
}

function makeKey(): { readonly privateKey: KeyObject; readonly spki: Buffer; readonly id: Buffer } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const spki = publicKey.export({ type: "spki", format: "der" });
  // A name for a key, as RFC 5280 forms it; nothing rests on its strength.
  const id = createHash("sha1").update(spki.subarray(-POINT_BYTES)).digest();
  return { privateKey, spki, id };
}

function nameOf(common: string): Buffer {
  return sequence(set(sequence(oid("2.5.4.3"), utf8(common))));
}

function hashOf(subject: Buffer): string {
  // Without the outer sequence's two bytes of tag and length.
  const digest = createHash("sha1").update(subject.subarray(2)).digest();
  return digest.readUInt32LE(0).toString(16).padStart(8, "0");
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return sequence(oid(id), ...(critical ? [yes()] : []), octets(value));
}

function pemOf(bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
