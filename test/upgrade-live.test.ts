import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { stringify } from "yaml";
import { type Reference, startReference } from "../packages/reference/src/start.ts";
import { createClock, systemRandom, systemSleep } from "../src/adapters/platform/system.ts";
import { connectOperator } from "../src/surfaces/client/operator.ts";
import { asUser, codeOf, type Gateway, Home, type Members, makeFolder, openPlane } from "./support/home.ts";
import { operatorOf } from "./support/operator-key.ts";
import { idOf } from "./support/reply.ts";
import { corpus, issueTokens } from "./support/upgrade-corpus.ts";

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
    tokens = await issueTokens(reference);
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
    const sent = (await home.activity(idOf(started, "run_id"))).map(({ action }) => action);
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

  test("a probe goes out for whoever opened it, and for no other operator", async () => {
    const theirs = at("bob");
    writeFileSync(theirs, "bob has a passphrase of his own\n", { mode: 0o600 });
    await home.must(["operator", "add", "bob", "--operator", "ada", "--new-passphrase-file", theirs]);
    await home.must(["unlock", "--operator", "ada"]);
    const login = async (name: string, passphraseFile = home.passphraseFile) => {
      const { operator } = await operatorOf({ folder: home.folder, passphraseFile }, name);
      const door = { path: home.operatorSocket, requireServer: () => undefined };
      return connectOperator(door, operator, { wallMs: () => Date.now() });
    };
    const [ada, bob] = [await login("ada"), await login("bob", theirs)];
    try {
      const credential = {
        label: "main",
        present: "bearer",
        name: null,
        token: String(Object.values(tokens)[0]),
      } as const;
      const versions = [{ base: reference.origin, header: null }];
      const run = await ada.openProbe({ api: "x", versions, credentials: [credential], requests: 5, side_effects: 0 });
      const request = {
        caseId: "a",
        method: "GET",
        url: `${reference.origin}/v1/projects`,
        headers: {},
        body: undefined,
      };
      const asked = { ...request, credential: "main", sideEffect: false };
      await assert.rejects(bob.sendProbe(run, asked), { code: "not_found" });
      await assert.rejects(bob.closeProbe(run, null), { code: "not_found" });
      assert.equal((await ada.sendProbe(run, asked)).kind, "answered");
      await ada.closeProbe(run, null);
    } finally {
      ada.close();
      bob.close();
    }
  });

  function sentReleases(): Promise<number> {
    return home.events("intent_accepted").then((events) => events.filter(({ method }) => method === "POST").length);
  }
});
