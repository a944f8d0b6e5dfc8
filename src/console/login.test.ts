import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { beforeEach, test } from "node:test";
import { assertionRecord } from "../conventions/passkey/assertion.ts";
import { PLACE, TestAuthenticator } from "../conventions/passkey/testing/authenticator.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { createLogin, type Login } from "./login.ts";

const owner = { name: "ada", keyId: "k1", privateKey: generateKeyPairSync("ed25519").privateKey };
const HOME = "192.0.2.1";
let nowMs = 0;
let authenticator: TestAuthenticator;
let login: Login;

beforeEach(() => {
  nowMs = 1_000;
  authenticator = new TestAuthenticator();
  const enrolled = authenticator.enrol(owner, "v");
  login = createLogin({
    ...{ clock: { bootMs: () => nowMs }, random: { bytes: (size) => randomBytes(size) }, origin: PLACE.origin },
    passkeys: async () => [enrolled],
  });
});
const denies = (code: string) => (error: unknown) => error instanceof Denied && error.code === code;
const begin = (network = HOME): string => String(login.begin(network)["challenge"]);
const finish = (challenge: string, by = authenticator, network = HOME) => {
  const assertion = assertionRecord(by.answer(Buffer.from(challenge, "base64url")));
  return login.finish(network, { challenge, assertion });
};

test("a login is good once, for its own challenge, and for minutes", async () => {
  const challenge = begin();
  assert.equal((await finish(challenge)).operator, "ada");
  await assert.rejects(finish(challenge), denies("console_draft_gone"));
  await assert.rejects(finish(randomBytes(32).toString("base64url")), denies("console_draft_gone"));
  await assert.rejects(finish(begin(), new TestAuthenticator()), denies("passkey_refused"));
  const late = begin();
  nowMs += defaults.consoleDraftMs;
  await assert.rejects(finish(late), denies("console_draft_gone"));
});

test("who only begins, from wherever, keeps the operator out of nothing", async () => {
  const challenge = begin();
  for (let one = 0; one < 20 * defaults.consoleLoginsBurst; one++) {
    try {
      login.begin(`198.51.100.${one % 50}`);
    } catch (error) {
      assert.ok(denies("console_login_busy")(error));
    }
  }
  assert.equal((await finish(challenge)).operator, "ada");
  assert.equal((await finish(begin())).operator, "ada");
});

test("one network is let try so often, and all together fail so often, until time has passed", async () => {
  for (let one = 0; one < defaults.consoleLoginsBurstPerAddress; one++) begin();
  assert.throws(() => begin(), denies("console_login_busy"));
  begin("192.0.2.2");
  nowMs += 1_000 / defaults.consoleLoginsPerSecondPerAddress;
  begin();
  for (let one = 0; one < defaults.consoleLoginsBurst; one++)
    await assert.rejects(login.finish(`198.51.100.${one}`, { challenge: "x" }), denies("console_draft_gone"));
  assert.throws(() => begin("192.0.2.3"), denies("console_login_busy"));
  nowMs += 1_000;
  begin("192.0.2.3");
});
