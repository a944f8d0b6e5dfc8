import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { verifyStatement } from "../../conventions/approval/decision.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { Secret } from "../../kernel/secret.ts";
import { compartmentOf, readCompartment } from "../../vault/compartment.ts";
import { privateKeyOf, publicKeyOf, rawPublicOf } from "../../vault/keys.ts";
import { makePin } from "../../vault/passphrase/pin.ts";
import { holdKeys } from "./hold-keys.ts";

const MINUTE_MS = 60_000;
const pin = await makePin(Secret.fromText("2468"), { bytes: randomBytes });
const holder = { operator: "ada", keyId: "k1", vaultId: "v1" };

function hold(forMs = 15 * MINUTE_MS) {
  const raw = [randomBytes(32), randomBytes(32), randomBytes(32)] as const;
  const clock = { boot: 1_000_000, running: 400_000 };
  const held = holdKeys(holder, compartmentOf(...raw, pin), forMs, {
    bootMs: () => clock.boot,
    runningMs: () => clock.running,
  });
  const pass = (ms: number): void => {
    clock.boot += ms;
    clock.running += ms;
  };
  const sleep = (ms: number): void => {
    clock.boot += ms;
  };
  return { held, raw, pass, sleep };
}

const isGone = (raw: readonly Buffer[]): boolean => raw.every((key) => key.every((byte) => byte === 0));
const over = (error: unknown): boolean => error instanceof Denied && error.code === "login_over";

test("the keys of a login are gone when its time is over", () => {
  const { held, raw, pass } = hold();
  pass(15 * MINUTE_MS - 1);
  assert.ok(held.look());
  pass(1);
  assert.throws(() => held.readingKey(), over);
  assert.ok(isGone(raw));
});

test("the keys of a login are gone when the machine slept, before anybody is answered", () => {
  const { held, raw, pass, sleep } = hold();
  pass(MINUTE_MS);
  sleep(defaults.loginSleptMs);
  assert.ok(held.look(), "clocks that are read one after the other part a little");
  sleep(1);
  assert.throws(() => held.signReading("v1", "challenge"), over);
  assert.ok(isGone(raw));
});

test("a login signs for reading and for nothing else, and only for its own vault", () => {
  const { held, raw } = hold();
  const publicKey = publicKeyOf("ed25519", rawPublicOf(privateKeyOf("ed25519", raw[0])));
  const signed = held.signReading("v1", "challenge");
  const { statement } = verifyStatement(signed, "v1", [{ name: "ada", keyId: "k1", publicKey }]);
  assert.deepEqual(statement, {
    ...{ format: "gw.login/v1", vault_id: "v1", challenge: "challenge", reads_only: true },
    ...{ operator: "ada", operator_key_id: "k1" },
  });
  assert.throws(
    () => held.signReading("v2", "challenge"),
    (error) => error instanceof Denied && error.code === "vault_foreign",
  );
});

test("all keys are lent for the PIN; five wrong ones in a row and they are gone", async () => {
  const { held, raw } = hold();
  const wrong = async (left: number): Promise<void> => {
    await assert.rejects(held.open(Secret.fromText("1357")), {
      code: "pin_wrong",
      message: new RegExp(left === 1 ? "1 try is left" : `${left} tries are left`),
    });
  };
  for (const left of [4, 3]) await wrong(left);
  const lent = readCompartment(await held.open(Secret.fromText("2468")));
  assert.deepEqual([lent.approver, lent.reading, lent.wrapping], raw);
  for (const left of [4, 3, 2, 1]) await wrong(left);
  await assert.rejects(held.open(Secret.fromText("1357")), over);
  assert.ok(isGone(raw));
  await assert.rejects(held.open(Secret.fromText("2468")), over);
});

test("wrong PINs that are tried at once count one by one, and a right one behind them opens nothing", async () => {
  const { held, raw } = hold();
  const wrong = Array.from({ length: defaults.pinWrong }, (_, at) => `135${at}`);
  const tried = wrong.map((text) => held.open(Secret.fromText(text)));
  tried.push(Promise.allSettled(tried).then(() => held.open(Secret.fromText("2468"))));
  const codes = (await Promise.allSettled(tried)).map((one) => one.status === "rejected" && one.reason.code).sort();
  assert.deepEqual(codes, ["login_over", "login_over", "pin_wrong", "pin_wrong", "pin_wrong", "pin_wrong"]);
  assert.ok(isGone(raw));
});
