import { allScopes, type Reference } from "../../packages/reference/src/start.ts";

/**
 * The reference provider's two dated versions, probed through the real gateway. What the later one does wrong is written
 * in packages/reference/src/version.ts: a default that widened, a new route, a role under another name, and a denial that became 201.
 */
export const corpus = {
  format: "gw.upgrade-corpus/v1",
  api: "Reference",
  account: {
    allowed_project: "atlas",
    forbidden_project: "crypt",
    inactive_record: "dormant",
    other_tenant_record: "gemini",
    more: { member: "ada" },
  },
  credentials: {
    main: { env: "GW_TEST_MAIN", case: "valid", vault: "acme-main" },
    bare: { env: "GW_TEST_BARE", case: "missing_scope" },
    broken: { env: "GW_TEST_BROKEN", case: "revoked" },
    expired: { env: "GW_TEST_EXPIRED", case: "expired" },
    audience: { env: "GW_TEST_AUDIENCE", case: "wrong_audience" },
  },
  probes: [
    {
      id: "project.list",
      request: { method: "GET", path: "/v1/projects", query: { limit: 5 } },
      expect: { status: [200] },
      optional: [{ in: "query", name: "state", explicit: ["active", "any"] }],
      cases: true,
    },
    {
      id: "project.get",
      request: { method: "GET", path: "/v1/projects/{id}", with: { id: "$allowed_project" } },
      expect: { status: [200] },
      forbidden: { id: ["$forbidden_project", "$other_tenant_record"] },
    },
    {
      id: "integration.list",
      request: { method: "GET", path: "/v1/integrations", query: { limit: 3 } },
      expect: { status: [200] },
      pages: { next: "/next_cursor", param: "cursor" },
    },
    {
      id: "member.get",
      request: {
        method: "GET",
        path: "/v1/projects/{id}/memberships/{member}",
        with: { id: "$allowed_project", member: "$member" },
      },
      expect: { status: [200] },
    },
    {
      id: "new.export",
      request: { method: "GET", path: "/v1/projects/{id}/export", with: { id: "$allowed_project" } },
      expect: { denied: true },
      new_route: true,
    },
    {
      id: "release.create",
      request: {
        method: "POST",
        path: "/v1/releases",
        headers: { "idempotency-key": "probe-release-0001" },
        body: {
          operation_id: "probe-0001",
          service: "web",
          artifact: `sha256:${"ab".repeat(32)}`,
          environment: "staging",
        },
      },
      expect: { denied: true },
      side_effect: true,
    },
  ],
};

export async function issueTokens(reference: Reference): Promise<Readonly<Record<string, string>>> {
  const robot = { actor: "robot", tenant: "acme" };
  const issue = (scopes: readonly string[]) => reference.issueToken({ ...robot, scopes });
  return {
    GW_TEST_EXPIRED: await reference.issueToken({ ...robot, scopes: allScopes, expiresInMs: -60_000 }),
    GW_TEST_AUDIENCE: await reference.issueToken({ ...robot, scopes: allScopes, audience: "https://other.example" }),
    GW_TEST_MAIN: await issue(allScopes.filter((scope) => scope !== "releases:write")),
    GW_TEST_BARE: await issue(["events:read"]),
    GW_TEST_BROKEN: "not-a-token-at-all",
  };
}
