import { type DecisionRules, NO_RULES, type PasskeyRule, RULE_EFFECTS } from "../../conventions/passkey/demand.ts";
import { type EnrolledPasskey, passkeyRecord, readPasskeyKey } from "../../conventions/passkey/passkey.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { NAME, PACK, readLabel, shape, sortedList, TIME } from "./entries.ts";

/** Who approves with what: the passkeys of operators, and the rules that demand them or a second person. */
const ACTION = /^[a-z][a-z0-9-]{0,63}\.[a-z0-9._-]{1,128}$/;
const ORIGIN = /^https?:\/\/[a-z0-9.-]{1,253}(?::\d{1,5})?$/;
const RP_ID = /^[a-z0-9.-]{1,253}$/;
const COUNTER_MAX = 0xffff_ffff;

export const passkeyPage = passkeyRecord;

export function readPasskey(value: JsonValue, where: string): EnrolledPasskey {
  const one = shape.members(value, where, [
    "operator",
    "operator_key_id",
    "name",
    "credential_id",
    "algorithm",
    "public_key",
    "rp_id",
    "origin",
    "counter",
    "enrolled_at",
    "signature",
  ]);
  const bytes = (member: "credential_id" | "public_key" | "signature", min: number, max: number): Buffer =>
    shape.bytes(one[member], `${where}/${member}`, min, max);
  const algorithm = shape.oneOf(one.algorithm, `${where}/algorithm`, ["ES256", "EdDSA"]);
  const publicKey = bytes("public_key", 32, 256);
  readPasskeyKey(algorithm, publicKey);
  return {
    operator: shape.text(one.operator, `${where}/operator`, 200, NAME),
    operatorKeyId: shape.text(one.operator_key_id, `${where}/operator_key_id`, 64, NAME),
    name: shape.text(one.name, `${where}/name`, 200, NAME),
    credentialId: bytes("credential_id", 1, 1_023).toString("base64url"),
    algorithm,
    publicKey: publicKey.toString("base64url"),
    rpId: shape.text(one.rp_id, `${where}/rp_id`, 253, RP_ID),
    origin: shape.text(one.origin, `${where}/origin`, 280, ORIGIN),
    counter: shape.integer(one.counter, `${where}/counter`, 0, COUNTER_MAX),
    enrolledAt: shape.text(one.enrolled_at, `${where}/enrolled_at`, 24, TIME),
    signature: bytes("signature", 64, 64).toString("base64url"),
  };
}

/** Undefined where nothing is demanded: the member stands only where it says something. */
export function rulesPage({ passkey, twoPeople }: DecisionRules): JsonObject | undefined {
  if (passkey === null && twoPeople.length === 0) return undefined;
  return { passkey: passkey === null ? null : { ...passkey }, two_people: twoPeople };
}

export function readRules(value: JsonValue | undefined, where: string): DecisionRules {
  if (value === undefined) return NO_RULES;
  const rules = shape.members(value, where, ["passkey", "two_people"]);
  const passkey = rules.passkey === null ? null : readPasskeyRule(rules.passkey, `${where}/passkey`);
  const twoPeople = sortedList(rules.two_people, `${where}/two_people`, readAction, (action) => action);
  if (passkey === null && twoPeople.length === 0) return shape.refuse(where, "absent when it is empty");
  return { passkey, twoPeople };
}

export function readAction(value: JsonValue, where: string): string {
  return shape.text(value, where, 200, ACTION);
}

function readPasskeyRule(value: JsonValue, where: string): PasskeyRule {
  const rule = shape.members(value, where, ["all", "effects", "credentials", "packs"]);
  const same = (name: string): string => name;
  const read = {
    all: shape.flag(rule.all, `${where}/all`),
    effects: sortedList(rule.effects, `${where}/effects`, (one, at) => shape.oneOf(one, at, RULE_EFFECTS), same),
    credentials: sortedList(rule.credentials, `${where}/credentials`, readLabel, same),
    packs: sortedList(rule.packs, `${where}/packs`, (one, at) => shape.text(one, at, 64, PACK), same),
  };
  const named = read.effects.length + read.credentials.length + read.packs.length;
  return read.all === (named === 0) ? read : shape.refuse(where, "all, or at least one thing named");
}
