import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { lentForMs, readTokenAnswer } from "./answer.ts";

function read(grant: string, status: number, json: JsonObject, asked: { scopes: string[]; repositories: string[] }) {
  const headers = { "content-type": "application/json", date: "Mon, 16 Nov 2026 10:00:00 GMT" };
  const about = { kind: "answered", status, headers, body: Buffer.alloc(0), remoteRequestId: null } as const;
  const exchange = { grant, dpop: false, subject: null, scopes: ["Mail.Read", "Mail.Send", "offline_access"] };
  return readTokenAnswer({ ...about, withheld: null, elapsedMs: 1 }, () => json, exchange, asked);
}

test("for a refresh token a provider may answer with all that was agreed to: what is pinned is not beyond, anything else is", () => {
  const asked = { scopes: ["Mail.Read"], repositories: [] };
  const answer = (scope: string) => ({ access_token: "token-number-1", token_type: "Bearer", expires_in: 60, scope });
  const beyond = (grant: string, scope: string) => {
    const got = read(grant, 200, answer(scope), asked);
    assert.ok(got.kind === "token");
    return got.granted.beyond;
  };
  assert.deepEqual(beyond("refresh_token", "Mail.Read Mail.Send offline_access"), []);
  assert.deepEqual(beyond("refresh_token", "Mail.Read Mail.ReadWrite"), ["Mail.ReadWrite"]);
  assert.deepEqual(beyond("client_credentials", "Mail.Read Mail.Send"), ["Mail.Send"]);
});

test("asked for one repository, an answer that names none is a token for all of them, and is not used", () => {
  const asked = { scopes: ["issues:read"], repositories: ["app"] };
  const answer = { token: "token-number-1", expires_at: "2026-11-16T11:00:00Z", permissions: { issues: "read" } };
  for (const repositories of [undefined, null, [], "app"]) {
    const json = repositories === undefined ? answer : { ...answer, repositories };
    assert.equal(read("github_app", 201, json, asked).kind, "failed", JSON.stringify(repositories));
  }
  const named = read("github_app", 201, { ...answer, repositories: [{ name: "app" }] }, asked);
  assert.ok(named.kind === "token");
  assert.deepEqual(named.granted.beyond, []);
});

const good = { access_token: "token-number-1", token_type: "Bearer", expires_in: 60 };
const plain = { scopes: ["a", "b"], repositories: [] };
const got = (json: JsonObject) => read("client_credentials", 200, json, plain);

test("a token is taken only where it can be sent, is of the kind that was asked for, and has not ended", () => {
  const taken = got({ ...good, refresh_token: "refresh-number-1" });
  assert.deepEqual(taken, {
    kind: "token",
    token: "token-number-1",
    refreshToken: "refresh-number-1",
    lifeMs: 60_000,
    granted: { scopes: ["a", "b"], missing: [], beyond: [] },
  });
  for (const change of [
    { access_token: "short" },
    { access_token: "with a blank in it" },
    { access_token: 12345678 },
    { token_type: "mac" },
    { token_type: null },
    { expires_in: 0 },
    { expires_in: -1 },
    { expires_in: "soon" },
    { expires_in: true },
    { refresh_token: "short" },
    { scope: ["a"] },
    { scope: "a ".repeat(10_000) },
  ])
    assert.equal(got({ ...good, ...change }).kind, "failed", JSON.stringify(change).slice(0, 60));
});

test("a life may be written as text, is bounded, and has a standard where nothing is said", () => {
  const lifeOf = (json: JsonObject) => {
    const answer = got(json);
    return answer.kind === "token" ? answer.lifeMs : null;
  };
  assert.equal(lifeOf({ ...good, expires_in: "90" }), 90_000);
  assert.equal(lifeOf({ ...good, expires_in: 1e12 }), defaults.tokenLifeMaxMs);
  assert.equal(lifeOf({ ...good, expires_in: null }), defaults.tokenLifeMs);
});

test("what was asked for and not given is missing; scopes are told once and in order", () => {
  const answer = got({ ...good, scope: "b  b" });
  assert.deepEqual(answer.kind === "token" && answer.granted, { scopes: ["b"], missing: ["a"], beyond: [] });
});

test("a refusal is told by its code alone: ended, refused, or worth another try", () => {
  const refused = (status: number, error: string) => read("client_credentials", status, { error }, plain);
  assert.deepEqual(refused(400, "invalid_grant"), { kind: "ended", error: "invalid_grant" });
  assert.deepEqual(refused(400, "invalid_client"), { kind: "refused", error: "invalid_client" });
  assert.deepEqual(refused(409, "words of <theirs>"), { kind: "refused", error: "status_409" });
  for (const status of [408, 429, 500, 503]) assert.equal(refused(status, "slow_down").kind, "failed", String(status));
  for (const status of [300, 302, 399]) {
    const answer = refused(status, "x");
    assert.ok(answer.kind === "failed" && answer.why.includes("redirect"), String(status));
  }
  assert.equal(refused(299, "x").kind, "refused");
  assert.equal(refused(407, "x").kind, "refused");
});

test("no answer, or one that is no JSON object, says neither yes nor no", () => {
  const exchange = { grant: "client_credentials", dpop: false, subject: null, scopes: [] };
  const silent = { kind: "unanswered", reason: "timeout", status: 200, headers: {} } as never;
  const answer = readTokenAnswer(silent, () => good, exchange, plain);
  assert.deepEqual(answer, { kind: "failed", why: "no answer (timeout)" });
  const page = {
    kind: "answered",
    status: 200,
    headers: { "content-type": "text/html" },
    body: Buffer.alloc(0),
  } as never;
  assert.equal(readTokenAnswer(page, () => good, exchange, plain).kind, "failed");
});

test("a token that should be bound to a key is taken only as such", () => {
  const headers = { "content-type": "application/json" };
  const observation = { kind: "answered", status: 200, headers, body: Buffer.alloc(0) } as never;
  const exchange = { grant: "client_credentials", dpop: true, subject: null, scopes: [] };
  const kindOf = (token_type: string) =>
    readTokenAnswer(observation, () => ({ ...good, token_type }), exchange, plain).kind;
  assert.equal(kindOf("DPoP"), "token");
  assert.equal(kindOf("Bearer"), "failed");
  assert.equal(got({ ...good, token_type: "DPoP" }).kind, "failed");
});

test("a refresh token that comes with an unusable access token is kept, and only one that could be sent", () => {
  const refreshOf = (change: JsonObject) => {
    const answer = got({ ...good, ...change });
    return answer.kind === "failed" ? answer.refreshToken : "taken";
  };
  assert.equal(refreshOf({ token_type: "mac", refresh_token: "refresh-number-1" }), "refresh-number-1");
  assert.equal(refreshOf({ token_type: "mac", refresh_token: "short" }), undefined);
  assert.equal(refreshOf({ refresh_token: "refresh-number-1" }), "taken");
});

test("a token is not lent up to its last second: a fifth of its life at most is kept back", () => {
  assert.equal(lentForMs(50_000), 40_000);
  const long = 10 * defaults.tokenMarginMs;
  assert.equal(lentForMs(long), long - defaults.tokenMarginMs);
});

test("a token of an installation without an end, or without permissions, is not used; what goes beyond is named", () => {
  const asked = { scopes: ["issues:read"], repositories: ["app"] };
  const answer = {
    token: "token-number-1",
    expires_at: "2026-11-16T11:00:00Z",
    permissions: { issues: "write", metadata: "read" },
    repositories: [{ name: "app" }, { name: "other" }],
  };
  const taken = read("github_app", 201, answer, asked);
  assert.ok(taken.kind === "token");
  assert.equal(taken.lifeMs, 3_600_000);
  assert.deepEqual(taken.granted, {
    scopes: ["issues:write"],
    missing: ["issues:read"],
    beyond: ["issues:write", "repository:other"],
  });
  const all = read("github_app", 201, answer, { scopes: [], repositories: [] });
  assert.deepEqual(all.kind === "token" && all.granted.beyond, []);
  for (const change of [
    { token: "short" },
    { expires_at: "2026-11-16T09:00:00Z" },
    { expires_at: null },
    { expires_at: 2099 },
    { permissions: [] },
  ])
    assert.equal(read("github_app", 201, { ...answer, ...change }, asked).kind, "failed", JSON.stringify(change));
});
