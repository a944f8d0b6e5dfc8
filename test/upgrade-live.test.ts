import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { stringify } from "yaml";
import { createClock, systemRandom, systemSleep } from "../src/adapters/platform/system.ts";
import { allScopes, type Reference, startReference } from "../src/reference/start.ts";
import { asUser, codeOf, type Gateway, Home, type Members, makeFolder, openPlane } from "./support/home.ts";

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

describe("the reference provider's two versions, probed through the gateway", asUser, () => {
  const folder = makeFolder();
  const at = (name: string): string => join(folder, name);
  let reference: Reference;
  let home: Home;
  let gateway: Gateway;
  let tokens: Readonly<Record<string, string>>;
  let narrowTokens: Readonly<Record<string, string>>;

  before(async () => {
    const clock = createClock();
    const file = at("reference.db");
    reference = await startReference({ port: 0, file, clock, random: systemRandom, sleep: systemSleep });
    const db = new DatabaseSync(file);
    db.prepare(
      "insert into memberships (tenant_id, project_id, subject_id, role, revision) values (?, ?, ?, ?, ?)",
    ).run("acme", "atlas", "ada", "editor", 1);
    db.close();
    const robot = { actor: "robot", tenant: "acme" };
    const issue = (scopes: readonly string[]) => reference.issueToken({ ...robot, scopes });
    tokens = {
      GW_TEST_EXPIRED: await reference.issueToken({ ...robot, scopes: allScopes, expiresInMs: -60_000 }),
      GW_TEST_AUDIENCE: await reference.issueToken({ ...robot, scopes: allScopes, audience: "https://other.example" }),
      GW_TEST_MAIN: await issue(allScopes.filter((scope) => scope !== "releases:write")),
      GW_TEST_BARE: await issue(["events:read"]),
      GW_TEST_BROKEN: "not-a-token-at-all",
    };
    writeFileSync(at("corpus.yaml"), stringify(corpus));
    narrowTokens = { ...tokens, GW_TEST_MAIN: await issue(["integrations:read"]) };
    const main = { ...corpus.credentials.main, vault: "acme-narrow" };
    writeFileSync(
      at("narrow.yaml"),
      stringify({ ...corpus, credentials: { ...corpus.credentials, main } }, { aliasDuplicateObjects: false }),
    );
    home = await new Home(folder).init();
    await home.addCredential("acme-main", reference.origin);
    gateway = await home.up();
  });

  after(async () => {
    await gateway?.end();
    await reference?.close();
  });

  function probe(
    oldVersion: string,
    newVersion: string,
    extra: readonly string[] = [],
    env = tokens,
    file = "corpus.yaml",
  ) {
    const where = ["--old", reference.origin, "--new", reference.origin];
    const headers = ["--old-header", `X-API-Version: ${oldVersion}`, "--new-header", `X-API-Version: ${newVersion}`];
    const args = ["upgrade", "probe", "--corpus", at(file), ...where, ...headers, "--json", ...extra];
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

  const pack = (version: string, more = "", credential = "acme-main"): string => `format: gw.pack/v1
pack: acme
provider:
  origin: ${reference.origin}
  credential: ${credential}
  auth: { scheme: bearer }
  network: private
  version: { header: X-API-Version, value: "${version}" }
actions:
  project.list:
    effect: read
    request: { method: GET, path: /v1/projects }
  project.get:
    effect: read
    request: { method: GET, path: "/v1/projects/{id}" }
    input: { id: { in: path, type: string, maxLength: 64 } }
${more}`;
  const add = async (text: string): Promise<void> => {
    writeFileSync(at("acme.yaml"), text);
    assert.equal((await home.run(["pack", "add", at("acme.yaml")])).code, 0);
  };
  const trust = async (...args: readonly string[]): Promise<readonly [number | null, string | null]> => {
    const done = await home.operator(["pack", "trust", "acme", ...args]);
    return [done.code, done.code === 0 ? null : codeOf(done)];
  };
  const why = ["--reason", "a test provider that is wrong on purpose"];

  test("a pack of another version is trusted only after the last decision about exactly this change", async () => {
    await home.trustPack("acme", pack("2026-04-01"));
    await add(pack("2026-10-01"));
    assert.deepEqual(await trust(), [1, "authority_increase"], "what the probe disabled blocks the upgrade");
    await home.must(["credential", "enable", "acme-main"]);
    assert.deepEqual(await trust(), [1, "upgrade_undecided"]);
    const reviews = ["--reviews", at("reviews.yaml")];
    const about = ["--probe", at("report.json"), ...reviews];
    assert.deepEqual(await trust(...reviews), [1, "upgrade_undecided"], "no evidence");
    assert.deepEqual(
      await trust(...reviews, "--without-evidence"),
      [1, "upgrade_undecided"],
      "a version is not waved on",
    );
    assert.deepEqual(await trust(...about), [1, "upgrade_undecided"]);
    const decide = ["upgrade", "decide", "--trust", "acme", ...about];
    const open = JSON.parse((await home.operator([...decide, "--json"])).out) as readonly Members[];
    assert.deepEqual(
      open.map(({ kind }) => kind).filter((kind) => kind === "pack_term_changed" || kind === "whole_review"),
      ["pack_term_changed", "whole_review"],
    );
    assert.equal(open.length, 9);
    const ids = open.filter(({ kind }) => kind !== "whole_review").map(({ id }) => String(id));
    const vague = await home.operator([...decide, ids[0] ?? ""]);
    assert.deepEqual([vague.code, codeOf(vague)], [1, "schema_violation"]);
    const early = await home.operator([...decide, "--finish", ...why]);
    assert.deepEqual([early.code, codeOf(early)], [1, "upgrade_undecided"]);
    await home.must([...decide, "--reject", ...why, ids[0] ?? ""]);
    await home.must([...decide, "--accept", ...why, ...ids.slice(1)]);
    assert.deepEqual(await trust(...about), [1, "upgrade_refused"]);
    await home.must([...decide, "--accept", ...why, ids[0] ?? ""]);
    assert.deepEqual(await trust(...about), [1, "upgrade_undecided"], "the whole is not signed yet");
    await home.must([...decide, "--finish", ...why]);
    const events = await home.events("upgrade_decided");
    assert.equal(events.length, ids.length + 2);
    assert.ok(events.every(({ signature }) => /^[A-Za-z0-9+/]{86}==$/.test(String(signature))));
    await add(pack("2026-10-01", "  # another file\n"));
    assert.deepEqual(await trust(...about), [1, "upgrade_undecided"], "the review was of other bytes");
    await add(pack("2026-10-01"));
    assert.deepEqual(await trust(...about), [0, null]);
    await home.trustPack("acme", `${pack("2026-10-01")}\n# a comment\n`);
  });

  test("a pack that was removed and added again is reviewed against what was trusted last", async () => {
    await home.must(["pack", "remove", "acme"]);
    await add(pack("2026-04-01"));
    assert.deepEqual(await trust(), [1, "upgrade_undecided"]);
    await home.must(["pack", "remove", "acme"]);
    await add(pack("2026-10-01").replace("effect: read", "effect: read\n    description: other words"));
    assert.deepEqual(await trust(), [1, "upgrade_undecided"]);
    await home.trustPack("acme", `${pack("2026-10-01")}\n# a comment\n`);
  });

  const LIST = `  integration.list:
    effect: read
    request: { method: GET, path: /v1/integrations }
`;
  const document = (version: string, paths: readonly string[]): string =>
    JSON.stringify({
      openapi: "3.1.0",
      info: { title: "Reference", version },
      servers: [{ url: reference.origin }],
      paths: Object.fromEntries(paths.map((path) => [path, { get: { responses: { "200": { description: "ok" } } } }])),
    });

  test("a new action needs a document that has it, a probe that saw it, or a signature that there is neither", async () => {
    await add(pack("2026-10-01", LIST));
    const reviews = ["--reviews", at("new-action.yaml")];
    assert.deepEqual(await trust(...reviews), [1, "upgrade_undecided"]);
    const paths = ["/v1/projects", "/v1/projects/{id}"];
    writeFileSync(at("old.json"), document("1", paths));
    writeFileSync(at("other.json"), document("1", ["/elsewhere"]));
    writeFileSync(at("new.json"), document("2", [...paths, "/v1/integrations"]));
    assert.deepEqual(await trust(at("old.json"), at("other.json"), ...reviews), [1, "review_mismatch"]);
    assert.deepEqual(await trust(at("other.json"), at("new.json"), ...reviews), [1, "review_mismatch"]);
    assert.deepEqual(
      await trust("--probe", at("report.json"), ...reviews),
      [1, "review_mismatch"],
      "that probe compared with the version before the trusted one",
    );
    const review = ["upgrade", "review", at("old.json"), at("new.json"), "--trust", "acme", "--json"];
    const report = await home.run(review);
    assert.equal(report.code, 1);
    assert.deepEqual(told(report.out), [
      "action_added action acme.integration.list|",
      "operation_added GET /v1/integrations|",
      "whole_review pack acme|",
    ]);
    const decide = ["upgrade", "decide", at("old.json"), at("new.json"), "--trust", "acme", ...reviews];
    const open = JSON.parse((await home.operator([...decide, "--json"])).out) as readonly Members[];
    await home.must([...decide, "--accept", ...why, ...open.map(({ id }) => String(id)).slice(0, -1)]);
    await home.must([...decide, "--finish", ...why]);
    // Without the documents, or with others, it is another review.
    assert.deepEqual(await trust(...reviews, "--without-evidence"), [1, "upgrade_undecided"]);
    writeFileSync(at("newer.json"), document("3", [...paths, "/v1/integrations"]));
    assert.deepEqual(await trust(at("old.json"), at("newer.json"), ...reviews), [1, "upgrade_undecided"]);
    assert.deepEqual(await trust(at("old.json"), at("new.json"), ...reviews), [0, null]);
  });

  test("a narrower identity exists, is used by the pack, and was seen to be denied where the other is let in", async () => {
    await home.addCredential("acme-narrow", reference.origin);
    await home.addCredential("acme-stray", reference.origin, ["--origin", "https://elsewhere.example"]);
    const done = await probe("2026-04-01", "2026-10-01", ["--approve-side-effects"], narrowTokens, "narrow.yaml");
    writeFileSync(at("narrow.json"), done.out);
    await home.must(["credential", "enable", "acme-narrow"]);
    const files = ["--report", at("report.json"), "--reviews", at("narrow-reviews.yaml")];
    const [first] = JSON.parse(
      (await home.operator(["upgrade", "decide", ...files, "--json"])).out,
    ) as readonly Members[];
    const found = (JSON.parse(readFileSync(at("report.json"), "utf8")) as { readonly differences: readonly Members[] })
      .differences;
    const exported = String(found.find(({ subject }) => subject === "probe new.export")?.["id"]);
    assert.ok(first !== undefined);
    const narrow = async (label: string, ...extra: readonly string[]) => {
      const answer = await home.operator([
        "upgrade",
        "decide",
        ...files,
        exported,
        "--narrow",
        label,
        ...why,
        ...extra,
      ]);
      return [answer.code, answer.code === 0 ? null : codeOf(answer)];
    };
    const proof = ["--proof", at("narrow.json")];
    const unproven = [1, "narrowing_unproven"];
    assert.deepEqual(await narrow("acme-nowhere", ...proof), unproven, "no such credential");
    assert.deepEqual(await narrow("acme-narrow"), unproven, "nothing shows it");
    assert.deepEqual(await narrow("acme-main", "--proof", at("report.json")), unproven, "the same identity");
    assert.deepEqual(await narrow("acme-stray", ...proof), unproven, "the proof is about another");
    assert.deepEqual(await narrow("acme-narrow", ...proof), [0, null]);
  });

  function sentReleases(): Promise<number> {
    return home.events("intent_accepted").then((events) => events.filter(({ method }) => method === "POST").length);
  }
});
