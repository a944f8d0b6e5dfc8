import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Secret } from "../../../kernel/secret.ts";
import { openHome, type VaultHome } from "../../../vault/files/home.ts";
import { createVault, type OpenOperator, unlockOperator } from "../../../vault/operator.ts";
import { setPin } from "../../../vault/operator-change.ts";
import { firstPolicy } from "../../../vault/policy/change.ts";
import { signPolicy } from "../../../vault/policy/verify.ts";
import type { VaultCliPorts } from "../vault/session.ts";
import { checkSecret } from "./check-secret.ts";

const PASSPHRASE = "amber-otter-velvet-quarry";
const folder = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(folder, { recursive: true }));
const slept: number[] = [];
const wrong: number[] = [];
const ports: VaultCliPorts = {
  clock: { wallMs: () => Date.UTC(2026, 0, 1) },
  sleep: { sleep: async (ms) => void slept.push(ms) },
  random: { bytes: (length) => randomBytes(length) },
  stateFolder: join(folder, "seen"),
  refresh: async () => undefined,
  afterChange: async () => undefined,
  logins: { find: async () => null, start: async () => undefined },
  afterWrongPassphrase: async ({ failedAttempts }) => void wrong.push(failedAttempts),
};
let home: VaultHome;
let operator: OpenOperator;

before(async () => {
  home = openHome(join(folder, "home"), ports.random);
  const passphrase = Secret.fromText(PASSPHRASE);
  const made = await createVault({ operatorName: "ada", passphrase }, ports);
  const founder = made.vault.operators[0];
  assert.ok(founder !== undefined);
  await home.create(made.vault, signPolicy(firstPolicy(founder), null, made.operator, made.vault, ports.clock));
  const pin = Secret.fromText("4711");
  await home.change(async (vault) => ({ vault: await setPin(vault, made.operator, passphrase, pin, ports) }));
  operator = await unlockOperator(home.readVault(), "ada", passphrase);
});

test("a PIN is right or wrong, and what was typed is wiped either way", async () => {
  for (const [typed, right] of [
    ["4711", true],
    ["4712", false],
    ["", false],
  ] as const) {
    const secret = Secret.fromText(typed);
    assert.deepEqual(await checkSecret("pin", secret, { operator, home }, ports), { kind: "pin", right });
    assert.throws(() => secret.use(() => undefined));
  }
});

test("an operator without a PIN has no right one", async () => {
  const bare = { ...operator, pin: null };
  const answer = await checkSecret("pin", Secret.fromText("4711"), { operator: bare, home }, ports);
  assert.equal(answer.right, false);
});

test("a passphrase counts as a try of the home, is slowed down after a few, and a right one resets that", async () => {
  const check = (typed: string) => checkSecret("passphrase", Secret.fromText(typed), { operator, home }, ports);
  for (let tries = 0; tries < 4; tries++) assert.equal((await check("not it at all, really")).right, false);
  assert.deepEqual(wrong, [1, 2, 3, 4]);
  assert.ok(slept.some((ms) => ms > 0));
  assert.equal((await check(PASSPHRASE)).right, true);
  slept.length = 0;
  assert.equal((await check(PASSPHRASE)).right, true);
  assert.deepEqual(slept, [0]);
});

test("keys that the vault no longer has are not confirmed by its passphrase", async () => {
  const stale = { ...operator, keyId: "00" as OpenOperator["keyId"] };
  const answer = await checkSecret("passphrase", Secret.fromText(PASSPHRASE), { operator: stale, home }, ports);
  assert.equal(answer.right, false);
});
