import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { anchorOf } from "../../vault/anchor.ts";
import { openHome } from "../../vault/files/home.ts";
import { unlockOperator } from "../../vault/operator.ts";
import { addOperator, removeOperator, replaceRequestKey } from "../../vault/operator-change.ts";
import { firstPolicy } from "../../vault/policy/change.ts";
import { policyText, signPolicy } from "../../vault/policy/verify.ts";
import { founding, ports, secret } from "../../vault/testing/fixture.ts";
import { vaultPage } from "../../vault/verify.ts";
import { createHomeDocuments } from "./home-documents.ts";
import { readTrust, type Trust } from "./trust.ts";

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

test("what an operator signed here a moment ago is not overwritten by what another host signed beside it", async () => {
  const { vault, operator } = await founding();
  const [founder] = vault.operators;
  assert.ok(founder !== undefined);
  const first = signPolicy(firstPolicy(founder), null, operator, vault, ports.clock);
  const home = openHome(join(root, "ahead"), ports.random);
  await home.create(vault, first);
  const state = {
    trust: { vault, policy: first, trouble: null } as Trust,
    high: { vault: anchorOf(vault), policy: { version: first.version, digest: first.digest } },
    compartment: null,
  };
  let reloads = 0;
  const documents = createHomeDocuments({
    home,
    packsFolder: join(root, "ahead-packs"),
    state,
    random: ports.random,
    reload() {
      reloads++;
      state.trust = readTrust(home);
      return Promise.resolve();
    },
  });
  const elsewhere = replaceRequestKey(vault, operator, ports);
  const here = replaceRequestKey(vault, operator, ports);
  const other = signPolicy(
    { ...first, settings: { ...first.settings, headlessUnlock: true } },
    first,
    operator,
    elsewhere,
    ports.clock,
  );
  assert.equal(elsewhere.generation, here.generation);
  // The command has written its file, and this gateway has not looked at it yet.
  await home.change(() => ({ vault: here }));
  const found = documents.check("vault", vaultPage(elsewhere), null);
  assert.ok(found !== undefined);
  assert.equal(await documents.take([found]), true, "it is looked at once more");
  assert.equal(home.readVault().manifestHash, here.manifestHash);
  assert.deepEqual(
    [reloads, state.trust.vault.manifestHash],
    [1, here.manifestHash],
    "and what was signed is in force",
  );
  // From then on it stands beside what is in force, as every other copy of that generation does.
  state.high = { ...state.high, vault: anchorOf(here) };
  await assert.rejects(documents.take([found]), { code: "vault_forked" });
  const mine = signPolicy(first, first, operator, here, ports.clock);
  assert.notEqual(mine.digest, other.digest);
  await home.change(() => ({ policy: mine }));
  const theirs = documents.check("policy", policyText(other), null);
  assert.ok(theirs !== undefined);
  assert.equal(await documents.take([theirs]), true);
  assert.deepEqual([reloads, home.readPolicy(here).digest], [2, mine.digest]);
});
