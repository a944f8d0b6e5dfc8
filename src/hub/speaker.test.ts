import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { rawPublicOf } from "../audit/keys/raw.ts";
import { hasLeft, speakerOf } from "./speaker.ts";
import { type EnrolmentStatement, type LeaveStatement, signHubWith } from "./statement.ts";

const ada = generateKeyPairSync("ed25519").privateKey;
const operators = [rawPublicOf("ed25519", ada)];
const about = { hub_id: "hub_1", gateway: "web1", identity_key: "a2V5", vault_id: "vlt_1" };
const by = { operator: "ada", operator_key_id: "key" };

function enrolled(at: string) {
  const statement: EnrolmentStatement = { format: "gw.hub-gateway/v1", ...about, ...by, log_id: "log", signed_at: at };
  const { text, signature } = signHubWith(statement, ada);
  return { name: "web1", enrolment: text, enrolment_signature: signature };
}

function leaving(joined_at: string, key = ada) {
  const statement: LeaveStatement = { format: "gw.hub-leave/v1", ...about, ...by, joined_at, signed_at: "t9" };
  const { text, signature } = signHubWith(statement, key);
  return { leave: text, leave_signature: signature };
}

test("a leave ends the enrolment that it was signed for; played again it ends no later one, and nobody else's ends any", () => {
  const speaker = speakerOf(enrolled("t2"), "hub_1", operators);
  assert.ok(speaker !== undefined);
  assert.equal(hasLeft(leaving("t2"), speaker, operators), true);
  assert.equal(hasLeft(leaving("t1"), speaker, operators), false, "an old one");
  assert.equal(hasLeft(leaving("t2", generateKeyPairSync("ed25519").privateKey), speaker, operators), false);
  assert.equal(hasLeft({ leave: null, leave_signature: null }, speaker, operators), false);
});
