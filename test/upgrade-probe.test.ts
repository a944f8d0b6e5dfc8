import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { stringify } from "yaml";
import { compareRuns } from "../src/conventions/upgrade/probe/compare-exchanges.ts";
import type { Corpus } from "../src/conventions/upgrade/probe/corpus-schema.ts";
import type {
  ProbeExchange,
  ProbeRequest,
  ProbeVersion,
  SendProbe,
} from "../src/conventions/upgrade/probe/exchange.ts";
import { expandCorpus } from "../src/conventions/upgrade/probe/expand.ts";
import { readCorpus } from "../src/conventions/upgrade/probe/read-corpus.ts";
import { runCorpus } from "../src/conventions/upgrade/probe/run.ts";
import { Denied } from "../src/kernel/failure.ts";

/** A provider with two versions. What the second does differently is planted here, by name. */
type Plants = ReadonlySet<string>;
const EVERY: Plants = new Set([
  "forbidden_readable",
  "denial_hidden",
  "list_crosses_tenant",
  "default_widened",
  "next_elsewhere",
  "role_renamed",
  "code_renamed",
  "expired_accepted",
  "wrong_audience_accepted",
  "scopes_gained",
  "scopes_hidden",
  "scopes_lost",
  "audience_changed",
  "new_route_open",
  "nearby_allowed",
  "link_lost",
  "field_added",
  "challenge_changed",
]);

let plants: Plants = new Set();
const requests: string[] = [];

function serve(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "/", "http://provider.example");
  const [, version = "", ...path] = url.pathname.split("/");
  const has = (name: string): boolean => version === "v2" && plants.has(name);
  const token = (request.headers.authorization ?? "").replace("Bearer ", "");
  requests.push(`${request.method} ${url.pathname}${url.search} ${token}`);
  const answer = (status: number, body: object | null, headers: Record<string, string> = {}): void => {
    response.writeHead(status, {
      "content-type": "application/json",
      "x-request-id": `req-${requests.length}-${Math.floor(process.uptime() * 1e6)}`,
      ...headers,
    });
    response.end(body === null ? "" : JSON.stringify(body));
  };
  const deny = (): void =>
    answer(
      403,
      { error: has("code_renamed") ? "scope_missing" : "insufficient_scope", request_id: `r${requests.length}` },
      { "www-authenticate": has("challenge_changed") ? 'Bearer realm="all"' : 'Bearer realm="acme"' },
    );
  const accepted =
    token === "good" ||
    (has("expired_accepted") && token === "old") ||
    (has("wrong_audience_accepted") && token === "other-aud");
  if (path[0] === "token") {
    const claims = Buffer.from(
      JSON.stringify({
        aud: has("audience_changed") ? "https://everything.example" : "https://api.acme.example",
        ...(has("scopes_hidden") ? { scp: ["read", "audit"] } : {}),
      }),
    ).toString("base64url");
    return void answer(200, {
      access_token: `e30.${claims}.c2ln`,
      scope: has("scopes_gained") ? "read admin" : has("scopes_lost") ? "" : "read",
    });
  }
  if (!accepted) return void answer(401, { error: "invalid_token" }, { "www-authenticate": "Bearer" });
  if (path[0] === "projects" && path[1] === undefined) return void listProjects(url, has, answer);
  if (path[0] === "projects" && path[2] === undefined) return void readProject(path[1] ?? "", has, answer, deny);
  if (path[2] === "members")
    return void answer(201, {
      id: `mem_${requests.length}00000`,
      role: "viewer",
      created_at: new Date().toISOString(),
    });
  if (path[2] === "secrets") return void (has("nearby_allowed") ? answer(200, { data: [] }) : deny());
  if (path[0] === "exports" && version === "v2")
    return void (has("new_route_open") ? answer(200, { data: [] }) : deny());
  return void answer(404, { error: "not_found" });
}

function listProjects(
  url: URL,
  has: (name: string) => boolean,
  answer: (status: number, body: object, headers?: Record<string, string>) => void,
): void {
  const state = url.searchParams.get("state") ?? (has("default_widened") ? "all" : "active");
  const base = `http://${process.env["GW_TEST_PROVIDER"]}${url.pathname}`;
  if (url.searchParams.get("page") === "2") return void answer(200, { data: [{ id: "prj_second", name: "Second" }] });
  const data: object[] = [{ id: "prj_allowed", name: "Mine", updated_at: new Date().toISOString() }];
  if (state === "all") data.push({ id: "rec_inactive", name: "Old", archived: true });
  if (has("list_crosses_tenant")) data.push({ id: "rec_tenant", name: "Theirs" });
  const next = has("next_elsewhere") ? "https://elsewhere.example/v2/projects?page=2" : `${base}?page=2`;
  answer(200, { data }, has("link_lost") ? {} : { link: `<${next}>; rel="next"` });
}

function readProject(
  id: string,
  has: (name: string) => boolean,
  answer: (status: number, body: object) => void,
  deny: () => void,
): void {
  if (id === "prj_allowed")
    return void answer(200, {
      id,
      name: "Mine",
      role: has("role_renamed") ? "reader" : "viewer",
      ...(has("field_added") ? { colour: "red" } : {}),
      updated_at: new Date().toISOString(),
    });
  if (id === "prj_forbidden" && has("forbidden_readable")) return void answer(200, { id, name: "Not yours" });
  if (id === "rec_tenant" && has("denial_hidden")) return void answer(404, { error: "not_found" });
  deny();
}

const server = createServer(serve);
let origin = "";
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  process.env["GW_TEST_PROVIDER"] = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  origin = `http://${process.env["GW_TEST_PROVIDER"]}`;
});
after(async () => {
  await new Promise((resolve) => server.close(resolve));
});

const corpusDocument = {
  format: "gw.upgrade-corpus/v1",
  api: "Acme",
  account: {
    allowed_project: "prj_allowed",
    forbidden_project: "prj_forbidden",
    inactive_record: "rec_inactive",
    other_tenant_record: "rec_tenant",
  },
  credentials: {
    main: { env: "T_GOOD", case: "valid", vault: "acme-main" },
    expired: { env: "T_OLD", case: "expired" },
    audience: { env: "T_AUD", case: "wrong_audience" },
  },
  without: { missing_scope: "its keys have no scopes", revoked: "its keys cannot be revoked" },
  probes: [
    {
      id: "project.list",
      request: { method: "GET", path: "/projects" },
      expect: { status: [200] },
      pages: { link: true },
      cases: true,
      optional: [{ in: "query", name: "state", explicit: ["all", "active"] }],
    },
    {
      id: "project.get",
      request: { method: "GET", path: "/projects/{id}", with: { id: "$allowed_project" } },
      expect: { status: [200] },
      forbidden: { id: ["$forbidden_project", "$other_tenant_record"] },
    },
    { id: "new.exports", request: { method: "GET", path: "/exports" }, expect: { denied: true }, new_route: true },
  ],
  traces: [
    {
      id: "members",
      steps: [
        {
          id: "member.add",
          request: {
            method: "POST",
            path: "/projects/{id}/members",
            with: { id: "$allowed_project" },
            body: { role: "viewer" },
          },
          expect: { status: [201] },
          side_effect: true,
          take: { member_id: "/id" },
        },
      ],
      nearby: [
        {
          id: "member.secrets",
          request: {
            method: "GET",
            path: "/projects/{id}/secrets",
            with: { id: "$allowed_project" },
            query: { member: "$member_id" },
          },
          expect: { denied: true },
        },
      ],
    },
  ],
  refresh: [
    {
      id: "refresh.main",
      request: { method: "GET", path: "/token" },
      credential: "main",
      grant: { scopes: ["read"], audience: ["https://api.acme.example"] },
    },
  ],
};

const corpus: Corpus = readCorpus("c.yaml", Buffer.from(stringify(corpusDocument)));
const tokens: Record<string, string> = { main: "good", expired: "old", audience: "other-aud" };

const send: SendProbe = async (request: ProbeRequest): Promise<ProbeExchange> => {
  const answer = await fetch(request.url, {
    method: request.method,
    headers: { ...request.headers, authorization: `Bearer ${tokens[request.credential]}`, connection: "close" },
    ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    redirect: "manual",
  });
  return {
    kind: "answered",
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    body: new Uint8Array(await answer.arrayBuffer()),
  };
};

const version = (name: string): ProbeVersion => ({ base: `${origin}/${name}`, header: null });

async function probe(planted: Plants, sideEffectsApproved = true): Promise<ReturnType<typeof compareRuns>> {
  plants = planted;
  requests.length = 0;
  const cases = expandCorpus(corpus);
  const old = await runCorpus(corpus, cases, version("v1"), send, { sideEffectsApproved });
  const next = await runCorpus(corpus, cases, version("v2"), send, { sideEffectsApproved });
  return compareRuns(old, next);
}

function brief({ differences }: ReturnType<typeof compareRuns>): readonly string[] {
  return differences.map(({ surface, kind, subject, at }) => `${surface} ${kind} ${subject.slice(6)}|${at}`).sort();
}

test("two versions that do the same differ in nothing: times, request ids and new identifiers play no part", async () => {
  assert.deepEqual(brief(await probe(new Set())), []);
});

const planted: readonly (readonly [plant: string, expected: readonly string[], disables: readonly string[]])[] = [
  ["forbidden_readable", ["resource_reach authority_increase project.get~id.forbidden_project|status"], ["main"]],
  ["denial_hidden", ["credential_acceptance possible_hiding project.get~id.other_tenant_record|status"], []],
  [
    "list_crosses_tenant",
    ["", "~query.state.absent", "~query.state.explicit1", "~query.state.explicit2"].flatMap((way) => [
      `resource_reach identifiers_differ project.list${way}|identifiers`,
      `resource_reach record_exposed project.list${way}|other_tenant_record`,
    ]),
    [],
  ],
  [
    "default_widened",
    ["", "~query.state.absent"].flatMap((way) => [
      `request_compatibility fields_differ project.list${way}|fields`,
      `resource_reach identifiers_differ project.list${way}|identifiers`,
      `resource_reach record_exposed project.list${way}|inactive_record`,
    ]),
    [],
  ],
  [
    "next_elsewhere",
    [
      ...["", "~query.state.absent", "~query.state.explicit1", "~query.state.explicit2"].map(
        (way) => `resource_reach links_differ project.list${way}|links`,
      ),
      "resource_reach pagination_changed project.list|page 2",
    ],
    [],
  ],
  [
    "link_lost",
    [
      ...["", "~query.state.absent", "~query.state.explicit1", "~query.state.explicit2"].map(
        (way) => `resource_reach links_differ project.list${way}|links`,
      ),
      "resource_reach pagination_changed project.list|page 2",
    ],
    [],
  ],
  ["role_renamed", ["action_reach roles_differ project.get|roles"], []],
  ["field_added", ["request_compatibility fields_differ project.get|fields"], []],
  [
    "code_renamed",
    [
      "credential_acceptance errors_differ member.secrets|errors",
      "credential_acceptance errors_differ project.get~id.forbidden_project|errors",
      "credential_acceptance errors_differ project.get~id.other_tenant_record|errors",
    ],
    [],
  ],
  [
    "challenge_changed",
    [
      "credential_acceptance headers_differ member.secrets|headers",
      "credential_acceptance headers_differ project.get~id.forbidden_project|headers",
      "credential_acceptance headers_differ project.get~id.other_tenant_record|headers",
    ],
    [],
  ],
  [
    "expired_accepted",
    ["credential_acceptance authority_increase project.list~credential.expired.expired|status"],
    ["expired"],
  ],
  [
    "wrong_audience_accepted",
    ["credential_acceptance authority_increase project.list~credential.wrong_audience.audience|status"],
    ["audience"],
  ],
  ["scopes_gained", ["credential_acceptance scopes_gained refresh.main|scopes"], ["main"]],
  ["scopes_hidden", ["credential_acceptance scopes_gained refresh.main|scopes"], ["main"]],
  ["scopes_lost", ["credential_acceptance scopes_lost refresh.main|scopes lost"], []],
  ["audience_changed", ["credential_acceptance audience_changed refresh.main|audience"], []],
  ["nearby_allowed", ["resource_reach authority_increase member.secrets|status"], ["main"]],
];

for (const [plant, expected, disables] of planted) {
  test(`a planted difference of behaviour is found, and no other: ${plant}`, async () => {
    const found = await probe(new Set([plant]));
    assert.deepEqual(brief(found), [...expected].sort());
    assert.deepEqual(found.consequences.disable, disables);
    assert.equal(found.consequences.open.length, disables.length);
  });
}

test("a new route that resembles a scope and is open is an authority increase", async () => {
  const found = await probe(new Set(["new_route_open"]));
  assert.deepEqual(brief(found), ["resource_reach authority_increase new.exports|status"]);
});

test("all planted differences together are all found", async () => {
  const kinds = new Set((await probe(EVERY)).differences.map(({ kind }) => kind));
  for (const kind of [
    "authority_increase",
    "possible_hiding",
    "record_exposed",
    "links_differ",
    "roles_differ",
    "scopes_gained",
    "audience_changed",
  ]) {
    assert.ok(kinds.has(kind), kind);
  }
});

test("no token is in anything that a probe keeps", async () => {
  const kept = JSON.stringify(await probe(EVERY));
  assert.ok(!kept.includes("e30."));
  for (const token of Object.values(tokens)) assert.ok(!kept.includes(`"${token}"`));
});

test("a side effect that nobody approved is not sent, and what needed its answer is not either", async () => {
  const found = await probe(new Set(), false);
  assert.deepEqual(
    requests.filter((line) => line.startsWith("POST")),
    [],
  );
  assert.deepEqual(
    requests.filter((line) => line.includes("/secrets")),
    [],
  );
  assert.deepEqual(
    found.differences.filter(({ kind }) => kind === "not_observed").map(({ subject }) => subject),
    ["probe member.add", "probe member.secrets"],
  );
});

test("a next link to another origin is reported and never followed", async () => {
  await probe(new Set(["next_elsewhere"]));
  assert.deepEqual(
    requests.filter((line) => line.includes("page=2") && line.includes("/v2/")),
    [],
  );
});

test("ids of observed differences are the same in every run", async () => {
  const [one, two] = [await probe(EVERY), await probe(EVERY)];
  assert.deepEqual(
    one.differences.map(({ id }) => id),
    two.differences.map(({ id }) => id),
  );
});

test("a dated header selects the version, and the header is on every request", async () => {
  const seen: ProbeRequest[] = [];
  const quiet: SendProbe = async (request) => {
    seen.push(request);
    return { kind: "unanswered", reason: "test" };
  };
  await runCorpus(
    corpus,
    expandCorpus(corpus),
    { base: "https://api.acme.example", header: { name: "X-API-Version", value: "2026-10-01" } },
    quiet,
    { sideEffectsApproved: true },
  );
  assert.ok(seen.length > 8);
  assert.ok(seen.every(({ headers }) => headers["x-api-version"] === "2026-10-01"));
  assert.ok(seen.every(({ url }) => url.startsWith("https://api.acme.example/")));
});

/** Both versions answer every request with this, their own base path put in. */
async function alike(answer: (base: string) => object | string, versions = ["v1", "v2"]): Promise<readonly string[]> {
  const run = (base: string): ReturnType<typeof runCorpus> => {
    const said = answer(base.replace("/", ""));
    const body = Buffer.from(typeof said === "string" ? said : JSON.stringify(said));
    const quiet: SendProbe = async () => ({ kind: "answered", status: 200, headers: {}, body });
    return runCorpus(corpus, [...expandCorpus(corpus)].slice(0, 1), version(base), quiet, {
      sideEffectsApproved: true,
    });
  };
  const [before = "", after = ""] = versions;
  return brief(compareRuns(await run(before), await run(after)));
}

test("a path that only begins with the letters of the version's base is not below it", async () => {
  const links = ["resource_reach links_differ project.list|links"];
  assert.deepEqual(await alike((base) => ({ url: `${origin}/${base}/x` })), []);
  assert.deepEqual(await alike((base) => ({ url: `${origin}/${base}` })), []);
  assert.deepEqual(await alike((base) => ({ url: `${origin}/${base}0/x` })), links, "/v10 and /v20 are other places");
  assert.deepEqual(await alike((base) => ({ url: `${origin}/${base}/x` }), ["v1/", "v2/"]), [], "a slash at the end");
});

test("a value that is cut within a character is compared like any other", async () => {
  const roles = ["action_reach roles_differ project.list|roles"];
  assert.deepEqual(await alike((base) => ({ role: `${base}${"a".repeat(197)}\u{1f511}` })), roles);
});

test("the same role in another place, or in another scope, is another one", async () => {
  const roles = ["action_reach roles_differ project.list|roles"];
  const swapped = (base: string, one: object, other: object) => (base === "v1" ? [one, other] : [other, one]);
  const owner = { role: "owner" };
  const member = { role: "member" };
  const placed = (base: string): object => {
    const [here, there] = swapped(base, owner, member);
    return { project: here, organization: there };
  };
  assert.deepEqual(await alike(placed), roles);
  const scoped = (base: string): object => {
    const [here, there] = swapped(base, owner, member);
    return {
      grants: [
        { ...here, scope: "project" },
        { ...there, scope: "organization" },
      ],
    };
  };
  assert.deepEqual(await alike(scoped), roles);
  assert.deepEqual(await alike(() => scoped("v1")), []);
});

test("two integers past 2^53 are not taken for one another", async () => {
  const roles = ["action_reach roles_differ project.list|roles"];
  const last = (base: string): number => (base === "v1" ? 2 : 3);
  assert.deepEqual(await alike((base) => `{"role":900719925474099${last(base)}}`), roles);
  assert.deepEqual(await alike(() => '{"role":9007199254740993}'), []);
});

test("an unanswered probe is never counted as a denial", async () => {
  const silent: SendProbe = async () => ({ kind: "unanswered", reason: "timeout" });
  const cases = expandCorpus(corpus);
  const run = (): ReturnType<typeof runCorpus> =>
    runCorpus(corpus, cases, version("v2"), silent, { sideEffectsApproved: true });
  const found = compareRuns(await run(), await run());
  assert.deepEqual(new Set(found.differences.map(({ kind }) => kind)), new Set(["not_observed"]));
  assert.equal(found.differences.length, cases.length);
});

test("an answer that says nothing about the credential is never counted as a denial", async () => {
  for (const status of [402, 405, 408, 409, 412, 415, 422, 425, 428, 429, 500, 503]) {
    const busy: SendProbe = async () => ({ kind: "answered", status, headers: {}, body: Buffer.from("{}") });
    const cases = expandCorpus(corpus);
    const run = (): ReturnType<typeof runCorpus> =>
      runCorpus(corpus, cases, version("v2"), busy, { sideEffectsApproved: true });
    const found = compareRuns(await run(), await run());
    // A step of a trace is not sent without what an earlier one should have given.
    const sent = cases.filter(({ expect, trace }) => expect.kind === "denied" && trace === null);
    const denied = sent.map(({ id }) => `probe ${id}`);
    const told = found.differences.filter(({ kind }) => kind === "denial_unproven").map(({ subject }) => subject);
    assert.ok(denied.length > 0);
    assert.deepEqual(told.sort(), denied.sort(), String(status));
  }
});

const alone = {
  credentials: { main: corpusDocument.credentials.main },
  without: { ...corpusDocument.without, expired: "never", wrong_audience: "none" },
};

test("each optional parameter is sent absent, empty where permitted, and explicit", () => {
  const probes = [
    {
      id: "a",
      request: { method: "GET", path: "/a", query: { state: "x", keep: 1 } },
      expect: { status: [200] },
      optional: [{ in: "query", name: "state", empty: true, explicit: ["one", "two"] }],
    },
  ];
  const cases = expandCorpus(
    readCorpus("c.yaml", Buffer.from(stringify({ ...corpusDocument, ...alone, probes, traces: [], refresh: [] }))),
  );
  assert.deepEqual(
    cases.map(({ id, request }) => [id, JSON.stringify(request.query)]),
    [
      ["a", '{"state":"x","keep":1}'],
      ["a~query.state.absent", '{"keep":1}'],
      ["a~query.state.empty", '{"keep":1,"state":""}'],
      ["a~query.state.explicit1", '{"keep":1,"state":"one"}'],
      ["a~query.state.explicit2", '{"keep":1,"state":"two"}'],
    ],
  );
});

const bad: readonly (readonly [what: string, change: object, path: string])[] = [
  ["a case that is neither sent nor given up with a reason", { without: { revoked: "cannot be" } }, "/credentials"],
  [
    "a case that is both sent and given up",
    { without: { ...corpusDocument.without, expired: "none" } },
    "/without/expired",
  ],
  [
    "refused credentials that no request is sent with",
    { probes: [{ id: "a", request: { method: "GET", path: "/a" }, expect: { status: [200] } }] },
    "/probes",
  ],
  ["an unknown member", { surprise: 1 }, "/surprise"],
  [
    "an account without another tenant's record",
    { account: { ...corpusDocument.account, other_tenant_record: undefined } },
    "/account/other_tenant_record",
  ],
  [
    "no valid credential",
    {
      credentials: {
        expired: corpusDocument.credentials.expired,
        main: { env: "X", case: "revoked" },
        audience: corpusDocument.credentials.audience,
      },
    },
    "/credentials",
  ],
  [
    "a token in the file",
    { credentials: { ...corpusDocument.credentials, main: { token: "secret", case: "valid" } } },
    "/credentials/main/token",
  ],
  [
    "an unmarked side effect",
    { probes: [{ id: "a", request: { method: "POST", path: "/a" }, expect: { denied: true } }] },
    "/probes/0",
  ],
  [
    "an unknown credential",
    { probes: [{ id: "a", request: { method: "GET", path: "/a" }, credential: "nobody", expect: { denied: true } }] },
    "/probes/0/credential",
  ],
  [
    "an unknown name",
    {
      probes: [{ id: "a", request: { method: "GET", path: "/a", query: { b: "$nothing" } }, expect: { denied: true } }],
    },
    "/probes/0/request",
  ],
  [
    "a path without its value",
    { probes: [{ id: "a", request: { method: "GET", path: "/a/{b}" }, expect: { denied: true } }] },
    "/probes/0/request/with",
  ],
  [
    "two probes of one id",
    { probes: [1, 2].map(() => ({ id: "a", request: { method: "GET", path: "/a" }, expect: { denied: true } })) },
    "/probes/1/id",
  ],
  [
    "a nearby action that may succeed",
    {
      traces: [
        {
          id: "t",
          steps: [{ id: "s", request: { method: "GET", path: "/a" }, expect: { status: [200] } }],
          nearby: [{ id: "n", request: { method: "GET", path: "/b" }, expect: { status: [200] } }],
        },
      ],
    },
    "/traces/0/nearby/0/expect",
  ],
];

for (const [what, change, path] of bad) {
  test(`a corpus with ${what} is refused with its place`, () => {
    assert.throws(
      () => readCorpus("c.yaml", Buffer.from(stringify({ ...corpusDocument, ...change }))),
      (error) => {
        assert.ok(error instanceof Denied);
        assert.equal(error.code, "corpus_invalid");
        assert.ok(
          error.errors.some((finding) => finding.path === path),
          JSON.stringify(error.errors),
        );
        assert.match(error.message, /^c\.yaml:\d+:\d+: /);
        return true;
      },
    );
  });
}

test("a credential that needs a form is sent with no request that has no body", () => {
  const credentials = { ...corpus.credentials, expired: { env: "T_OLD", case: "expired", present: "form" } } as const;
  assert.throws(
    () => expandCorpus({ ...corpus, credentials }),
    (error) => error instanceof Denied && error.code === "corpus_invalid" && /~credential\.expired/.test(error.message),
  );
});

test("the corpus in docs/upgrades.md is one", () => {
  const page = readFileSync(join(import.meta.dirname, "../docs/upgrades.md"), "utf8");
  const [, text = ""] = /```yaml\n(format: gw\.upgrade-corpus[\s\S]*?)```/.exec(page) ?? [];
  const ids = expandCorpus(readCorpus("docs.yaml", Buffer.from(text))).map(({ id }) => id);
  assert.ok(ids.includes("project.list~credential.revoked.revoked"), ids.join());
});

test("the number of requests and of side effects is bounded", () => {
  const cases = (limits: { probes: number; sideEffects: number }): unknown => expandCorpus(corpus, limits);
  assert.throws(
    () => cases({ probes: 5, sideEffects: 5 }),
    (error) => error instanceof Denied && error.code === "corpus_invalid",
  );
  assert.throws(
    () => cases({ probes: 50, sideEffects: 0 }),
    (error) => error instanceof Denied && error.code === "corpus_invalid",
  );
  assert.doesNotThrow(() => cases({ probes: 50, sideEffects: 1 }));
});
