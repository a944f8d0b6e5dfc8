import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { canonicalJson } from "../../kernel/canonical-json.ts";
import { signSsh } from "../../kernel/ssh-key.ts";
import {
  canonicalFlat,
  findUnsendable,
  type PlainValue,
  REQUEST_BYTES_MAX,
  readRequest,
  signedBytes,
  writeRequest,
} from "./request.ts";
import { parseStrictJson } from "./strict-json.ts";

const ID = "call_0123456789";
const NONCE = "AAAAAAAAAAAAAAAAAAAAAA";
const PLACE = { hostKey: "ssh-ed25519 AAAA", nonce: NONCE };
const draft = { action: "restart_worker", fields: { worker: "web-1" }, requestId: ID };

function reading(text: string) {
  const found = readRequest(Buffer.from(text));
  return found.kind === "refused" ? found.code : found.request;
}

test("a request is one flat object with action, fields and request_id", () => {
  const bytes = writeRequest(draft, PLACE, null);
  assert.equal(
    bytes.toString(),
    `{"action":"restart_worker","nonce":"${NONCE}","request_id":"${ID}","worker":"web-1"}\n`,
  );
  const request = reading(bytes.toString());
  assert.ok(typeof request === "object");
  assert.equal(request.action, "restart_worker");
  assert.equal(request.requestId, ID);
  assert.equal(request.nonce, NONCE);
  assert.equal(request.signature, null);
  assert.deepEqual([...request.fields], [["worker", "web-1"]]);
});

test("white space and the order of members make no difference to a person who types one", () => {
  const request = reading(`{ "worker": "web-1",\n "request_id": "${ID}", "action": "restart_worker" }\n`);
  assert.ok(typeof request === "object" && request.nonce === null);
});

test("a signature covers every member but itself, and the host that the request is for", () => {
  let covered = Buffer.alloc(0);
  const bytes = writeRequest(draft, PLACE, (data) => {
    covered = Buffer.from(data);
    return Buffer.from("sig");
  });
  const request = reading(bytes.toString());
  assert.ok(typeof request === "object");
  assert.equal(request.signature, Buffer.from("sig").toString("base64"));
  assert.deepEqual(signedBytes(PLACE.hostKey, request.signed), covered);
  assert.notDeepEqual(signedBytes("ssh-ed25519 BBBB", request.signed), covered);
  assert.ok(covered.toString().startsWith("gw-ssh-request-v1\nssh-ed25519 AAAA\n{"));
});

const malformed = [
  "",
  "null",
  "[]",
  "{",
  `{"action":"a","request_id":"${ID}"}{}`,
  `{"action":"a","request_id":"${ID}","x":null}`,
  `{"action":"a","request_id":"${ID}","x":{}}`,
  `{"action":"a","request_id":"${ID}","x":["a"]}`,
  `{"action":"a","request_id":"${ID}","x":1.5}`,
  `{"action":"a","request_id":"${ID}","x":1e400}`,
  `{"action":"a","request_id":"${ID}","x":9007199254740993}`,
  `{"action":"a","action":"b","request_id":"${ID}"}`,
  `{"action":"a","\\u0061ction":"b","request_id":"${ID}"}`,
  `{"action":"a","request_id":"${ID}","X":"a"}`,
  `{"action":"a","request_id":"${ID}","__proto__":"a"}`,
  `{"action":"a","request_id":"${ID}","a b":"a"}`,
  `{"action":7,"request_id":"${ID}"}`,
  `{"request_id":"${ID}"}`,
  `{"action":"a","request_id":"${ID}","nonce":1}`,
  `{"action":"a","request_id":"${ID}","signature":true}`,
  `\ufeff{"action":"a","request_id":"${ID}"}`,
  `{'action':'a','request_id':'${ID}'}`,
];
test("anything else is malformed", () => {
  for (const text of malformed) assert.equal(reading(text), "request_malformed", text);
  assert.equal(readRequest(Buffer.from([0x7b, 0xff, 0x7d])).kind, "refused");
});

test("a request identifier has one shape", () => {
  for (const id of [
    "",
    "short",
    "has space 1",
    "../../etc/passwd",
    "a".repeat(65),
    "call/12345678",
    "call_1234\n5678",
  ]) {
    assert.equal(reading(JSON.stringify({ action: "a", request_id: id })), "request_id_invalid", id);
  }
  assert.equal(reading('{"action":"a"}'), "request_id_invalid");
});

test("a draft that no receiver could read is found before it is sent", () => {
  assert.equal(findUnsendable(draft), undefined);
  assert.ok(findUnsendable({ ...draft, action: "Restart" }));
  assert.ok(findUnsendable({ ...draft, requestId: "x" }));
  for (const name of ["action", "request_id", "nonce", "signature", "", "a-b", "A"]) {
    assert.ok(findUnsendable({ ...draft, fields: { [name]: "x" } }), name);
  }
  for (const value of [null, 0.5, [], {}]) assert.ok(findUnsendable({ ...draft, fields: { worker: value } }));
  assert.ok(findUnsendable({ ...draft, fields: { worker: "x".repeat(16_000) } }));
});

const plain: fc.Arbitrary<PlainValue> = fc.oneof(fc.string(), fc.maxSafeInteger(), fc.boolean());
const names = fc.stringMatching(/^[a-z][a-z0-9_]{0,10}$/);

test("the flat form equals RFC 8785", () => {
  fc.assert(
    fc.property(fc.dictionary(names, plain), (members) => {
      const clean = { ...members };
      assert.equal(canonicalFlat(clean), canonicalJson(clean));
    }),
  );
});

test("what can be sent reads back as what was meant", () => {
  fc.assert(
    fc.property(fc.dictionary(names, plain, { maxKeys: 6 }), (fields) => {
      const meant = { ...draft, fields: { ...fields } };
      if (findUnsendable(meant) !== undefined) return;
      const request = reading(writeRequest(meant, PLACE, null).toString());
      assert.ok(typeof request === "object");
      assert.deepEqual(Object.fromEntries(request.fields), meant.fields);
    }),
  );
});

test("the largest request that may be sent still fits with its signature", () => {
  const key = generateKeyPairSync("ed25519").privateKey;
  const sized = (length: number) => ({ ...draft, fields: { worker: "x".repeat(length) } });
  let length = REQUEST_BYTES_MAX;
  while (findUnsendable(sized(length)) !== undefined) length--;
  const bytes = writeRequest(sized(length), PLACE, (data) => signSsh(key, data, 0) ?? assert.fail());
  assert.ok(bytes.length <= REQUEST_BYTES_MAX && bytes.length > REQUEST_BYTES_MAX - 512, String(bytes.length));
});

test("strict JSON refuses a member twice at any depth and takes what JSON.parse takes otherwise", () => {
  for (const text of [
    '{"a":1,"a":1}',
    '[{"b":{"a":1,"a":2}}]',
    '{"a":{"x":1},"a":2}',
    `${"[".repeat(40)}${"]".repeat(40)}`,
  ]) {
    assert.equal(parseStrictJson(text), undefined, text);
  }
  assert.deepEqual(parseStrictJson('{"a:b":"c:\\"d\\":{}"}'), { "a:b": 'c:"d":{}' });
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      assert.deepEqual(parseStrictJson(JSON.stringify(value)), JSON.parse(JSON.stringify(value)));
    }),
  );
});
