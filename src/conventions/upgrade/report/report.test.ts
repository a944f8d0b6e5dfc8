import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../../kernel/testing/whole.ts";
import { reviewUpgrade } from "../compare/review.ts";
import { emptyReviewFile } from "../decision/review-file.ts";
import { settleReview } from "../decision/settle.ts";
import { readDocument } from "../document/read-document.ts";
import { buildAuthorityMap } from "../map/authority-map.ts";
import { compareMaps } from "../map/compare-maps.ts";
import { readAuthorityMap, writeAuthorityMap } from "../map/map-file.ts";
import { buildApi } from "../model/build-api.ts";
import { reportJson } from "./json.ts";
import { html } from "./markup.ts";
import { reportPage } from "./page.ts";
import { buildReport, type Report } from "./report.ts";
import { reportLines } from "./terminal.ts";

/** A report about a provider who writes `text` wherever a provider can write. */
function reportWith(text: string, pack: Parameters<typeof reviewUpgrade>[2] = []): Report {
  const api = (fields: readonly string[], paths: object): ReturnType<typeof buildApi> =>
    buildApi(
      readDocument(
        "a.json",
        Buffer.from(
          JSON.stringify({
            openapi: "3.0.0",
            info: { title: `T ${text}`, version: `1 ${text}` },
            servers: [{ url: "https://a.example" }],
            paths: {
              "/things": {
                get: {
                  responses: {
                    "200": {
                      description: "ok",
                      content: {
                        "application/json": {
                          schema: {
                            type: "object",
                            properties: Object.fromEntries(fields.map((name) => [name, { type: "string" }])),
                          },
                        },
                      },
                    },
                  },
                },
              },
              ...paths,
            },
          }),
        ),
      ),
    );
  const before = api(["name"], {});
  const after = api(["name", `f ${text}`], {
    [`/new/${text}`]: {
      post: {
        operationId: `op ${text}`,
        summary: text,
        description: `Needs these roles:\n* ${text}`,
        tags: [text],
        responses: { "200": { description: text } },
      },
    },
  });
  const review = reviewUpgrade(before, after, pack);
  const map = buildAuthorityMap(after, pack);
  return buildReport(
    review,
    settleReview(review.differences, emptyReviewFile("T"), []),
    map,
    compareMaps(buildAuthorityMap(before, pack), map),
  );
}

const HOSTILE = `<script>alert(1)</script><img src=x onerror=alert(1)>"'><a href="https://evil.example">`;

test("provider text never becomes markup", () => {
  const page = reportPage(reportWith(HOSTILE));
  assert.equal(page.match(/<script/g)?.length, 1);
  assert.ok(!page.includes("<img"));
  assert.ok(!/<[a-z][^>]*\son[a-z]+\s*=/i.test(page));
  assert.ok(page.includes("&lt;script&gt;alert(1)&lt;/script&gt;"));
});

test("whatever a provider writes, the page has the elements of an empty provider and no more", () => {
  const tags = (page: string): string => [...page.matchAll(/<\/?([a-z0-9]+)/g)].map(([, name]) => name).join(" ");
  const plain = tags(reportPage(reportWith("x")));
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(..."<>\"'&/= ;:-!`{}$\\\u202eéa1\u0000\u001b"), minLength: 1, maxLength: 24 }),
      (text) => {
        if (/[{}]/.test(text)) return;
        assert.equal(tags(reportPage(reportWith(`q${text}q`))), plain);
      },
    ),
    { numRuns: runsOf(60) },
  );
});

test("what could act on a reader is written out, on the page and in the terminal", () => {
  const report = reportWith("a\u202eb\u0007c\u001b[2Jd\u200be");
  const page = reportPage(report);
  const lines = reportLines(report).join("\n");
  for (const point of ["\u202e", "\u0007", "\u001b", "\u200b"]) {
    assert.ok(!page.includes(point));
    assert.ok(!lines.includes(point));
  }
  assert.ok(page.includes("\\u{202e}"));
});

test("the page asks for nothing from anywhere, and lets nothing run but its own script", () => {
  const page = reportPage(reportWith("x"));
  const policy = /Content-Security-Policy" content="([^"]+)"/.exec(page)?.[1] ?? "";
  assert.match(
    policy,
    /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; script-src 'sha256-[A-Za-z0-9+/=]+'; base-uri 'none'; form-action 'none'$/,
  );
  assert.ok(!/\s(?:src|srcset|action|poster|data)=/.test(page));
  assert.deepEqual(
    [...page.matchAll(/href="([^"]*)"/g)].map(([, target]) => target?.charAt(0)).filter((first) => first !== "#"),
    [],
  );
  assert.ok(!/@import|url\(/.test(page));
});

test("the page reads whole without its script: only the toolbar is hidden until it runs", () => {
  const page = reportPage(reportWith("x"));
  assert.deepEqual(
    [...page.replace(/<style>.*<\/style>|<script>.*<\/script>/gs, "").matchAll(/<([a-z]+)[^>]*\shidden/g)].map(
      ([, name]) => name,
    ),
    ["div"],
  );
});

test("every difference, its state, before and after are on the page and in the JSON", () => {
  const pack = [{ action: "t.list", method: "GET", path: "/things", credential: "t", effect: "read" }];
  const report = reportWith("x", pack);
  const page = reportPage(report);
  const json = JSON.parse(JSON.stringify(reportJson(report))) as {
    readonly verdict: string;
    readonly differences: readonly {
      readonly id: string;
      readonly agent_scopes: readonly string[];
      readonly decision: object;
    }[];
  };
  assert.equal(json.verdict, "open");
  assert.equal(json.differences.length, report.review.differences.length);
  for (const { id, decision } of json.differences) {
    assert.ok(page.includes(`id="${id}"`), id);
    assert.deepEqual(decision, { state: "open" });
  }
  assert.ok(json.differences.some(({ agent_scopes }) => agent_scopes.includes("t.list")));
  assert.ok(page.includes("pack: t.list"));
});

test("totals add up to the differences, surface by surface", () => {
  const report = reportWith("x");
  const sum = report.totals.reduce((count, { widens, shifts, narrows }) => count + widens + shifts + narrows, 0);
  assert.equal(sum, report.review.differences.length);
  assert.equal(
    report.totals.reduce((count, { open }) => count + open, 0),
    report.settlement.open.length,
  );
  assert.equal(
    report.groups.reduce((count, { members }) => count + members.length, 0),
    sum,
  );
});

test("the summary says where the upgrade stands and what an existing credential reaches", () => {
  const lines = reportLines(reportWith("x"));
  assert.ok(lines.some((line) => line.startsWith("Blocked: 2 differences")));
  assert.ok(lines.some((line) => line.includes("declares no security for 1 new operation")));
});

test("markup is made only by the template: text and lists in it are escaped", () => {
  assert.equal(
    html`<p>${"<b>"}${["&", html`<i>${'"'}</i>`]}${null}${7}</p>`.markup,
    "<p>&lt;b&gt;&amp;<i>&quot;</i>7</p>",
  );
});

test("the authority map is read back as it was written, and compared row by row and column by column", () => {
  const report = reportWith("x: [1]\n# no");
  assert.ok(report.map !== null);
  const back = readAuthorityMap("m.yaml", Buffer.from(writeAuthorityMap(report.map)));
  assert.deepEqual(JSON.parse(JSON.stringify(back)), JSON.parse(JSON.stringify(report.map)));
  assert.deepEqual(compareMaps(back, report.map), []);
  const [first, ...rest] = report.map.rows;
  assert.ok(first !== undefined);
  const edited = { ...report.map, rows: [{ ...first, denial_expectation: "403", actions: ["a"] }, ...rest.slice(1)] };
  assert.deepEqual(
    compareMaps(edited, report.map),
    [
      ...rest.slice(0, 1).map(({ operation }) => ({ operation, kind: "added", columns: [] })),
      {
        operation: first.operation,
        kind: "changed",
        columns: [
          { column: "denial_expectation", before: "403", after: first.denial_expectation },
          { column: "actions", before: "a", after: "" },
        ],
      },
    ].sort((a, b) => (a.operation < b.operation ? -1 : 1)),
  );
  assert.throws(() =>
    readAuthorityMap("m.yaml", Buffer.from("format: gw.authority-map/v1\napi: a\nversion: b\nrows: [{}]")),
  );
  assert.throws(() => readAuthorityMap("m.yaml", Buffer.from("rows: []")));
});
