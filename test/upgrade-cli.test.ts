import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { stringify } from "yaml";
import type { OperatorKey } from "../src/conventions/approval/decision.ts";
import type { Reviewer, SignedDecision } from "../src/conventions/upgrade/decision/statement.ts";
import type { SendProbe } from "../src/conventions/upgrade/probe/exchange.ts";
import { readCorpus } from "../src/conventions/upgrade/probe/read-corpus.ts";
import { canonicalJson, digestJson } from "../src/kernel/canonical-json.ts";
import { defaults } from "../src/kernel/defaults.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import type { CliIo } from "../src/surfaces/cli/io.ts";
import { runUpgradeCorpus } from "../src/surfaces/cli/upgrade/corpus.ts";
import { type DecidePorts, runUpgradeDecide } from "../src/surfaces/cli/upgrade/decide.ts";
import { runUpgradeProbe } from "../src/surfaces/cli/upgrade/probe.ts";
import { runUpgradeReview } from "../src/surfaces/cli/upgrade/review.ts";
import { reviewFiles, reviewInThread } from "../src/surfaces/cli/upgrade/review-thread.ts";
import { startThreadsFromOneFile } from "./support/threads.ts";
import { whole } from "./support/whole.ts";
import { acme, all, drop, push, put } from "./upgrade-acme.ts";

/** How long a review takes is the machine's affair. */
const UNHURRIED_MS = 3_600_000;
const folder = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(folder, { recursive: true }));
await startThreadsFromOneFile(join(import.meta.dirname, "..", "src", "surfaces", "cli", "upgrade", "review-thread.ts"));
const path = (name: string): string => join(folder, name);
const save = (name: string, content: unknown): string => {
  writeFileSync(path(name), typeof content === "string" ? content : JSON.stringify(content, null, 1));
  return path(name);
};

function terminal(): { readonly io: CliIo; readonly out: string[]; readonly err: string[] } {
  const out: string[] = [];
  const err: string[] = [];
  const never = (): never => assert.fail("nothing should be asked");
  return {
    out,
    err,
    io: {
      out: (line) => out.push(line),
      err: (line) => err.push(line),
      isTty: false,
      color: false,
      ask: never,
      askSecret: never,
      readSecret: never,
    },
  };
}

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const keys: readonly OperatorKey[] = [{ name: "ada", keyId: "k1", publicKey }];
const reviewer: Reviewer = { operator: "ada", keyId: "k1", sign: (bytes) => sign(null, bytes, privateKey) };
const noKeys = {
  operatorKeys: async () => [],
  clock: { wallMs: () => Date.UTC(2026, 0, 2) },
  reviewer: async () => reviewer,
};

function decidePorts(recorded: SignedDecision[]): DecidePorts {
  return {
    clock: { wallMs: () => Date.UTC(2026, 0, 2) },
    operatorKeys: async () => keys,
    credentials: async () => [],
    reviewer: async () => reviewer,
    record: async (decisions) => {
      recorded.push(...decisions);
    },
  };
}

const changed = acme();
all(
  put("paths > /projects/{project_id} > delete > security", []),
  push("components > schemas > Member > properties > role > enum", "admin"),
  put("paths > /exports", { get: { operationId: "listExports", responses: { "200": { description: "ok" } } } }),
)(changed);
const before = save("old.json", acme());
const next = save("new.yaml", stringify(changed));
const pack = save(
  "acme.yaml",
  `format: gw.pack/v1
pack: acme
provider:
  origin: https://api.acme.example
  credential: acme-read
  auth: { scheme: bearer }
actions:
  project.get:
    effect: read
    request: { method: GET, path: "/v1/projects/{project_id}" }
    input:
      project_id: { in: path, type: string, maxLength: 64 }
`,
);

test("gw upgrade review blocks while a difference is open, and writes a report that opens anywhere", async () => {
  const { io, out, err } = terminal();
  const html = path("report.html");
  assert.equal(await runUpgradeReview({ before, after: next, pack, json: false, html }, io, noKeys), 1);
  assert.match(err.join(), /^upgrade_undecided/);
  assert.ok(out.some((line) => line.startsWith("Blocked: 3 differences")));
  assert.ok(out.some((line) => line.includes("acme.project.get")));
  assert.match(readFileSync(html, "utf8"), /^<!doctype html>/);
});

test("gw upgrade decide signs, records in the log first, and lets the review finish", async () => {
  const reviews = path("acme.reviews.yaml");
  const recorded: SignedDecision[] = [];
  const listing = terminal();
  const options = {
    of: { before, after: next, pack },
    reviews,
    json: true,
    verdict: "accepted" as const,
    reason: "seen",
    narrowing: null,
  };
  assert.equal(await runUpgradeDecide({ ...options, ids: [] }, listing.io, decidePorts(recorded)), 1);
  const open = JSON.parse(listing.out.join("\n")) as readonly { readonly id: string }[];
  const ids = open.map(({ id }) => id);
  assert.equal(ids.length, 3);

  const first = terminal();
  assert.equal(await runUpgradeDecide({ ...options, ids: ids.slice(0, 2) }, first.io, decidePorts(recorded)), 0);
  assert.equal(recorded.length, 2);
  const some = terminal();
  assert.equal(
    await runUpgradeReview({ before, after: next, pack, reviews, json: false }, some.io, {
      operatorKeys: async () => keys,
    }),
    1,
  );
  assert.ok(some.out.some((line) => line.startsWith("Blocked: 1 difference")));

  assert.equal(await runUpgradeDecide({ ...options, ids: ids.slice(2) }, terminal().io, decidePorts(recorded)), 0);
  const done = terminal();
  assert.equal(
    await runUpgradeReview({ before, after: next, pack, reviews, json: true }, done.io, {
      operatorKeys: async () => keys,
    }),
    0,
  );
  const report = JSON.parse(done.out.join("\n")) as {
    readonly verdict: string;
    readonly differences: readonly { readonly decision: { readonly operator: string; readonly reason: string } }[];
  };
  assert.equal(report.verdict, "finished");
  assert.deepEqual(
    new Set(report.differences.map(({ decision }) => `${decision.operator} ${decision.reason}`)),
    new Set(["ada seen"]),
  );
  // Without the operators' keys the same file decides nothing.
  assert.equal(await runUpgradeReview({ before, after: next, reviews, json: true }, terminal().io, noKeys), 1);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith(".tmp")),
    [],
  );
});

test("a decision that the log did not take is not written to the file", async () => {
  const reviews = path("unrecorded.yaml");
  const ports = {
    ...decidePorts([]),
    record: async () => {
      throw new Denied("internal_fault", "the log is closed");
    },
  };
  const { io, err } = terminal();
  const listing = terminal();
  await runUpgradeDecide(
    { of: { before, after: next }, reviews, json: true, verdict: "accepted", reason: "x", narrowing: null, ids: [] },
    listing.io,
    ports,
  );
  const [first] = JSON.parse(listing.out.join("\n")) as readonly { readonly group: string }[];
  assert.equal(
    await runUpgradeDecide(
      {
        of: { before, after: next },
        reviews,
        json: true,
        verdict: "accepted",
        reason: "x",
        narrowing: null,
        ids: [first?.group ?? ""],
      },
      io,
      ports,
    ),
    1,
  );
  assert.match(err.join(), /^internal_fault/);
  assert.ok(!readdirSync(folder).includes("unrecorded.yaml"));
});

test("the authority map is written once, compared afterwards, and replaced only when asked", async () => {
  const map = path("acme.map.yaml");
  await runUpgradeReview({ before, after: before, map, json: false }, terminal().io, noKeys);
  const first = readFileSync(map, "utf8");
  assert.match(first, /^# Authority map of Acme/);
  const { io, out } = terminal();
  await runUpgradeReview({ before, after: next, map, json: false }, io, noKeys);
  assert.ok(
    out.some((line) => line.includes("authority map differs in 2 rows")),
    out.join("\n"),
  );
  assert.equal(readFileSync(map, "utf8"), first);
  await runUpgradeReview({ before, after: next, map, updateMap: true, json: false }, terminal().io, noKeys);
  assert.notEqual(readFileSync(map, "utf8"), first);
});

test("two equal documents need no decision", async () => {
  const { io, out } = terminal();
  assert.equal(await runUpgradeReview({ before, after: before, json: false }, io, noKeys), 0);
  assert.ok(out.some((line) => line.startsWith("Finished")));
});

test("a file that is missing, malformed or no pack is refused by code and place, with exit 1", async () => {
  const refuse = async (options: {
    readonly before?: string;
    readonly after?: string;
    readonly pack?: string;
  }): Promise<string> => {
    const { io, err } = terminal();
    assert.equal(await runUpgradeReview({ before, after: next, json: false, ...options }, io, noKeys), 1);
    return err.join("\n");
  };
  assert.match(await refuse({ before: path("nothing.json") }), /^file_unreadable: .*ENOENT/);
  assert.match(await refuse({ after: save("bad.json", '{"a": 1,}') }), /^document_malformed: .*bad\.json:1:9/);
  assert.match(await refuse({ after: save("dup.json", '{"a": 1, "a": 2}') }), /^document_malformed: .*dup\.json:1:10/);
  assert.match(
    await refuse({ pack: save("bad-pack.yaml", "format: gw.pack/v1\npack: acme\nactions: 7\n") }),
    /not a usable pack/,
  );
  const remote = acme();
  put("components > schemas > Project > properties > x", { $ref: "https://evil.example/x.json" })(remote);
  assert.match(await refuse({ after: save("remote.json", remote) }), /^reference_remote: .*remote\.json:\d+:\d+/);
});

test("gw upgrade corpus drafts a corpus that can be read, from document and pack", async () => {
  const out = path("corpus.yaml");
  assert.equal(await runUpgradeCorpus({ before, after: next, pack, out }, terminal().io), 0);
  const corpus = readCorpus(out, readFileSync(out));
  assert.deepEqual({ ...corpus.credentials["main"] }, { env: "GW_PROBE_TOKEN", case: "valid", vault: "acme-read" });
  assert.deepEqual(
    corpus.probes.map(({ id }) => id),
    ["get-project"],
  );
  assert.deepEqual({ ...corpus.probes[0]?.forbidden }, { project_id: ["$forbidden_project", "$other_tenant_record"] });
  assert.equal(corpus.probes[0]?.cases, true);
  const shown = terminal();
  assert.equal(await runUpgradeCorpus({ before, after: next }, shown.io), 0);
  const whole = readCorpus("c.yaml", Buffer.from(shown.out.join("\n")));
  assert.ok(whole.probes.some(({ id, new_route: isNew }) => id === "new.list-exports" && isNew === true));
  assert.ok((whole.traces ?? []).length > 0);
});

const corpusText = stringify({
  format: "gw.upgrade-corpus/v1",
  api: "Acme",
  account: { allowed_project: "a", forbidden_project: "f", inactive_record: "i", other_tenant_record: "t" },
  credentials: { main: { env: "GW_PROBE_TOKEN", case: "valid", vault: "acme-main" } },
  without: { expired: "none", wrong_audience: "none", missing_scope: "none", revoked: "none" },
  probes: [
    { id: "list", request: { method: "GET", path: "/projects" }, expect: { status: [200] } },
    {
      id: "write",
      request: { method: "POST", path: "/projects/{id}", with: { id: "$forbidden_project" } },
      expect: { denied: true },
      side_effect: true,
    },
  ],
});

test("403 expected, 201 observed: the upgrade is blocked, the credential disabled, and revocation stays open", async () => {
  const disabled: string[][] = [];
  const asked: string[][] = [];
  const lent: string[] = [];
  const recorded: string[] = [];
  const { io, err, out } = terminal();
  const exit = await runUpgradeProbe(
    {
      json: false,
      corpus: save("probe.yaml", corpusText),
      old: { base: "https://api.acme.example/v1", header: null },
      new: { base: "https://api.acme.example/v2", header: null },
      env: { GW_PROBE_TOKEN: "t0ps3cret" },
    },
    io,
    {
      ...noKeys,
      approveSideEffects: async (cases) => {
        asked.push(cases.map(({ id }) => id));
        return true;
      },
      record: async (digest) => void recorded.push(digest),
      openSend: async (version, _corpus, tokens) => {
        lent.push([...tokens.keys()].join());
        const send: SendProbe = async ({ method }) => ({
          kind: "answered",
          status: method === "GET" ? 200 : version.base.endsWith("v2") ? 201 : 403,
          headers: {},
          body: new Uint8Array(),
        });
        return send;
      },
      disableCredentials: async (labels) => {
        disabled.push([...labels]);
      },
    },
  );
  assert.equal(exit, 1);
  assert.deepEqual(asked, [["write"]]);
  assert.deepEqual(lent, ["main", "main"]);
  assert.deepEqual(disabled, [["acme-main"]]);
  assert.match(recorded.join(), /^sha256:[0-9a-f]{64}$/, "its result is on record before it is shown");
  assert.match(err[0] ?? "", /^authority_increase: .*acme-main/);
  assert.ok(err.some((line) => line.startsWith("still open: revoke")));
  assert.ok(err.some((line) => line.includes("gw credential rotate acme-main")));
  const first = out[out.indexOf("What weighs most:") + 1] ?? "";
  assert.match(first, /authority increase/, "nothing weighs more");
  assert.ok(![...out, ...err].join().includes("t0ps3cret"));
});

test("what a probe observed is decided from its saved report, and one that says something else is refused", async () => {
  const corpus = save("decide.corpus.yaml", corpusText);
  const reviews = path("probe.reviews.yaml");
  const probe = async (): Promise<{ readonly exit: number; readonly json: string }> => {
    const { io, out } = terminal();
    const send =
      (version: string): SendProbe =>
      async ({ method }) => ({
        kind: "answered",
        status: method === "GET" ? 200 : version.endsWith("v2") ? 404 : 403,
        headers: {},
        body: new Uint8Array(),
      });
    const exit = await runUpgradeProbe(
      {
        json: true,
        corpus,
        reviews,
        old: { base: "https://a.example/v1", header: null },
        new: { base: "https://a.example/v2", header: null },
        env: { GW_PROBE_TOKEN: "t" },
      },
      io,
      {
        ...noKeys,
        operatorKeys: async () => keys,
        approveSideEffects: async () => true,
        openSend: async ({ base }) => send(base),
        record: async () => undefined,
        disableCredentials: async () => assert.fail("nothing increased"),
      },
    );
    return { exit, json: out.join("\n") };
  };
  const first = await probe();
  assert.equal(first.exit, 1);
  const report = save("probe.report.json", first.json);
  const saved = JSON.parse(first.json) as {
    readonly differences: readonly { readonly id: string; readonly kind: string; readonly group: string }[];
    readonly probe: { readonly statement: JsonObject };
  };
  const [found, ...others] = saved.differences;
  assert.equal(found?.kind, "possible_hiding");
  const options = {
    reviews,
    json: false,
    verdict: "accepted" as const,
    reason: "the provider hides",
    narrowing: null,
    ids: saved.differences.map(({ id }) => id),
  };
  const forged = save("forged.json", first.json.replace('"kind": "possible_hiding"', '"kind": "status_changed"'));
  assert.equal(await runUpgradeDecide({ ...options, of: { report: forged } }, terminal().io, decidePorts([])), 1);
  // Nor is one in which anything was changed that is shown or decided together, or that nobody signed, or an older gw.
  const lead = (more: object): object => ({ ...saved, differences: [{ ...found, ...more }, ...others] });
  const { report: _covered, ...rest } = saved.probe.statement;
  const old = { ...rest, format: "gw.upgrade-probe/v1", differences: digestJson([...options.ids].sort()) };
  const signature = reviewer.sign(Buffer.from(canonicalJson(old))).toString("base64");
  const edits: Readonly<Record<string, object>> = {
    cut: { ...saved, differences: [found] },
    group: lead({ group: others[0]?.group }),
    says: lead({ says: "Nothing of note." }),
    notes: lead({ notes: ["It is harmless."] }),
    change: lead({ change: "narrows" }),
    version: { ...saved, after: { ...(saved as unknown as { after: object }).after, version: "https://b.example" } },
    bare: { ...saved, probe: undefined },
    "of documents": { ...saved, after: { title: "Acme", dialect: "openapi-3.1" }, probe: undefined },
    older: { ...saved, probe: { statement: old, signature } },
  };
  const one = [found?.id ?? ""];
  const recorded: SignedDecision[] = [];
  const codes: string[] = [];
  for (const [name, edited] of Object.entries(edits)) {
    const { io, err } = terminal();
    const of = { report: save("edited.json", edited) };
    assert.equal(await runUpgradeDecide({ ...options, ids: one, of }, io, decidePorts(recorded)), 1, name);
    codes.push(err.join().split(":")[0] ?? "");
  }
  assert.deepEqual([new Set(codes), recorded], [new Set(["review_file_invalid"]), []]);
  const { io, err } = terminal();
  const whole = { ...options, ids: [], finish: true, of: { report } };
  assert.equal(await runUpgradeDecide(whole, io, decidePorts([])), 1);
  assert.equal(err.join().split(":")[0], "review_mismatch", "it is not finished without what it is about");
  assert.equal(await runUpgradeDecide({ ...options, of: { report } }, terminal().io, decidePorts([])), 0);
  assert.equal((await probe()).exit, 0);
});

test("a probe without its token in the environment sends nothing", async () => {
  const { io, err } = terminal();
  const never = async (): Promise<never> => assert.fail("nothing may be sent");
  const exit = await runUpgradeProbe(
    {
      json: false,
      corpus: save("probe2.yaml", corpusText),
      old: { base: "https://a.example", header: null },
      new: { base: "https://a.example", header: null },
      env: {},
    },
    io,
    { ...noKeys, approveSideEffects: never, openSend: never, record: never, disableCredentials: never },
  );
  assert.equal(exit, 1);
  assert.match(err.join(), /^corpus_invalid: .*GW_PROBE_TOKEN/);
});

function bytes(document: unknown): { readonly name: string; readonly bytes: Uint8Array } {
  return { name: "a.json", bytes: Buffer.from(typeof document === "string" ? document : JSON.stringify(document)) };
}

test("a review that takes too long is stopped", async () => {
  const slow = {
    name: "a.yaml",
    bytes: Buffer.from(Array.from({ length: 300_000 }, (_, n) => `k${n}: [${n}]`).join("\n")),
  };
  await assert.rejects(
    reviewInThread({ before: slow, after: slow, pack: null, corpus: false }, { ms: 300, heapMb: 1_024 }),
    (error) => error instanceof Denied && error.code === "document_too_large",
  );
});

test("a review that needs too much memory is stopped, and this process goes on", async () => {
  const wide = {
    name: "a.yaml",
    bytes: Buffer.from(Array.from({ length: 80_000 }, (_, n) => `k${n}: [${n}]`).join("\n")),
  };
  await assert.rejects(
    reviewInThread({ before: wide, after: wide, pack: null, corpus: false }, { ms: UNHURRIED_MS, heapMb: 48 }),
    (error) => error instanceof Denied && error.code === "document_too_large" && /MB/.test(error.message),
  );
});

/** Of this many operations, each with its own schemas; 1,200 are 10 MB. A part of them has as great a part of the memory. */
const OPERATIONS = whole ? 1_200 : 300;
const HEAP_MB = (defaults.upgradeReviewHeapMb * OPERATIONS) / 1_200;

function large(extra: boolean): string {
  const filler = "x".repeat(1_500);
  const schemas: Record<string, object> = {};
  const paths: Record<string, object> = {};
  for (let n = 0; n < OPERATIONS; n++) {
    const properties = Object.fromEntries(
      Array.from({ length: 20 }, (_, f) => [`field_${f}`, { type: "string", description: filler.slice(0, 300) }]),
    );
    schemas[`Thing${n}`] = {
      type: "object",
      properties: {
        ...properties,
        ...(extra && n === 77 ? { reset_token: { type: "string" } } : {}),
        next: { $ref: `#/components/schemas/Thing${(n + 1) % OPERATIONS}` },
      },
    };
    paths[`/things${n}/{id}`] = {
      get: {
        operationId: `getThing${n}`,
        description: filler,
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
        responses: {
          "200": {
            description: "ok",
            content: { "application/json": { schema: { $ref: `#/components/schemas/Thing${n}` } } },
          },
        },
      },
    };
  }
  return JSON.stringify({ openapi: "3.1.0", info: { title: "Large", version: "1" }, paths, components: { schemas } });
}

test(`a document of ${OPERATIONS} operations, all schemas in one cycle, is reviewed within the memory that a review has`, async () => {
  const [old, grown] = [bytes(large(false)), bytes(large(true))];
  assert.ok(old.bytes.byteLength > OPERATIONS * 8_400, `${old.bytes.byteLength}`);
  const input = { before: old, after: grown, pack: null, corpus: false };
  const { review } = await reviewInThread(input, { ms: UNHURRIED_MS, heapMb: HEAP_MB });
  assert.equal(review.counts.kept, OPERATIONS);
  assert.deepEqual(
    review.differences.map(({ kind, subject, at, operations }) => [kind, subject, at, operations.length]),
    [["token_returned", "schema Thing77", "reset_token", OPERATIONS]],
  );
});

test("a document with more operations, bytes or levels than the limits is refused", () => {
  const ok = { "200": { description: "ok" } };
  const many = {
    openapi: "3.1.0",
    info: { title: "M", version: "1" },
    paths: Object.fromEntries(Array.from({ length: 5_001 }, (_, n) => [`/p${n}`, { get: { responses: ok } }])),
  };
  const input = { before: bytes(acme()), pack: null, corpus: false };
  for (const document of [many, `{"a":${"[".repeat(500)}${"]".repeat(500)}}`, `"${"x".repeat(17_000_000)}"`]) {
    assert.throws(
      () => reviewFiles({ ...input, after: bytes(document) }),
      (error) => error instanceof Denied && error.code === "document_too_large",
    );
  }
});

test("schemas that refer to each other in chains, knots and fans end in an answer or a refusal", async () => {
  const of = (schemas: object, extra: object = {}): unknown => ({
    openapi: "3.1.0",
    info: { title: "H", version: "1" },
    paths: {
      "/a": {
        post: {
          requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/S0" } } } },
          responses: { "200": { description: "ok" } },
        },
      },
    },
    components: { schemas },
    ...extra,
  });
  const chain = (size: number, link: (next: object) => object): object =>
    Object.fromEntries(
      Array.from({ length: size }, (_, n) => [
        `S${n}`,
        n === size - 1 ? { type: "string" } : link({ $ref: `#/components/schemas/S${n + 1}` }),
      ]),
    );
  const fan = Array.from({ length: 500 }, () => ({ $ref: "#/x-fan" }));
  const hostile: readonly (readonly [what: string, document: unknown])[] = [
    ["allOf of 15,000", of(chain(15_000, (next) => ({ allOf: [next] })))],
    ["members of 15,000", of(chain(15_000, (next) => ({ properties: { a: next } })))],
    ["references of 15,000", of(chain(15_000, (next) => next))],
    ["a fan that holds itself", of({ S0: { $ref: "#/x-fan" } }, { "x-fan": { oneOf: fan } })],
    [
      "allOf with itself two steps away",
      of({
        S0: { allOf: [{ $ref: "#/components/schemas/S1" }] },
        S1: { allOf: [{ $ref: "#/components/schemas/S0" }] },
      }),
    ],
  ];
  for (const [what, document] of hostile) {
    const found = await reviewInThread(
      { before: bytes(acme()), after: bytes(document), pack: null, corpus: true },
      { ms: 60_000, heapMb: 1_024 },
    ).catch((error: unknown) => error);
    if (!(found instanceof Error)) assert.equal(found !== undefined, true, what);
    else
      assert.ok(
        found instanceof Denied && ["document_too_large", "reference_broken"].includes(found.code),
        `${what}: ${String(found)}`,
      );
  }
});

test("a change undone leaves nothing to decide", async () => {
  const twice = acme();
  all(put("paths > /x", { get: { responses: { "200": { description: "ok" } } } }), drop("paths > /x"))(twice);
  assert.equal(
    await runUpgradeReview({ before, after: save("same.json", twice), json: false }, terminal().io, noKeys),
    0,
  );
});
