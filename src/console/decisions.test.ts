import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { test } from "node:test";
import type { DecisionStatement } from "../conventions/approval/decision.ts";
import { type Assertion, assertionRecord } from "../conventions/passkey/assertion.ts";
import { TestAuthenticator } from "../conventions/passkey/testing/authenticator.ts";
import { Denied } from "../kernel/failure.ts";
import type { OperatorClient } from "../surfaces/client/operator.ts";
import { createDecisions } from "./decisions.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
const statement = {
  ...{ format: "gw.decision/v1", vault_id: "v", approval_id: "apr_1", card_digest: DIGEST, decision: "approve" },
  ...{ reason: null, narrow: null, operator: "ada", operator_key_id: "k1", decided_at: "2026-01-01T00:00:00.000Z" },
  log_head: { frame: "1", link: "00" },
} as const satisfies DecisionStatement;

test("nothing is signed before one of the operator's passkeys answered for exactly this draft", async () => {
  const authenticator = new TestAuthenticator();
  const owner = { name: "ada", keyId: "k1", privateKey: generateKeyPairSync("ed25519").privateKey };
  const submitted: (Assertion | null)[] = [];
  const client = {
    approval: async () => ({ card_digest: DIGEST }),
    draft: async () => statement,
    submit: async (_: DecisionStatement, assertion: Assertion | null) => void submitted.push(assertion),
  } as unknown as OperatorClient;
  const enrolled = authenticator.enrol(owner, "v");
  let usable = [enrolled];
  const decisions = createDecisions({
    ...{ clock: { bootMs: () => 0 }, random: { bytes: (size) => randomBytes(size) }, client: () => client },
    ...{
      passkeys: () => usable,
      secret: { require: async () => undefined },
      passkeysOnly: true,
      readWhere: () => ({}),
    },
  });
  const { draft, passkey } = await decisions.draft("apr_1", { decision: "approve", card_digest: DIGEST });
  const challenge = Buffer.from(passkey?.challenge ?? "", "base64url");
  const right = authenticator.answer(challenge);
  const stranger = new TestAuthenticator();
  for (const [assertion, code] of [
    [{ ...right, signature: randomBytes(70).toString("base64url") }, "signature_invalid"],
    [authenticator.answer(randomBytes(32)), "passkey_refused"],
    [stranger.answer(challenge), "passkey_refused"],
  ] as const) {
    const given = decisions.give({ draft, assertion: assertionRecord(assertion) });
    await assert.rejects(given, (error) => error instanceof Denied && error.code === code);
  }
  await assert.rejects(decisions.give({ draft, assertion: {} }), Denied);
  assert.deepEqual(submitted, []);
  await decisions.give({ draft, assertion: assertionRecord(right) });
  assert.deepEqual(submitted, [right]);
  usable = [];
  const without = decisions.draft("apr_1", { decision: "approve", card_digest: DIGEST });
  await assert.rejects(without, (error) => error instanceof Denied && error.code === "passkey_needed");
});

test("a condition that is none is refused in words, and nothing is drafted", async () => {
  const budget = { attempts: 1, side_effects: 1, duration_seconds: 60, spend_cents: 0 };
  const card = { scope: { actions: ["demo.get"] }, run: { budget } };
  const client = {
    approval: async () => ({ card_digest: DIGEST, mode: "session", card }),
  } as unknown as OperatorClient;
  const decisions = createDecisions({
    ...{ clock: { bootMs: () => 0 }, random: { bytes: (size) => randomBytes(size) }, client: () => client },
    ...{ passkeys: () => [], secret: { require: async () => undefined }, passkeysOnly: false, readWhere: () => ({}) },
  });
  const whole = { action: "demo.get", text: "id=1" };
  for (const where of [[null], ["id=1"], [[]], [{ ...whole, text: 1 }], Array.from({ length: 65 }, () => whole)]) {
    const drafted = decisions.draft("apr_1", { decision: "approve", card_digest: DIGEST, narrow: { where } });
    await assert.rejects(drafted, (error) => error instanceof Denied && error.code === "value_not_allowed");
  }
});
