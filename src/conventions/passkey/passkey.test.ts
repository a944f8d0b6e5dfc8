import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { Denied } from "../../kernel/failure.ts";
import { challengeFor, verifyAssertion } from "./assertion.ts";
import { readCbor } from "./cbor.ts";
import { demandFor, NO_RULES } from "./demand.ts";
import { enrolmentChallenge, readRegistration } from "./enrol.ts";
import { isEnrolledBy } from "./passkey.ts";
import { type Bent, PLACE, TestAuthenticator } from "./testing/authenticator.ts";

const operator = generateKeyPairSync("ed25519");
const ada = { name: "ada", keyId: "k1", privateKey: operator.privateKey };
const keys = [{ name: "ada", keyId: "k1", publicKey: operator.publicKey }];
const challenge = challengeFor(Buffer.from("a statement"));

function refuses(code: string, work: () => unknown): void {
  assert.throws(work, (error) => error instanceof Denied && error.code === code);
}

for (const algorithm of ["ES256", "EdDSA"] as const) {
  test(`a passkey of ${algorithm} is enrolled, signed for, and answers for one statement`, () => {
    const authenticator = new TestAuthenticator(algorithm);
    const passkey = authenticator.enrol(ada, "vlt_1");
    assert.equal(passkey.algorithm, algorithm);
    assert.ok(isEnrolledBy(passkey, "vlt_1", keys));
    assert.equal(isEnrolledBy(passkey, "vlt_2", keys), false, "of another vault");
    assert.equal(isEnrolledBy({ ...passkey, operator: "bob" }, "vlt_1", keys), false, "given to somebody else");
    assert.equal(isEnrolledBy({ ...passkey, origin: "https://evil.example" }, "vlt_1", keys), false, "moved elsewhere");
    assert.equal(verifyAssertion(authenticator.answer(challenge), passkey, challenge, 0), 1);
    refuses("passkey_refused", () =>
      verifyAssertion(authenticator.answer(challenge), passkey, challengeFor(Buffer.from("another")), 0),
    );
  });
}

test("what is asked of an authenticator for an enrolment can be no decision", () => {
  const nonce = Buffer.from("a statement");
  assert.notDeepEqual(enrolmentChallenge(nonce), challengeFor(nonce));
});

const bends: readonly (readonly [string, string, Bent])[] = [
  ["for another card", "passkey_refused", { challenge: randomBytes(32) }],
  ["at another origin", "passkey_refused", { origin: "http://gw.localhost:7718" }],
  ["at a look-alike origin", "passkey_refused", { origin: "http://gw.localhost:7717.evil.example" }],
  ["for another place", "passkey_refused", { rpId: "localhost" }],
  ["that was made for an enrolment", "passkey_refused", { type: "webauthn.create" }],
  ["without a verified person", "passkey_refused", { flags: 0x01 }],
  ["with nobody present", "passkey_refused", { flags: 0x04 }],
  ["from a page inside another", "passkey_refused", { clientData: { crossOrigin: true } }],
  ["that names a page around it", "passkey_refused", { clientData: { topOrigin: "https://evil.example" } }],
  ["with bytes after its end", "passkey_malformed", { more: Buffer.from([0]) }],
  ["with extensions that are cut off", "passkey_malformed", { flags: 0x85, more: Buffer.from([0xa1, 0x61]) }],
  ["with extensions that are no map", "passkey_malformed", { flags: 0x85, more: Buffer.from([0x01]) }],
  [
    "signed by another key",
    "signature_invalid",
    { key: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey },
  ],
];

for (const [what, code, bent] of bends) {
  test(`an answer ${what} does not count`, () => {
    const authenticator = new TestAuthenticator();
    const passkey = authenticator.enrol(ada, "vlt_1");
    refuses(code, () => verifyAssertion(authenticator.answer(challenge, bent), passkey, challenge, 0));
    verifyAssertion(authenticator.answer(challenge), passkey, challenge, 0);
  });
}

test("a counter that stands still or goes back is a clone; one that never counts is none", () => {
  const authenticator = new TestAuthenticator();
  const passkey = authenticator.enrol(ada, "vlt_1");
  const answer = authenticator.answer(challenge, { counter: 7 });
  assert.equal(verifyAssertion(answer, passkey, challenge, 6), 7);
  refuses("passkey_cloned", () => verifyAssertion(answer, passkey, challenge, 7));
  refuses("passkey_cloned", () => verifyAssertion(answer, passkey, challenge, 8));
  refuses("passkey_cloned", () =>
    verifyAssertion(authenticator.answer(challenge, { counter: 0 }), passkey, challenge, 1),
  );
  assert.equal(verifyAssertion(authenticator.answer(challenge, { counter: 0 }), passkey, challenge, 0), 0);
});

test("an answer has one spelling, and every changed byte of it is noticed", () => {
  const authenticator = new TestAuthenticator();
  const passkey = authenticator.enrol(ada, "vlt_1");
  const answer = authenticator.answer(challenge);
  for (const part of ["authenticator_data", "client_data", "signature"] as const) {
    const bytes = Buffer.from(answer[part], "base64url");
    for (let at = 0; at < bytes.length; at++) {
      const bent = Buffer.from(bytes);
      bent.writeUInt8(bent.readUInt8(at) ^ 0x01, at);
      assert.throws(
        () => verifyAssertion({ ...answer, [part]: bent.toString("base64url") }, passkey, challenge, 0),
        (error) => error instanceof Denied,
        `${part} byte ${at}`,
      );
    }
    refuses("passkey_malformed", () =>
      verifyAssertion({ ...answer, [part]: `${answer[part]}=` }, passkey, challenge, 0),
    );
  }
  refuses("passkey_refused", () => verifyAssertion({ ...answer, credential_id: "other" }, passkey, challenge, 0));
});

test("an enrolment without a verified person, a key, or with a key of another kind is refused", () => {
  const authenticator = new TestAuthenticator();
  const asked = enrolmentChallenge(randomBytes(32));
  const tries: readonly (readonly [string, Bent])[] = [
    ["passkey_refused", { flags: 0x01 }],
    ["passkey_refused", { type: "webauthn.get" }],
    ["passkey_refused", { challenge: randomBytes(32) }],
    ["passkey_refused", { coseKey: Buffer.from("a401010326200621", "hex").subarray(0, 7) }],
    ["passkey_malformed", { coseKey: Buffer.from("a5010203262001", "hex") }],
    ["passkey_malformed", { coseKey: Buffer.from("bf01020326ff", "hex") }],
    ["passkey_malformed", { coseKey: Buffer.concat([authenticator.coseKey(), Buffer.from([0x00])]) }],
    ["passkey_malformed", { coseKey: Buffer.from("1818", "hex") }],
  ];
  for (const [code, bent] of tries) {
    assert.throws(
      () => readRegistration(authenticator.register(asked, bent), asked, PLACE),
      (error) => error instanceof Denied && (error.code === code || error.code === "passkey_malformed"),
      JSON.stringify(bent),
    );
  }
  assert.equal(readRegistration(authenticator.register(asked), asked, PLACE).algorithm, "ES256");
});

test("a point that is not on the curve is no key", () => {
  const authenticator = new TestAuthenticator();
  const asked = enrolmentChallenge(randomBytes(32));
  const key = authenticator.coseKey();
  key.writeUInt8(key.readUInt8(key.length - 1) ^ 1, key.length - 1);
  refuses("passkey_malformed", () => readRegistration(authenticator.register(asked, { coseKey: key }), asked, PLACE));
});

test("CBOR is read strictly: whatever the bytes, a value with its length or a refusal", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      try {
        const { length } = readCbor(Buffer.from(bytes));
        assert.ok(length > 0 && length <= bytes.length);
      } catch (error) {
        assert.ok(error instanceof Denied && error.code === "passkey_malformed");
      }
    }),
  );
  for (const hex of [
    "1817",
    "190017",
    "5f4100ff",
    "a2010101 02",
    "fb3ff0000000000000",
    "818181818181",
    "62ff",
    "c000",
  ]) {
    refuses("passkey_malformed", () => readCbor(Buffer.from(hex.replaceAll(" ", ""), "hex")));
  }
  assert.deepEqual(readCbor(Buffer.from("a10203", "hex")), { value: new Map([[2, 3]]), length: 3 });
});

test("a rule looks at all that a yes would allow", () => {
  const read = { action: "acme.thing.get", effect: "read", credential: "token" };
  const send = { action: "mail.send", effect: "send", credential: "mail-key" };
  const rule = { all: false, effects: [], credentials: [], packs: [] };
  const asks = (passkey: Parameters<typeof demandFor>[0]["passkey"], ...allowed: (typeof read)[]) =>
    demandFor({ passkey, twoPeople: [] }, allowed).passkey;
  assert.deepEqual(demandFor(NO_RULES, [read, send]), { passkey: false, approvers: 1 });
  assert.equal(asks({ ...rule, all: true }), true, "whatever it is");
  assert.equal(asks({ ...rule, effects: ["send"] }, read), false);
  assert.equal(asks({ ...rule, effects: ["send"] }, read, send), true, "a session that could send too");
  assert.equal(asks({ ...rule, credentials: ["token"] }, read), true);
  assert.equal(asks({ ...rule, packs: ["mail"] }, send), true);
  assert.equal(asks({ ...rule, packs: ["mai"] }, send), false);
  assert.equal(demandFor({ passkey: null, twoPeople: ["mail.send"] }, [read, send]).approvers, 2);
});
