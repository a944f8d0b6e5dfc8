import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { truststoreWord, writeJavaTruststore } from "./java-truststore.ts";

const CERTIFICATE = Buffer.from("30 03 02 01 07".replaceAll(" ", ""), "hex");
const PEM = `-----BEGIN CERTIFICATE-----\n${CERTIFICATE.toString("base64")}\n-----END CERTIFICATE-----\n`;

test("a trust store is one trusted certificate as Java's format has it, byte for byte", () => {
  const store = writeJavaTruststore(PEM, 0x0102030405);
  const expected = [
    ...["feedfeed", "00000002", "00000001"], // a store of the second version, with one entry
    ...["00000002", "00026777", "0000000102030405"], // trusted, called gw, since then
    ...["0005582e353039", "00000005", CERTIFICATE.toString("hex")], // X.509, its length and itself
  ].join("");
  assert.equal(store.subarray(0, -20).toString("hex"), expected);
});

test("its seal is over Java's word, Java's salt and all of its content", () => {
  const store = writeJavaTruststore(PEM, 1);
  const word = Buffer.from([...truststoreWord].flatMap((letter) => [0, letter.charCodeAt(0)]));
  const sealed = [word, Buffer.from("Mighty Aphrodite"), store.subarray(0, -20)];
  assert.deepEqual(store.subarray(-20), createHash("sha1").update(Buffer.concat(sealed)).digest());
});
