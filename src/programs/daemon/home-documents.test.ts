import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openHome } from "../../vault/files/home.ts";
import { unlockOperator } from "../../vault/operator.ts";
import { addOperator, removeOperator } from "../../vault/operator-change.ts";
import { firstPolicy } from "../../vault/policy/change.ts";
import { policyText, signPolicy } from "../../vault/policy/verify.ts";
import { founding, ports, secret } from "../../vault/testing/fixture.ts";
import { vaultPage } from "../../vault/verify.ts";
import { createHomeDocuments } from "./home-documents.ts";
import type { Trust } from "./trust.ts";

const root = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(root, { recursive: true }));

test("a vault under which the policy of this host does not hold waits for the policy that goes with it", async () => {
  const { vault, operator } = await founding();
  const bobPhrase = secret("bobs-own-passphrase-1");
  const withBob = await addOperator(vault, operator, { operatorName: "bob", passphrase: bobPhrase }, ports);
  const bob = await unlockOperator(withBob, "bob", bobPhrase);
  const [founder] = vault.operators;
  assert.ok(founder !== undefined);
  const policy = signPolicy(firstPolicy(founder), null, bob, withBob, ports.clock);
  const removed = await removeOperator(withBob, operator, "bob", ports);
  const next = signPolicy(policy, policy, removed.operator, removed.vault, ports.clock);
  const home = openHome(join(root, "home"), ports.random);
  await home.create(withBob, policy);
  const documents = createHomeDocuments({
    home,
    packsFolder: join(root, "packs"),
    state: {
      trust: { vault: withBob, policy } as unknown as Trust,
      high: { vault: null, policy: null },
      compartment: null,
    },
    random: ports.random,
    reload: () => Promise.resolve(),
  });
  const vaultOnly = documents.check("vault", vaultPage(removed.vault), null);
  assert.ok(vaultOnly !== undefined);
  assert.equal(await documents.take([vaultOnly]), false);
  assert.equal(home.readVault().manifestHash, withBob.manifestHash, "nothing is changed");
  const policyToo = documents.check("policy", policyText(next), vaultOnly);
  assert.ok(policyToo !== undefined);
  assert.equal(await documents.take([vaultOnly, policyToo]), true);
  assert.equal(home.readPolicy(home.readVault()).digest, next.digest);
});
