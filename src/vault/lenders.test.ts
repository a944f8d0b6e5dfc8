import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { test } from "node:test";
import { unseal } from "./box.ts";
import { addCredential, rebindCredential, rotateCredential } from "./credential.ts";
import { entryAad } from "./entry.ts";
import { rawPublicOf } from "./keys.ts";
import { openService } from "./lend.ts";
import { unlockOperator } from "./operator.ts";
import { addOperator, removeOperator } from "./operator-change.ts";
import { openForReader } from "./readers-box.ts";
import { serviceSubkey } from "./service-key.ts";
import { bearer, founding, ORIGIN, ports, refuses, secret } from "./testing/fixture.ts";
import type { Vault } from "./vault.ts";
import { parseVault, vaultPage } from "./verify.ts";

const { operator, vault: founded } = await founding();
const [web1, web2] = [generateKeyPairSync("x25519").privateKey, generateKeyPairSync("x25519").privateKey];
const lender = (gateway: string, key: KeyObject) => ({ gateway, key: rawPublicOf(key) });
const vault = await addCredential(
  founded,
  operator,
  { ...bearer("of-web1", "token-of-web1"), lenders: [lender("web1", web1)] },
  ports,
);

/** What a gateway with this key lends, as its header. */
function lent(from: Vault, key: KeyObject | null, serviceKey = operator.serviceKey): string {
  const service = openService(parseVault(vaultPage(from)), serviceKey);
  if (key !== null) service.lendWith(key);
  const loan = service.lendHttp("of-web1", ORIGIN);
  try {
    return loan.secrets.map((one) => one.use((bytes) => bytes.toString("utf8"))).join(" ");
  } finally {
    loan.release();
    service.wipe();
  }
}

test("an owned host, with its files, its own key and the service key, opens no credential that another gateway lends", () => {
  assert.match(lent(vault, web1), /token-of-web1/);
  for (const key of [web2, null]) refuses(() => lent(vault, key), "credential_elsewhere");
  // All that the service key opens, and all that its own key opens of that.
  const [entry] = vault.credentials;
  assert.ok(entry !== undefined);
  const aad = entryAad(vault.vaultId, entry);
  const under = unseal(serviceSubkey(operator.serviceKey, vault.vaultId, "credentials"), aad, entry.sealed);
  assert.ok(under !== undefined);
  assert.doesNotMatch(
    under.use((bytes) => bytes.toString("latin1")),
    /token-of-web1/,
  );
  assert.equal(
    under.use((bytes) => openForReader(web2, aad, bytes)),
    undefined,
  );
  const service = openService(vault, operator.serviceKey);
  service.lendWith(web2);
  assert.deepEqual(service.find("of-web1")?.elsewhere, ["web1"]);
});

test("the names cannot be changed behind an operator's back, and a file with a host's own key in it is refused", () => {
  const forged = vaultPage(vault).replace(
    rawPublicOf(web1).toString("base64url"),
    rawPublicOf(web2).toString("base64url"),
  );
  refuses(() => parseVault(forged), "vault_tampered");
});

test("what is lent by some keeps to them through a rotation, another operator and a new service key", async () => {
  const rotated = await rotateCredential(vault, operator, { label: "of-web1", secret: secret("token-two") }, ports);
  assert.match(lent(rotated, web1), /token-two/);
  refuses(() => lent(rotated, web2), "credential_elsewhere");
  const passphrase = secret("copper-lantern-meadow-violin");
  const two = await addOperator(rotated, operator, { operatorName: "bob", passphrase }, ports);
  const bob = await unlockOperator(two, "bob", secret("copper-lantern-meadow-violin"));
  const shared = rebindCredential(two, bob, "of-web1", { lenders: [lender("web2", web2)] }, ports);
  assert.match(lent(shared, web2), /token-two/);
  refuses(() => lent(shared, web1), "credential_elsewhere");
  const { vault: alone, operator: still } = await removeOperator(shared, operator, "bob", ports);
  assert.match(lent(alone, web2, still.serviceKey), /token-two/);
  refuses(() => lent(alone, web1, still.serviceKey), "credential_elsewhere");
  const anywhere = rebindCredential(alone, still, "of-web1", { lenders: null }, ports);
  assert.match(lent(anywhere, null, still.serviceKey), /token-two/);
});

test("what one host suspended stays suspended when it follows a newer vault from another", () => {
  const service = openService(vault, operator.serviceKey);
  service.suspend("of-web1", "the provider said so", 0);
  const next = rebindCredential(vault, operator, "of-web1", { eachUse: true }, ports);
  const carried = service.carryNotes(next);
  assert.deepEqual(
    carried.notes.suspended.map(({ label }) => label),
    ["of-web1"],
  );
  service.reload(carried);
  assert.equal(service.find("of-web1")?.disabled, true);
});
