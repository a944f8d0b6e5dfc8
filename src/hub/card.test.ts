import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { test } from "node:test";
import { rawPublicOf } from "../audit/keys/raw.ts";
import { openCard, sealCard } from "./card.ts";

const identity = generateKeyPairSync("ed25519").privateKey;
const ada = generateKeyPairSync("x25519");
const bob = generateKeyPairSync("x25519");
const readers = [
  { keyId: "ada", readingKey: rawPublicOf("x25519", ada.publicKey) },
  { keyId: "bob", readingKey: rawPublicOf("x25519", bob.publicKey) },
];
const place = { hub_id: "hub_1", gateway: "web1", approval_id: "apr_1", vault_id: "vlt_1" };
const speaker = {
  ...{ hubId: "hub_1", gateway: "web1", vaultId: "vlt_1", logId: "", joinedAt: "" },
  identityKey: rawPublicOf("ed25519", identity),
};
const random = { bytes: randomBytes };
const made = sealCard(place, { says: "burn it" }, readers, identity, random);
const asAda = { keyId: "ada", readingKey: ada.privateKey };

test("a card is opened by everybody that it was sealed for, and by nobody else", () => {
  assert.deepEqual(openCard(made, speaker, "apr_1", asAda), { says: "burn it" });
  assert.deepEqual(openCard(made, speaker, "apr_1", { keyId: "bob", readingKey: bob.privateKey }), { says: "burn it" });
  const eve = generateKeyPairSync("x25519").privateKey;
  for (const keyId of ["ada", "eve"])
    assert.equal(openCard(made, speaker, "apr_1", { keyId, readingKey: eve }), undefined);
  assert.doesNotMatch(made.sealed.toString("utf8"), /burn/);
});

test("a card is good for its own gateway, vault and question, and as its gateway signed it", () => {
  assert.equal(openCard(made, speaker, "apr_2", asAda), undefined);
  for (const other of [{ gateway: "web2" }, { hubId: "hub_2" }, { vaultId: "vlt_2" }, { identityKey: randomBytes(32) }])
    assert.equal(openCard(made, { ...speaker, ...other }, "apr_1", asAda), undefined, JSON.stringify(other));
  const milder = sealCard(place, { says: "look at it" }, readers, generateKeyPairSync("ed25519").privateKey, random);
  assert.equal(openCard(milder, speaker, "apr_1", asAda), undefined, "signed by somebody else");
  assert.equal(
    openCard({ ...made, sealed: milder.sealed }, speaker, "apr_1", asAda),
    undefined,
    "another box under it",
  );
});
