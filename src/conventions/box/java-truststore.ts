import { createHash } from "node:crypto";

/** Java reads no PEM. Nothing in here is secret: the word only seals the file against mistakes, and is everybody's. */
export const truststoreWord = "changeit";

const MAGIC = 0xfeedfeed;
const VERSION = 2;
const TRUSTED = 2;
const SEAL = "Mighty Aphrodite";

/** One certificate, to be trusted, in Java's own key store format (JKS). */
export function writeJavaTruststore(pem: string, wallMs: number): Buffer {
  const der = Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ""), "base64");
  const time = Buffer.alloc(8);
  time.writeBigInt64BE(BigInt(wallMs));
  const entry = [int(TRUSTED), text("gw"), time, text("X.509"), int(der.length), der];
  const content = Buffer.concat([int(MAGIC), int(VERSION), int(1), ...entry]);
  const word = Buffer.from(truststoreWord, "utf16le").swap16();
  const seal = createHash("sha1").update(word).update(SEAL, "latin1").update(content).digest();
  return Buffer.concat([content, seal]);
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.alloc(2 + value.length);
  bytes.writeUInt16BE(value.length);
  bytes.write(value, 2, "latin1");
  return bytes;
}
