import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { defaults } from "../../kernel/defaults.ts";
import { type PreviewReading, readPreview } from "./read-preview.ts";

const effect = {
  resource: "projects/p1/memberships/u1",
  revision: "r3",
  previous: { role: "viewer" },
  proposed: { role: "editor" },
  cause: "request",
};

const good = {
  mode: "preview",
  executable: true,
  validation: [],
  plan_id: "pln-1",
  expires_at: "2030-01-01T00:00:00.000Z",
  request_digest: "sha256:00",
  read_revisions: [{ resource: "projects/p1", revision: "r7" }],
  effects: [{ relation: "direct", total: 1, sample: [effect], next_cursor: null }],
  assumptions: [{ dependency: "mail", assumed: "later", may_proceed_without: true }],
};

function read(change: object = {}, status = 200): PreviewReading {
  return readPreview(status, Buffer.from(JSON.stringify({ ...good, ...change })));
}

function previewOf(reading: PreviewReading) {
  assert.ok(reading.kind === "preview", reading.kind === "not_a_preview" ? reading.why : "");
  return reading.preview;
}

test("a preview is a 200 whose body says mode: preview, and comes out as it was said", () => {
  const preview = previewOf(read());
  assert.equal(preview.executable, true);
  assert.deepEqual(JSON.parse(JSON.stringify(preview.effects[0]?.sample)), [effect]);
  assert.deepEqual(preview.read_revisions, good.read_revisions);
});

test("no other status and no other mode is a preview", () => {
  for (const status of [199, 201, 203, 204, 206, 301, 400, 403, 409, 500])
    assert.equal(read({}, status).kind, "not_a_preview", String(status));
  for (const mode of ["Preview", "execute", "", null, true, ["preview"]])
    assert.equal(read({ mode }).kind, "not_a_preview");
});

test("a 202 is a preview that is not ready to be executed", () => {
  assert.equal(previewOf(read({}, 202)).executable, false);
});

test("a signed plan token may stand in for a plan identifier, and without either nothing is executable", () => {
  assert.equal(previewOf(read({ plan_id: null, plan_token: "tok" })).plan_id, "tok");
  assert.equal(previewOf(read({ plan_id: null })).executable, false);
});

test("an error blocks execution whatever its flag and the whole say", () => {
  const error = { severity: "error", code: "legal_hold_active", path: "", message: "held", blocks_execution: false };
  assert.equal(previewOf(read({ validation: [error] })).executable, false);
  const warning = { ...error, severity: "warning", code: "member_count_change" };
  assert.equal(previewOf(read({ validation: [warning] })).executable, true);
  assert.equal(previewOf(read({ validation: [{ ...warning, blocks_execution: true }] })).executable, false);
});

test("plain effects are grouped by relation, direct before derived before separate", () => {
  const effects = [
    { ...effect, relation: "separate", compensating_action: "send another mail" },
    { ...effect, relation: "derived" },
    effect,
  ];
  const { effects: groups } = previewOf(read({ effects }));
  assert.deepEqual(
    groups.map(({ relation, total }) => [relation, total]),
    [
      ["direct", 1],
      ["derived", 1],
      ["separate", 1],
    ],
  );
});

test("a total smaller than its sample, an unknown relation and a missing cause are not readable", () => {
  assert.equal(read({ effects: [{ relation: "direct", total: 0, sample: [effect] }] }).kind, "not_a_preview");
  assert.equal(read({ effects: [{ ...effect, relation: "imagined" }] }).kind, "not_a_preview");
  assert.equal(read({ effects: [{ ...effect, cause: "" }] }).kind, "not_a_preview");
  assert.equal(read({ read_revisions: [{ resource: "x" }] }).kind, "not_a_preview");
});

test("a list that nobody could read on a card is refused", () => {
  const many = (length: number) => Array.from({ length }, () => effect);
  const most = defaults.previewEntries;
  assert.equal(previewOf(read({ effects: many(most) })).effects[0]?.total, most);
  assert.equal(read({ effects: many(most + 1) }).kind, "not_a_preview");
  const group = (length: number) => ({ effects: [{ relation: "direct", total: length, sample: many(length) }] });
  assert.equal(previewOf(read(group(most))).effects[0]?.sample.length, most);
  assert.equal(read(group(most + 1)).kind, "not_a_preview");
});

test("what is of another kind than it has to be is not readable, in any member", () => {
  for (const change of [
    { plan_id: 7 },
    { expires_at: 7 },
    { request_digest: {} },
    { validation: {} },
    { validation: ["held"] },
    { validation: [{ severity: "warning", code: "" }] },
    { validation: [{ severity: "warning", code: "c", repair: 7 }] },
    { read_revisions: "r7" },
    { read_revisions: [{ resource: "", revision: "r7" }] },
    { effects: [7] },
    { effects: [{ ...effect, resource: 7 }] },
    { effects: [{ ...effect, compensating_action: 7 }] },
    { effects: [{ relation: "direct", total: "1", sample: [effect] }] },
    { effects: [{ relation: "direct", total: 1.5, sample: [effect] }] },
    { effects: [{ relation: "direct", total: 2 ** 53, sample: [effect] }] },
    { effects: [{ relation: "direct", total: 1, sample: [effect], next_cursor: 7 }] },
    { assumptions: [{ assumed: "later" }] },
    { assumptions: [null] },
  ])
    assert.equal(read(change).kind, "not_a_preview", JSON.stringify(change));
});

test("what a provider left out is left out, and nothing that it did not say counts as said", () => {
  const bare = previewOf(readPreview(200, Buffer.from('{"mode":"preview","executable":true,"plan_id":""}')));
  assert.deepEqual(bare, {
    ...{ mode: "preview", executable: false, validation: [], plan_id: null, expires_at: null, request_digest: "" },
    ...{ read_revisions: [], effects: [], assumptions: [] },
  });
  for (const executable of ["true", 1, null]) assert.equal(previewOf(read({ executable })).executable, false);
  const [finding] = previewOf(
    read({ validation: [{ severity: "notice", code: "c", blocks_execution: false }] }),
  ).validation;
  assert.deepEqual(finding, {
    ...{ severity: "error", code: "c", path: "", message: "", blocks_execution: true, repair: null },
  });
  const [assumed] = previewOf(read({ assumptions: [{ dependency: "mail", may_proceed_without: "yes" }] })).assumptions;
  assert.deepEqual(assumed, { dependency: "mail", assumed: "", may_proceed_without: false });
  const sparse = { resource: "r", cause: "request" };
  assert.deepEqual(
    previewOf(read({ effects: [sparse, { ...sparse, compensating_action: "undo" }] })).effects[0]?.sample,
    [
      { ...sparse, revision: null, previous: null, proposed: null },
      { ...sparse, revision: null, previous: null, proposed: null, compensating_action: "undo" },
    ],
  );
});

test("no JSON of any shape makes the reader throw, and nothing but mode: preview passes", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(200, 202, 201), (value, status) => {
      const reading = readPreview(status, Buffer.from(JSON.stringify(value)));
      if (reading.kind === "preview") assert.equal((value as { mode?: unknown }).mode, "preview");
    }),
    { numRuns: 500 },
  );
  fc.assert(
    fc.property(
      fc.record({
        effects: fc.jsonValue({ maxDepth: 3 }),
        validation: fc.jsonValue({ maxDepth: 3 }),
        executable: fc.jsonValue({ maxDepth: 1 }),
        plan_id: fc.jsonValue({ maxDepth: 1 }),
      }),
      (change) => {
        const reading = read(change);
        if (reading.kind === "preview" && reading.preview.executable) {
          assert.equal(change.executable, true);
          assert.equal(typeof change.plan_id, "string");
        }
      },
    ),
    { numRuns: 500 },
  );
});
