import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { consequentialPack, previewBody } from "./support/consequential.ts";
import {
  asUser,
  call,
  type Gateway,
  GW,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  type Started,
  start,
  until,
} from "./support/home.ts";
import { type JobScript, scriptJobs } from "./support/jobs.ts";
import { noTmux, openPane, type Pane } from "./support/pane.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn } from "./support/reply.ts";

let accounts = 0;
/** Every report is one of its own: the same one is not started twice while it is open. */
const nextAccount = (): string => `a${++accounts}`;

const PIN = "471147";
const ACTIONS = ["acme.report.create", "acme.membership.plan", "acme.membership.apply", "acme.thing.post"];
/** How long a screen that just changed takes no key. */
const STEADY_MS = 800;

describe("operations and plans in gw watch, in a real terminal", noTmux === null ? {} : { skip: noTmux }, () => {
  let folder: string;
  let home: Home;
  let provider: TestProvider;
  let script: JobScript;
  let gateway: Gateway;
  let agent: Plane;
  let run: string;
  const panes: Pane[] = [];

  before(async () => {
    folder = makeFolder();
    provider = await startProvider();
    home = await new Home(folder).init();
    await home.addCredential("acme-token", provider.origin);
    await home.trustPack("acme", consequentialPack(provider.origin));
    const pane = sit(`${GW} operator pin ${operator()}; echo DONE`);
    for (const prompt of ["New PIN:", "Once more:"]) {
      await pane.shows(prompt);
      pane.write(PIN);
      pane.type("Enter");
    }
    await pane.shows("DONE");
    pane.close();
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
    run = await openRun(home, agent, ACTIONS, { side_effects: 40, attempts: 200 });
  });

  beforeEach(() => {
    script = scriptJobs(provider);
  });

  after(async () => {
    for (const pane of panes) pane.close();
    agent?.close();
    await gateway?.end();
    await provider?.close();
  });

  function operator(): string {
    return `--home ${home.folder} --passphrase-file ${home.passphraseFile}`;
  }

  function sit(command: string, environment = ""): Pane {
    const size = { columns: 80, rows: 30 };
    const pane = openPane(folder, `${environment} ${command}; sleep 600`, home.environment(), size);
    panes.push(pane);
    return pane;
  }

  async function watch(environment = "NO_COLOR=1"): Promise<Pane> {
    const pane = sit(`${GW} watch ${operator()}`, environment);
    await pane.shows("connected");
    await until("keys count", () => !pane.text().includes("one moment"));
    return pane;
  }

  async function startJob(): Promise<string> {
    const made = await call(agent, run, "acme.report.create", { account: nextAccount() });
    assert.equal(made.body["outcome"], "unknown", made.text);
    return idIn(made, "operation_id");
  }

  async function stateOf(id: string): Promise<string> {
    const shown = JSON.parse((await home.must(["operation", "show", id, "--json"])).out) as Members;
    return String(shown["state"]);
  }

  /** Ends what a test left running, so that the next one begins with an empty board. */
  async function finish(...ids: readonly string[]): Promise<void> {
    for (const job of script.jobs) Object.assign(job, { state: "succeeded", named: job.id });
    for (const id of ids) {
      await until(`${id} has ended`, async () => {
        const done = await home.operator(["operation", "reconcile", id]);
        return done.err.includes("operation_settled") || (await stateOf(id)) === "succeeded";
      });
    }
  }

  async function previewAndExecute(body: Record<string, unknown>): Promise<Promise<unknown>> {
    script.preview = body;
    const input = { project_id: "p1", subject_id: "u1", role: "editor", if_match: "r7" };
    const action = { action: "acme.membership.apply", input };
    const planned = await agent.ask("POST", `/v1/runs/${run}/plans`, action, { prefer: "wait=20" });
    const plan = planned.body["plan"] as Members;
    const expected = { expected_revision: plan["expected_revision"] ?? null };
    return agent.ask("POST", `/v1/plans/${plan["plan_id"]}/execute`, expected, { prefer: "wait=1" });
  }

  /** A row that has just changed takes no key. */
  async function press(pane: Pane, key: string, opens: string): Promise<void> {
    await pause(STEADY_MS);
    await pane.press(key, opens);
  }

  async function readOn(pane: Pane, painted: string[] = []): Promise<readonly string[]> {
    const pages: string[] = [];
    await until("the end of the card", async () => {
      const text = pane.text();
      if (pages.at(-1) !== text) pages.push(text);
      painted.push(pane.painted());
      if (/^-- end of the card/m.test(text) && !text.includes("one moment")) return true;
      pane.type("Enter");
      await pause(250);
      return false;
    });
    await pause(STEADY_MS);
    return pages;
  }

  test("an operation appears by itself with progress and countdown, and goes on without a key", async () => {
    const pane = await watch();
    assert.match(pane.text(), /No operation is open/);
    const id = await startJob();
    await pane.shows("1 operation is open");
    const [job] = script.jobs;
    assert.ok(job !== undefined);
    job.completed = 40;
    await pane.shows(/at 40\/100 +look \d+ s +due \d:\d\d +running at the provider: acme\.report/);
    const due = /due (\d:\d\d)/;
    const first = due.exec(pane.text())?.[1];
    await until("the countdown runs", () => due.exec(pane.text())?.[1] !== first);
    job.completed = 100;
    await pane.shows("at 100/100");
    assert.doesNotMatch(pane.text(), /succeeded/);
    await finish(id);
    await pane.shows("No operation is open");
    await pane.shows(/acme\.report\.create job-\d+ {2}succeeded/);
    pane.close();
  });

  test("the details open with Enter, and a cancel asks reason and PIN and leaves the end to the provider", async () => {
    const id = await startJob();
    const pane = await watch();
    await pane.shows("1 operation is open");
    await pane.press("o", "Operations: 1 open");
    await pause(STEADY_MS);
    await pane.press("Enter", /remote id +job-1/);
    assert.match(pane.text(), new RegExp(`^${id} {2}acme\\.report\\.create$`, "m"));
    await pane.press("Enter", /create_pending -> accepted: the provider named the/);
    await press(pane, "c", "? Stop acme.report.create");
    await pane.fill("too dear");
    await pane.press("Enter", "? Ask the provider to stop acme.report.create");
    await pane.fillSecret("0000");
    await pane.press("Enter", "Wrong PIN");
    assert.equal(script.jobs[0]?.cancels, 0);
    await pane.fillSecret(PIN);
    await pane.press("Enter", "asked to stop; the provider decides");
    assert.equal(script.jobs[0]?.cancels, 1);
    const shown = JSON.parse((await home.must(["operation", "show", id, "--json"])).out) as Members;
    assert.equal(shown["state"], "cancelling");
    const cancel = shown["cancel"] as Members;
    assert.deepEqual([cancel["actor"], cancel["reason"]], ["ada", "too dear"]);
    assert.equal(typeof cancel["expected_effect"], "string");
    Object.assign(script.jobs[0] ?? {}, { state: "cancelled" });
    await pane.shows("cancelled, as the provider reports");
    pane.close();
  });

  test("a lying provider stops automation: the screen says so first, with the command that works", async () => {
    const quiet = await startJob();
    const lying = await startJob();
    Object.assign(script.jobs[1] ?? {}, { named: "job-999" });
    const pane = await watch();
    await pane.shows("1 NEEDS A PERSON");
    await pane.shows(`! gw operation reconcile ${lying}`);
    await pane.press("o", "> ! acme.report.create");
    assert.ok(pane.text().includes(`type: gw operation reconcile ${lying}`));
    Object.assign(script.jobs[1] ?? {}, { named: "job-2", state: "succeeded" });
    await press(pane, "r", "? Read once more, on your word");
    await pane.fillSecret(PIN);
    await pane.press("Enter", /acme\.report\.create job-2 {2}(done, says the provider|succeeded)/);
    await finish(quiet, lying);
    pane.close();
  });

  test("operations that change while a person types never move what the key acts on", async () => {
    const ids = [await startJob(), await startJob(), await startJob()];
    const pane = await watch();
    await pane.shows("3 operations are open");
    await pane.press("o", "Operations: 3 open");
    await pane.press("j", /^> {3}acme\.report\.create job-2/m);
    const rows = (): readonly string[] =>
      [...pane.text().matchAll(/^[> ] .*acme\.report\.create (job-\d)/gm)].map(([, job = ""]) => job);
    const order = rows().slice(0, 3);
    // The row above ends, the one below begins to need a person, a new one comes: all while the finger is on the key.
    Object.assign(script.jobs[0] ?? {}, { state: "failed" });
    Object.assign(script.jobs[2] ?? {}, { named: "job-999" });
    ids.push(await startJob());
    await pane.shows("failed");
    await pane.shows(/! acme\.report\.create job-3 {2}NEEDS A PERSON/);
    assert.deepEqual(rows().slice(0, 3), order);
    assert.match(pane.text(), /^> {3}acme\.report\.create job-2/m);
    // A row that has just changed takes no key: the next press is the one that counts, and it counts for the same row.
    await press(pane, "c", `? Stop acme.report.create (${ids[1]})`);
    await pane.leave("? Stop");
    await finish(...ids.slice(1));
    pane.close();
  });

  test("a plan's card is a diff that needs no colour, with its groups, its warnings and its countdown", async () => {
    const evil = "\u001b[2J\u202e| Budget of the run\n+ role: owner";
    const preview = previewBody({
      assumptions: [{ dependency: "mail", assumed: "queued", may_proceed_without: false }],
      effects: [
        {
          relation: "direct",
          total: 2,
          sample: [
            {
              resource: "projects/p1/memberships/u1",
              revision: "r3",
              previous: { role: "viewer", tags: ["a", "b", "c"], note: evil },
              proposed: { role: "editor", tags: ["b", "c"], note: evil },
              cause: "request",
            },
            { resource: "mailbox/u1", revision: null, previous: { open: true }, proposed: null, cause: evil },
          ],
        },
        {
          relation: "derived",
          total: 1_200,
          sample: [{ resource: "seats/1", revision: null, previous: null, proposed: { used: 5 }, cause: "one more" }],
        },
        {
          relation: "separate",
          total: 1,
          sample: [
            {
              resource: "mail/1",
              revision: null,
              previous: null,
              proposed: { to: "u1" },
              cause: "welcome",
              compensating_action: "send another",
            },
          ],
        },
      ],
    });
    const pane = await watch();
    const painted = await watch("");
    const made = previewAndExecute(preview);
    await pane.shows(/page 1 of \d+, plan good for \d+:\d\d/);
    const left = /plan good for (\d+:\d\d)/;
    const first = left.exec(pane.text())?.[1];
    await until("the plan's countdown runs", () => left.exec(pane.text())?.[1] !== first);
    const bare: string[] = [];
    const pages = await readOn(pane, bare);
    // A row that goes on is one line again; the row that two pages share stands twice.
    const shown = pages.join("\n").replaceAll(/\n\|: {3}/g, "");
    for (const line of [
      "|   in short            changes 2 direct; 1200 derived, 1199 NOT LISTED; 1",
      "|   WARNING             member_count_change",
      '|   assumes             mail: "queued" (FAILS WITHOUT IT)',
      "|     change projects/p1/memberships/u1 at r3, because of",
      '|       - role: "viewer"',
      '|       + role: "editor"',
      '|       - tags[]: "a"',
      "|     REMOVE mailbox/u1, because of",
      "|       - open: true",
      "|   follows from that   1200, 1 of them listed",
      "|     and 1199 MORE that the provider counts",
      "|   not undone with it  1",
      '|       to make up for it: "send another"',
    ]) {
      assert.ok(shown.includes(line), `${line}\n${shown}`);
    }
    // Words of the provider stay behind our mark and never begin a line of the diff.
    assert.doesNotMatch(shown, /^\| {7}\+ role: owner/m);
    assert.match(shown, /^[\n -~]*$/);
    assert.ok(shown.includes("\\u{1b}[2J\\u{202e}"));
    const colored: string[] = [];
    await readOn(painted, colored);
    for (const sign of ["31m\\| {7}- role", "32m\\| {7}\\+ role"]) {
      const drawn = new RegExp(`\u001b\\[${sign}`);
      assert.match(colored.join("\n"), drawn);
      assert.doesNotMatch(bare.join("\n"), drawn);
    }
    await pane.press("d", "? Deny");
    await pane.press("Enter", "denied by ada");
    await painted.shows("denied by ada");
    await made;
    for (const one of [pane, painted]) one.close();
  });

  test("what the gateway could not read asks for no PIN: r says why, and settle is the way", async () => {
    const made = await call(agent, run, "acme.thing.post", { name: "n" });
    const id = idIn(made, "operation_id");
    const pane = await watch();
    await pane.shows("1 NEEDS A PERSON");
    await pane.press("o", "> ! acme.thing.post");
    assert.ok(pane.text().includes(`type: gw operation settle ${id}`));
    await press(pane, "r", "nothing can be read for acme.thing.post");
    assert.doesNotMatch(pane.text(), /PIN/);
    pane.close();
    await home.must(["login", "--for", "2m"]);
    const told = await home.run(["operation", "reconcile", id]);
    assert.match(told.err, /operation_not_reconcilable/, "a login is enough to be told, and no PIN is asked");
    await home.run(["logout"]);
    await home.must(["lock"]);
    const asked = await home.run(["operation", "reconcile", id, "--passphrase-file", "/nonexistent"]);
    assert.match(asked.err, /gateway_locked/, "refused before anybody is asked for a secret");
    await home.must(["unlock"]);
    await home.must(["operation", "settle", id, "--happened", "no", "--reason", "looked at the provider"]);
    // The lock ended every session: what follows works in a run of its own.
    run = await openRun(home, agent, ACTIONS, { side_effects: 40, attempts: 200 });
  });

  test("gw watch --json tells every change of an operation as a record", async () => {
    const watching = home.start(["watch", "--json", "--passphrase-file", home.passphraseFile]);
    const id = await startJob();
    await until("the operation is printed", () => watching.out().includes(id));
    await finish(id);
    await until("its end is printed as the last of its records", () => {
      const whole = watching.out().split("\n").slice(0, -1);
      const records = whole
        .map((line) => JSON.parse(line) as Members)
        .filter(({ operation_id }) => operation_id === id);
      return records.at(-1)?.["state"] === "succeeded";
    });
    assert.equal((await watching.end("SIGTERM")).code, 0);
  });
});

describe("the reference provider's jobs and faults in gw watch", {
  ...asUser,
  ...(noTmux === null ? {} : { skip: noTmux }),
}, () => {
  let home: Home;
  let reference: Started;
  let gateway: Gateway;
  let agent: Plane;
  let pane: Pane;
  let control: { readonly origin: string; readonly token: string };

  before(async () => {
    const folder = makeFolder();
    home = await new Home(folder).init();
    const file = join(dirname(home.folder), "reference.db");
    reference = start([GW, "reference", "--port", "0", "--json", "--faults", "--file", file]);
    const said = await until("the provider answers", async () => reference.out().includes("\n") && reference.out());
    const members = JSON.parse(String(said).split("\n")[0] ?? "") as Members;
    const origin = String(members["origin"]);
    control = { origin, token: String(members["token"]) };
    const where = ["credential", "add", "reference", "--kind", "bearer", "--origin", origin];
    await home.must(where, { input: control.token });
    const pack = readFileSync(join(dirname(import.meta.dirname), "packs", "reference.yaml"), "utf8");
    await home.trustPack("reference", pack.replace("http://127.0.0.1:7411", origin));
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
    const watching = `NO_COLOR=1 ${GW} watch --home ${home.folder} --passphrase-file ${home.passphraseFile}; sleep 600`;
    pane = openPane(folder, watching, home.environment(), { columns: 80, rows: 24 });
    await pane.shows("connected");
  });

  after(async () => {
    pane?.close();
    agent?.close();
    await gateway?.end();
    await reference?.end();
  });

  async function arm(fault: string, endpoint: string): Promise<void> {
    const answer = await fetch(`${control.origin}/control/faults`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${control.token}`,
        "idempotency-key": randomUUID(),
      },
      body: JSON.stringify({ fault, endpoint, times: 1 }),
    });
    assert.equal(answer.status, 200, await answer.text());
  }

  test("a create that timed out after its commit is shown as not known, then found, without a second job", async () => {
    const run = await openRun(home, agent, ["reference.report.create"], { side_effects: 5 });
    await arm("drop_after_commit", "POST /v1/reports");
    const range = { start: "2026-01-01", end: "2026-01-31" };
    const made = await call(agent, run, "reference.report.create", { account: nextAccount(), range, format: "csv" });
    assert.equal(made.body["outcome"], "unknown", made.text);
    await pane.shows(/NOT KNOWN whether it was started|running at the provider/);
    await pane.shows(/reference\.report\.create \S+ {2}succeeded/);
    const listed = JSON.parse((await home.must(["operation", "list", "--all", "--json"])).out) as readonly Members[];
    assert.equal(listed.length, 1);
    const causes = ((listed[0]?.["history"] ?? []) as readonly Members[]).map(({ cause }) => cause);
    assert.ok(causes.includes("no_clear_answer") && causes.at(-1) === "result_fetched", causes.join(" "));
  });
});
