import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parse } from "yaml";
import { compileSchema, type JsonSchema } from "../../../packages/request/src/schema.ts";
import { digestBytes } from "../../kernel/canonical-json.ts";
import { codes } from "../../kernel/codes.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { anyText } from "../../kernel/testing/any-text.ts";
import { runsOf } from "../../kernel/testing/whole.ts";
import { Findings } from "./findings.ts";
import { type PackReading, readPack } from "./read.ts";
import { readYaml } from "./read-yaml.ts";
import { packSchema, publishedSchema } from "./schema/pack.ts";

const root = join(import.meta.dirname, "../../..");
const example = readFileSync(join(root, "packs/example.yaml"), "utf8");

const HEAD = "format: gw.pack/v1\npack: acme\n";
const PROVIDER = `provider:
  origin: https://api.acme.example
  credential: acme-deploy
  version: { header: X-API-Version, value: "2026-10-01" }
  idempotency: { header: Idempotency-Key, window_s: 60 }
  correlation_header: X-Correlation-ID
`;

function read(text: string): PackReading {
  return readPack(Buffer.from(text, "utf8"), "acme.yaml");
}

/** A pack with the given actions, each line indented under `actions:`. */
function withActions(text: string, provider = PROVIDER): string {
  const lines = text.trim().split("\n");
  return `${HEAD}${provider}actions:\n${lines.map((line) => `  ${line}`).join("\n")}\n`;
}

/** The example as plain data, and every place in it. */
const sound: unknown = parse(example);

function spotsOf(value: unknown, path: readonly string[]): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([name, member]) => spotsOf(member, [...path, name]))];
}

function replaceAt(value: unknown, path: readonly string[], put: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined || typeof value !== "object" || value === null) return put;
  const entries = Object.entries(value).map(([key, member]) => [
    key,
    key === name ? replaceAt(member, rest, put) : member,
  ]);
  return Array.isArray(value) ? entries.map(([, member]) => member) : Object.fromEntries(entries);
}

function codesOf(text: string): readonly string[] {
  return read(text).findings.map(({ severity, code }) => (severity === "error" ? code : `(${code})`));
}

const PLAIN = `get:
  effect: read
  request: { method: GET, path: "/x/{id}" }
  input: { id: { in: path, type: string } }`;

describe("the example pack", () => {
  const reading = read(example);

  test("has nothing to be said about it but that three of its writes show nothing beforehand", () =>
    assert.deepEqual(
      reading.findings.map(({ severity, code, path }) => [severity, code, path]),
      ["deployment.promote", "artifact.upload", "worker.restart"].map((name) => [
        "warning",
        "pack_preview_missing",
        `/actions/${name}`,
      ]),
    ));

  test("carries the digest of the exact bytes, for trust is given to it", () => {
    assert.equal(reading.pack?.digest, digestBytes(Buffer.from(example, "utf8")));
    assert.notEqual(read(`${example}\n`).digest, reading.digest);
  });

  test("its actions are read whole", () => {
    const apply = reading.pack?.actions.get("membership.apply");
    assert.ok(apply?.kind === "http");
    assert.equal(apply.qualifiedName, "acme.membership.apply");
    assert.deepEqual(apply.needs, { plan: "membership.plan", approval: "each_use", ticket: true });
    assert.deepEqual(apply.plan, {
      id: { place: "body", wireName: "plan_id" },
      revision: { place: "body", wireName: "expected_revision" },
    });
    assert.equal(apply.confirm, "membership.get");
    const report = reading.pack?.actions.get("report.create");
    assert.deepEqual(report?.job?.status, { action: "report.status", idInput: "job_id" });
    assert.deepEqual(report?.unknown, { retryAllowed: true, reconcile: "report.by_reference", tokenRetry: false });
    assert.equal(report?.maxCostCents, 25);
    assert.deepEqual(reading.pack?.actions.get("event.list")?.pages?.continuation, { kind: "link", path: null });
    assert.deepEqual(reading.pack?.actions.get("token.create")?.mints, ["/token/secret"]);
    const ssh = reading.pack?.actions.get("worker.restart");
    assert.ok(ssh?.kind === "ssh");
    assert.equal(ssh.recording, false);
    assert.equal(reading.pack?.actions.get("report.download")?.kind, "url");
    assert.equal(reading.pack?.provider?.idempotency?.windowMs, 86_400_000);
  });

  test("the retry class comes from the effect, carefully, where the pack says nothing", () => {
    const classes = ["membership.plan", "membership.get", "report.cancel", "worker.restart", "token.create"].map(
      (name) => reading.pack?.actions.get(name)?.retry,
    );
    assert.deepEqual(classes, ["read", "read", "non_idempotent_write", "non_idempotent_write", "non_idempotent_write"]);
    assert.equal(reading.pack?.actions.get("token.create")?.unknown.retryAllowed, false);
  });
});

describe("errors carry file, line, column and what was expected", () => {
  test("a wrong value, at its place", () => {
    const text = withActions(`${PLAIN}\n  retry: sometimes`);
    const [finding] = read(text).findings;
    assert.equal(finding?.code, "value_not_allowed");
    assert.equal(finding?.file, "acme.yaml");
    assert.equal(text.split("\n")[(finding?.line ?? 0) - 1]?.slice((finding?.column ?? 0) - 1), "retry: sometimes");
    assert.match(finding?.message ?? "", /idempotent_write/);
  });

  test("an unknown member, with the members that are known there", () => {
    const text = `${HEAD}${PROVIDER}  orgin: x\nactions:\n  ${PLAIN.replaceAll("\n", "\n  ")}\n`;
    const [finding] = read(text).findings;
    assert.equal(finding?.code, "unknown_member");
    assert.equal(finding?.path, "/provider/orgin");
    assert.equal(text.split("\n")[(finding?.line ?? 0) - 1], "  orgin: x");
    assert.match(finding?.message ?? "", /expected origin, credential, auth/);
  });

  test("all that is wrong is reported together, in the order of the file", () => {
    const text = withActions(
      `a:\n  effect: nothing\nb:\n  effect: read\n  colour: red\n  request: { method: GET }\nc:\n  effect: read\n  request: { method: GET, path: "x" }\nd:\n  effect: write\n  confirm: nowhere\n  request: { method: PUT, path: /d }`,
    );
    const { findings, pack } = read(text);
    assert.equal(pack, null);
    assert.deepEqual(
      findings.map(({ code, path }) => `${code} ${path}`),
      [
        "value_not_allowed /actions/a/effect",
        "unknown_member /actions/b/colour",
        "missing_member /actions/b/request/path",
        "template_malformed /actions/c/request/path",
        "pack_preview_missing /actions/d",
        "pack_reference_unknown /actions/d/confirm",
      ],
    );
    assert.deepEqual(
      findings.map(({ line }) => line),
      [...findings.map(({ line }) => line)].sort((a, b) => a - b),
    );
  });

  test("every code that a reading can give is in the table", () => {
    for (const [, text] of [...structural, ...semantic]) {
      for (const { code } of read(text).findings) assert.ok(Object.hasOwn(codes, code), code);
    }
  });
});

describe("YAML that does not mean the same to every reader is refused", () => {
  const hostile: readonly [string, string, string][] = [
    ["a duplicate key", `${HEAD}pack: other\nactions: {}\n`, "pack_duplicate_key"],
    [
      "a duplicate key spelled with quotes and escapes",
      `${HEAD}"p\\x61ck": other\nactions: {}\n`,
      "pack_duplicate_key",
    ],
    ["an anchor", `${HEAD}description: &a text\nactions: {}\n`, "pack_alias_refused"],
    ["an alias", `${HEAD}provider: &p { origin: https://a.example }\nactions: { x: *p }\n`, "pack_alias_refused"],
    ["a tag", `${HEAD}description: !!str 1\nactions: {}\n`, "pack_alias_refused"],
    ["a tag of the file's own", `${HEAD}description: !js x\nactions: {}\n`, "pack_alias_refused"],
    ["a merge key", withActions(`${PLAIN}\n  <<: { effect: write }`), "unknown_member"],
    ["a second document", `${HEAD}actions: {}\n---\npack: other\n`, "pack_malformed"],
    ["a directive", `%YAML 1.1\n---\n${HEAD}actions: {}\n`, "pack_malformed"],
    ["a key that is no text", `${HEAD}? [a]\n: b\nactions: {}\n`, "pack_malformed"],
    ["a tab as indentation", `${HEAD}actions:\n\tget: {}\n`, "pack_malformed"],
    ["an unclosed bracket", `${HEAD}actions: {\n`, "pack_malformed"],
    ["a lone surrogate", `${HEAD}description: "\\ud800"\nactions: {}\n`, "pack_malformed"],
    ["a bidi control", `${HEAD}description: "a\u202eb"\nactions: {}\n`, "pack_malformed"],
    ["an invisible character", `${HEAD}description: "a\u200bb"\nactions: {}\n`, "pack_malformed"],
    ["a byte order mark", `\ufeff${HEAD}actions: {}\n`, "pack_malformed"],
    ["a control character", `${HEAD}description: "a\u0000b"\nactions: {}\n`, "pack_malformed"],
    ["an infinite number", withActions(`${PLAIN}\n  max_cost_cents: .inf`), "value_not_allowed"],
    [
      "an integer that would be rounded",
      withActions(`${PLAIN}\n  max_cost_cents: 12345678901234567890`),
      "value_not_allowed",
    ],
    ["an integer written as a fraction", withActions(`${PLAIN}\n  max_cost_cents: 1.0`), "value_not_allowed"],
    ["an integer with an exponent", withActions(`${PLAIN}\n  max_cost_cents: 1e2`), "value_not_allowed"],
    ["an octal number", withActions(`${PLAIN}\n  max_cost_cents: 0o17`), "value_not_allowed"],
    ["a number with a leading zero", withActions(`${PLAIN}\n  max_cost_cents: 010`), "value_not_allowed"],
    ["a hexadecimal number", withActions(`${PLAIN}\n  max_cost_cents: 0x1E`), "value_not_allowed"],
    ["nothing at all", "", "wrong_type"],
    ["a list", "- a\n", "wrong_type"],
  ];
  for (const [name, text, code] of hostile) {
    test(name, () => {
      const { pack, findings } = read(text);
      assert.equal(pack, null);
      assert.ok(
        findings.some((finding) => finding.code === code && finding.severity === "error"),
        JSON.stringify(findings),
      );
    });
  }

  test("bytes that are not UTF-8", () => {
    const { findings } = readPack(Buffer.from([0x61, 0x3a, 0x20, 0xff]), "x.yaml");
    assert.equal(findings[0]?.code, "pack_malformed");
  });

  test("a file larger than a pack may be is refused before it is parsed", () => {
    const { findings } = readPack(Buffer.alloc(defaults.packBytes + 1, 0x5b), "x.yaml");
    assert.deepEqual(
      findings.map(({ code }) => code),
      ["pack_too_large"],
    );
  });

  test("the classic expanding anchors cost nothing, and deep nesting does not overflow", () => {
    const laughs = ["a: &a [x,x,x,x,x,x,x,x,x]"];
    for (let index = 1; index < 9; index++) {
      const before = String.fromCharCode(96 + index);
      const letter = String.fromCharCode(97 + index);
      laughs.push(`${letter}: &${letter} [${Array(9).fill(`*${before}`).join(",")}]`);
    }
    assert.equal(read(laughs.join("\n")).pack, null);
    for (const piece of ["[", "{a: ", "- ", "? "]) assert.equal(read(piece.repeat(5000)).pack, null);
    const nested = Array.from({ length: 60 }, (_, index) => `${" ".repeat(index)}a:`).join("\n");
    assert.ok(read(nested).findings.some(({ code }) => code === "pack_malformed"));
  });

  test("the number of findings is bounded", () => {
    const text = withActions(Array.from({ length: 300 }, (_, index) => `a${index}: { effect: none }`).join("\n"));
    assert.ok(read(text).findings.length <= defaults.packFindings);
    assert.equal(read(text).pack, null);
  });

  test("a hidden character is reported where it stands", () => {
    const [finding] = read(`${HEAD}description: "a\u202eb"\nactions: {}\n`).findings;
    assert.deepEqual([finding?.line, finding?.column], [3, 16]);
  });

  test("more broken actions than are counted are never taken for sound", () => {
    const lines = Array.from(
      { length: 100 },
      (_, index) => `a${index}: { effect: read, request: 7, needs: [], input: x }`,
    );
    assert.equal(read(withActions(lines.join("\n"))).pack, null);
    const tooMany = Array.from({ length: 501 }, (_, index) => `a${index}: 7`);
    assert.deepEqual(codesOf(withActions(tooMany.join("\n"))), ["value_not_allowed"]);
  });

  test("no change of a value, anywhere in a sound pack, makes the reader throw", () => {
    const spots = spotsOf(sound, []);
    const strange = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom("membership.get", "/x/{y}", "GET", "body", "", "__proto__"),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(spots.length - 1), strange), { minLength: 1, maxLength: 3 }), (changes) => {
        const changed = changes.reduce((value, [spot, put]) => replaceAt(value, spots[spot] ?? [], put), sound);
        const { pack, findings } = read(JSON.stringify(changed));
        assert.ok(pack !== null || findings.some(({ severity }) => severity === "error"));
      }),
      { numRuns: runsOf(250) },
    );
  });

  test("no text whatsoever makes the reader throw", () => {
    const token = fc.constantFrom(
      "format: gw.pack/v1\n",
      "pack: a\n",
      "actions:\n",
      "  a:\n",
      "    effect: read\n",
      "    request: ",
      "{ method: GET, path: /x }\n",
      "&a ",
      "*a ",
      "!!str ",
      "- ",
      "? ",
      ": ",
      "[",
      "]",
      "{",
      "}",
      "|\n",
      '"',
      "'",
      "\n",
      "  ",
      "#",
      "---\n",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(token, anyText({ maxLength: 4 })), { maxLength: 30 }), (pieces) => {
        const { pack, findings } = read(pieces.join(""));
        assert.ok(pack !== null || findings.some(({ severity }) => severity === "error"));
      }),
      { numRuns: runsOf(700) },
    );
  });
});

/** Broken in shape: the published schema and the reader must both refuse. */
const structural: readonly [string, string, string][] = [
  ["another format", `format: gw.pack/v2\npack: acme\nactions:\n  get: { effect: read }\n`, "value_not_allowed"],
  ["no format", "pack: acme\nactions:\n  get: { effect: read }\n", "missing_member"],
  [
    "a pack name with capitals",
    `format: gw.pack/v1\npack: Acme\nactions:\n  get: { effect: read }\n`,
    "value_not_allowed",
  ],
  ["no actions", HEAD, "missing_member"],
  ["actions as a list", `${HEAD}actions: []\n`, "wrong_type"],
  ["an unknown member at the top", `${HEAD}author: me\nactions: {}\n`, "unknown_member"],
  ["an unknown auth scheme", withActions(PLAIN, `${PROVIDER}  auth: { scheme: digest }\n`), "value_not_allowed"],
  [
    "a date that YAML readers might not keep as text",
    withActions(PLAIN, `${PROVIDER}`.replace('"2026-10-01"', "20261001")),
    "wrong_type",
  ],
  ["no window for idempotency", withActions(PLAIN, PROVIDER.replace(", window_s: 60", "")), "missing_member"],
  [
    "a redirect rule of our own invention",
    withActions(PLAIN, `${PROVIDER}  redirects: { others: allow }\n`),
    "value_not_allowed",
  ],
  ["an unknown network", withActions(PLAIN, `${PROVIDER}  network: any\n`), "value_not_allowed"],
  ["a credential with a slash", withActions(PLAIN, PROVIDER.replace("acme-deploy", "../x")), "value_not_allowed"],
  ["an action without an effect", withActions(`get:\n  request: { method: GET, path: /x }`), "missing_member"],
  [
    "an effect that is none",
    withActions(`get:\n  effect: delete\n  request: { method: GET, path: /x }`),
    "value_not_allowed",
  ],
  [
    "a lower-case method",
    withActions(`get:\n  effect: read\n  request: { method: get, path: /x }`),
    "value_not_allowed",
  ],
  ["CONNECT", withActions(`get:\n  effect: read\n  request: { method: CONNECT, path: /x }`), "value_not_allowed"],
  [
    "a body type of our own invention",
    withActions(`a:\n  effect: write\n  request: { method: POST, path: /x, body: text/plain }`),
    "value_not_allowed",
  ],
  ["a place that is none", withActions(PLAIN.replace("in: path", "in: cookie")), "value_not_allowed"],
  ["optional as text", withActions(PLAIN.replace("type: string", 'type: string, optional: "no"')), "wrong_type"],
  [
    "a keyword outside the subset",
    withActions(PLAIN.replace("type: string", "type: string, if: {}")),
    "unknown_member",
  ],
  ["a negative cost", withActions(`${PLAIN}\n  max_cost_cents: -1`), "value_not_allowed"],
  ["a cost in fractions", withActions(`${PLAIN}\n  max_cost_cents: 0.5`), "wrong_type"],
  [
    "a poll without an end",
    withActions(
      `a:\n  effect: create\n  max_cost_cents: 0\n  request: { method: POST, path: /x }\n  job: { id: id, status: s, succeeded: [ok], failed: [bad], poll: { max_checks: 0 } }`,
    ),
    "value_not_allowed",
  ],
  [
    "an SSH port out of range",
    withActions(
      example
        .slice(example.indexOf("worker.restart:"), example.indexOf("  worker.status:"))
        .replace("user: gw", "user: gw\n      port: 70000")
        .replaceAll("\n  ", "\n")
        .replace("    confirm: worker.status\n", ""),
    ),
    "value_not_allowed",
  ],
  [
    "an empty allow-list",
    withActions(`get:\n  effect: read\n  full_url: { method: GET, allow: [] }`),
    "value_not_allowed",
  ],
  ["a null where text is meant", withActions(`${PLAIN}\n  description:`), "wrong_type"],
  ["echo that shows", withActions(`${PLAIN}\n  echo: show`), "value_not_allowed"],
  ["a timeout of a week", withActions(`${PLAIN}\n  limits: { timeout_s: 604800 }`), "value_not_allowed"],
];

const WRITE = `do:
  effect: write
  request: { method: POST, path: /do, body: application/json }`;
const CREATE = `make:
  effect: create
  max_cost_cents: 1
  request: { method: POST, path: /make, body: application/json }`;
const STATUS = `status:
  effect: read
  request: { method: GET, path: "/jobs/{job_id}" }
  input: { job_id: { in: path, type: string } }`;
const PREVIEW = `plan:
  effect: preview
  request: { method: POST, path: /do/plan, body: application/json }
  input: { a: { in: body, type: string } }`;
const SSH = `restart:
  effect: write
  ssh: { host: h.example, user: gw, host_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFoRVw9Lr7QA4TVy93E2OVV6//ahs6zX8WnKMQS9v44b", credential: k, action: restart }`;
/** The same operation under another name and effect, and one of its own. */
const SSH_SAME = SSH.replace("restart:", "restart.plan:").replace("effect: write", "effect: preview");
const SSH_PREVIEW = SSH_SAME.replace("action: restart }", "action: plan_restart }");
const SSH_STATUS = SSH.replace("restart:", "state:")
  .replace("effect: write", "effect: read")
  .replace("action: restart }", "action: state }");
const SSH_PLANNED = `${SSH_PREVIEW}\n${SSH_STATUS}\n${SSH}\n  needs: { plan: restart.plan }\n  plan: { id: { in: field, as: plan_id } }\n  confirm: state`;
const PAGES = "{ items: data, cursor: next, cursor_param: cursor, size_param: limit }";
const APPLY = `${WRITE}\n  needs: { plan: plan }\n  plan: { id: { in: body, as: plan_id } }\n  confirm: get`;

/** Well-shaped, but wrong: the reader alone can tell. */
const semantic: readonly [string, string, string][] = [
  [
    "a mutation that nobody called GraphQL, and that is called a read",
    withActions(`${WRITE.replace("write", "read")}\n  input: { query: { in: body, const: "mutation { do { id } }" } }`),
    "pack_input_unfit",
  ],
  ["an http origin", withActions(PLAIN, PROVIDER.replace("https:", "http:")), "origin_refused"],
  ["an origin with a path", withActions(PLAIN, PROVIDER.replace(".example", ".example/v1")), "origin_refused"],
  [
    "a redirect origin with a user",
    withActions(PLAIN, `${PROVIDER}  redirects: { origins: ["https://u@b.example"] }\n`),
    "origin_refused",
  ],
  [
    "a private address called public",
    withActions(
      PLAIN,
      PROVIDER.replace("https://api.acme.example", "http://127.0.0.1:1").concat("  network: public\n"),
    ),
    "pack_member_unfit",
  ],
  [
    "auth without a credential",
    withActions(PLAIN, `provider:\n  origin: https://a.example\n  auth: { scheme: bearer }\n`),
    "pack_member_unfit",
  ],
  ["header auth without its header", withActions(PLAIN, `${PROVIDER}  auth: { scheme: header }\n`), "missing_member"],
  [
    "bearer auth with a header",
    withActions(PLAIN, `${PROVIDER}  auth: { scheme: bearer, header: X-Key }\n`),
    "pack_member_unfit",
  ],
  [
    "a credential in Host",
    withActions(PLAIN, `${PROVIDER}  auth: { scheme: header, header: Host }\n`),
    "pack_header_forbidden",
  ],
  ["a version in Host", withActions(PLAIN, PROVIDER.replace("X-API-Version", "Host")), "pack_header_forbidden"],
  [
    "one header for two uses",
    withActions(PLAIN, PROVIDER.replace("X-API-Version", "idempotency-key")),
    "pack_header_forbidden",
  ],
  ["a request without a provider", withActions(PLAIN, ""), "missing_member"],
  [
    "an authority for http",
    withActions(PLAIN, "provider:\n  origin: http://127.0.0.1:1\n  ca: /etc/ca.pem\n"),
    "pack_member_unfit",
  ],
  ["an action's name with a slash", withActions(PLAIN.replace("get:", "a/b:")), "value_not_allowed"],
  ["an empty list of actions", `${HEAD}${PROVIDER}actions: {}\n`, "value_not_allowed"],
  ["neither request nor ssh", withActions("get:\n  effect: read"), "missing_member"],
  ["both request and ssh", withActions(`${SSH}\n  request: { method: GET, path: /x }`), "pack_member_unfit"],
  [
    "a path parameter without an input",
    withActions(PLAIN.replace("input: { id:", "input: { other:")),
    "pack_input_unfit",
  ],
  ["a path input without a parameter", withActions(PLAIN.replace("/x/{id}", "/x")), "pack_input_unfit"],
  ["a path with a mixed segment", withActions(PLAIN.replace("{id}", "{id}.json")), "template_malformed"],
  ["a path with an escape", withActions(PLAIN.replace("/x/", "/%2e%2e/")), "template_malformed"],
  [
    "an optional path segment",
    withActions(PLAIN.replace("type: string", "type: string, optional: true")),
    "pack_input_unfit",
  ],
  ...["sensitive: true", "opaque: true"].flatMap((how): [string, string, string][] =>
    ['resources: ["arn:aws:s3:::{key}"]', "repository: key"].map((need) => [
      `what is ${how} in ${need}`,
      withActions(`${WRITE}\n  token: { ${need} }\n  input: { key: { in: body, type: string, ${how} } }`),
      "pack_input_unfit",
    ]),
  ),
  [
    "a list in the resources of a token",
    withActions(
      `${WRITE}\n  token: { resources: ["arn:{key}"] }\n  input: { key: { in: body, type: array, items: { type: string }, maxItems: 2 } }`,
    ),
    "pack_input_unfit",
  ],
  ["an object in a path", withActions(PLAIN.replace("type: string", "type: object")), "pack_input_unfit"],
  ["a nullable path segment", withActions(PLAIN.replace("type: string", 'type: [string, "null"]')), "pack_input_unfit"],
  [
    "a path segment under another name",
    withActions(PLAIN.replace("type: string", "type: string, as: other")),
    "pack_input_unfit",
  ],
  ["an input without a place", withActions(PLAIN.replace("in: path, ", "")), "pack_input_unfit"],
  [
    "an input called __proto__",
    withActions(`${WRITE}\n  input: { __proto__: { in: body, type: string } }`),
    "pack_input_unfit",
  ],
  [
    "an object in a query",
    withActions(`${PLAIN.replace("} }", "}, q: { in: query, type: object } }")}`),
    "pack_input_unfit",
  ],
  [
    "a list of lists in a query",
    withActions(`${PLAIN.replace("} }", "}, q: { in: query, type: array, items: { type: array } } }")}`),
    "pack_input_unfit",
  ],
  [
    "style on a scalar",
    withActions(`${PLAIN.replace("} }", "}, q: { in: query, type: string, style: comma } }")}`),
    "pack_input_unfit",
  ],
  [
    "percent in a body",
    withActions(`${WRITE}\n  input: { a: { in: body, type: string, percent: literal } }`),
    "pack_input_unfit",
  ],
  [
    "two inputs for one name",
    withActions(`${WRITE}\n  input: { a: { in: body, type: string }, b: { in: body, type: string, as: a } }`),
    "pack_input_unfit",
  ],
  [
    "two inputs for one header",
    withActions(
      `${WRITE}\n  input: { a: { in: header, type: string, as: X-A }, b: { in: header, type: string, as: x-a } }`,
    ),
    "pack_input_unfit",
  ],
  ["a schema that says nothing", withActions(`${WRITE}\n  input: { a: { in: body } }`), "schema_violation"],
  [
    "a pattern that is not anchored",
    withActions(`${WRITE}\n  input: { a: { in: body, type: string, pattern: "[a-z]+" } }`),
    "schema_violation",
  ],
  [
    "a pattern that explodes",
    withActions(`${WRITE}\n  input: { a: { in: body, type: string, pattern: "^(a+)+$" } }`),
    "schema_violation",
  ],
  [
    "a nested schema outside the subset",
    withActions(`${WRITE}\n  input: { a: { in: body, type: array, items: { type: text } } }`),
    "schema_violation",
  ],
  [
    "a body input without a body",
    withActions(`${PLAIN.replace("} }", "}, b: { in: body, type: string } }")}`),
    "pack_input_unfit",
  ],
  [
    "a GET with a body",
    withActions("get:\n  effect: read\n  request: { method: GET, path: /x, body: application/json }"),
    "pack_member_unfit",
  ],
  [
    "an object in a form",
    withActions(
      `${WRITE.replace("application/json", "application/x-www-form-urlencoded")}\n  input: { a: { in: body, type: object } }`,
    ),
    "pack_input_unfit",
  ],
  [
    "a part outside multipart",
    withActions(`${WRITE}\n  input: { a: { in: body, type: string, part: file } }`),
    "pack_input_unfit",
  ],
  [
    "a file that is no text",
    withActions(
      `${WRITE.replace("application/json", "multipart/form-data")}\n  input: { a: { in: body, type: integer, part: file } }`,
    ),
    "pack_input_unfit",
  ],
  [
    "a part's name with a quote",
    withActions(
      `${WRITE.replace("application/json", "multipart/form-data")}\n  input: { a: { in: body, type: string, as: 'x"y' } }`,
    ),
    "pack_input_unfit",
  ],
  [
    "const and optional",
    withActions(`${WRITE}\n  input: { a: { in: body, const: x, optional: true } }`),
    "pack_input_unfit",
  ],
  ...[
    "Host",
    "authorization",
    "Cookie",
    "Content-Length",
    "Transfer-Encoding",
    "Connection",
    "TE",
    "Upgrade",
    "Proxy-Authorization",
    "Expect",
    "Content-Type",
    "X-Forwarded-For",
    "Sec-Fetch-Site",
    "X-HTTP-Method-Override",
  ].map((header): [string, string, string] => [
    `an input for ${header}`,
    withActions(`${WRITE}\n  input: { a: { in: header, type: string, as: ${header} } }`),
    "pack_header_forbidden",
  ]),
  [
    "an input for the version header",
    withActions(`${WRITE}\n  input: { a: { in: header, type: string, as: x-api-version } }`),
    "pack_header_forbidden",
  ],
  [
    "an input for the idempotency header",
    withActions(`${WRITE}\n  input: { a: { in: header, type: string, as: Idempotency-Key } }`),
    "pack_header_forbidden",
  ],
  [
    "an input for the credential's own header",
    withActions(
      `${WRITE}\n  input: { a: { in: header, type: string, as: X-KEY } }`,
      `${PROVIDER}  auth: { scheme: header, header: X-Key }\n`,
    ),
    "pack_header_forbidden",
  ],
  [
    "a header with a line break in its name",
    withActions(`${WRITE}\n  input: { a: { in: header, type: string, as: "X-A\\r\\nX-B" } }`),
    "pack_input_unfit",
  ],
  ["a confirm that is not there", withActions(`${WRITE}\n  confirm: get`), "pack_reference_unknown"],
  ["a confirm that writes", withActions(`${WRITE}\n  confirm: make\n${CREATE}`), "pack_reference_unfit"],
  ["a confirm on a read", withActions(`${PLAIN}\n  confirm: status\n${STATUS}`), "pack_member_unfit"],
  ["an action that confirms itself", withActions(`${WRITE}\n  confirm: do`), "pack_reference_unfit"],
  ["a plan that is not there", withActions(`${APPLY}\n${PLAIN}`), "pack_reference_unknown"],
  [
    "a plan that is no preview",
    withActions(`${APPLY.replace("plan: plan }", "plan: get }")}\n${PLAIN}`),
    "pack_reference_unfit",
  ],
  [
    "a plan-needing write without confirm",
    withActions(`${APPLY.replace("\n  confirm: get", "")}\n${PREVIEW}`),
    "pack_confirm_missing",
  ],
  [
    "a plan-needing write that says not where the plan goes",
    withActions(`${WRITE}\n  needs: { plan: plan }\n  confirm: get\n${PREVIEW}\n${PLAIN}`),
    "missing_member",
  ],
  [
    "a plan-needing write with a second copy of the request",
    withActions(`${APPLY}\n  input: { a: { in: body, type: string } }\n${PREVIEW}\n${PLAIN}`),
    "pack_input_unfit",
  ],
  [
    "a plan identifier in a forbidden header",
    withActions(`${APPLY.replace("in: body, as: plan_id", "in: header, as: Cookie")}\n${PREVIEW}\n${PLAIN}`),
    "pack_header_forbidden",
  ],
  [
    "a plan identifier for a path that lacks it",
    withActions(`${APPLY.replace("in: body, as: plan_id", "in: path, as: plan_id")}\n${PREVIEW}\n${PLAIN}`),
    "pack_input_unfit",
  ],
  ["plan without needs.plan", withActions(`${WRITE}\n  plan: { id: { in: body, as: plan_id } }`), "pack_member_unfit"],
  ["a read that needs a plan", withActions(`${PLAIN}\n  needs: { plan: plan }\n${PREVIEW}`), "pack_member_unfit"],
  ["a preview by OPTIONS", withActions(PREVIEW.replace("POST", "OPTIONS")), "pack_preview_unsafe"],
  [
    "a preview by a query flag",
    withActions(
      `${PREVIEW.replace("/do/plan", "/do")}, dry_run: { in: query, const: true } }`.replace(
        "type: string } }, dry",
        "type: string }, dry",
      ),
    ),
    "pack_preview_unsafe",
  ],
  [
    "a preview by a query flag in camel case",
    withActions(PREVIEW.replace("/do/plan", "/other").replace("{ a: { in: body", "{ validateOnly: { in: query")),
    "pack_preview_unsafe",
  ],
  [
    "a preview that is the write's own request",
    withActions(`${PREVIEW.replace("/do/plan", "/do")}\n${WRITE}`),
    "pack_preview_unsafe",
  ],
  [
    "a preview by GET",
    withActions("plan:\n  effect: preview\n  request: { method: GET, path: /plan }"),
    "pack_preview_unsafe",
  ],
  [
    "a retried write without a token",
    withActions(`${WRITE}\n  retry: idempotent_write`, "provider:\n  origin: https://a.example\n"),
    "pack_retry_unfit",
  ],
  ["a write retried like a read", withActions(`${WRITE}\n  retry: read`), "pack_retry_unfit"],
  ["a read retried like a write", withActions(`${PLAIN}\n  retry: idempotent_write`), "pack_retry_unfit"],
  [
    "a repeat allowed after an unknown outcome without a token",
    withActions(`${WRITE}\n  unknown: { retry_allowed: true }`),
    "pack_retry_unfit",
  ],
  [
    "a job whose status is not there",
    withActions(`${CREATE}\n  job: { id: id, status: status, succeeded: [a], failed: [b] }`),
    "pack_reference_unknown",
  ],
  [
    "a job whose cancel is a read",
    withActions(
      `${CREATE}\n  job: { id: id, status: status, cancel: get, succeeded: [a], failed: [b] }\n${STATUS}\n${PLAIN}`,
    ),
    "pack_reference_unfit",
  ],
  [
    "a job whose resume is a read",
    withActions(
      `${CREATE}\n  job: { id: id, status: status, resume: get, succeeded: [a], failed: [b] }\n${STATUS}\n${PLAIN}`,
    ),
    "pack_reference_unfit",
  ],
  [
    "a job whose resume is only a claim",
    withActions(
      `${CREATE}\n  job: { id: id, status: status, resume: documented, succeeded: [a], failed: [b] }\n${STATUS}`,
    ),
    "pack_reference_unknown",
  ],
  [
    "a repeat under the token for a write without one",
    withActions(`${WRITE}\n  unknown: { reconcile: token_retry }`),
    "pack_retry_unfit",
  ],
  [
    "a repeat under the token that is also forbidden",
    withActions(`${WRITE}\n  retry: idempotent_write\n  unknown: { retry_allowed: false, reconcile: token_retry }`),
    "pack_retry_unfit",
  ],
  [
    "a job whose status takes no identifier",
    withActions(
      `${CREATE}\n  job: { id: id, status: s, succeeded: [a], failed: [b] }\ns:\n  effect: read\n  request: { method: GET, path: /s }`,
    ),
    "pack_reference_unfit",
  ],
  [
    "a state that is both ends",
    withActions(`${CREATE}\n  job: { id: id, status: status, succeeded: [done], failed: [done] }\n${STATUS}`),
    "value_not_allowed",
  ],
  [
    "a first wait beyond the cap",
    withActions(
      `${CREATE}\n  job: { id: id, status: status, succeeded: [a], failed: [b], poll: { first_s: 9, cap_s: 2 } }\n${STATUS}`,
    ),
    "value_not_allowed",
  ],
  [
    "a job identifier that is no place",
    withActions(`${CREATE}\n  job: { id: "a.b", status: status, succeeded: [a], failed: [b] }\n${STATUS}`),
    "value_not_allowed",
  ],
  [
    "a reconcile that needs what nobody knows",
    withActions(`${CREATE}\n  unknown: { reconcile: status }\n${STATUS}`),
    "pack_reference_unfit",
  ],
  ["a rollback of nothing", withActions("undo:\n  effect: write\n  rollback: { of: do }"), "pack_reference_unknown"],
  [
    "a rollback with agent input",
    withActions(
      `${WRITE}\nundo:\n  effect: write\n  rollback: { of: do }\n  input: { restore_release_id: { in: body, type: string } }`,
    ),
    "pack_input_unfit",
  ],
  [
    "a rollback of a rollback",
    withActions(
      `${WRITE}\nundo:\n  effect: write\n  rollback: { of: do }\nredo:\n  effect: write\n  rollback: { of: undo }`,
    ),
    "pack_reference_unfit",
  ],
  [
    "a rollback to a path it cannot fill",
    withActions(
      `${WRITE}\nundo:\n  effect: write\n  rollback: { of: do }\n  request: { method: POST, path: "/{tenant}/undo", body: application/json }`,
    ),
    "pack_input_unfit",
  ],
  [
    "a rollback that reads",
    withActions(`${WRITE}\nundo:\n  effect: read\n  rollback: { of: do }`),
    "pack_member_unfit",
  ],
  ["pages on a write", withActions(`${WRITE}\n  pages: ${PAGES}`), "pack_member_unfit"],
  [
    "pages with two ways on",
    withActions(`${PLAIN}\n  pages: ${PAGES.replace("cursor: next", "cursor: next, link: next")}`),
    "pack_member_unfit",
  ],
  [
    "pages with no way on",
    withActions(`${PLAIN}\n  pages: ${PAGES.replace("cursor: next, ", "")}`),
    "pack_member_unfit",
  ],
  [
    "a bare list with a cursor in it",
    withActions(`${PLAIN}\n  pages: ${PAGES.replace(/items: [^,]+/, 'items: ""')}`),
    "pack_member_unfit",
  ],
  [
    "a path of links that are not read",
    withActions(`${PLAIN}\n  pages: ${PAGES.replace("cursor: next", "cursor: next, link_path: /a/b")}`),
    "pack_member_unfit",
  ],
  [
    "a path of links that is none",
    withActions(`${PLAIN}\n  pages: ${PAGES.replace("cursor: next", 'link: next, link_path: "/a/{b}c"')}`),
    "value_not_allowed",
  ],
  [
    "a bare list that is left out",
    withActions(
      `${PLAIN}\n  pages: ${PAGES.replace(/items: [^,]+/, 'items: "", empty_if: total').replace("cursor: next", "link: next")}`,
    ),
    "pack_member_unfit",
  ],
  [
    "an agent that turns pages itself",
    withActions(`${PLAIN.replace("} }", "}, cursor: { in: query, type: string } }")}\n  pages: ${PAGES}`),
    "pack_input_unfit",
  ],
  ["an SSH host key that is none", withActions(SSH.replace("AAAAC3Nza", "AAAAB3Nza")), "value_not_allowed"],
  ["an SSH field with a place", withActions(`${SSH}\n  input: { w: { in: body, enum: [a] } }`), "pack_input_unfit"],
  ["an SSH field of any text", withActions(`${SSH}\n  input: { w: { type: string } }`), "pack_input_unfit"],
  ["an SSH field that is an object", withActions(`${SSH}\n  input: { w: { type: object } }`), "pack_input_unfit"],
  [
    "an SSH field with a reserved name",
    withActions(`${SSH}\n  input: { request_id: { enum: [a] } }`),
    "pack_input_unfit",
  ],
  ["an SSH preview by the operation that executes", withActions(`${SSH}\n${SSH_SAME}`), "pack_preview_unsafe"],
  [
    "an SSH execution with a field of its own",
    withActions(`${SSH_PLANNED}\n  input: { w: { enum: [a] } }`),
    "pack_input_unfit",
  ],
  ["an SSH plan that goes to a body", withActions(SSH_PLANNED.replace("in: field", "in: body")), "pack_input_unfit"],
  [
    "a plan of a request that goes to a field",
    withActions(`${PLAIN}\n${PREVIEW}\n${APPLY.replace("in: body, as: plan_id", "in: field, as: plan_id")}`),
    "pack_input_unfit",
  ],
  [
    "an SSH plan under a name that no receiver takes",
    withActions(SSH_PLANNED.replace("as: plan_id", "as: Plan-Id")),
    "pack_input_unfit",
  ],
  [
    "a full-URL action with a loose origin",
    withActions("get:\n  effect: read\n  full_url: { method: GET, allow: [{ origin: http://a.example, prefix: / }] }"),
    "origin_refused",
  ],
  [
    "a full-URL action with a climbing prefix",
    withActions(
      "get:\n  effect: read\n  full_url: { method: GET, allow: [{ origin: https://a.example, prefix: /a/../b }] }",
    ),
    "template_malformed",
  ],
  [
    "a full-URL action with a path input",
    withActions(
      "get:\n  effect: read\n  full_url: { method: GET, allow: [{ origin: https://a.example, prefix: / }] }\n  input: { a: { in: query, type: string } }",
    ),
    "pack_input_unfit",
  ],
  ["a mint that is no place", withActions(`${PLAIN}\n  mints: ["a b"]`), "value_not_allowed"],
];

describe("lint refuses", () => {
  for (const [name, text, code] of [...structural, ...semantic]) {
    test(name, () => {
      const { pack, findings } = read(text);
      assert.equal(pack, null);
      assert.ok(
        findings.some((finding) => finding.code === code && finding.severity === "error"),
        `${JSON.stringify(findings)}\n${text}`,
      );
    });
  }
});

describe("lint accepts, and says what deserves a look", () => {
  const accepted: readonly [string, string, readonly string[]][] = [
    ["a plain read", withActions(PLAIN), []],
    ["plan, execute, confirm", withActions(`${APPLY}\n${PREVIEW}\n${PLAIN}`), []],
    [
      "a preview by mode in the body of the same request",
      withActions(
        `${PREVIEW.replace("/do/plan", "/do").replace("{ a:", "{ mode: { in: body, const: preview }, a:")}\n${WRITE}`,
      ),
      ["(pack_preview_missing)"],
    ],
    [
      "a path parameter of the plan in its execution",
      withActions(
        `${APPLY.replace("/do,", '"/do/{a}",')}\n  input: { a: { in: path, type: string } }\n${PREVIEW.replace("/do/plan", '"/do/{a}/plan"').replace("in: body", "in: path")}\n${PLAIN}`,
      ),
      [],
    ],
    [
      "a job, with its identifier under another name",
      withActions(`${CREATE}\n  job: { id: /data/id, status: status, succeeded: [a], failed: [b] }\n${STATUS}`),
      [],
    ],
    ["SSH alone, without a provider", withActions(SSH, ""), ["(pack_preview_missing)"]],
    ["a plan on a host, previewed by an operation of its own", withActions(SSH_PLANNED, ""), []],
    ["an origin on loopback", withActions(PLAIN, "provider:\n  origin: http://127.0.0.1:8080\n"), []],
    [
      "a purchase without a ceiling asks on every call",
      withActions(WRITE.replace("effect: write", "effect: purchase")),
      ["(pack_asks_each_call)"],
    ],
    [
      "a send without a ceiling asks on every call",
      withActions(WRITE.replace("effect: write", "effect: send")),
      ["(pack_asks_each_call)"],
    ],
    [
      "a write by GET",
      withActions(PLAIN.replace("effect: read", "effect: write")),
      ["(pack_preview_missing)", "(pack_worth_a_look)"],
    ],
    [
      "a DELETE with a body",
      withActions(WRITE.replace("POST", "DELETE")),
      ["(pack_preview_missing)", "(pack_worth_a_look)"],
    ],
    ["a write without a plan", withActions(WRITE), ["(pack_preview_missing)"]],
    [
      "a plain DELETE, whatever its effect is called",
      withActions(
        WRITE.replace("POST", "DELETE")
          .replace("effect: write", "effect: send\n  max_cost_cents: 0")
          .replace(", body: application/json", "")
          .replace(/\n {2}input:.*/, ""),
      ),
      ["(pack_preview_missing)"],
    ],
    [
      "a write that says that there is no preview",
      withActions(WRITE.replace("effect: write", "effect: write\n  preview: none")),
      [],
    ],
  ];
  for (const [name, text, expected] of accepted) {
    test(name, () => {
      assert.deepEqual(codesOf(text), expected, JSON.stringify(read(text).findings));
      assert.notEqual(read(text).pack, null);
    });
  }

  test("a loopback origin is a private network without saying so", () => {
    const { pack } = read(withActions(PLAIN, "provider:\n  origin: http://127.0.0.1:8080\n"));
    assert.equal(pack?.provider?.network, "private");
  });

  test("a missing ceiling is remembered in the definition", () => {
    const { pack } = read(withActions(WRITE.replace("effect: write", "effect: purchase")));
    assert.equal(pack?.actions.get("do")?.asksEachCall, true);
  });
});

describe("the published JSON Schema", () => {
  const file: Record<string, unknown> = JSON.parse(readFileSync(join(root, "packs/pack.schema.json"), "utf8"));

  test("is the one that the reader uses", () => {
    assert.deepEqual(file, JSON.parse(publishedSchema()), "run `npm run docs`");
  });

  // Our compiler takes the subset alone, so the dialect is taken off first.
  const { $schema, title, ...bare } = file;
  const check = compileSchema(bare as JsonSchema);
  const data = (text: string): JsonValue => {
    const findings = new Findings("x");
    return readYaml(Buffer.from(text, "utf8"), findings)?.value ?? null;
  };

  test("names its dialect", () => {
    assert.equal($schema, "https://json-schema.org/draft/2020-12/schema");
    assert.equal(typeof title, "string");
  });

  test("accepts the packs that we ship", () => assert.deepEqual(check(data(example)), []));

  for (const [name, text] of structural) {
    test(`refuses ${name}, as the reader does`, () => assert.notEqual(check(data(text)).length, 0));
  }

  test("leaves to the reader what a schema cannot say, and calls none of it broken in shape", () => {
    for (const [name, text] of semantic) {
      const value = data(text);
      if (name === "a preview by OPTIONS") continue;
      assert.deepEqual(check(value), [], name);
    }
  });

  test("closes every object, so that an editor underlines a misspelt member too", () => {
    const open: string[] = [];
    const visit = (schema: JsonSchema, path: string): void => {
      if (schema.type === "object" && schema.additionalProperties === undefined) open.push(path);
      for (const [member, inner] of Object.entries(schema.properties ?? {})) visit(inner, `${path}/${member}`);
      if (schema.items !== undefined) visit(schema.items, `${path}/items`);
      if (typeof schema.additionalProperties === "object") visit(schema.additionalProperties, `${path}/*`);
    };
    visit(packSchema, "");
    assert.deepEqual(open, []);
  });
});
