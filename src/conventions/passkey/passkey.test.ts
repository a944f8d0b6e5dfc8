import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { test } from "node:test";
import { Denied } from "../../kernel/failure.ts";
import { challengeFor, verifyAssertion } from "./assertion.ts";
import { demandFor, isDemanding, NO_RULES, stricter } from "./demand.ts";
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
    for (const key of [{ keyId: "k2" }, { name: "bob" }])
      assert.equal(isEnrolledBy(passkey, "vlt_1", [{ ...keys[0], ...key } as never]), false, "of another operator");
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

test("of a key's members each has to be what it is, and there is no other", () => {
  const asked = enrolmentChallenge(randomBytes(32));
  const readWith = (algorithm: "ES256" | "EdDSA", from: string, to: string, more = "") => {
    const authenticator = new TestAuthenticator(algorithm);
    const whole = authenticator.coseKey().toString("hex");
    assert.ok(whole.startsWith(from));
    const coseKey = Buffer.from(to + whole.slice(from.length) + more, "hex");
    return () => readRegistration(authenticator.register(asked, { coseKey }), asked, PLACE).algorithm;
  };
  const [ec, ed] = ["a5010203262001", "a4010103272006"];
  assert.equal(readWith("EdDSA", ed, ed)(), "EdDSA");
  for (const [algorithm, from, ...others] of [
    ["ES256", ec, "a5010103262001", "a5010203272001", "a5010203262002"],
    ["EdDSA", ed, "a4010203272006", "a4010103262006", "a4010103272001"],
  ] as const) {
    for (const to of others) refuses("passkey_refused", readWith(algorithm, from, to));
    const larger = from.replace(/^a5/, "a6").replace(/^a4/, "a5");
    refuses("passkey_refused", readWith(algorithm, from, larger, "0240"));
  }
  // One number has one spelling, although a curve would take it with a zero before it.
  refuses("passkey_malformed", readWith("ES256", `${ec}215820`, `${ec}21582100`));
  const short = new TestAuthenticator("EdDSA").coseKey().subarray(0, -1);
  short.writeUInt8(31, short.length - 32);
  refuses("passkey_malformed", () =>
    readRegistration(new TestAuthenticator().register(asked, { coseKey: short }), asked, PLACE),
  );
});

test("an answer brings no key, and an enrolment brings one", () => {
  const authenticator = new TestAuthenticator();
  const passkey = authenticator.enrol(ada, "vlt_1");
  const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, 1, 7]), authenticator.coseKey()]);
  refuses("passkey_malformed", () =>
    verifyAssertion(authenticator.answer(challenge, { flags: 0x45, more: attested }), passkey, challenge, 0),
  );
  const { authenticator_data } = authenticator.answer(challenge);
  refuses("passkey_malformed", () =>
    readRegistration({ ...authenticator.register(challenge), authenticator_data }, challenge, PLACE),
  );
});

test("a credential has a name of 1 to 1,023 bytes, all of them there", () => {
  const authenticator = new TestAuthenticator();
  const { authenticator_data: own, client_data } = authenticator.register(challenge);
  const head = Buffer.from(own, "base64url").subarray(0, 37 + 16);
  const readNamed = (bytes: number, key = authenticator.coseKey()) => {
    const data = Buffer.concat([head, Buffer.from([bytes >> 8, bytes & 0xff]), Buffer.alloc(bytes, 7), key]);
    const registration = { authenticator_data: data.toString("base64url"), client_data };
    return () => readRegistration(registration, challenge, PLACE).credentialId;
  };
  for (const bytes of [1, 1_023]) assert.equal(readNamed(bytes)(), Buffer.alloc(bytes, 7).toString("base64url"));
  for (const bytes of [0, 1_024]) refuses("passkey_malformed", readNamed(bytes));
  refuses("passkey_malformed", readNamed(5, Buffer.alloc(0)));
  const cut = { authenticator_data: head.subarray(0, 40).toString("base64url"), client_data };
  refuses("passkey_malformed", () => readRegistration(cut, challenge, PLACE));
});

test("each part of an answer is there, and no longer than it may be", () => {
  const authenticator = new TestAuthenticator();
  const passkey = authenticator.enrol(ada, "vlt_1");
  const said = (bent: Bent) => () => verifyAssertion(authenticator.answer(challenge, bent), passkey, challenge, 0);
  const plain = Buffer.from(authenticator.answer(challenge, { clientData: { note: "" } }).client_data, "base64url");
  const clientData = (bytes: number) => ({ clientData: { note: "x".repeat(bytes - plain.length) } });
  said(clientData(4_096))();
  refuses("passkey_malformed", said(clientData(4_097)));
  // An extension that takes whatever room there is: a map of one text.
  const extended = (bytes: number): Bent => {
    const room = bytes - 37 - 6;
    return {
      flags: 0x85,
      more: Buffer.from(`a1616e79${room.toString(16).padStart(4, "0")}${"78".repeat(room)}`, "hex"),
    };
  };
  said(extended(2_048))();
  refuses("passkey_malformed", said(extended(2_049)));
  said({ clientData: { crossOrigin: undefined } })();
  for (const part of ["authenticator_data", "client_data", "signature"] as const)
    refuses("passkey_malformed", () =>
      verifyAssertion({ ...authenticator.answer(challenge), [part]: "" }, passkey, challenge, 0),
    );
});

test("a passkey's key is of its own kind and spelled as it has to be", () => {
  for (const algorithm of ["ES256", "EdDSA"] as const) {
    const authenticator = new TestAuthenticator(algorithm);
    const passkey = authenticator.enrol(ada, "vlt_1");
    const answer = authenticator.answer(challenge);
    const other = algorithm === "ES256" ? "EdDSA" : "ES256";
    const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey.export({ format: "der", type: "spki" });
    const longer = Buffer.concat([Buffer.from(passkey.publicKey, "base64url"), Buffer.from([0])]);
    for (const bent of [
      { algorithm: other },
      { publicKey: p384.toString("base64url") },
      { publicKey: longer.toString("base64url") },
      { publicKey: "" },
    ] as const)
      refuses("passkey_malformed", () => verifyAssertion(answer, { ...passkey, ...bent }, challenge, 0));
  }
});

test("a point that is not on the curve is no key", () => {
  const authenticator = new TestAuthenticator();
  const asked = enrolmentChallenge(randomBytes(32));
  const key = authenticator.coseKey();
  key.writeUInt8(key.readUInt8(key.length - 1) ^ 1, key.length - 1);
  refuses("passkey_malformed", () => readRegistration(authenticator.register(asked, { coseKey: key }), asked, PLACE));
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

test("what a card says and what policy says now add up to the stricter of the two", () => {
  const [none, hand, two] = [
    { passkey: false, approvers: 1 },
    { passkey: true, approvers: 1 },
    { passkey: false, approvers: 2 },
  ] as const;
  assert.deepEqual([none, hand, two].map(isDemanding), [false, true, true]);
  assert.deepEqual(stricter(none, none), none);
  for (const [one, other] of [
    [none, hand],
    [hand, none],
    [hand, hand],
  ] as const)
    assert.deepEqual(stricter(one, other), hand);
  for (const [one, other] of [
    [none, two],
    [two, none],
    [two, two],
  ] as const)
    assert.deepEqual(stricter(one, other), two);
  for (const both of [stricter(hand, two), stricter(two, hand)])
    assert.deepEqual(both, { passkey: true, approvers: 2 });
});
