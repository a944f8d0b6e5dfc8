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
import { assertionRecord, challengeFor } from "../../../conventions/passkey/assertion.ts";
import { passkeyRecord } from "../../../conventions/passkey/passkey.ts";
import { TestAuthenticator } from "../../../conventions/passkey/testing/authenticator.ts";
import { canonicalJson, digestText } from "../../../kernel/canonical-json.ts";
import { keyIdOf } from "../../../vault/keys.ts";
import { checkLog } from "./check-log.ts";

const VAULT = "vault_1";
const operator = generateKeyPairSync("ed25519");
const operatorKey = rawPublicOf("ed25519", operator.publicKey);
const reading = generateKeyPairSync("x25519");
const random = { bytes: (size: number) => randomBytes(size) };
const owner = { name: "ada", keyId: keyIdOf(operatorKey), privateKey: operator.privateKey, rawKey: operatorKey };

/** A passkey's answer for a statement of this text, as the gateway puts it into the log. */
function handOf(authenticator: TestAuthenticator, statement: string, bent = {}, by = owner): string {
  return canonicalJson({
    vault_id: VAULT,
    operator_key: by.rawKey.toString("base64url"),
    statement_digest: digestText(statement),
    passkey: passkeyRecord(authenticator.enrol(by, VAULT)),
    assertion: assertionRecord(authenticator.answer(challengeFor(Buffer.from(statement)), bent)),
  });
}

/**
 * A log whose frames carry these, one a frame, checked as a stranger would: from the folder and pinned keys alone. So many of them were
 * verified before, by whoever remembers where.
 */
async function verifyWith(hands: readonly string[], pins: readonly Buffer[] = [operatorKey], verified = 0) {
  const folder = mkdtempSync(join(tmpdir(), "gw-hand-"));
  const stamp = Buffer.alloc(STAMP_BYTES);
  stamp[0] = 1;
  try {
    const log = await openLog({
      ...{ folder, random, recipients: [reading.publicKey], vaultGeneration: 1, vaultHash: Buffer.alloc(32) },
      clock: { wallMs: () => 1_800_000_000_000 },
    });
    let sealed: { readonly frame: number; readonly link: string } | null = null;
    for (const [index, hand] of hands.entries()) {
      log.stamp(() => encodeSection(stamp, [hand]));
      await log.append([
        {
          ...{ event_id: `evt_${index}`, occurred_at: "2026-01-01T00:00:00.000Z" },
          ...{ event_type: "decision_refused", code: "not_found" },
        },
      ]);
      if (index < verified) sealed = log.head();
    }
    await log.close();
    return await checkLog(folder, null, { operators: pins, allowUnattested: true, sealed });
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

test("an answer by another operator's key is not counted as this one's, whatever name and credential id it bears", async () => {
  const authenticator = new TestAuthenticator();
  const forger = generateKeyPairSync("ed25519");
  const rawKey = rawPublicOf("ed25519", forger.publicKey);
  const by = { name: "ada", keyId: keyIdOf(rawKey), privateKey: forger.privateKey, rawKey };
  const report = await verifyWith([
    handOf(authenticator, "one"),
    handOf(authenticator, "two", { counter: 1 }, by),
    handOf(authenticator, "three"),
  ]);
  assert.equal(report.verdict, "intact");
  assert.deepEqual(
    report.hands.map(({ keyId, decisions, pinned }) => [keyId, decisions, pinned]),
    [
      [owner.keyId, 2, true],
      [by.keyId, 1, false],
    ],
  );
  const told = report.notices.filter(({ code }) => code.startsWith("hand_"));
  assert.deepEqual(
    told.map(({ code }) => code),
    ["hand_not_pinned"],
  );
  assert.ok(told[0]?.detail?.includes(by.keyId));
});

test("an answer that was forged, bent, repeated or not for a decision is a breach", async () => {
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
  const login = createHash("sha256").update("gw console login v1\0").update(randomBytes(32)).digest();
  assert.equal(await breachOf(handOf(authenticator, "four", { challenge: login })), "hand_invalid");
  const other = { challenge: challengeFor(Buffer.from("another")) };
  assert.equal(await breachOf(handOf(authenticator, "five", other)), "hand_invalid");
});

test("what was verified before is not verified again, and counts as before: once, and with its counter", async () => {
  const authenticator = new TestAuthenticator();
  const foreign = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const good = handOf(authenticator, "one");
  const bent = handOf(authenticator, "two", { key: foreign });
  const after = async (verified: number, ...hands: string[]) => await verifyWith(hands, [operatorKey], verified);
  assert.equal((await after(1, good, bent)).firstBreach?.code, "hand_invalid");
  const report = await after(2, good, bent);
  assert.equal(report.verdict, "intact");
  assert.equal(report.hands[0]?.decisions, 2);
  assert.equal((await after(1, good, good)).firstBreach?.code, "hand_repeated");
  assert.equal((await after(1, "no JSON", good)).firstBreach?.code, "hand_invalid");
  // An enrolment that nobody verified in this check is verified with the first answer that is new.
  const nobodys = (statement: string) => ({ ...JSON.parse(handOf(authenticator, statement)), vault_id: "vault_2" });
  const first = nobodys("five");
  const second = { ...nobodys("six"), passkey: first.passkey };
  const enrolled = { ...second, vault_id: VAULT };
  assert.equal((await after(1, canonicalJson(first), canonicalJson(second))).firstBreach?.code, "hand_invalid");
  assert.equal((await after(1, canonicalJson(first), canonicalJson(enrolled))).verdict, "intact");
  const higher = handOf(authenticator, "three", { counter: 9 });
  const lower = handOf(authenticator, "four", { counter: 8 });
  assert.ok((await after(1, higher, lower)).notices.some(({ code }) => code === "hand_counted_back"));
});

test("a counter that went back is told and no breach, since a gateway that lost its state lets it", async () => {
  const authenticator = new TestAuthenticator();
  const later = handOf(authenticator, "one", { counter: 9 });
  const report = await verifyWith([later, handOf(authenticator, "two", { counter: 8 })]);
  assert.equal(report.verdict, "intact");
  assert.ok(report.notices.some(({ code }) => code === "hand_counted_back"));
});
