import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { encodeSection } from "../../../audit/frame/section.ts";
import { STAMP_BYTES } from "../../../audit/frame/stamp.ts";
import { rawPublicOf } from "../../../audit/keys/raw.ts";
import { openLog } from "../../../audit/log.ts";
import { assertionRecord } from "../../../conventions/passkey/assertion.ts";
import { passkeyRecord } from "../../../conventions/passkey/passkey.ts";
import { TestAuthenticator } from "../../../conventions/passkey/testing/authenticator.ts";
import { canonicalJson } from "../../../kernel/canonical-json.ts";
import { keyIdOf } from "../../../vault/keys.ts";
import { checkLog } from "./check-log.ts";

const VAULT = "vault_1";
const operator = generateKeyPairSync("ed25519");
const operatorKey = rawPublicOf("ed25519", operator.publicKey);
const reading = generateKeyPairSync("x25519");
const random = { bytes: (size: number) => randomBytes(size) };
const owner = { name: "ada", keyId: keyIdOf(operatorKey), privateKey: operator.privateKey };

/** A passkey's answer for a statement of this text, as the gateway puts it into the log. */
function handOf(authenticator: TestAuthenticator, statement: string, bent = {}): string {
  const challenge = createHash("sha256").update(statement).digest();
  return canonicalJson({
    vault_id: VAULT,
    operator_key: operatorKey.toString("base64url"),
    passkey: passkeyRecord(authenticator.enrol(owner, VAULT)),
    assertion: assertionRecord(authenticator.answer(challenge, bent)),
  });
}

/** A log whose frames carry these, one a frame, checked as a stranger would: from the folder and pinned keys alone. */
async function verifyWith(hands: readonly string[], pins: readonly Buffer[] = [operatorKey]) {
  const folder = mkdtempSync(join(tmpdir(), "gw-hand-"));
  const stamp = Buffer.alloc(STAMP_BYTES);
  stamp[0] = 1;
  try {
    const log = await openLog({
      ...{ folder, random, recipients: [reading.publicKey], vaultGeneration: 1, vaultHash: Buffer.alloc(32) },
      clock: { wallMs: () => 1_800_000_000_000 },
    });
    for (const hand of hands) {
      log.stamp(() => encodeSection(stamp, [hand]));
      await log.append([
        {
          ...{ event_id: `evt_${hands.indexOf(hand)}`, occurred_at: "2026-01-01T00:00:00.000Z" },
          ...{ event_type: "decision_refused", code: "not_found" },
        },
      ]);
    }
    await log.close();
    return await checkLog(folder, null, { operators: pins, allowUnattested: true });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("a stranger counts decisions by passkey from the log alone, and knows whose they are by the key that they pinned", async () => {
  const authenticator = new TestAuthenticator();
  const hands = [handOf(authenticator, "one"), handOf(authenticator, "two")];
  const report = await verifyWith(hands);
  assert.equal(report.verdict, "intact");
  assert.deepEqual(report.hands, [
    {
      ...{ operator: "ada", keyId: owner.keyId, passkey: "key of ada", decisions: 2, pinned: true },
    },
  ]);
  const other = await verifyWith(hands, [rawPublicOf("ed25519", generateKeyPairSync("ed25519").publicKey)]);
  assert.deepEqual(
    other.hands.map(({ pinned }) => pinned),
    [false],
  );
  assert.ok(other.notices.some(({ code }) => code === "hand_not_pinned"));
});

test("an answer that was forged, bent, repeated or counts back is a breach", async () => {
  const authenticator = new TestAuthenticator("EdDSA");
  const good = handOf(authenticator, "one");
  const breachOf = async (...hands: string[]) => (await verifyWith(hands)).firstBreach?.code;
  assert.equal(await breachOf(good), undefined);
  assert.equal(await breachOf(good.replace('"vault_1"', '"vault_2"')), "hand_invalid");
  assert.equal(await breachOf("no JSON"), "hand_invalid");
  const foreign = generateKeyPairSync("ed25519").privateKey;
  assert.equal(await breachOf(handOf(authenticator, "two", { key: foreign })), "hand_invalid");
  assert.equal(await breachOf(handOf(authenticator, "three", { flags: 0x01 })), "hand_invalid");
  assert.equal(await breachOf(good, good), "hand_repeated");
  const later = handOf(authenticator, "four", { counter: 9 });
  assert.equal(await breachOf(later, handOf(authenticator, "five", { counter: 8 })), "hand_repeated");
});
