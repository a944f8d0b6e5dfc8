import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { test } from "node:test";
import { Denied } from "../../kernel/failure.ts";
import { Secret } from "../../kernel/secret.ts";
import { readKeyId, readSigningKey, signBase, signMessage } from "./sign.ts";

const KEY = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----
`;

test("the signature of RFC 9421, appendix B.2.6, comes out to the byte", () => {
  const covered = [
    ["date", "Tue, 20 Apr 2021 02:07:55 GMT"],
    ["@method", "POST"],
    ["@path", "/foo"],
    ["@authority", "example.com"],
    ["content-type", "application/json"],
    ["content-length", "18"],
  ] as const;
  const about = { created: 1_618_884_473, keyId: "test-key-ed25519", nonce: null };
  const { parameters, signature } = signBase(covered, about, createPrivateKey(KEY));
  assert.equal(
    parameters,
    '("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"',
  );
  assert.equal(
    signature.toString("base64"),
    "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==",
  );
});

test("a request is signed with its address, every field that it carries, and its body", () => {
  using key = Secret.fromText(KEY);
  const request = {
    method: "POST",
    url: "https://api.acme.example/things?a=1",
    headers: { accept: "*/*", "Content-Type": "application/json", "Idempotency-Key": "key-1", "if-match": '"v1"' },
    body: Buffer.from('{"hello": "world"}'),
    atMs: 1_618_884_473_500,
    scheme: "http-signature",
    nonce: "evt_1",
  } as const;
  const fields = Object.fromEntries(
    signMessage(request, "robot", key, request.nonce).map(({ name, value }) => [name, value.use(String)]),
  );
  // The digest is the one of RFC 9530, appendix D, for these very bytes.
  assert.equal(fields["content-digest"], "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:");
  const names = '"@method" "@target-uri" "accept" "content-type" "idempotency-key" "if-match" "content-digest"';
  const parameters = `(${names});created=1618884473;keyid="robot";nonce="evt_1"`;
  assert.equal(fields["signature-input"], `gw=${parameters}`);
  const base = [
    '"@method": POST',
    '"@target-uri": https://api.acme.example/things?a=1',
    '"accept": */*',
    '"content-type": application/json',
    '"idempotency-key": key-1',
    '"if-match": "v1"',
    `"content-digest": ${fields["content-digest"]}`,
    `"@signature-params": ${parameters}`,
  ].join("\n");
  const signature = Buffer.from(fields["signature"]?.slice("gw=:".length, -1) ?? "", "base64");
  assert.ok(verify(null, Buffer.from(base), createPublicKey(KEY), signature));
});

test("a key of another type and an identifier that would end its quotes are refused", () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  using other = Secret.fromText(privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  using nonsense = Secret.fromText("no key at all");
  const refuses = (work: () => unknown): void =>
    assert.throws(work, (error) => error instanceof Denied && error.code === "credential_invalid");
  refuses(() => readSigningKey(other));
  refuses(() => readSigningKey(nonsense));
  for (const id of [undefined, "", 'a"b', "a\\b", "a b", "a\nb"]) refuses(() => readKeyId(id));
});
