import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { test } from "node:test";
import { openHeld, sealHeld } from "./held-secret.ts";
import { rawPublicOf } from "./keys.ts";
import type { Vault } from "./vault.ts";

const key = () => generateKeyPairSync("x25519").privateKey;
const [web1, web2, ada] = [key(), key(), key()];
const random = { bytes: (length: number) => randomBytes(length) };
const vault = {
  vaultId: "vlt_1",
  operators: [{ readingKey: rawPublicOf(ada) }],
  credentials: [
    { label: "everywhere", lenders: null },
    { label: "of-web1", lenders: [{ gateway: "web1", key: rawPublicOf(web1) }] },
  ],
} as unknown as Vault;

test("what a credential of some gateways brought opens for those and the operators alone, and only as what it is", () => {
  const hold = (credential: string | null, own = rawPublicOf(web1)) =>
    sealHeld(vault, { id: "minted 1", credential, text: "s3cret" }, own, random);
  assert.equal(hold("everywhere"), null);
  assert.equal(hold(null), null);
  // Of a credential that is gone nobody knows who might: whoever got it, and the operators.
  for (const sealed of [hold("of-web1"), hold("gone")]) {
    assert.ok(sealed !== null && !sealed.includes("s3cret"));
    const opened = (key: typeof web1, id = "minted 1", vaultId = "vlt_1") =>
      openHeld(key, vaultId, id, sealed)?.use((bytes) => bytes.toString());
    assert.deepEqual([opened(web1), opened(ada), opened(web2)], ["s3cret", "s3cret", undefined]);
    assert.deepEqual([opened(web1, "minted 2"), opened(web1, "minted 1", "vlt_2")], [undefined, undefined]);
  }
});
