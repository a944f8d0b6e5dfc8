import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import { isForbiddenHeader } from "./headers.ts";
import { type ActionDefinition, opaqueBytes, type Pack, type Provider } from "./pack.ts";
import { readPack } from "./read.ts";

function load(text: string): Pack {
  const { pack, findings } = readPack(Buffer.from(text, "utf8"), "pack.yaml");
  assert.ok(pack !== null, JSON.stringify(findings));
  return pack;
}

function providerOf(lines: readonly string[]): Provider {
  const text = `format: gw.pack/v1
pack: p
provider:
  origin: https://api.acme.example
${lines.map((line) => `  ${line}\n`).join("")}actions:
  get: { effect: read, request: { method: GET, path: /x } }
`;
  const { provider } = load(text);
  assert.ok(provider !== null);
  return provider;
}

function actionsOf(text: string): ReadonlyMap<string, ActionDefinition> {
  return load(`format: gw.pack/v1
pack: p
provider:
  origin: https://api.acme.example
  idempotency: { header: Idempotency-Key, window_s: 60 }
  limits: { timeout_s: 20, response_bytes: 4096 }
actions:
${text}`).actions;
}

describe("a provider's members", () => {
  test("have careful defaults", () => {
    assert.deepEqual(providerOf([]), {
      origin: "https://api.acme.example",
      credential: null,
      auth: null,
      version: null,
      idempotency: null,
      correlationHeader: null,
      redirects: { origins: [], others: "refuse", credential: "strip", max: defaults.redirectsFollowed },
      network: "public",
      ca: null,
      limits: { timeoutMs: null, responseBytes: defaults.responseBytes },
      callbacks: null,
      success: null,
      accepts: [],
      tolerates: [],
      tokenVariables: [],
    });
  });

  test("are read whole, with seconds turned into milliseconds", () => {
    const provider = providerOf([
      "credential: key",
      "auth: { scheme: header, header: X-Api-Key }",
      'version: { header: X-API-Version, value: "2026-10-01" }',
      "idempotency: { header: Idempotency-Key, window_s: 90 }",
      "correlation_header: X-Trace-ID",
      "redirects: { origins: [https://eu.acme.example], others: ask, credential: refuse, max: 1 }",
      "network: private",
      "ca: /etc/acme/ca.pem",
      "limits: { timeout_s: 7, response_bytes: 2048 }",
      "accepts: [application/vnd.acme+json]",
      "tolerates: [X-Acme-Client]",
      "token_variables: [ACME_TOKEN]",
    ]);
    assert.deepEqual(provider, {
      origin: "https://api.acme.example",
      credential: "key",
      auth: { scheme: "header", header: "x-api-key" },
      version: { header: "X-API-Version", value: "2026-10-01" },
      idempotency: { header: "Idempotency-Key", windowMs: 90_000, format: "uuid" },
      correlationHeader: "X-Trace-ID",
      redirects: { origins: ["https://eu.acme.example"], others: "ask", credential: "refuse", max: 1 },
      network: "private",
      ca: "/etc/acme/ca.pem",
      limits: { timeoutMs: 7_000, responseBytes: 2048 },
      accepts: ["application/vnd.acme+json"],
      tolerates: ["x-acme-client"],
      tokenVariables: ["ACME_TOKEN"],
      callbacks: null,
      success: null,
    });
  });

  test("a credential without auth is a bearer, and basic uses the same field", () => {
    assert.deepEqual(providerOf(["credential: k"]).auth, { scheme: "bearer", header: "authorization" });
    const basic = providerOf(["credential: k", "auth: { scheme: basic }"]).auth;
    assert.deepEqual(basic, { scheme: "basic", header: "authorization" });
  });

  test("an exchanged token is asked for with the scopes that the pack names, and with none where it names none", () => {
    const oauth2 = (scopes: string) => providerOf(["credential: k", `auth: { scheme: oauth2${scopes} }`]).auth;
    assert.deepEqual(oauth2(", scopes: [read]"), { scheme: "oauth2", header: "authorization", scopes: ["read"] });
    assert.deepEqual(oauth2(""), { scheme: "oauth2", header: "authorization", scopes: [] });
  });

  test("a whole Authorization value may be a header credential", () => {
    const { auth } = providerOf(["credential: k", "auth: { scheme: header, header: Authorization }"]);
    assert.deepEqual(auth, { scheme: "header", header: "authorization" });
  });
});

describe("an action's members", () => {
  test("have careful defaults", () => {
    const action = actionsOf("  do: { effect: write, request: { method: POST, path: /do } }\n").get("do");
    assert.ok(action?.kind === "http");
    const { retry, needs, plan, confirm, maxCostCents, asksEachCall, job, unknown, echo, mints, body } = action;
    assert.deepEqual(
      { retry, needs, plan, confirm, maxCostCents, asksEachCall, job, unknown, echo, mints, body },
      {
        retry: "non_idempotent_write",
        needs: { plan: null, approval: "session", ticket: false },
        plan: null,
        confirm: null,
        maxCostCents: null,
        asksEachCall: false,
        job: null,
        unknown: { retryAllowed: false, reconcile: null, tokenRetry: false },
        echo: "withhold",
        mints: [],
        body: null,
      },
    );
  });

  test("limits come from the provider where the action names none, each by itself", () => {
    const actions = actionsOf(`  a: { effect: read, request: { method: GET, path: /a } }
  b: { effect: read, request: { method: GET, path: /b }, limits: { timeout_s: 5 } }
`);
    assert.deepEqual(actions.get("a")?.limits, { timeoutMs: 20_000, responseBytes: 4096 });
    assert.deepEqual(actions.get("b")?.limits, { timeoutMs: 5_000, responseBytes: 4096 });
  });

  test("an action that may cost asks each time unless its ceiling is known, zero included", () => {
    const actions = actionsOf(`  a: { effect: purchase, request: { method: POST, path: /a } }
  b: { effect: purchase, max_cost_cents: 0, request: { method: POST, path: /b } }
  c: { effect: send, request: { method: POST, path: /c } }
  d: { effect: write, request: { method: POST, path: /d } }
`);
    assert.deepEqual(
      ["a", "b", "c", "d"].map((name) => actions.get(name)?.asksEachCall),
      [true, false, true, false],
    );
  });

  test("a job's times are milliseconds, and its identifier finds its input by elimination", () => {
    const actions = actionsOf(`  make:
    effect: create
    max_cost_cents: 1
    request: { method: POST, path: "/{tenant}/jobs" }
    input: { tenant: { in: path, type: string } }
    job: { id: /data/id, state: /data/phase, status: status, cancel: cancel, result: result, succeeded: [ok], failed: [bad, lost],
           resume: resume, create_deadline_s: 5, result_deadline_s: 50, poll: { first_s: 1, cap_s: 9, max_checks: 4 } }
  status:
    effect: read
    request: { method: GET, path: "/{tenant}/jobs/{number}" }
    input: { tenant: { in: path, type: string }, number: { in: path, type: string } }
  result:
    effect: read
    request: { method: GET, path: "/{tenant}/jobs/{number}/result" }
    input: { number: { in: path, type: string }, tenant: { in: path, type: string }, form: { in: query, type: string, optional: true } }
  cancel:
    effect: write
    request: { method: DELETE, path: "/jobs/{job}" }
    input: { job: { in: path, type: string } }
  resume:
    effect: write
    request: { method: POST, path: "/{tenant}/jobs/{number}/resume" }
    input: { tenant: { in: path, type: string }, number: { in: path, type: string } }
`);
    assert.deepEqual(actions.get("make")?.job, {
      id: "/data/id",
      state: "/data/phase",
      status: { action: "status", idInput: "number" },
      cancel: { action: "cancel", idInput: "job" },
      result: { action: "result", idInput: "number" },
      succeeded: ["ok"],
      failed: ["bad", "lost"],
      cancelled: [],
      resume: { action: "resume", idInput: "number" },
      createDeadlineMs: 5_000,
      resultDeadlineMs: 50_000,
      pollFirstMs: 1_000,
      pollCapMs: 9_000,
      maxChecks: 4,
    });
  });

  test("a job's and a listing's own numbers have defaults", () => {
    const actions = actionsOf(`  make:
    effect: create
    max_cost_cents: 1
    request: { method: POST, path: /jobs }
    job: { id: id, status: status, succeeded: [ok], failed: [bad] }
  status:
    effect: read
    request: { method: GET, path: "/jobs/{id}" }
    input: { id: { in: path, type: string } }
  list:
    effect: read
    request: { method: GET, path: /list }
    pages: { items: data, cursor: next, cursor_param: after }
`);
    const job = actions.get("make")?.job;
    assert.equal(job?.state, "/state");
    assert.equal(job?.createDeadlineMs, defaults.jobCreateDeadlineMs);
    assert.equal(job?.resultDeadlineMs, defaults.jobResultDeadlineMs);
    assert.equal(job?.pollFirstMs, defaults.pollFirstMs);
    assert.equal(job?.pollCapMs, defaults.pollCapMs);
    assert.equal(job?.maxChecks, defaults.jobChecks);
    assert.deepEqual(actions.get("list")?.pages, {
      items: "/data",
      emptyIf: null,
      continuation: { kind: "cursor", pointer: "/next" },
      cursorParam: "after",
      sizeParam: null,
      pageSize: defaults.pageSize,
      maxPages: defaults.discoveryPages,
      maxRecords: defaults.discoveryRecords,
    });
  });

  test("the schema listed to agents names each input once and none of where it goes", () => {
    const action = actionsOf(`  do:
    effect: write
    request: { method: POST, path: "/do/{id}", body: application/json }
    input:
      id: { in: path, type: string, maxLength: 9 }
      note: { in: body, as: comment, type: string, optional: true, opaque: true }
      kind: { in: body, const: plain }
`).get("do");
    assert.deepEqual(action?.schema, {
      type: "object",
      properties: { id: { type: "string", maxLength: 9 }, note: { type: "string" }, kind: { const: "plain" } },
      required: ["id"],
      additionalProperties: false,
    });
  });
});

test("an opaque body may have as many whole bytes as its bound in base64 holds, and any other has none", () => {
  const bytes = (body: string, input: string) => {
    const request = `request: { method: PUT, path: /x, body: ${body} }`;
    const [action] = actionsOf(`  put: { effect: write, ${request}, input: { ${input} } }\n`).values();
    return action === undefined ? null : opaqueBytes(action);
  };
  const sized = (maxLength: number) =>
    bytes("opaque, media_type: text/plain", `bytes: { in: body, type: string, maxLength: ${maxLength} }`);
  assert.deepEqual([sized(4), sized(7), sized(8)], [3, 3, 6]);
  assert.equal(bytes("application/json", "note: { in: body, type: string, maxLength: 8 }"), 0);
});

test("headers of identity, framing, forwarding and hop-by-hop are no action's to set, however they are spelled", () => {
  const forbidden = [
    "Host",
    "AUTHORIZATION",
    "cookie",
    "Set-Cookie",
    "Content-Length",
    "content-type",
    "Content-Encoding",
  ];
  const more = [
    "Transfer-Encoding",
    "Connection",
    "Keep-Alive",
    "TE",
    "Trailer",
    "Upgrade",
    "Expect",
    "Accept-Encoding",
  ];
  const prefixed = ["Proxy-Connection", "Sec-WebSocket-Key", "X-Forwarded-Host", "Access-Control-Request-Method"];
  for (const name of [...forbidden, ...more, ...prefixed, "Forwarded", "Via", "X-Original-URL", "Origin", "Referer"]) {
    assert.equal(isForbiddenHeader(name), true, name);
  }
  for (const name of [
    "Accept",
    "If-Match",
    "If-None-Match",
    "Prefer",
    "X-Tenant",
    "Accept-Language",
    "Security-Token",
  ]) {
    assert.equal(isForbiddenHeader(name), false, name);
  }
});

test("a read that looks for our reference is warned about where no field carries it to the provider", () => {
  const findings = (header: string) =>
    readPack(
      Buffer.from(`format: gw.pack/v1
pack: p
provider: { origin: "https://api.acme.example"${header} }
actions:
  find: { effect: read, request: { method: GET, path: /x }, input: { reference: { in: query, type: string } } }
  make: { effect: write, preview: none, request: { method: POST, path: /x }, unknown: { reconcile: find } }
`),
      "pack.yaml",
    ).findings.map(({ code, severity, path }) => `${severity} ${code} ${path}`);
  const warned = "warning pack_reference_unfit /actions/make/unknown/reconcile";
  assert.ok(findings("").includes(warned));
  assert.ok(!findings(", correlation_header: X-Trace-ID").includes(warned));
});
