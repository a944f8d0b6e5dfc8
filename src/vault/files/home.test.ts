import assert from "node:assert/strict";
import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, test } from "node:test";
import { addCredential, switchCredential } from "../credential.ts";
import { unlockOperator } from "../operator.ts";
import { addOperator, removeOperator } from "../operator-change.ts";
import { firstPolicy } from "../policy/change.ts";
import type { Policy } from "../policy/policy.ts";
import { type PolicyDraft, signPolicy } from "../policy/verify.ts";
import { bearer, founding, ports, refuses, refusesLater, secret } from "../testing/fixture.ts";
import { nodeSteps } from "./atomic-write.ts";
import { openHome, POLICY_NAME, VAULT_NAME, type VaultHome } from "./home.ts";

const root = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(root, { recursive: true }));
const { vault, operator } = await founding();
const founder = vault.operators[0];
assert.ok(founder);
const policy = signPolicy(firstPolicy(founder), null, operator, vault, ports.clock);

let homes = 0;
async function freshHome() {
  const home = openHome(join(root, `h${homes++}`), ports.random);
  await home.create(vault, policy);
  return home;
}

test("a new home is 0700, its files 0600, and they read back as they were", async () => {
  const home = await freshHome();
  assert.equal(statSync(home.folder).mode & 0o777, 0o700);
  for (const name of [VAULT_NAME, POLICY_NAME]) assert.equal(statSync(join(home.folder, name)).mode & 0o777, 0o600);
  assert.equal(home.readVault().manifestHash, vault.manifestHash);
  assert.equal(home.readPolicy(vault).digest, policy.digest);
});

test("a home is made once", async () => {
  const home = await freshHome();
  assert.equal(home.exists(), true);
  await refusesLater(home.create(vault, policy), "vault_exists");
});

test("where there is no home or no vault, it says so", () => {
  const home = openHome(join(root, "nowhere"), ports.random);
  assert.equal(home.exists(), false);
  refuses(() => home.readVault(), "vault_missing");
});

test("a home that is open, or a link, is not used", async () => {
  const home = await freshHome();
  const link = join(root, "link");
  symlinkSync(home.folder, link);
  refuses(() => openHome(link, ports.random).readVault(), "file_not_regular");
  chmodSync(home.folder, 0o755);
  refuses(() => home.readVault(), "file_permissions_open");
});

test("a vault.json that is open, a link, not UTF-8 or gone is refused", async () => {
  const home = await freshHome();
  const path = join(home.folder, VAULT_NAME);
  chmodSync(path, 0o644);
  refuses(() => home.readVault(), "file_permissions_open");
  chmodSync(path, 0o600);
  const page = readFileSync(path);
  writeFileSync(path, Buffer.concat([page.subarray(0, 10), Buffer.of(0xff), page.subarray(10)]));
  refuses(() => home.readVault(), "vault_malformed");
  writeFileSync(path, Buffer.alloc(4_096));
  refuses(() => home.readVault(), "vault_malformed");
  writeFileSync(path, "");
  refuses(() => home.readVault(), "vault_malformed");
  renameSync(path, `${path}.real`);
  refuses(() => home.readVault(), "vault_missing");
  symlinkSync(`${path}.real`, path);
  refuses(() => home.readVault(), "file_not_regular");
});

test("changes made side by side are made one after the other, and none is lost", async () => {
  const home = await freshHome();
  const labels = ["a", "b", "c", "d"];
  for (const label of labels) {
    await home.change(async (current) => ({
      vault: await addCredential(current, operator, bearer(label, `token-of-${label}-1`), ports),
    }));
  }
  assert.deepEqual(
    home.readVault().credentials.map(({ label }) => label),
    labels,
  );
  assert.equal(home.readVault().generation, vault.generation + labels.length);
});

test("a change that fails leaves the files as they were", async () => {
  const home = await freshHome();
  await assert.rejects(home.change(() => Promise.reject(new Error("stopped"))));
  const failing = openHome(home.folder, ports.random, {
    ...nodeSteps,
    sync: () => {
      throw Object.assign(new Error("io"), { code: "EIO" });
    },
  });
  await refusesLater(
    failing.change(async (current) => ({
      vault: await addCredential(current, operator, bearer("a", "token-of-a-1"), ports),
    })),
    "file_not_written",
  );
  assert.equal(home.readVault().manifestHash, vault.manifestHash);
  await home.change((current) => ({ vault: current }));
});

async function signNext(home: VaultHome, change: (current: Policy) => PolicyDraft): Promise<Policy> {
  const { policy } = await home.change((vault) => {
    const current = home.readPolicy(vault);
    return { policy: signPolicy(change(current), current, operator, vault, ports.clock) };
  });
  return policy;
}

test("a policy change signs the next version over the one in force", async () => {
  const home = await freshHome();
  const next = await signNext(home, (current) => ({ ...current, eachUse: ["acme"] }));
  assert.equal(next.version, policy.version + 1);
  assert.deepEqual(home.readPolicy(home.readVault()).eachUse, ["acme"]);
});

test("between the two files of a change the policy holds under the vault, whoever comes or goes", async () => {
  const home = await freshHome();
  const bobPhrase = secret("bobs-own-passphrase-1");
  const withBob = await addOperator(vault, operator, { operatorName: "bob", passphrase: bobPhrase }, ports);
  const bob = await unlockOperator(withBob, "bob", bobPhrase);
  const byBob = signPolicy(policy, policy, bob, withBob, ports.clock);
  const removed = await removeOperator(withBob, operator, "bob", ports);
  const byAda = signPolicy(byBob, byBob, removed.operator, removed.vault, ports.clock);
  const written: string[] = [];
  const watched = openHome(home.folder, ports.random, {
    ...nodeSteps,
    rename: (from, to) => {
      nodeSteps.rename(from, to);
      written.push(basename(to));
      home.readPolicy(home.readVault());
    },
  });
  await watched.change(() => ({ vault: withBob, policy: byBob }));
  await watched.change(() => ({ vault: removed.vault, policy: byAda }));
  assert.deepEqual(written, [VAULT_NAME, POLICY_NAME, POLICY_NAME, VAULT_NAME]);
});

test("a policy.json edited behind our back stops every reader and every change", async () => {
  const home = await freshHome();
  const path = join(home.folder, POLICY_NAME);
  writeFileSync(path, readFileSync(path, "utf8").replace('"headless_unlock": false', '"headless_unlock": true'));
  refuses(() => home.readPolicy(vault), "policy_tampered");
  await refusesLater(
    signNext(home, (current) => current),
    "policy_tampered",
  );
  rmSync(path);
  refuses(() => home.readPolicy(vault), "policy_missing");
});

test("a vault edited behind our back stops every reader and every change", async () => {
  const home = await freshHome();
  await home.change(async (current) => ({
    vault: await addCredential(current, operator, bearer("acme", "token-of-acme-1"), ports),
  }));
  const path = join(home.folder, VAULT_NAME);
  writeFileSync(path, readFileSync(path, "utf8").replace("https://api.acme.example", "https://evil.example"));
  refuses(() => home.readVault(), "vault_tampered");
  await refusesLater(
    home.change((current) => ({ vault: switchCredential(current, operator, "acme", true, ports) })),
    "vault_tampered",
  );
});
