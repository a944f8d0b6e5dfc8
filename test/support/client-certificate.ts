import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import {
  bits,
  der,
  explicit,
  integer,
  octets,
  oid,
  sequence,
  set,
  utcTime,
  utf8,
  yes,
} from "../../src/conventions/box/der.ts";

/** A client certificate that signed itself, and its key: what a server takes that was given just this one. */
export function makeClientCertificate(
  name: string,
  lifeMs: number,
  rsaBits: number | null = null,
): { readonly certificate: string; readonly key: string } {
  const { privateKey, publicKey } =
    rsaBits === null
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : generateKeyPairSync("rsa", { modulusLength: rsaBits });
  const now = Date.now();
  const subject = sequence(set(sequence(oid("2.5.4.3"), utf8(name))));
  const serial = randomBytes(16);
  serial.writeUInt8((serial.readUInt8(0) & 0x3f) | 0x40, 0);
  const algorithm =
    rsaBits === null
      ? sequence(oid("1.2.840.10045.4.3.2"))
      : sequence(oid("1.2.840.113549.1.1.11"), der(0x05, Buffer.alloc(0)));
  const body = sequence(
    explicit(0, integer(2)),
    integer(serial),
    algorithm,
    subject,
    sequence(utcTime(new Date(now - 3_600_000)), utcTime(new Date(now + lifeMs))),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    explicit(3, sequence(sequence(oid("2.5.29.19"), yes(), octets(sequence(yes()))), keyUsage())),
  );
  const bytes = sequence(body, algorithm, bits(sign("sha256", body, privateKey)));
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  const certificate = `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
  return { certificate, key: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
}

/** Signs, and signs certificates: it is its own authority. */
function keyUsage(): Buffer {
  return sequence(oid("2.5.29.15"), yes(), octets(der(0x03, Buffer.from([2, 0x84]))));
}
