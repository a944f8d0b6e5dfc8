import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { reviewUpgrade } from "../src/conventions/upgrade/compare/review.ts";
import { emptyReviewFile } from "../src/conventions/upgrade/decision/review-file.ts";
import { decideDifferences, settleReview } from "../src/conventions/upgrade/decision/settle.ts";
import { readDocument } from "../src/conventions/upgrade/document/read-document.ts";
import type { Api } from "../src/conventions/upgrade/model/api.ts";
import { buildApi } from "../src/conventions/upgrade/model/build-api.ts";
import type { Corpus } from "../src/conventions/upgrade/probe/corpus-schema.ts";
import { draftCorpus, writeCorpus } from "../src/conventions/upgrade/probe/draft-corpus.ts";
import { expandCorpus, expandLimits } from "../src/conventions/upgrade/probe/expand.ts";
import { readCorpus } from "../src/conventions/upgrade/probe/read-corpus.ts";
import { reportPage } from "../src/conventions/upgrade/report/page.ts";
import { buildReport } from "../src/conventions/upgrade/report/report.ts";
import { acme, acmePack, all, api, drop, put } from "./upgrade-acme.ts";

const folder = join(import.meta.dirname, "../../shared/vectors/openapi-pairs");
const skip = existsSync(folder) ? false : "the public OpenAPI pairs are not here";

function draft(
  before: Api,
  after: Api,
  pack: Parameters<typeof draftCorpus>[3] = [],
): { readonly corpus: Corpus; readonly left: readonly string[] } {
  const drafted = draftCorpus(before, after, reviewUpgrade(before, after, pack), pack);
  return { corpus: readCorpus("c.yaml", Buffer.from(writeCorpus(drafted))), left: drafted.left };
}

function grown(): Api {
  const document = acme();
  all(
    put("paths > /projects/{project_id}/exports", {
      parameters: [{ name: "project_id", in: "path", required: true, schema: { type: "string" } }],
      get: { operationId: "listExports", responses: { "200": { description: "ok" } } },
      post: {
        operationId: "startExport",
        requestBody: {
          required: true,
          content: {
            "application/json": {
              schema: {
                type: "object",
                required: ["format", "deep"],
                properties: {
                  format: { type: "string", enum: ["csv", "json"] },
                  deep: { type: "object", required: ["n"], properties: { n: { type: "integer" } } },
                  other: { type: "string" },
                },
              },
            },
          },
        },
        responses: { "202": { description: "later" } },
      },
    }),
  )(document);
  return api(document, "new.json");
}

test("a draft reads, probes what the pack uses, and keeps it off what it must not touch", () => {
  const { corpus } = draft(api(acme()), grown(), acmePack);
  const byId = new Map(corpus.probes.map((probe) => [probe.id, probe]));
  assert.deepEqual(
    [...byId.keys()],
    ["list-projects", "get-project", "new.list-exports", "new.start-export", "forbidden.add-member"],
  );
  const list = byId.get("list-projects");
  assert.equal(list?.cases, true);
  assert.deepEqual(
    list?.optional?.map(({ name, explicit }) => [name, explicit]),
    [["state", ["active", "all", "archived"]]],
  );
  assert.deepEqual({ ...list?.request.query }, { team_id: "$team_id" });
  assert.deepEqual({ ...list?.pages }, { link: true });
  assert.deepEqual(
    { ...byId.get("get-project")?.forbidden },
    { project_id: ["$forbidden_project", "$other_tenant_record"] },
  );
  assert.equal(byId.get("forbidden.add-member")?.request.with?.["project_id"], "$forbidden_project");
});

test("new routes near a scope are expected to be denied, and acting ones are marked", () => {
  const { corpus } = draft(api(acme()), grown(), acmePack);
  const fresh = corpus.probes.filter((probe) => probe.new_route === true);
  assert.deepEqual(
    fresh.map(({ id, expect, side_effect }) => [id, "denied" in expect, side_effect ?? false]),
    [
      ["new.list-exports", true, false],
      ["new.start-export", true, true],
    ],
  );
  assert.equal(JSON.stringify(fresh[1]?.request.body), '{"deep":{"n":1},"format":"csv"}');
});

test("a new route that the pack names is asked to answer, and not to fail as well", () => {
  const path = "/v1/projects/{project_id}/exports";
  const wanted = { action: "acme.export.list", method: "GET", path, credential: "acme-read", effect: "read" } as const;
  const ids = draft(api(acme()), grown(), [...acmePack, wanted]).corpus.probes.map(({ id }) => id);
  assert.deepEqual(
    ids.filter((id) => id.endsWith("list-exports")),
    ["list-exports"],
  );
  assert.ok(ids.includes("new.start-export"), ids.join());
});

test("traces follow identifiers from call to call, with nearby new routes that must fail", () => {
  const document = acme();
  put("paths > /jobs/{job_id}/log", {
    parameters: [{ name: "job_id", in: "path", required: true, schema: { type: "string" } }],
    get: { operationId: "getJobLog", responses: { "200": { description: "ok" } } },
  })(document);
  put("components > schemas > Project > properties > job_id", { type: "string" })(document);
  const before = acme();
  put("components > schemas > Project > properties > job_id", { type: "string" })(before);
  const { corpus } = draft(api(before), api(document));
  const trace = corpus.traces?.find(({ steps }) => steps[1]?.request.path === "/jobs/{job_id}");
  assert.ok(trace !== undefined, JSON.stringify(corpus.traces));
  assert.equal(trace.steps[1]?.request.with?.["job_id"], "$taken_job_id");
  assert.deepEqual(
    trace.nearby?.map(({ request, expect }) => [request.path, "denied" in expect]),
    [["/jobs/{job_id}/log", true]],
  );
});

test("cursor pages are drafted where parameter and answer agree", () => {
  const document = acme();
  drop("paths > /projects > get > responses > 200 > headers")(document);
  const { corpus } = draft(api(document), api(document), acmePack);
  assert.deepEqual(
    { ...corpus.probes.find(({ id }) => id === "list-projects")?.pages },
    {
      next: "/next_cursor",
      param: "cursor",
    },
  );
});

test("a read that a draft has no room for is named as left out", () => {
  const document = acme();
  for (let at = 0; at < 50; at++) {
    const get = { operationId: `readThing${at}`, responses: { "200": { description: "ok" } } };
    put(`paths > /things${at}`, { get })(document);
  }
  const { corpus, left } = draft(api(document), api(document, "new.json"));
  const sent = new Set(corpus.probes.map(({ request }) => `${request.method} ${request.path}`));
  for (let at = 0; at < 50; at++) {
    const key = `GET /things${at}`;
    assert.notEqual(
      sent.has(key),
      left.some((line) => line.startsWith(`${key}: `)),
      key,
    );
  }
});

test("a draft of a real upgrade reads, expands within the limits, and says what it left out", { skip }, () => {
  for (const [before, after] of [
    ["netlify/old-2.12.0.swagger2.json", "netlify/new-2.60.0.swagger2.json"],
    ["adyen-management/ManagementService-v1.json", "adyen-management/ManagementService-v3.json"],
  ] as const) {
    const load = (file: string): Api => buildApi(readDocument(file, readFileSync(join(folder, file))));
    const { corpus, left } = draft(load(before), load(after));
    const cases = expandCorpus(corpus);
    assert.ok(cases.length > 40 && cases.length <= expandLimits.probes);
    assert.equal(cases.filter(({ sideEffect }) => sideEffect).length, expandLimits.sideEffects);
    assert.ok(left.length > 0);
  }
});

test("the page shows groups, decisions, effects and flows of a real upgrade", { skip }, () => {
  const load = (file: string): Api => buildApi(readDocument(file, readFileSync(join(folder, file))));
  const review = reviewUpgrade(load("netlify/old-2.12.0.swagger2.json"), load("netlify/new-2.60.0.swagger2.json"));
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const token = review.differences.find(({ kind }) => kind === "token_returned");
  const route = review.differences.find(({ subject }) => subject === "GET /sites/{site_id}/ai-gateway/token");
  assert.ok(token !== undefined && route !== undefined);
  const reviewer = { operator: "ada", keyId: "k", sign: (bytes: Buffer) => sign(null, bytes, privateKey) };
  const narrowed = decideDifferences(
    review.differences,
    emptyReviewFile("n"),
    {
      ids: [route.id],
      verdict: "narrowed",
      reason: "own <identity>",
      narrowing: "label netlify-narrow",
      decidedAt: "2026-01-01T00:00:00Z",
    },
    reviewer,
  ).file;
  const both = decideDifferences(
    review.differences,
    narrowed,
    { ids: [token.id], verdict: "rejected", reason: "no", narrowing: null, decidedAt: "2026-01-01T00:00:00Z" },
    reviewer,
  ).file;
  const report = buildReport(review, settleReview(review.differences, both, [{ name: "ada", keyId: "k", publicKey }]));
  const page = reportPage(report);
  assert.equal(report.settlement.verdict, "refused");
  assert.match(
    page,
    /<b>narrowed<\/b> by ada at 2026-01-01T00:00:00Z: own &lt;identity&gt; Narrowed by: label netlify-narrow\./,
  );
  assert.match(page, /partly decided/);
  assert.match(page, /The HTTP method hides this\./);
  assert.match(page, /Token returned: skew_protection_token, in 16 places/);
  for (const { id } of review.differences) assert.equal(page.split(`id="${id}"`).length, 2, id);
});
