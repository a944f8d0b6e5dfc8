import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlainRequest } from "../../conventions/reverse/plain.ts";
import { defaults } from "../../kernel/defaults.ts";
import { keepPlain, pathOf } from "./keep-plain.ts";

const SECRET = "ghp_0123456789abcdef";

function kept(change: Partial<PlainRequest>, code: Parameters<typeof keepPlain>[1] = "request_not_in_packs") {
  const request: PlainRequest = {
    origin: "https://api.acme.example",
    method: "POST",
    target: `/v1/things?key=${SECRET}`,
    headers: [
      ["accept", "text/plain"],
      ["authorization", `Bearer ${SECRET}`],
      ["content-type", "application/json"],
      ["x-tag", "one"],
      ["x-tag", "two"],
    ],
    body: Buffer.from(`{"key":"${SECRET}"}`, "utf8"),
    ...change,
  };
  const text = keepPlain(request, code);
  return { text, fields: JSON.parse(text) as Record<string, unknown> };
}

const BARE = {
  method: "POST",
  origin: "https://api.acme.example",
  path: "/v1/things",
  header_names: ["accept", "authorization", "content-type", "x-tag"],
};

test("of a request that brought a foreign credential only where it went is kept", () => {
  const { text, fields } = kept({}, "credential_foreign");
  assert.deepEqual(fields, BARE);
  assert.ok(!text.includes(SECRET));
});

test("of any other all but the values of its header fields is kept, and of those two", () => {
  const { text, fields } = kept({ target: "/v1/things?page=2", body: Buffer.from('{"name":"é"}', "utf8") });
  assert.deepEqual(fields, {
    ...BARE,
    ...{ target: "/v1/things?page=2", accept: "text/plain", content_type: "application/json" },
    ...{ body: '{"name":"é"}', body_bytes: 13 },
  });
  assert.ok(!text.includes(SECRET));
  const { accept, content_type } = kept({ headers: [] }).fields;
  assert.deepEqual([accept, content_type], [null, null]);
});

test("a body is kept as text up to its bound, and otherwise its size alone", () => {
  const most = defaults.containedKeptBytes;
  const spooled = { byteLength: 9_000_000, digest: "sha256:00", read: () => assert.fail("nobody reads it") };
  for (const [body, text, bytes] of [
    [null, null, 0],
    [Buffer.alloc(0), "", 0],
    [Buffer.alloc(most, "x"), "x".repeat(most), most],
    [Buffer.alloc(most + 1, "x"), null, most + 1],
    [Buffer.from([0x61, 0xff]), null, 2],
    [spooled, null, 9_000_000],
  ] as const) {
    const { fields } = kept({ body });
    assert.deepEqual([fields["body"], fields["body_bytes"]], [text, bytes]);
  }
});

test("a path ends before whatever may be a credential", () => {
  for (const [target, path] of [
    ["/v1/things", "/v1/things"],
    ["/v1/things?key=x#y", "/v1/things"],
    ["/v1/things#key?x", "/v1/things"],
    ["/?x", "/"],
    ["https://ada:secret@acme.example/v1", ""],
    ["*", ""],
    ["", ""],
  ] as const)
    assert.equal(pathOf(target), path);
});
