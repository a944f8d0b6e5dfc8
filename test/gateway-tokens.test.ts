import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import { jwtVerify } from "jose";
import { attemptsRemaining } from "../src/conventions/budget/budget.ts";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import { signContext } from "../src/conventions/ticket/sign.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { isoTime } from "../src/kernel/clock.ts";
import { Denied } from "../src/kernel/failure.ts";
import { makeDpopKey } from "../src/vault/token/dpop.ts";
import type { TokenExchange } from "../src/vault/token/exchange.ts";
import { scriptedCaller } from "./support/caller.ts";
import { type Bench, type BenchOptions, denies, operatorKeys, startBench } from "./support/gateway.ts";
import { type Received, startProvider, type TestProvider } from "./support/provider.ts";

/** Tokens that the gateway gets in exchange for a credential, with whatever a token endpoint may answer. */
let api: TestProvider;
let endpoint: TestProvider;
let bench: Bench;
let caller: ReturnType<typeof scriptedCaller>;
let suspended: [string, string][];
let options: BenchOptions;
/** What happens right before a step. */
const before = new Map<string, () => void>();
/** For how long a send is waited for, made of what the gateway would wait. */
let bounds: (timeoutMs: number) => number;

const CLIENT_SECRET = "c1ient/Secret+of~Acme";
const REFRESH = "refresh-token-0";

function exchangeWith(change: Partial<TokenExchange> = {}): TokenExchange {
  return {
    grant: "client_credentials",
    issuer: null,
    tokenEndpoint: `${endpoint.origin}/token`,
    revocationEndpoint: null,
    authorizationEndpoint: null,
    deviceEndpoint: null,
    clientId: "acme:app",
    clientAuth: "client_secret_basic",
    keyId: null,
    subject: null,
    scopes: ["issues:read", "issues:write"],
    audience: "https://api.acme.example",
    resource: null,
    dpop: false,
    region: null,
    ca: null,
    network: "private",
    ...change,
  };
}

async function begin(change: Partial<TokenExchange> = {}, secret = CLIENT_SECRET): Promise<Run> {
  options = {
    exchanged: { "acme-app": { version: 1, exchange: exchangeWith(change), secret } },
    suspended: (label, reason) => void suspended.push([label, reason]),
  };
  bench = await startBench(packText(), {
    ...options,
    steps: { before: (point) => before.get(point)?.(), after: () => undefined },
    wrapHttp: (http) => ({
      send: (receipt, request, lent, limits) =>
        http.send(receipt, request, lent, { ...limits, timeoutMs: bounds(limits.timeoutMs) }),
    }),
  });
  bench.credentials.set("acme-app", { eachUse: false, disabled: false, origin: api.origin });
  return openRun();
}

async function openRun(): Promise<Run> {
  return bench.openApproved(caller, ["acme.issue.get", "acme.issue.create"]);
}

function packText(): string {
  return `format: gw.pack/v1
pack: acme
provider:
  origin: ${api.origin}
  credential: acme-app
actions:
  issue.get:
    effect: read
    request: { method: GET, path: "/issues/{id}" }
    input: { id: { in: path, type: string } }
  issue.create:
    effect: write
    request: { method: POST, path: /issues, body: application/json }
    input: { title: { in: body, type: string } }
  issue.close:
    effect: write
    needs: { ticket: true }
    request: { method: POST, path: /issues/7/close, body: application/json }
    input: { why: { in: body, type: string } }
`;
}

function read(run: Run): Promise<CallResult> {
  return bench.gateway.startCall(caller, run.id, { action: "acme.issue.get", input: { id: "7" } }).done;
}

function write(run: Run): Promise<CallResult> {
  return bench.gateway.startCall(caller, run.id, { action: "acme.issue.create", input: { title: "x" } }).done;
}

let serial = 0;
function grantToken(more: Record<string, unknown> = {}): void {
  endpoint.answer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const answer = { access_token: `token-number-${++serial}`, token_type: "Bearer", expires_in: 600, ...more };
    response.end(JSON.stringify(answer));
  });
}

function refuse(status: number, type: string, body: string, headers: Record<string, string> = {}): void {
  endpoint.answer(
    (_request, response) => void response.writeHead(status, { "content-type": type, ...headers }).end(body),
  );
}

const bearerOf = (request: Received | undefined): string => request?.headers.authorization ?? "";
const formOf = (request: Received | undefined): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(request?.body));

beforeEach(async () => {
  [api, endpoint] = await Promise.all([startProvider(), startProvider()]);
  caller = scriptedCaller();
  suspended = [];
  before.clear();
  bounds = (timeoutMs) => timeoutMs;
  serial = 0;
  grantToken();
});
afterEach(async () => {
  await bench.close();
  await api.close();
  await endpoint.close();
});

test("a token is got once, lent until shortly before it ends, and got anew then", async () => {
  const run = await begin();
  assert.equal((await read(run)).outcome, "success");
  assert.equal((await write(run)).outcome, "success");
  assert.deepEqual(api.received.map(bearerOf), ["Bearer token-number-1", "Bearer token-number-1"]);
  const [asked] = endpoint.received;
  assert.equal(bearerOf(asked), `Basic ${Buffer.from("acme%3Aapp:c1ient%2FSecret%2Bof%7EAcme").toString("base64")}`);
  assert.deepEqual(formOf(asked), {
    grant_type: "client_credentials",
    scope: "issues:read issues:write",
    audience: "https://api.acme.example",
  });
  await bench.time.advance(541_000);
  const next = await openRun();
  assert.equal((await read(next)).outcome, "success");
  assert.equal(bearerOf(api.received.at(-1)), "Bearer token-number-2");
  assert.equal(run.budget.attemptsUsed, 2, "an exchange costs the run nothing");
});

test("an exchange stands in the log like every attempt, and the token nowhere", async () => {
  const run = await begin();
  await read(run);
  const events = bench.events();
  const intents = events.filter(({ event_type }) => event_type === "intent_accepted");
  assert.deepEqual(
    intents.map((event) => ("action" in event ? event.action : "")),
    ["exchange.acme-app", "acme.issue.get"],
  );
  const obtained = events.find(({ event_type }) => event_type === "token_obtained");
  assert.ok(obtained?.event_type === "token_obtained");
  assert.deepEqual([obtained.credential_label, obtained.life_s, obtained.missing], ["acme-app", 600, []]);
  const written = JSON.stringify([events, bench.rows("notes", "token")]);
  assert.ok(!written.includes("token-number-1"));
  assert.ok(!written.includes(CLIENT_SECRET));
});

test("a token that comes back in an answer is withheld, and wiped at the lock", async () => {
  const run = await begin();
  api.answer((request, response) => void response.writeHead(200).end(`you sent ${bearerOf(request)}`));
  const echoed = await read(run);
  assert.ok(!JSON.stringify(echoed).includes("token-number-1"));
  await bench.gateway.lock("test", null);
  await bench.unlock();
  await read(await openRun());
  assert.equal(bearerOf(api.received.at(-1)), "Bearer token-number-2");
});

test("many calls at once wait for one exchange", async () => {
  const run = await begin();
  const results = await Promise.all(Array.from({ length: 8 }, () => read(run)));
  assert.ok(results.every(({ outcome }) => outcome === "success"));
  assert.equal(endpoint.received.length, 1);
});

test("asked for a token that is bound to a key, a provider that gives one which anybody could use is not believed", async () => {
  using key = makeDpopKey();
  const run = await begin({ dpop: true }, `${key.use(String)}\n${CLIENT_SECRET}`);
  await assert.rejects(read(run), denies("token_unavailable"));
  assert.equal(api.received.length, 0);
  assert.match(String(endpoint.received[0]?.headers["dpop"]), /^eyJ/);
});

for (const [words, more, lifeS] of [
  ["absent", { expires_in: undefined }, 300],
  ["huge", { expires_in: 1e15 }, 86_400],
  ["text", { expires_in: "120" }, 120],
] as const) {
  test(`a life that is ${words} is taken for one that can be kept`, async () => {
    grantToken(more);
    await read(await begin());
    const obtained = bench.events().find(({ event_type }) => event_type === "token_obtained");
    assert.ok(obtained?.event_type === "token_obtained");
    assert.equal(obtained.life_s, lifeS);
  });
}

const UNUSABLE: readonly (readonly [string, () => void, Denied["code"]])[] = [
  ["a life of 0", () => grantToken({ expires_in: 0 }), "token_unavailable"],
  ["a life of less than a second", () => grantToken({ expires_in: 0.0005 }), "token_unavailable"],
  ["a negative life", () => grantToken({ expires_in: -5 }), "token_unavailable"],
  ["a token with a line break", () => grantToken({ access_token: "token\r\nX-Evil: 1" }), "token_unavailable"],
  ["another type of token", () => grantToken({ token_type: "mac" }), "token_unavailable"],
  ["a page for people", () => refuse(200, "text/html", "<html>log in</html>"), "token_unavailable"],
  ["a redirect", () => refuse(302, "text/plain", "", { location: "https://evil.example/" }), "token_unavailable"],
  ["a failure", () => refuse(503, "application/json", '{"error":"busy"}'), "token_unavailable"],
  ["a refusal", () => refuse(401, "application/json", '{"error":"invalid_client"}'), "token_refused"],
  ["more than was asked for", () => grantToken({ scope: "issues:read issues:write admin" }), "token_scope_beyond"],
];
for (const [words, prepare, code] of UNUSABLE) {
  test(`${words} at the token endpoint: the call is refused, and nothing of it is sent`, async () => {
    prepare();
    const run = await begin();
    await assert.rejects(read(run), denies(code));
    assert.deepEqual(api.received, []);
    await assert.rejects(read(run), denies(code));
    assert.equal(endpoint.received.length, 1, "no storm");
    grantToken();
    await bench.time.advance(1_001);
    assert.equal((await read(run)).outcome, "success");
  });
}

test("a token endpoint that is down or silent fails the call before it is sent", async () => {
  const run = await begin({ tokenEndpoint: "http://127.0.0.1:9/token" });
  await assert.rejects(read(run), denies("token_unavailable"));
  assert.deepEqual(api.received, []);
});

test("a token endpoint whose answer trickles on for ever is bounded by the deadline of the exchange", async () => {
  const drips = new Set<NodeJS.Timeout>();
  endpoint.answer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    drips.add(setInterval(() => void response.write(" "), 20));
  });
  const limits: number[] = [];
  bounds = (timeoutMs) => {
    limits.push(timeoutMs);
    return 500;
  };
  try {
    const run = await begin();
    await assert.rejects(read(run), denies("token_unavailable"));
    assert.ok((limits[0] ?? 0) <= 20_000, "it has a deadline of its own");
    assert.deepEqual(api.received, []);
  } finally {
    for (const drip of drips) clearInterval(drip);
  }
});

test("a call's own attempt pays for its exchange: none that its budget refuses causes one, and one that gets no token has spent it", async () => {
  refuse(400, "application/json", '{"error":"invalid_scope"}');
  await begin();
  const run = await bench.openApproved(caller, ["acme.issue.get"], { attempts: 2 });
  for (const left of [1, 0]) {
    await assert.rejects(read(run), denies("token_refused"));
    assert.equal(attemptsRemaining(run.budget), left);
    await bench.time.advance(10_000);
  }
  await assert.rejects(read(run), denies("attempts_exhausted"));
  assert.equal(endpoint.received.length, 2);
});

test("nothing of a session leaves that is revoked while its token is got", async () => {
  const run = await begin();
  endpoint.answer(async (_request, response) => {
    const [session] = bench.gateway.sessions();
    await bench.gateway.revoke(bench.revocation(session?.id ?? ""));
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ access_token: "token-number-1", token_type: "Bearer", expires_in: 600 }));
  });
  await assert.rejects(write(run), denies("session_ended"));
  assert.equal(endpoint.received.length, 1);
  assert.deepEqual(api.received, []);
});

test("a ticket that ends while the token is got lets nothing leave", async () => {
  await begin();
  const run = await bench.openApproved(caller, ["acme.issue.close"]);
  const nowMs = bench.time.clock.wallMs();
  const context = {
    ticket_ref: "jira:OPS-17",
    allowed_targets: [`${api.origin}/issues/7/close?why=done`],
    allowed_operations: ["acme.issue.close"],
    expires_at: isoTime(nowMs + 10_000),
    issued_for_run: run.id,
    issuer: "ada",
    issued_at: isoTime(nowMs),
    observed_state: "in progress",
  };
  await bench.gateway.attachTicket(run.id, await signContext(context, { keyId: "k1", key: operatorKeys.privateKey }));
  endpoint.answer(async (_request, response) => {
    await bench.time.advance(11_000);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ access_token: "token-number-1", token_type: "Bearer", expires_in: 600 }));
  });
  const input = { why: "done" };
  const closing = bench.gateway.startCall(caller, run.id, { action: "acme.issue.close", input }).done;
  await assert.rejects(closing, denies("ticket_expired"));
  assert.equal(endpoint.received.length, 1);
  assert.deepEqual(api.received, []);
});

test("a limit of the fleet on the credential counts each exchange, and refuses one before it leaves", async () => {
  const counted: string[] = [];
  let givenBack = 0;
  let full = false;
  options = { exchanged: { "acme-app": { version: 1, exchange: exchangeWith(), secret: CLIENT_SECRET } } };
  bench = await startBench(packText(), {
    ...options,
    hub: {
      admit: () => undefined,
      beforeSend: () => Promise.resolve(),
      holdsAnswers: () => false,
      beforeAnswer: () => Promise.resolve(),
      async count({ pack, credential, grant, sideEffect, cents }) {
        if (full) throw new Denied("fleet_limit_reached", "the limit is reached");
        counted.push(`${pack || "exchange"} ${credential} ${grant} ${sideEffect} ${cents}`);
        return { settle: () => undefined, giveBack: () => void givenBack++ };
      },
    },
  });
  bench.credentials.set("acme-app", { eachUse: false, disabled: false, origin: api.origin });
  const run = await openRun();
  await read(run);
  await read(run);
  const [exchange, call] = ["exchange acme-app null false 0", "acme acme-app null false 0"];
  assert.deepEqual(counted, [exchange, call, call]);
  await bench.time.advance(600_000);
  full = true;
  await assert.rejects(read(await openRun()), denies("fleet_limit_reached"));
  assert.equal(endpoint.received.length, 1);
  assert.equal(givenBack, 0);
});

test("less than was asked for is told, and the token is used", async () => {
  grantToken({ scope: "issues:read" });
  const run = await begin();
  assert.equal((await read(run)).outcome, "success");
  const obtained = bench.events().find(({ event_type }) => event_type === "token_obtained");
  assert.ok(obtained?.event_type === "token_obtained");
  assert.deepEqual(obtained.missing, ["issues:write"]);
});

test("a refresh token that the provider replaces is the next one used, also after a restart", async () => {
  let current = REFRESH;
  endpoint.answer((request, response) => {
    assert.equal(formOf(request)["refresh_token"], current);
    current = `refresh-token-${++serial}`;
    response.writeHead(200, { "content-type": "application/json" });
    const tokens = { access_token: `token-number-${serial}`, refresh_token: current, token_type: "bearer" };
    response.end(JSON.stringify({ ...tokens, expires_in: 60 }));
  });
  const run = await begin({ grant: "refresh_token", clientAuth: "none", clientId: "cli" }, REFRESH);
  await read(run);
  assert.equal(formOf(endpoint.received[0])["client_id"], "cli");
  await bench.time.advance(60_000);
  await read(run);
  await bench.gateway.lock("test", null);
  await bench.unlock();
  await read(await openRun());
  assert.equal(endpoint.received.length, 3);
  assert.equal(current, "refresh-token-3");
  assert.ok(!JSON.stringify(bench.events()).includes("refresh-token-"));
});

test("a refresh token that comes with a token which cannot be used is kept all the same", async () => {
  const asked: (string | undefined)[] = [];
  endpoint.answer((request, response) => {
    asked.push(formOf(request)["refresh_token"]);
    response.writeHead(200, { "content-type": "application/json" });
    const tokens = { access_token: "token-number-1", refresh_token: `refresh-token-${asked.length}` };
    response.end(JSON.stringify({ ...tokens, token_type: "bearer", expires_in: asked.length === 1 ? 0 : 600 }));
  });
  const run = await begin({ grant: "refresh_token", clientAuth: "none", clientId: "cli" }, REFRESH);
  await assert.rejects(read(run), denies("token_unavailable"));
  await bench.time.advance(10_000);
  assert.equal((await read(run)).outcome, "success");
  assert.deepEqual(asked, [REFRESH, "refresh-token-1"], "the one before is spent");
});

test("a lock that meets an exchange: it holds at once, and the refresh token that comes later is kept, its token is not", async () => {
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  endpoint.answer(async (_request, response) => {
    asked.resolve();
    await answered.promise;
    response.writeHead(200, { "content-type": "application/json" });
    const tokens = { access_token: `token-number-${++serial}`, refresh_token: `refresh-token-${serial}` };
    response.end(JSON.stringify({ ...tokens, token_type: "bearer", expires_in: 600 }));
  });
  const run = await begin({ grant: "refresh_token", clientAuth: "none", clientId: "cli" }, REFRESH);
  const called = Promise.allSettled([read(run)]);
  await asked.promise;
  const locked = Promise.withResolvers<void>();
  const locking = bench.gateway.lock("test", null, locked.resolve);
  await locked.promise;
  assert.equal(bench.gateway.locked, true, "nobody waits for a provider to be locked");
  answered.resolve();
  assert.equal((await called)[0]?.status, "rejected");
  await locking;
  assert.deepEqual([api.received.length, bench.gateway.tokens.uses()], [0, []]);
  await bench.unlock();
  assert.equal((await read(await openRun())).outcome, "success");
  assert.equal(formOf(endpoint.received[1])["refresh_token"], "refresh-token-1");
  assert.equal(bearerOf(api.received[0]), "Bearer token-number-2");
});

test("an exchange that began before its secret was replaced does not leave with the new one", async () => {
  const run = await begin({ grant: "refresh_token", clientAuth: "none", clientId: "cli" }, REFRESH);
  const { exchange } = options.exchanged?.["acme-app"] ?? assert.fail();
  before.set("exchange.sent", () => {
    Object.assign(options.exchanged ?? {}, { "acme-app": { version: 2, exchange, secret: "refresh-token-new" } });
  });
  grantToken({ refresh_token: "refresh-token-newer" });
  await assert.rejects(read(run), denies("token_unavailable"));
  assert.deepEqual([endpoint.received.length, api.received.length], [0, 0]);
  before.clear();
  assert.equal((await read(run)).outcome, "success");
  assert.equal(formOf(endpoint.received[0])["refresh_token"], "refresh-token-new");
  assert.deepEqual(
    bench.rows("notes", "token").map(({ secret, refresh_token }) => [secret, refresh_token]),
    [["2 of old", "refresh-token-newer"]],
  );
});

test("consent that was withdrawn suspends the credential, once, and nothing asks again", async () => {
  refuse(400, "application/json", '{"error":"invalid_grant"}');
  const run = await begin({ grant: "refresh_token" }, `${REFRESH}\n${CLIENT_SECRET}`);
  const results = await Promise.allSettled([read(run), read(run), read(run)]);
  for (const result of results) {
    assert.ok(result.status === "rejected");
    denies("token_grant_ended")(result.reason);
  }
  assert.equal(endpoint.received.length, 1);
  assert.deepEqual(
    suspended.map(([label]) => label),
    ["acme-app"],
  );
});

test("an assertion is signed with the sealed key, for the endpoint, and is good for minutes", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  const bearer = { grant: "jwt_bearer", clientAuth: "none", keyId: "k7", subject: "ada@acme.example" } as const;
  const run = await begin({ ...bearer, audience: null }, pem);
  assert.equal((await read(run)).outcome, "success");
  const { assertion = "", ...rest } = formOf(endpoint.received[0]);
  const scope = "issues:read issues:write";
  assert.deepEqual(rest, { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", scope });
  const currentDate = new Date(bench.time.clock.wallMs());
  const { payload, protectedHeader } = await jwtVerify(assertion, publicKey, {
    ...{ issuer: "acme:app", subject: "ada@acme.example", audience: `${endpoint.origin}/token`, currentDate },
  });
  assert.deepEqual([protectedHeader.alg, protectedHeader.kid, payload["scope"]], ["RS256", "k7", scope]);
  assert.ok(Number(payload.exp) - Number(payload.iat) <= 600);
  assert.ok(!JSON.stringify(bench.events()).includes(assertion));
});

test("a clock that is hours off: what is signed goes by the provider's own Date, at once after its refusal, and nobody is suspended", async () => {
  const pem = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "pem", type: "pkcs8" });
  const run = await begin({ grant: "jwt_bearer", clientAuth: "none" }, pem.toString());
  const aheadMs = 5 * 3_600_000;
  const date = new Date(bench.time.clock.wallMs() + aheadMs).toUTCString();
  endpoint.answer((_request, response) => {
    const first = endpoint.received.length === 1;
    response.writeHead(first ? 400 : 200, { "content-type": "application/json", date });
    response.end(
      JSON.stringify(first ? { error: "invalid_grant" } : { access_token: "token-number-1", token_type: "Bearer" }),
    );
  });
  assert.equal((await read(run)).outcome, "success");
  assert.equal(endpoint.received.length, 2);
  assert.deepEqual(suspended, []);
  const [before = 0, after = 0] = endpoint.received.map((one) => {
    const [, claims = ""] = (formOf(one)["assertion"] ?? "").split(".");
    return Number(JSON.parse(Buffer.from(claims, "base64url").toString("utf8")).iat);
  });
  // Date has whole seconds: one is lost to rounding.
  assert.ok(Math.abs(after - before - aheadMs / 1_000) <= 2, `${after - before}`);
});

test("a 401 for an older token gets a new one, once; for a new one it is the answer", async () => {
  const run = await begin();
  await read(run);
  await bench.time.advance(10);
  api.answer((request, response) => {
    const good = bearerOf(request) === "Bearer token-number-2";
    response.writeHead(good ? 200 : 401, { "content-type": "application/json" }).end("{}");
  });
  assert.equal((await write(run)).outcome, "success");
  assert.deepEqual(api.received.slice(1).map(bearerOf), ["Bearer token-number-1", "Bearer token-number-2"]);
  api.answer((_request, response) => void response.writeHead(401).end());
  await bench.time.advance(10);
  const refused = await read(run);
  assert.equal(refused.outcome, "error");
  assert.equal(endpoint.received.length, 3);
});

test("a 401 for an older token gets a new one for every call that was sent with it", async () => {
  const run = await begin();
  await read(run);
  const both = Promise.withResolvers<void>();
  let refusals = 0;
  api.answer(async (request, response) => {
    if (bearerOf(request) !== "Bearer token-number-1") return void response.writeHead(200).end("{}");
    if (++refusals === 3) both.resolve();
    await both.promise;
    response.writeHead(401).end("{}");
  });
  await bench.time.advance(1_000);
  const results = await Promise.all([read(run), read(run), write(run)]);
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    ["success", "success", "success"],
  );
  assert.equal(endpoint.received.length, 2, "one new token for all of them");
});

test("a write that may have happened is not sent again for a new token", async () => {
  const run = await begin();
  await read(run);
  await bench.time.advance(10);
  api.answer((_request, response) => void response.writeHead(503).end());
  assert.equal((await write(run)).outcome, "unknown");
  assert.equal(endpoint.received.length, 1);
});
