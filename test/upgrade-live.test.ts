import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { stringify } from "yaml";
import { createClock, systemRandom, systemSleep } from "../src/adapters/platform/system.ts";
import { allScopes, type Reference, startReference } from "../src/reference/start.ts";
import { asUser, codeOf, demoPack, type Gateway, Home, type Members, makeFolder, openPlane } from "./support/home.ts";

/**
 * The reference provider's two dated versions, probed through the real gateway. What the later one does wrong is written
 * in src/reference/version.ts: a default that widened, a new route, a role under another name, and a denial that became 201.
 */
const corpus = {
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

describe("the reference provider's two versions, probed through the gateway", asUser, () => {
  const folder = makeFolder();
  const at = (name: string): string => join(folder, name);
  let reference: Reference;
  let home: Home;
  let gateway: Gateway;
  let tokens: Readonly<Record<string, string>>;

  before(async () => {
    const clock = createClock();
    const file = at("reference.db");
    reference = await startReference({ port: 0, file, clock, random: systemRandom, sleep: systemSleep });
    const db = new DatabaseSync(file);
    db.prepare(
      "insert into memberships (tenant_id, project_id, subject_id, role, revision) values (?, ?, ?, ?, ?)",
    ).run("acme", "atlas", "ada", "editor", 1);
    db.close();
    const issue = (scopes: readonly string[]) => reference.issueToken({ actor: "robot", tenant: "acme", scopes });
    tokens = {
      GW_TEST_MAIN: await issue(allScopes.filter((scope) => scope !== "releases:write")),
      GW_TEST_BARE: await issue(["events:read"]),
      GW_TEST_BROKEN: "not-a-token-at-all",
    };
    writeFileSync(at("corpus.yaml"), stringify(corpus));
    home = await new Home(folder).init();
    await home.addCredential("acme-main", reference.origin);
    gateway = await home.up();
  });

  after(async () => {
    await gateway?.end();
    await reference?.close();
  });

  function probe(oldVersion: string, newVersion: string, extra: readonly string[] = [], env = tokens) {
    const where = ["--old", reference.origin, "--new", reference.origin];
    const headers = ["--old-header", `X-API-Version: ${oldVersion}`, "--new-header", `X-API-Version: ${newVersion}`];
    const args = ["upgrade", "probe", "--corpus", at("corpus.yaml"), ...where, ...headers, "--json", ...extra];
    return home.operator(args, { env: { ...home.environment(), ...env } });
  }

  const told = (out: string): readonly string[] =>
    ((JSON.parse(out) as Members)["differences"] as readonly Members[])
      .map(({ kind, subject, at: place }) => `${kind} ${subject}|${place}`)
      .sort();

  test("a version against itself differs in nothing", async () => {
    const done = await probe("2026-04-01", "2026-04-01", ["--approve-side-effects"]);
    assert.deepEqual([told(done.out), done.code], [[], 0], done.err);
  });

  test("what has a side effect is not sent while nobody approved it", async () => {
    // There is no terminal to ask on, so that nobody could have said yes.
    const before = await sentReleases();
    const done = await probe("2026-04-01", "2026-04-01");
    assert.deepEqual([done.code, codeOf(done)], [1, "terminal_needed"]);
    assert.equal(await sentReleases(), before);
    assert.deepEqual(
      (await home.events("upgrade_probe_started")).map((event) => event["side_effects"]),
      [1, 1],
      "the run that was not approved did not even begin",
    );
  });

  test("every planted difference is found and no other, and the credential behind the new authority is disabled", async () => {
    const done = await probe("2026-04-01", "2026-10-01", ["--approve-side-effects"]);
    assert.equal(done.code, 1);
    writeFileSync(at("report.json"), done.out);
    const list = ["project.list", "project.list~query.state.absent"];
    assert.deepEqual(told(done.out), [
      // A new route that the old credential reaches, and a denial that became 201.
      "authority_increase probe new.export|status",
      "authority_increase probe release.create|status",
      // A default that widened, where the parameter is left out.
      ...list.map((id) => `identifiers_differ probe ${id}|identifiers`),
      ...list.map((id) => `record_exposed probe ${id}|inactive_record`),
      // A role under another name.
      "roles_differ probe member.get|roles",
    ]);
    assert.match(done.err, /authority_increase: .*disabled in the vault: acme-main/);
    assert.match(done.err, /still open: revoke/);
    const rows = JSON.parse((await home.run(["credential", "list", "--json"])).out) as readonly Members[];
    assert.equal(rows.find(({ label }) => label === "acme-main")?.["state"], "suspended");
    const [change] = (await home.events("vault_changed")).slice(-1);
    assert.deepEqual([change?.["change"], change?.["credential_label"]], ["disabled", "acme-main"]);
  });

  test("every request of a probe is an attempt in the log, and no token is anywhere", async () => {
    const [started] = (await home.events("upgrade_probe_started")).slice(-1);
    const [finished] = (await home.events("upgrade_probe_finished")).slice(-1);
    const sent = (await home.activity(String(started?.["run_id"]))).map(({ action }) => action);
    assert.equal(sent.length, finished?.["requests"]);
    assert.ok(sent.includes("upgrade.probe.release.create"));
    const files = readdirSync(home.folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
    const log = (await home.must(["audit", "export"])).out;
    for (const token of Object.values(tokens)) {
      assert.ok(!log.includes(token));
      for (const file of files) assert.ok(!readFileSync(join(file.parentPath, file.name)).includes(token), file.name);
    }
  });

  test("opening a probe and suspending a credential are closed to whoever has not logged in", async () => {
    const plane = openPlane(home.operatorSocket);
    try {
      const opening = { api: "x", versions: [{ base: reference.origin, header: null }], requests: 1, side_effects: 0 };
      const refused = await plane.ask("POST", "/v1/upgrade/probes", { ...opening, credentials: [] });
      assert.deepEqual([refused.status, refused.body["code"]], [401, "operator_not_logged_in"]);
      const suspend = await plane.ask("POST", "/v1/credentials/suspend", { labels: ["acme-main"], reason: "x" });
      assert.equal(suspend.status, 401);
    } finally {
      plane.close();
    }
  });

  test("decisions are signed, in the log first, and a pack of the new version is trusted only after the last one", async () => {
    const pack = (version: string) =>
      `${demoPack(reference.origin).replace("  network: private\n", "")}`.replace(
        "  credential: demo-token\n",
        `  credential: demo-token\n  network: private\n  version: { header: X-API-Version, value: "${version}" }\n`,
      );
    await home.trustPack("demo", pack("2026-04-01"));
    writeFileSync(at("demo.yaml"), pack("2026-10-01"));
    assert.equal((await home.run(["pack", "add", at("demo.yaml")])).code, 0);
    const bare = await home.operator(["pack", "trust", "demo"]);
    assert.deepEqual([bare.code, codeOf(bare)], [1, "upgrade_undecided"]);
    const files = ["--report", at("report.json"), "--reviews", at("reviews.yaml")];
    const early = await home.operator(["pack", "trust", "demo", ...files]);
    assert.deepEqual([early.code, codeOf(early)], [1, "upgrade_undecided"]);
    const open = JSON.parse((await home.operator(["upgrade", "decide", ...files, "--json"])).out) as readonly Members[];
    assert.equal(open.length, 7);
    const ids = open.map(({ id }) => String(id));
    const vague = await home.operator(["upgrade", "decide", ...files, ids[0] ?? ""]);
    assert.deepEqual([vague.code, codeOf(vague)], [1, "schema_violation"]);
    const why = ["--reason", "a test provider that is wrong on purpose"];
    await home.must(["upgrade", "decide", ...files, "--reject", ...why, ids[0] ?? ""]);
    await home.must(["upgrade", "decide", ...files, "--accept", ...why, ...ids.slice(1)]);
    const rejected = await home.operator(["pack", "trust", "demo", ...files]);
    assert.deepEqual([rejected.code, codeOf(rejected)], [1, "upgrade_refused"]);
    await home.must(["upgrade", "decide", ...files, "--narrow", "identity acme-narrow", ...why, ids[0] ?? ""]);
    const events = await home.events("upgrade_decided");
    assert.deepEqual(events.map(({ difference }) => difference).sort(), [...ids, ids[0] ?? ""].sort());
    assert.ok(events.every(({ signature }) => /^[A-Za-z0-9+/]{86}==$/.test(String(signature))));
    await home.must(["pack", "trust", "demo", ...files]);
    // A later pack of the same version needs no review.
    await home.trustPack("demo", `${pack("2026-10-01")}\n# a comment\n`);
  });

  function sentReleases(): Promise<number> {
    return home.events("intent_accepted").then((events) => events.filter(({ method }) => method === "POST").length);
  }
});
