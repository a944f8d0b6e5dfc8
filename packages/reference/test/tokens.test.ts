import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { SignJWT } from "jose";
import { systemRandom } from "../../../src/adapters/platform/system.ts";
import { createIdentify } from "../src/identify.ts";
import { seedReleases } from "../src/seed.ts";
import { allScopes } from "../src/start.ts";
import { AUDIENCE, ISSUER, issueToken } from "../src/tokens/keys.ts";
import { type Stand, startStand } from "./stand.ts";

const list = "/v1/projects?limit=1";

async function codeWith(stand: Stand, token: string | null): Promise<readonly [number, string]> {
  const reply = await stand.ask("GET", list, { token });
  return [reply.status, reply.body.code ?? "accepted"];
}

test("a token is checked for signature, issuer, audience, expiry and revocation on each request", async (t) => {
  const stand = await startStand(t);
  assert.deepEqual(await codeWith(stand, stand.token), [200, "accepted"]);
  assert.deepEqual(await codeWith(stand, null), [401, "token_missing"]);
  assert.deepEqual(await codeWith(stand, "nonsense"), [401, "token_invalid"]);
  assert.deepEqual(await codeWith(stand, `${stand.token}x`), [401, "token_invalid"]);
  assert.deepEqual(await codeWith(stand, await stand.tokenFor({ issuer: "https://other.example" })), [
    401,
    "token_issuer_wrong",
  ]);
  assert.deepEqual(await codeWith(stand, await stand.tokenFor({ audience: "https://other.example" })), [
    401,
    "token_audience_wrong",
  ]);
  const brief = await stand.tokenFor({ expiresInMs: 60_000 });
  assert.deepEqual(await codeWith(stand, brief), [200, "accepted"]);
  await stand.time.advance(61_000);
  assert.deepEqual(await codeWith(stand, brief), [401, "token_expired"], "also when its signature was remembered");
  const ending = await stand.tokenFor();
  assert.deepEqual(await codeWith(stand, ending), [200, "accepted"]);
  const revoked = await stand.ask("POST", "/v1/sessions/revoke", { token: ending, key: null });
  assert.equal(revoked.status, 200);
  assert.deepEqual(await codeWith(stand, ending), [401, "token_revoked"]);
  assert.deepEqual(await codeWith(stand, stand.token), [200, "accepted"], "no other token is revoked with it");
});

test("a token of the right form by another key, or without a signature, is nobody's", async (t) => {
  const stand = await startStand(t);
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const identify = createIdentify(stand.time.clock, systemRandom);
  const request = { actor: "robot", tenant: "acme", scopes: allScopes };
  const forged = await issueToken({ privateKey, publicKey }, stand.time.clock, identify, request);
  assert.deepEqual(await codeWith(stand, forged), [401, "token_invalid"]);
  const [, payload] = stand.token.split(".");
  const none = Buffer.from(JSON.stringify({ alg: "none", typ: "at+jwt" })).toString("base64url");
  assert.deepEqual(await codeWith(stand, `${none}.${payload}.`), [401, "token_invalid"]);
  const hmac = await new SignJWT({ tenant: "acme", scope: "projects:read" })
    .setProtectedHeader({ alg: "HS256", typ: "at+jwt" })
    .setSubject("robot")
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setJti("x")
    .setExpirationTime("1h")
    .sign(Buffer.from(publicKey.export({ type: "spki", format: "pem" })));
  assert.deepEqual(await codeWith(stand, hmac), [401, "token_invalid"]);
});

test("a refusal says how to authenticate, and one for scope which scope", async (t) => {
  const stand = await startStand(t);
  const nobody = await stand.ask("GET", list, { token: null });
  assert.equal(nobody.headers["www-authenticate"], 'Bearer realm="reference"');
  const bad = await stand.ask("GET", list, { token: "bad" });
  assert.match(String(bad.headers["www-authenticate"]), /error="invalid_token"/);
  const token = await stand.tokenFor({ scopes: ["reports:read"] });
  const narrow = await stand.ask("GET", list, { token });
  assert.deepEqual(
    [narrow.status, narrow.body.code, narrow.body.error],
    [403, "insufficient_scope", "insufficient_scope"],
  );
  assert.match(String(narrow.headers["www-authenticate"]), /error="insufficient_scope", scope="projects:read"/);
  const twice = await stand.ask("GET", list, {
    token: null,
    headers: { authorization: [`Bearer ${stand.token}`, `Bearer ${stand.token}`] },
  });
  assert.deepEqual([twice.status, twice.body.code], [400, "framing_invalid"]);
});

test("every route but the document asks for its scope", async (t) => {
  const stand = await startStand(t);
  const { body } = await stand.ask("GET", "/openapi.json", { token: null });
  const token = await stand.tokenFor({ scopes: [] });
  let routes = 0;
  for (const [path, methods] of Object.entries<Record<string, { security?: unknown }>>(body.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (path === "/openapi.json") continue;
      assert.notEqual(operation.security, undefined, `${method} ${path}`);
      const target = path.replaceAll("{environment}", "staging").replaceAll(/\{[a-z_]+\}/g, "x");
      const anonymous = await stand.ask(method.toUpperCase(), target, { token: null, key: null });
      assert.equal(anonymous.status, 401, `${method} ${path}`);
      if (method === "get" && !path.includes("effects") && path !== "/search") {
        const unscoped = await stand.ask("GET", target, { token });
        assert.equal(unscoped.body.code, "insufficient_scope", `${method} ${path}`);
      }
      routes++;
    }
  }
  assert.ok(routes >= 25, `${routes} routes`);
});

test("an allowed project, a forbidden one, an inactive record and another tenant's are four different answers", async (t) => {
  const stand = await startStand(t);
  const codeOf = async (project: string, token = stand.token) => {
    const reply = await stand.ask("GET", `/v1/projects/${project}`, { token });
    return [reply.status, reply.body.code ?? reply.body.state];
  };
  assert.deepEqual(await codeOf("atlas"), [200, "active"]);
  assert.deepEqual(await codeOf("crypt"), [403, "project_forbidden"]);
  assert.deepEqual(await codeOf("dormant"), [200, "inactive"]);
  assert.deepEqual(await codeOf("gemini"), [404, "not_found"]);
  assert.deepEqual(await codeOf("crypt", await stand.tokenFor({ actor: "auditor" })), [200, "active"]);
  assert.deepEqual(await codeOf("gemini", await stand.tokenFor({ tenant: "globex" })), [200, "active"]);
});

const later = { "x-api-version": "2026-10-01" };

test("a version is selected by date; an unknown or repeated one is refused", async (t) => {
  const stand = await startStand(t);
  assert.equal((await stand.ask("GET", list)).headers["x-api-version"], "2026-04-01");
  assert.equal((await stand.ask("GET", list, { headers: later })).headers["x-api-version"], "2026-10-01");
  const unknown = await stand.ask("GET", list, { headers: { "x-api-version": "2027-01-01" } });
  assert.deepEqual([unknown.status, unknown.body.code], [400, "version_unknown"]);
  const twice = await stand.ask("GET", list, { headers: { "x-api-version": ["2026-04-01", "2026-10-01"] } });
  assert.deepEqual([twice.status, twice.body.code], [400, "framing_invalid"]);
  const document = await stand.ask("GET", "/openapi.json", { token: null, headers: later });
  assert.deepEqual([document.body.openapi, document.body.info.version], ["3.1.0", "2026-10-01"]);
});

test("the later version widened a default: a list without a state also shows what is not active", async (t) => {
  const stand = await startStand(t);
  const states = async (headers: Record<string, string>) => {
    const { body } = await stand.ask("GET", "/v1/projects?limit=200", { headers });
    return [...new Set(body.data.map(({ state }: { state: string }) => state))].sort();
  };
  assert.deepEqual(await states({}), ["active"]);
  assert.deepEqual(await states(later), ["active", "archived", "inactive"]);
});

test("the later version has a new route that the old credential reaches", async (t) => {
  const stand = await startStand(t);
  const token = await stand.tokenFor({ scopes: ["projects:read"] });
  assert.equal((await stand.ask("GET", "/v1/projects/atlas/export", { token })).status, 404);
  const reached = await stand.ask("GET", "/v1/projects/atlas/export", { token, headers: later });
  assert.equal(reached.status, 200);
  assert.match(reached.body.download_url, /^http/);
});

test("the later version renamed a role", async (t) => {
  const stand = await startStand(t);
  const path = "/v1/projects/atlas/memberships/plan";
  const body = { subject_id: "ada", role: "contributor", if_match: "r1" };
  assert.equal((await stand.ask("POST", path, { body })).status, 422);
  const planned = await stand.ask("POST", path, { body, headers: later });
  assert.equal(planned.body.effects[0].sample[0].proposed.role, "contributor");
  const done = await stand.ask("POST", "/memberships", {
    body: { plan_id: planned.body.plan_id, expected_revision: "r1" },
    headers: later,
  });
  assert.equal(done.status, 200);
  assert.equal((await stand.ask("GET", "/v1/projects/atlas/memberships/ada")).body.role, "editor");
});

test("in the later version a denial became a 201", async (t) => {
  const stand = await startStand(t);
  const token = await stand.tokenFor({ scopes: ["deployments:write"] });
  const body = { operation_id: "r-1", service: "web", artifact: seedReleases.first, environment: "staging" };
  const denied = await stand.ask("POST", "/v1/releases", { token, body });
  assert.deepEqual([denied.status, denied.body.code], [403, "insufficient_scope"]);
  assert.equal((await stand.ask("POST", "/v1/releases", { token, body, headers: later })).status, 201);
});
