import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { DESKTOP, noBrowser, openBrowser, openSight, type Sight, shoot } from "./support/browser.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import {
  type Console,
  clean,
  freePort,
  go,
  ownComplaints,
  press,
  prove,
  says,
  startConsole,
} from "./support/console.ts";
import {
  type AgentProcess,
  asUser,
  call,
  codeOf,
  demoPack,
  type Gateway,
  GW,
  Home,
  makeFolder,
  openRun,
  start,
  startAgent,
  until,
} from "./support/home.ts";
import { type JobScript, scriptJobs } from "./support/jobs.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn, idOf } from "./support/reply.ts";

const able = noBrowser === undefined ? asUser : { skip: noBrowser };

const ROLES = (origin: string): string => `format: gw.pack/v1
pack: roles
provider: { origin: "${origin}", credential: roles-token, auth: { scheme: bearer }, network: private }
actions:
  role.apply:
    effect: write
    needs: { ticket: true }
    request: { method: POST, path: "/v1/roles", body: application/json }
    input: { role: { in: body, type: string } }
`;

/** What agents do while a person looks on: jobs, tickets, processes below a wrapper, and what all of it adds up to. */
describe("the console while agents work", able, () => {
  // One for each pack: two that go to one place would be a change to review.
  const providers: TestProvider[] = [];
  let script: JobScript;
  let home: Home;
  let gateway: Gateway;
  let served: Console;
  let browser: Browser;
  let desk: Sight;
  let agent: AgentProcess;

  const tile = (text: string | RegExp) => desk.page.locator("li.tile").filter({ hasText: text });

  before(async () => {
    const [jobs, things, roles] = [await startProvider(), await startProvider(), await startProvider()];
    providers.push(jobs, things, roles);
    script = scriptJobs(jobs);
    home = await new Home(makeFolder()).init();
    await home.addCredential("acme-token", jobs.origin);
    await home.addCredential("demo-token", things.origin);
    await home.addCredential("roles-token", roles.origin);
    await home.trustPack("acme", consequentialPack(jobs.origin));
    await home.trustPack("demo", demoPack(things.origin));
    await home.trustPack("roles", ROLES(roles.origin));
    gateway = await home.up();
    served = startConsole(home, await freePort());
    browser = await openBrowser();
    desk = await openSight(browser, await served.nextLink(), DESKTOP);
    await says(desk, /Nothing waits for you/);
    agent = await startAgent(home);
  });

  after(async () => {
    agent?.close();
    await browser?.close();
    await served?.program.end();
    await gateway?.end();
    for (const provider of providers) await provider.close();
  });

  test("looks at a job now, asks its provider to stop it, and shows its history", async () => {
    const run = await openRun(home, agent, ["acme.report.create"]);
    const made = await call(agent, run, "acme.report.create", { account: "a1" });
    assert.equal(made.body["outcome"], "unknown", made.text);
    await go(desk, "#/now");
    const job = tile("acme.report.create").filter({ hasText: "looks again" });
    await job.waitFor();
    const reads = script.jobs[0]?.reads ?? 0;
    await job.getByRole("button", { name: "Look now" }).click();
    await prove(desk, home);
    await says(desk, /asked what became of it/);
    assert.ok((script.jobs[0]?.reads ?? 0) > reads, "the provider was read");
    await tile("acme.report.create").locator(".timeline li").first().waitFor();
    // What that look brought moves the buttons down: a click that began before would end beside them.
    await job.locator("progress").waitFor();
    await job.getByRole("button", { name: "Cancel" }).click();
    await desk.page.getByLabel(/Why/).fill("too dear");
    await desk.page.getByRole("dialog").getByRole("button", { name: "Cancel it" }).click();
    await prove(desk, home);
    await says(desk, /asked to stop/);
    await clean(desk, "now-job");
    await until("the provider was asked", () => script.jobs[0]?.cancels === 1);
    Object.assign(script.jobs[0] ?? {}, { state: "cancelled" });
    await tile("acme.report.create").filter({ hasText: "cancelled" }).waitFor();
    await go(desk, `#/call/${idIn(made, "call_id")}`);
    await says(desk, /Looked with/);
    await says(desk, /Then sent/);
    await says(desk, /operation transition/);
    await desk.page
      .locator(".timeline li")
      .filter({ hasText: /status 20\d/ })
      .locator(".digest")
      .first()
      .waitFor();
    await clean(desk, "call-job");
    const times = (await desk.page.evaluate(
      "[...document.querySelectorAll('.timeline > li > time')].map(({ dateTime }) => dateTime)",
    )) as string[];
    assert.deepEqual(times, times.toSorted());
  });

  test("takes the ticket that a call needs with the yes, and says what is no ticket", async () => {
    const run = await openRun(home, agent, ["roles.role.apply"]);
    const calling = call(agent, run, "roles.role.apply", { role: "viewer" });
    const [asked] = await home.approvals();
    await go(desk, `#/waiting/${idOf(asked, "approval_id")}`);
    const field = desk.page.getByLabel(/Under which ticket/);
    await field.fill("no ticket at all");
    await press(desk, /Approve/);
    await says(desk, /named SYSTEM:REF/);
    await clean(desk, "waiting-ticket");
    await field.fill("jira:OPS-17");
    await press(desk, /Approve/);
    await prove(desk, home);
    await says(desk, /is approved/);
    await calling;
    const [intent] = (await home.events("action.intent")).slice(-1);
    assert.match(JSON.stringify(intent?.["ticket"]), /OPS-17/);
  });

  test("is narrowed the same way from a terminal, and a call's page has its redirect and its repeat", async () => {
    const other = await startAgent(home);
    const { body, status, text } = await other.ask("POST", "/v1/runs", {
      purpose: "less",
      actions: ["demo.thing.get"],
      budget: {},
    });
    assert.equal(status, 202, text);
    const id = idOf(body, "approval_id");
    for (const grant of [[], ["--grant"]]) {
      const odd = await home.operator(["approve", id, "--where", "demo.thing.get", ...grant]);
      assert.equal(codeOf(odd), "value_not_allowed", odd.err);
    }
    assert.deepEqual(JSON.parse((await home.run(["grant", "list", "--json"])).out), [], "and no grant was signed");
    await home.must(["approve", id, "--where", "demo.thing.get id^=app-"]);
    const ask = (thing: string) => call(other, idOf(body, "run_id"), "demo.thing.get", { id: thing });
    assert.equal((await ask("db-1")).body["code"], "action_not_permitted");
    // Its provider sends it elsewhere, with what was narrowed as it was, and stumbles once: each send is a step of the one call.
    let stumbled = false;
    providers[1]?.answer(({ url }, response) => {
      if (url === "/v1/things/app-1") return void response.writeHead(302, { location: `${url}?moved=1` }).end();
      answerJson(response, stumbled ? 200 : 503, {});
      stumbled = true;
    });
    const answered = await ask("app-1");
    assert.equal(answered.body["outcome"], "success", answered.text);
    other.close();
    await go(desk, `#/call/${idIn(answered, "call_id")}`);
    await says(desk, /Followed the redirect to/);
    await says(desk, /Sent again/);
    const steps = await desk.page.locator("ol.timeline > li").allTextContents();
    const order = ["A card was shown", "Approved by", "authorization granted", "Sent GET", "status 302", "Followed"];
    const found = order.map((words) => steps.findIndex((step) => step.includes(words)));
    assert.ok(!found.includes(-1), steps.join("\n"));
    assert.deepEqual(
      found,
      found.toSorted((one, other) => one - other),
      steps.join("\n"),
    );
    await clean(desk, "call-redirected");
  });

  test("shows what a gw run started as a tree, each with a way to end it", async () => {
    // Its provider takes its time, so that the process that asked is there to be seen.
    const { promise: seen, resolve: letGo } = Promise.withResolvers<void>();
    providers[1]?.answer((_request, response) => void seen.then(() => answerJson(response, 200, {})));
    const script = `${GW} call demo.thing.get id=2 --json >/dev/null`;
    const words = ["run", "--actions", "demo.thing.get", "--purpose", "to see who is inside", "--", "sh", "-c", script];
    const wrapper = start([GW, "--home", home.folder, ...words], { env: home.environment() });
    const [asked] = await home.approvals();
    await go(desk, `#/waiting/${idOf(asked, "approval_id")}`);
    await desk.page.getByText("to see who is inside").first().waitFor();
    await press(desk, /Approve/);
    await prove(desk, home);
    await says(desk, /is approved/);
    await go(desk, "#/now");
    const run = tile("to see who is inside");
    await run.getByText("holds what it starts").waitFor();
    await run
      .getByRole("button", { name: /^Revoke process/ })
      .first()
      .waitFor();
    await clean(desk, "now-run");
    letGo();
    assert.equal((await wrapper.exited).code, 0);
  });

  test("draws what happened, with a table behind each picture", async () => {
    await go(desk, "#/charts");
    const calls = desk.page.locator("figure").filter({ hasText: "Calls a day, by outcome" });
    await calls.getByText("As a table").click();
    await clean(desk, "charts");
    const cells = (await calls.locator("tbody td").allInnerTexts()).map(Number);
    const finished = await home.events("action_finished");
    const succeeded = finished.filter(({ outcome }) => outcome === "succeeded").length;
    assert.ok(succeeded > 0);
    // Of every day: a suite may run over midnight.
    const days = cells.filter((_, at) => at % 4 === 0);
    assert.equal(
      days.reduce((total, count) => total + count, 0),
      succeeded,
    );
    for (const title of ["Time to a decision", "Denials", "Spend", "not known", "Budget used"])
      await desk.page.locator("figure h3").filter({ hasText: title }).waitFor();
  });

  test("counts a card's time on no clock of the browser's, and says that the gateway is locked", async () => {
    const skewed = await openSight(browser, await served.nextLink(), DESKTOP);
    await skewed.page.clock.setSystemTime(Date.now() + 5 * 3_600_000);
    const other = await startAgent(home);
    const { body } = await other.ask("POST", "/v1/runs", {
      purpose: "skewed",
      actions: ["demo.thing.get"],
      budget: {},
    });
    await go(skewed, `#/waiting/${idOf(body, "approval_id")}`);
    await skewed.page
      .locator(".detail .clock")
      .filter({ hasText: /\d:\d\d left/ })
      .waitFor();
    await press(skewed, /Approve/);
    await prove(skewed, home);
    await says(skewed, /is approved/);
    other.close();
    await home.must(["lock", "--reason", "lunch"]);
    await skewed.page.locator(".status .chip").filter({ hasText: "locked" }).waitFor();
    await home.must(["unlock"]);
    await skewed.page.locator(".status .chip").filter({ hasText: "connected" }).waitFor();
    await skewed.context.close();
  });

  test("stays usable with 500 cards that wait", async (context) => {
    const other = await startAgent(home);
    await other.ask("POST", "/v1/runs", { purpose: "one of many", actions: ["demo.thing.burn"], budget: {} });
    const [real] = await home.approvals();
    context.diagnostic(
      `the first card stood there ${await firstCardMs(browser, await served.nextLink())} ms after load`,
    );
    const approvals = Array.from({ length: 500 }, (_, index) => ({
      ...real,
      ...{ approval_id: `apr_many${index}`, lines: [`card ${index}`], evidence: [], grant: { none: "one of many" } },
    }));
    const news = `event: waiting\ndata: ${JSON.stringify({ kind: "waiting", approvals })}\n\n`;
    const many = await openSight(browser, "about:blank", DESKTOP);
    await many.page.route("**/api/events", (route) => route.fulfill({ contentType: "text/event-stream", body: news }));
    await many.page.goto(await served.nextLink());
    await until("all are there", async () => (await many.page.locator(".queue li").count()) === 500);
    assert.equal(await many.page.title(), "(500) gw");
    for (const next of [1, 2, 3]) {
      await many.page.keyboard.press("j");
      await many.page.locator(`.queue a[aria-current][href$="apr_many${next}"]`).waitFor();
    }
    await shoot(many, "waiting-many");
    assert.deepEqual(ownComplaints(many), []);
    await many.context.close();
    other.close();
  });

  test("complained of nothing", () => assert.deepEqual(ownComplaints(desk), []));
});

/** How long after the page's load its first card was there, by the page's own clock. */
async function firstCardMs(browser: Browser, link: string): Promise<number> {
  const sight = await openSight(browser, "about:blank", DESKTOP);
  await sight.page.addInitScript(
    `new MutationObserver((_, watch) => {
      if (document.querySelector(".card-head") === null) return;
      window.firstCard = performance.now();
      watch.disconnect();
    }).observe(document, { childList: true, subtree: true });`,
  );
  await sight.page.goto(link);
  await until("a card is there", async () => (await sight.page.evaluate("window.firstCard ?? 0")) !== 0);
  const [load, card] = (await sight.page.evaluate(
    '[performance.getEntriesByType("navigation")[0].loadEventEnd, window.firstCard]',
  )) as [number, number];
  await sight.context.close();
  return Math.max(0, Math.round(card - load));
}
