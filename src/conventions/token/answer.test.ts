import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../../kernel/json.ts";
import { readTokenAnswer } from "./answer.ts";

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
