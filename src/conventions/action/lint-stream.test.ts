import assert from "node:assert/strict";
import { test } from "node:test";
import { readPack } from "./read.ts";

function findingsOf(action: string, provider = ""): readonly string[] {
  const text = `format: gw.pack/v1
pack: acme
provider:
  origin: https://api.acme.example
${provider}actions:
  it:
${action}`;
  const { findings } = readPack(Buffer.from(text), "acme.yaml");
  return findings.filter(({ severity }) => severity === "error").map(({ code, path }) => `${code} ${path}`);
}

const get = "    effect: read\n    request: { method: GET, path: /it }\n";
const STREAM = "pack_member_unfit /actions/it/response";

test("a read may stream, for longer and larger than what is read whole", () => {
  const long = "    limits: { timeout_s: 3600, response_bytes: 17179869184 }\n";
  assert.deepEqual(findingsOf(`${get}    response: stream\n${long}`), []);
  assert.deepEqual(findingsOf(`${get}${long}`), [
    "pack_member_unfit /actions/it/limits/timeout_s",
    "pack_member_unfit /actions/it/limits/response_bytes",
  ]);
});

test("an answer that means something to the gateway is read whole: such an action does not stream", () => {
  const post = "    effect: write\n    request: { method: POST, path: /it, body: application/json }\n";
  assert.deepEqual(findingsOf(`${post}    response: stream\n`), [STREAM]);
  assert.deepEqual(findingsOf(`${get}    response: stream\n`, "  success: { member: ok, is: true }\n"), [STREAM]);
  for (const more of [
    "    pages: { items: data, cursor: next, cursor_param: cursor }\n",
    "    mints: [token]\n",
    "    echo: redact\n",
    "    max_cost_cents: 5\n    actual_cost: { member: price, unit: cents }\n",
  ])
    assert.deepEqual(findingsOf(`${get}    response: stream\n${more}`), [STREAM], more);
  const url = "    effect: read\n    full_url: { method: GET, allow: [{ origin: https://a.example, prefix: / }] }\n";
  assert.deepEqual(findingsOf(`${url}    response: stream\n`), [STREAM]);
});
