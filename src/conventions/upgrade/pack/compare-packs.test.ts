import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied } from "../../../kernel/failure.ts";
import type { Pack } from "../../action/pack.ts";
import { readPack } from "../../action/read.ts";
import type { ProbeStatement } from "../probe/attest.ts";
import { comparePacks } from "./compare-packs.ts";
import { requireEvidence } from "./require-evidence.ts";

const text = `format: gw.pack/v1
pack: acme
description: A pack.
provider:
  origin: https://api.acme.example
  credential: acme-main
  auth: { scheme: bearer }
  version: { header: X-API-Version, value: "2026-04-01" }
  idempotency: { header: Idempotency-Key, window_s: 3600 }
  correlation_header: X-Correlation-ID
  redirects: { origins: [], others: refuse }
  limits: { timeout_s: 10 }
actions:
  thing.list:
    description: Things.
    effect: read
    request: { method: GET, path: /v1/things }
    input: { state: { in: query, enum: [active, any], optional: true } }
    pages: { items: data, cursor: next_cursor, cursor_param: cursor, size_param: limit, page_size: 50, max_pages: 10, max_records: 500 }
  thing.get:
    effect: read
    request: { method: GET, path: "/v1/things/{id}" }
    input: { id: { in: path, type: string, maxLength: 64 } }
  thing.status:
    effect: read
    request: { method: GET, path: "/v1/jobs/{job}" }
    input: { job: { in: path, type: string, maxLength: 64 } }
  thing.plan:
    effect: preview
    request: { method: POST, path: /v1/things/plan, body: application/json }
    input: { name: { in: body, type: string, maxLength: 64 } }
  thing.apply:
    effect: write
    retry: idempotent_write
    needs: { plan: thing.plan, approval: each_use }
    request: { method: POST, path: /v1/things, body: application/json }
    plan: { id: { in: body, as: plan_id } }
    confirm: thing.list
  thing.make:
    effect: create
    retry: idempotent_write
    max_cost_cents: 5
    mints: [/key]
    request: { method: POST, path: /v1/make, body: application/json }
    input:
      name: { in: body, type: string, maxLength: 64 }
      kind: { in: body, const: plain }
    job: { id: job_id, status: thing.status, succeeded: [done], failed: [failed], cancelled: [stopped], resume: none, create_deadline_s: 30, result_deadline_s: 60 }
    unknown: { retry_allowed: true, reconcile: thing.list }
`;

function pack(edit: (text: string) => string = (same) => same): Pack {
  const edited = edit(text);
  const { pack: read, findings } = readPack(Buffer.from(edited), "acme.yaml");
  const errors = findings.filter(({ severity }) => severity === "error");
  assert.ok(read !== null, JSON.stringify(errors));
  return read;
}

const before = pack();
const swap = (from: string, to: string) => (whole: string) => {
  assert.ok(whole.includes(from), from);
  return whole.replace(from, to);
};

const single: readonly (readonly [what: string, edit: (text: string) => string, told: string])[] = [
  ["origin", swap("https://api.acme.example", "https://api2.acme.example"), "upgrade pack acme provider|origin"],
  ["version", swap("2026-04-01", "2026-10-01"), "upgrade pack acme provider|version"],
  [
    "version taken out",
    swap(`  version: { header: X-API-Version, value: "2026-04-01" }\n`, ""),
    "upgrade pack acme provider|version",
  ],
  ["credential", swap("acme-main", "acme-other"), "evidence pack acme provider|credential"],
  ["auth", swap("{ scheme: bearer }", "{ scheme: basic }"), "evidence pack acme provider|auth"],
  ["idempotency", swap("window_s: 3600", "window_s: 60"), "decision pack acme provider|idempotency"],
  ["correlation", swap("X-Correlation-ID", "X-Trace"), "decision pack acme provider|correlationHeader"],
  ["redirects", swap("others: refuse", "others: ask"), "decision pack acme provider|redirects"],
  ["path version", swap("path: /v1/make", "path: /v2/make"), "upgrade action acme.thing.make|path"],
  ["path version gained", swap("path: /v1/make", "path: /v1.1/make"), "upgrade action acme.thing.make|path"],
  ["path", swap("path: /v1/make", "path: /v1/forge"), "evidence action acme.thing.make|path"],
  [
    "method",
    swap("method: POST, path: /v1/make", "method: PUT, path: /v1/make"),
    "evidence action acme.thing.make|method",
  ],
  ["effect", swap("effect: create", "effect: write"), "evidence action acme.thing.make|effect"],
  [
    "retry",
    swap("effect: write\n    retry: idempotent_write", "effect: write"),
    "decision action acme.thing.apply|retry",
  ],
  ["cost", swap("max_cost_cents: 5", "max_cost_cents: 500"), "decision action acme.thing.make|maxCostCents"],
  ["mints", swap("    mints: [/key]\n", ""), "decision action acme.thing.make|mints"],
  [
    "token",
    swap("    mints: [/key]\n", "    mints: [/key]\n    token: { scopes: [things:write] }\n"),
    "decision action acme.thing.make|token",
  ],
  ["job", swap("result_deadline_s: 60", "result_deadline_s: 600"), "decision action acme.thing.make|job"],
  ["reconcile", swap(", reconcile: thing.list", ""), "decision action acme.thing.make|unknown"],
  ["constant", swap("const: plain", "const: admin"), "evidence action acme.thing.make|input kind constant"],
  [
    "wire name",
    swap(
      "name: { in: body, type: string, maxLength: 64 }\n      kind",
      "name: { in: body, as: role, type: string, maxLength: 64 }\n      kind",
    ),
    "evidence action acme.thing.make|input name wireName",
  ],
  [
    "input values",
    swap("enum: [active, any]", "enum: [active, any, deleted]"),
    "decision action acme.thing.list|input state schema",
  ],
  [
    "input gained",
    swap("input: { state:", "input: { all: { in: query, type: boolean, optional: true }, state:"),
    "evidence action acme.thing.list|input all",
  ],
  [
    "input lost",
    swap("    input: { state: { in: query, enum: [active, any], optional: true } }\n", ""),
    "decision action acme.thing.list|input state",
  ],
  ["pages", swap("max_records: 500", "max_records: 5000"), "decision action acme.thing.list|pages"],
  ["approval", swap(", approval: each_use", ""), "decision action acme.thing.apply|needs"],
  ["confirm", swap("confirm: thing.list", "confirm: thing.get"), "decision action acme.thing.apply|confirm"],
  [
    "description",
    swap("description: Things.", "description: Ask me first."),
    "decision action acme.thing.list|description",
  ],
  [
    "new action",
    (whole) => `${whole}  thing.more:\n    effect: read\n    request: { method: GET, path: /v1/more }\n`,
    "evidence action acme.thing.more|",
  ],
];

for (const [what, edit, told] of single) {
  test(`a changed pack is reviewed for what changed: ${what}`, () => {
    const found = comparePacks(before, pack(edit)).map(({ demand, draft }) => `${demand} ${draft.subject}|${draft.at}`);
    assert.ok(found.includes(told), found.join("\n"));
  });
}

test("comments, order and the pack's own description ask for nothing", () => {
  assert.deepEqual(
    comparePacks(
      before,
      pack((whole) => `# words\n${swap("A pack.", "The pack.")(whole)}`),
    ),
    [],
  );
});

test("a pack whose trusted bytes are lost is new in everything", () => {
  const found = comparePacks(null, before);
  assert.deepEqual([...new Set(found.map(({ draft }) => draft.kind))], ["trusted_pack_lost", "action_added"]);
  assert.equal(found.length, before.actions.size + 1);
  assert.throws(
    () => requireEvidence(null, before, found, { documents: null, probe: null, without: true }),
    (error) => error instanceof Denied && error.code === "upgrade_undecided",
  );
});

test("one probed action is no evidence about another", () => {
  const after = pack(swap("2026-04-01", "2026-10-01"));
  const seen = (routes: readonly string[]) => ({
    ...({ format: "gw.upgrade-probe/v2", api: "Acme", corpus: before.digest, credential: "acme-main" } as const),
    before: { origin: "https://api.acme.example", header: "x-api-version: 2026-04-01" },
    after: { origin: "https://api.acme.example", header: "x-api-version: 2026-10-01" },
    observed: routes.map((route, index) => ({ case: `c${index}`, route, before: 200, after: 200 })),
    ...{ report: before.digest, operator: "ada", operator_key_id: "k", observed_at: "" },
  });
  const all = [
    "GET /v1/things",
    "GET /v1/things/{}",
    "GET /v1/jobs/{}",
    "POST /v1/things/plan",
    "POST /v1/things",
    "POST /v1/make",
  ];
  const codeWith = (probe: ProbeStatement): string => {
    try {
      requireEvidence(before, after, comparePacks(before, after), { documents: null, probe, without: false });
      return "enough";
    } catch (error) {
      return error instanceof Denied ? error.code : String(error);
    }
  };
  assert.equal(codeWith(seen(all)), "enough");
  assert.equal(codeWith(seen(all.slice(1))), "upgrade_undecided");
  assert.equal(codeWith({ ...seen(all), credential: "acme-other" }), "review_mismatch");
  assert.equal(
    codeWith({ ...seen(all), after: { origin: "https://api.acme.example", header: null } }),
    "review_mismatch",
  );
  assert.equal(
    codeWith({ ...seen(all), before: { origin: "https://other.example", header: null } }),
    "review_mismatch",
  );
});
