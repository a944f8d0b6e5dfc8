import assert from "node:assert/strict";
import { generateKeyPairSync, sign, verify } from "node:crypto";
import { test } from "node:test";
import { digestBytes } from "../../../src/kernel/canonical-json.ts";
import { Fault } from "../../../src/kernel/failure.ts";
import { type AcceptedRequest, beginRequest } from "./pipeline.ts";
import { defineRoute } from "./route.ts";
import { signedStatement } from "./signed.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const rule = (scheme: "bytes" | "canonical") => ({
  scheme,
  verify: (keyId: string, statement: Buffer, signature: Buffer) =>
    keyId === "k" && verify(null, statement, publicKey, signature),
});
const schema = { type: "object", additionalProperties: { type: "integer" } } as const;
const byBytes = defineRoute({ method: "POST", path: "/s", body: { kind: "json", schema }, signed: rule("bytes") });
const byMeaning = defineRoute({
  method: "POST",
  path: "/s",
  body: { kind: "json", schema },
  signed: rule("canonical"),
});
const plainRoute = defineRoute({ method: "POST", path: "/s", body: { kind: "json", schema } });

function head(...fields: readonly string[]) {
  return { method: "POST", target: "/s", rawHeaders: ["Host", "t", "Content-Type", "application/json", ...fields] };
}

async function send(route: typeof byBytes, body: string, ...fields: readonly string[]): Promise<AcceptedRequest> {
  const intake = beginRequest(route, head(...fields));
  intake.push(Buffer.from(body));
  return (await intake.finish()) as AcceptedRequest;
}

async function signatureOver(scheme: "bytes" | "canonical", body: string): Promise<string> {
  const { digest } = await send(plainRoute, body);
  const statement = signedStatement(rule(scheme), {
    head: head(),
    mediaType: "application/json",
    bytes: Buffer.from(body),
    commandDigest: digest,
  });
  return sign(null, statement, privateKey).toString("base64");
}

test("when bytes were signed, the record holds both the representation and the canonicalization", async () => {
  const body = '{ "b": 2, "a": 1 }';
  const accepted = await send(byBytes, body, "Gw-Key-Id", "k", "Gw-Signature", await signatureOver("bytes", body));
  assert.deepEqual(accepted.signature, {
    ...{ scheme: "bytes", key_id: "k", media_type: "application/json" },
    ...{ body_digest: digestBytes(Buffer.from(body)), canonicalization: "RFC 8785, SHA-256" },
    command_digest: accepted.digest,
  });
});

test("a signature over bytes covers those bytes and no other spelling of the same command", async () => {
  const signature = await signatureOver("bytes", '{"a":1,"b":2}');
  await assert.rejects(send(byBytes, '{"b":2,"a":1}', "Gw-Key-Id", "k", "Gw-Signature", signature), {
    code: "request_signature_invalid",
  });
});

test("when the canonical object was signed, alternate encodings are refused before verification", async () => {
  let asked = 0;
  const counting = defineRoute({
    method: "POST",
    path: "/s",
    body: { kind: "json", schema },
    signed: { scheme: "canonical", verify: () => ++asked > 0 },
  });
  for (const body of ['{"b":2,"a":1}', '{"a":1, "b":2}', '{"a":1,"\\u0062":2}', '{"a":1,"b":2}\n']) {
    await assert.rejects(send(counting, body, "Gw-Key-Id", "k", "Gw-Signature", "AAAA"), {
      code: "request_encoding_not_canonical",
    });
  }
  assert.equal(asked, 0);
  await send(counting, '{"a":1,"b":2}', "Gw-Key-Id", "k", "Gw-Signature", "AAAA");
  assert.equal(asked, 1);
});

test("a route whose path ends with a slash has a canonical form too", async () => {
  const params = { type: "object", required: ["a"], properties: { a: { type: "string" } } } as const;
  const signed = { scheme: "canonical", verify: () => true } as const;
  const slashed = defineRoute({ method: "POST", path: "/s/{a}/", params, body: { kind: "none" }, signed });
  const fields = ["Host", "t", "Gw-Key-Id", "k", "Gw-Signature", "AAAA"];
  const ask = async (target: string) =>
    beginRequest(slashed, { method: "POST", target, rawHeaders: fields }).finish() as Promise<AcceptedRequest>;
  assert.equal((await ask("/s/x/")).signature?.scheme, "canonical");
  await assert.rejects(ask("/s/%78/"), { code: "request_encoding_not_canonical" });
});

test("a signature of one scheme does not pass for the other", async () => {
  const body = '{"a":1}';
  const crossed = await signatureOver("bytes", body);
  await assert.rejects(send(byMeaning, body, "Gw-Key-Id", "k", "Gw-Signature", crossed), {
    code: "request_signature_invalid",
  });
  const right = await signatureOver("canonical", body);
  assert.equal((await send(byMeaning, body, "Gw-Key-Id", "k", "Gw-Signature", right)).signature?.scheme, "canonical");
});

test("no route takes a signature for an upload, whose bytes it would not cover", () => {
  const file = { kind: "file", filename: "optional", contentType: "optional" } as const;
  for (const scheme of ["bytes", "canonical"] as const) {
    const body = { kind: "multipart", parts: { file } } as const;
    assert.throws(() => defineRoute({ method: "POST", path: "/s", body, signed: rule(scheme) }), Fault);
  }
});

test("a missing, repeated or malformed signature is refused", async () => {
  const signature = await signatureOver("bytes", "{}");
  const code = async (...fields: readonly string[]) =>
    send(byBytes, "{}", ...fields).then(
      () => "accepted",
      (error) => error.code,
    );
  assert.equal(await code("Gw-Key-Id", "k", "Gw-Signature", signature), "accepted");
  assert.equal(await code(), "request_signature_missing");
  assert.equal(await code("Gw-Key-Id", "k"), "request_signature_missing");
  assert.equal(await code("Gw-Key-Id", "k", "Gw-Key-Id", "k", "Gw-Signature", signature), "request_signature_missing");
  assert.equal(await code("Gw-Key-Id", "other", "Gw-Signature", signature), "request_signature_invalid");
  // Base64 has spellings of its own: bits that a lenient decoder ignores.
  assert.equal(
    await code(
      "Gw-Key-Id",
      "k",
      "Gw-Signature",
      signature.replace(/[AQgw]==$/, (end) => `${String.fromCharCode(end.charCodeAt(0) + 1)}==`),
    ),
    "request_signature_invalid",
  );
});
