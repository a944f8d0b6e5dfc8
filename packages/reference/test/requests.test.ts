import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { RequestRecord } from "../../request/src/record.ts";
import { seedReleases } from "../src/seed.ts";
import { type Stand, startStand } from "./stand.ts";

const json = { "content-type": "application/json" };
const good = { environment: "staging", release: seedReleases.second };
const text = JSON.stringify(good);
const promote = "/v1/deployments/promote";

interface Case {
  readonly rule: string;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly expect: readonly [status: number, code: string, pointer?: string];
}

const cases: readonly Case[] = [
  { rule: "a missing Content-Type is rejected", body: text, expect: [415, "media_type_missing"] },
  {
    rule: "another media type is rejected",
    headers: { "content-type": "text/json" },
    body: text,
    expect: [415, "media_type_unsupported"],
  },
  {
    rule: "a form is no JSON",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "environment=staging",
    expect: [415, "media_type_unsupported"],
  },
  {
    rule: "a charset other than utf-8 is rejected",
    headers: { "content-type": "application/json; charset=latin1" },
    body: text,
    expect: [415, "media_type_unsupported"],
  },
  {
    rule: "an encoded body is rejected",
    headers: { ...json, "content-encoding": "gzip" },
    body: text,
    expect: [415, "content_encoding_unsupported"],
  },
  {
    rule: "Accept chooses no parser",
    headers: { "content-type": "text/plain", accept: "application/json" },
    body: text,
    expect: [415, "media_type_unsupported"],
  },
  {
    rule: "duplicate member names are rejected",
    headers: json,
    body: `{"environment":"staging",${text.slice(1)}`,
    expect: [400, "json_duplicate_member", "/environment"],
  },
  {
    rule: "a duplicate that is spelled with escapes is rejected",
    headers: json,
    body: `{"\\u0065nvironment":"staging",${text.slice(1)}`,
    expect: [400, "json_duplicate_member", "/environment"],
  },
  {
    rule: "unknown members are rejected",
    headers: json,
    body: JSON.stringify({ ...good, force: true }),
    expect: [422, "unknown_member", "/force"],
  },
  {
    rule: "a boolean is not a string",
    headers: json,
    body: JSON.stringify({ ...good, release: true }),
    expect: [422, "wrong_type", "/release"],
  },
  {
    rule: "null is not an omitted member",
    headers: json,
    body: JSON.stringify({ ...good, release: null }),
    expect: [422, "wrong_type", "/release"],
  },
  {
    rule: "an omitted member is not an empty string",
    headers: json,
    body: '{"environment":"staging"}',
    expect: [422, "missing_member", "/release"],
  },
  {
    rule: "an empty string is not an omitted member",
    headers: json,
    body: JSON.stringify({ ...good, release: "" }),
    expect: [422, "value_not_allowed", "/release"],
  },
  { rule: "trailing data is rejected", headers: json, body: `${text}{}`, expect: [400, "json_malformed"] },
  { rule: "comments are rejected", headers: json, body: `/* c */${text}`, expect: [400, "json_malformed"] },
  { rule: "NaN is rejected", headers: json, body: '{"environment":NaN}', expect: [400, "json_malformed"] },
  {
    rule: "unquoted names are rejected",
    headers: json,
    body: '{environment:"staging"}',
    expect: [400, "json_malformed"],
  },
  {
    rule: "the body size is limited before parsing",
    headers: json,
    body: `{"environment":"${"x".repeat(300_000)}"}`,
    expect: [413, "body_too_large"],
  },
  {
    rule: "query parameters are never merged into the body",
    path: `${promote}?environment=production`,
    headers: json,
    body: text,
    expect: [422, "unknown_member", "/environment"],
  },
  {
    rule: "an integer is not a float",
    path: "/v1/environments/staging/rollbacks",
    headers: json,
    body: `{"origin_deployment_id":"d","expected_current_release_id":"${seedReleases.first}","expected_target_generation":1.0,"restore_release_id":"${seedReleases.first}","reason":"r","approval_id":"a"}`,
    expect: [422, "wrong_type", "/expected_target_generation"],
  },
  {
    rule: "a no-body route rejects {} with a JSON type",
    path: "/v1/sessions/revoke",
    headers: json,
    body: "{}",
    expect: [400, "body_not_allowed"],
  },
  {
    rule: "a no-body route rejects a form",
    path: "/v1/sessions/revoke",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "a=b",
    expect: [400, "body_not_allowed"],
  },
  {
    rule: "a no-body route rejects a Content-Type without a body",
    path: "/v1/sessions/revoke",
    headers: json,
    expect: [400, "body_not_allowed"],
  },
  {
    rule: "a no-body route merges no query",
    path: "/v1/sessions/revoke?all=true",
    expect: [422, "unknown_member", "/all"],
  },
  {
    rule: "a semantic check names its pointer",
    path: "/v1/reports",
    headers: json,
    body: '{"account":"a","range":{"start":"2026-02-01","end":"2026-01-01"},"format":"csv"}',
    expect: [422, "value_not_allowed", "/range/end"],
  },
  {
    rule: "a date that is none is rejected",
    path: "/v1/reports",
    headers: json,
    body: '{"account":"a","range":{"start":"2026-02-30","end":"2026-03-01"},"format":"csv"}',
    expect: [422, "value_not_allowed", "/range/start"],
  },
  {
    rule: "a method that the path does not have is told which it has",
    method: "PUT",
    headers: json,
    body: text,
    expect: [405, "method_not_allowed"],
  },
];

test("each rejected shape has its status, code and pointer, in one error envelope, and nothing is written", async (t) => {
  const stand = await startStand(t);
  const before = stand.dump();
  for (const { rule, method = "POST", path = promote, headers = {}, body, expect } of cases) {
    const reply = await stand.ask(method, path, { headers, ...(body === undefined ? {} : { body }) });
    const [status, code, pointer] = expect;
    assert.equal(reply.status, status, `${rule}: ${reply.text}`);
    assert.equal(reply.headers["content-type"], "application/problem+json", rule);
    const { code: own, errors, correlation_id } = reply.body;
    const [first] = errors;
    assert.equal(own === "schema_violation" ? first.code : own, code, rule);
    if (pointer !== undefined) assert.equal(first.path, pointer, rule);
    assert.equal(reply.headers["x-request-id"], correlation_id, rule);
  }
  assert.deepEqual(stand.dump(), before);
});

test("a no-body route rejects chunked framing with a zero-length chunk, at the edge", async (t) => {
  const stand = await startStand(t);
  const { port } = new URL(stand.reference.origin);
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(port), "127.0.0.1");
    let got = "";
    socket.on("data", (chunk) => {
      got += chunk;
      socket.end();
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(got));
    const lines = [
      "POST /v1/sessions/revoke HTTP/1.1",
      "Host: x",
      `Authorization: Bearer ${stand.token}`,
      "Transfer-Encoding: chunked",
    ];
    socket.write(`${lines.join("\r\n")}\r\n\r\n0\r\n\r\n`);
  });
  assert.match(answer, /^HTTP\/1\.1 400 /);
  assert.match(answer, /body_not_allowed/);
  assert.equal((await stand.ask("GET", "/v1/projects?limit=1")).status, 200, "the token was not revoked");
});

test("the record of a request holds principal, endpoint, type, digest, safe fields, decision and result, and no raw body", async (t) => {
  const records: RequestRecord[] = [];
  const stand = await startStand(t, { onRecord: (record) => records.push(record) });
  await stand.ask("POST", promote, { body: good });
  const token = await stand.tokenFor({ scopes: [] });
  await stand.ask("POST", promote, { token, body: good });
  const [done, denied] = records;
  assert.deepEqual(
    [done?.principal, done?.endpoint, done?.media_type],
    ["acme/robot", `POST ${promote}`, "application/json"],
  );
  assert.deepEqual(done?.fields, { "/body/environment": "staging", "/body/release": seedReleases.second });
  assert.deepEqual(
    [done?.decision, done?.result],
    [
      { kind: "allowed", by: "scope deployments:write" },
      { kind: "done", status: 201 },
    ],
  );
  assert.deepEqual(
    [denied?.decision, denied?.result],
    [{ kind: "denied", code: "insufficient_scope" }, { kind: "not_attempted" }],
  );
  assert.equal(done?.request_digest, denied?.request_digest);
});

test("the document describes every route with its parameters, bodies, header fields and scope", async (t) => {
  const stand = await startStand(t);
  const { body } = await stand.ask("GET", "/openapi.json", { token: null });
  const upload = body.paths["/v1/artifacts"].post.requestBody.content["multipart/form-data"].schema;
  assert.deepEqual(upload.required, ["file", "manifest"]);
  const rollback = body.paths["/v1/environments/{environment}/rollbacks"].post;
  assert.deepEqual(
    rollback.parameters.map((field: { name: string; required: boolean }) => [field.name, field.required]),
    [
      ["environment", true],
      ["Idempotency-Key", true],
      ["If-Match", false],
    ],
  );
  assert.equal(rollback.requestBody.content["application/json"].schema.additionalProperties, false);
  assert.equal(body.components.securitySchemes.bearer.scheme, "bearer");
  const plain = await startStand(t, { faults: false });
  const without = await plain.ask("GET", "/openapi.json", { token: null });
  assert.equal(without.body.paths["/control/faults"], undefined, "the control route is off by default");
  assert.equal((await plain.ask("GET", "/control/faults")).status, 404);
});

interface Part {
  readonly name: string;
  readonly filename?: string;
  readonly type?: string;
  readonly content: string | Buffer;
}

function upload(stand: Stand, parts: readonly Part[], boundary = "b0undary") {
  const pieces = parts.flatMap(({ name, filename, type, content }) => [
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? "" : `; filename="${filename}"`}\r\n`,
    type === undefined ? "\r\n" : `Content-Type: ${type}\r\n\r\n`,
    content,
    "\r\n",
  ]);
  const body = Buffer.concat([...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece)));
  return stand.ask("POST", "/v1/artifacts", {
    key: null,
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
    body,
  });
}

const content = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 7) % 256));
const file: Part = { name: "file", filename: "app.bin", type: "application/octet-stream", content };
const manifest: Part = { name: "manifest", content: '{"name":"app"}' };
const digest = `sha256:${createHash("sha256").update(content).digest("hex")}`;
const stored = (stand: Stand) => (existsSync(`${stand.file}.artifacts`) ? readdirSync(`${stand.file}.artifacts`) : []);

test("an artifact is one file and one manifest; it is streamed to disk and named by the digest that comes back", async (t) => {
  const stand = await startStand(t);
  const reply = await upload(stand, [file, manifest]);
  assert.equal(reply.status, 201, reply.text);
  assert.deepEqual(reply.body, { artifact_digest: digest, size: content.length, name: "app", claimed_name: "app.bin" });
  assert.deepEqual(stored(stand), [digest.slice(7)]);
  assert.deepEqual(readFileSync(join(`${stand.file}.artifacts`, digest.slice(7))), content);
  const again = await upload(stand, [manifest, file]);
  assert.equal(again.status, 200, "the same content is there before");
  assert.deepEqual(stored(stand), [digest.slice(7)]);
});

test("an upload of any other shape is refused, and leaves no file behind", async (t) => {
  const stand = await startStand(t);
  const before = stand.dump();
  const wrong: readonly (readonly [string, readonly Part[], number, string])[] = [
    ["no manifest", [file], 422, "missing_member"],
    ["no file", [manifest], 422, "missing_member"],
    ["an unknown part", [file, manifest, { name: "extra", content: "1" }], 422, "unknown_member"],
    ["a second file", [file, manifest, file], 400, "repeated_name"],
    ["a second manifest", [manifest, manifest, file], 400, "repeated_name"],
    ["a filename that is a path", [{ ...file, filename: "../../etc/passwd" }, manifest], 400, "part_header_refused"],
    [
      "a manifest with a duplicate member",
      [file, { ...manifest, content: '{"name":"a","name":"b"}' }],
      400,
      "json_duplicate_member",
    ],
    [
      "a manifest with an unknown member",
      [file, { ...manifest, content: '{"name":"a","admin":true}' }],
      422,
      "unknown_member",
    ],
    ["a manifest of another type", [file, { ...manifest, type: "text/plain" }], 415, "media_type_unsupported"],
    [
      "a digest that is not the file's",
      [file, { ...manifest, content: `{"name":"a","digest":"sha256:${"0".repeat(64)}"}` }],
      422,
      "value_not_allowed",
    ],
  ];
  for (const [what, parts, status, code] of wrong) {
    const small = parts.map((part) => (part.name === "file" ? { ...part, content: "a few bytes" } : part));
    const reply = await upload(stand, small);
    assert.equal(reply.status, status, `${what}: ${reply.text}`);
    assert.equal(reply.body.code === "schema_violation" ? reply.body.errors[0].code : reply.body.code, code, what);
  }
  const token = await stand.tokenFor({ scopes: [] });
  const denied = await stand.ask("POST", "/v1/artifacts", { token, key: randomUUID(), headers: json, body: "{}" });
  assert.equal(denied.status, 415);
  for (let round = 0; stored(stand).length > 0; round++) {
    assert.ok(round < 2_000, `files were left behind: ${stored(stand)}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(stand.dump(), before);
});

test("an upload that its scope does not allow leaves no file, and neither does one that a crash cut short", async (t) => {
  const stand = await startStand(t);
  const token = await stand.tokenFor({ scopes: ["projects:read"] });
  const reply = await upload({ ...stand, ask: (method, path, asked) => stand.ask(method, path, { ...asked, token }) }, [
    ...[{ ...file, content: "a few bytes" }, manifest],
  ]);
  assert.deepEqual([reply.status, reply.body.code], [403, "insufficient_scope"]);
  for (let round = 0; stored(stand).length > 0; round++) {
    assert.ok(round < 2_000, `files were left behind: ${stored(stand)}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const folder = mkdtempSync(join(tmpdir(), "gw-reference-"));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "r.db.artifacts"));
  writeFileSync(join(folder, "r.db.artifacts", ".incoming-1"), "half");
  const next = await startStand(t, { file: join(folder, "r.db") });
  assert.deepEqual(stored(next), []);
});

test("a hundred uploads of the same content at once keep one artifact", async (t) => {
  const stand = await startStand(t);
  const small = { ...file, content: "the same bytes" };
  const replies = await Promise.all(Array.from({ length: 100 }, () => upload(stand, [small, manifest])));
  assert.deepEqual([...new Set(replies.map(({ status }) => status))].sort(), [200, 201]);
  assert.equal(replies.filter(({ status }) => status === 201).length, 1);
  assert.equal(stored(stand).length, 1);
});
