import assert from "node:assert/strict";
import { test } from "node:test";
import { readPack } from "./read.ts";

const JOB = `
  report.create:
    effect: create
    retry: idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: /v1/reports, body: application/json }
    job: { id: job_id, status: report.status, succeeded: [done], failed: [failed] }
    unknown: { retry_allowed: true }
  report.status:
    effect: read
    request: { method: GET, path: "/v1/jobs/{job_id}" }
    input: { job_id: { in: path, type: string, maxLength: 64 } }
`;

const READ = `
  thing.get:
    effect: read
    request: { method: GET, path: /v1/thing }
`;

/** Line 8 is the first of the callbacks section. */
function read(callbacks: string, actions = JOB) {
  const text = `format: gw.pack/v1
pack: acme
provider:
  origin: https://api.acme.example
  credential: acme-token
  auth: { scheme: bearer }
  idempotency: { header: Idempotency-Key, window_s: 86400 }
  callbacks:
${callbacks}
actions:${actions}`;
  const { pack, findings } = readPack(Buffer.from(text), "acme.yaml");
  const told = findings.map(({ severity, code, path, line }) => [severity, code, path, line]);
  return { rule: pack?.provider?.callbacks ?? null, told };
}

test("a pack says how callbacks of its provider are verified and which job one is about", () => {
  const standard = read("    { verify: standard_webhooks, credential: acme-hook, job_id: /data/job_id }");
  assert.deepEqual(standard.told, []);
  assert.deepEqual(standard.rule, {
    scheme: { kind: "standard_webhooks" },
    credential: "acme-hook",
    eventId: { kind: "scheme" },
    jobId: "/data/job_id",
  });
  const stripe = read("    { verify: stripe, credential: acme-hook, job_id: /data/object/id }");
  assert.deepEqual([stripe.rule?.scheme, stripe.rule?.eventId], [{ kind: "stripe" }, { kind: "body", pointer: "/id" }]);
  const github = read(`    verify: hmac_sha256
    credential: acme-hook
    job_id: job
    event_id_header: X-GitHub-Delivery
    signature: { header: X-Hub-Signature-256, prefix: "sha256=" }`);
  assert.deepEqual(github.rule, {
    scheme: { kind: "hmac_sha256", header: "x-hub-signature-256", prefix: "sha256=", encoding: "hex" },
    credential: "acme-hook",
    eventId: { kind: "header", name: "x-github-delivery" },
    jobId: "/job",
  });
  const bare = read(
    "    { verify: hmac_sha256, credential: acme-hook, job_id: job, signature: { header: X-Mac, encoding: base64 } }",
  );
  assert.deepEqual(bare.rule?.eventId, { kind: "none" });
});

test("a pack without the section takes no callbacks", () => {
  const text = `format: gw.pack/v1\npack: acme\nprovider: { origin: https://api.acme.example }\nactions:${READ}`;
  assert.equal(readPack(Buffer.from(text), "acme.yaml").pack?.provider?.callbacks, null);
});

const P = "/provider/callbacks";
const unsound: readonly [string, string, string, string][] = [
  ["another scheme", "    { verify: md5, credential: acme-hook, job_id: job }", "value_not_allowed", `${P}/verify`],
  ["no job", "    { verify: stripe, credential: acme-hook }", "missing_member", `${P}/job_id`],
  [
    "a member of its own",
    "    { verify: stripe, credential: acme-hook, job_id: j, secret: x }",
    "unknown_member",
    `${P}/secret`,
  ],
  [
    "the provider's own token",
    "    { verify: stripe, credential: acme-token, job_id: j }",
    "pack_member_unfit",
    `${P}/credential`,
  ],
  ["no header for the HMAC", "    { verify: hmac_sha256, credential: acme-hook, job_id: j }", "missing_member", P],
  [
    "a header where the scheme has its own",
    "    { verify: stripe, credential: acme-hook, job_id: j, signature: { header: X-Mac } }",
    "pack_member_unfit",
    `${P}/signature`,
  ],
  [
    "another event where the scheme signs its own",
    "    { verify: standard_webhooks, credential: acme-hook, job_id: j, event_id: id }",
    "pack_member_unfit",
    `${P}/event_id`,
  ],
  [
    "an unsigned event where the scheme signs one",
    "    { verify: stripe, credential: acme-hook, job_id: j, event_id_header: X-Id }",
    "pack_member_unfit",
    `${P}/event_id_header`,
  ],
  [
    "a path that is none",
    "    { verify: stripe, credential: acme-hook, job_id: a.b.c }",
    "value_not_allowed",
    `${P}/job_id`,
  ],
];
for (const [what, callbacks, code, path] of unsound) {
  test(`a callbacks section with ${what} is refused where it stands`, () => {
    const { rule, told } = read(callbacks);
    assert.equal(rule, null);
    assert.deepEqual(told, [["error", code, path, code === "missing_member" ? 8 : 9]]);
  });
}

test("two names for one event are refused", () => {
  const { told } = read(
    "    { verify: hmac_sha256, credential: acme-hook, job_id: j, event_id: id, event_id_header: X-Id, signature: { header: X-Mac } }",
  );
  assert.deepEqual(told, [["error", "pack_member_unfit", `${P}/event_id_header`, 9]]);
});

test("callbacks in a pack that tracks no job are remarked on", () => {
  const { rule, told } = read("    { verify: stripe, credential: acme-hook, job_id: j }", READ);
  assert.notEqual(rule, null);
  assert.deepEqual(told, [["warning", "pack_member_unfit", P, 8]]);
});
