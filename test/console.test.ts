import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import {
  addAuthenticator,
  DESKTOP,
  noBrowser,
  openBrowser,
  openSight,
  PHONE,
  type Sight,
  shoot,
} from "./support/browser.ts";
import {
  type Console,
  clean,
  enrol,
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
  Home,
  type Members,
  makeFolder,
  openRun,
  startAgent,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn, idOf } from "./support/reply.ts";
import { pictured, shots } from "./support/shots.ts";
import { sampleOf } from "./support/whole.ts";

const able = noBrowser === undefined ? asUser : { skip: noBrowser };

/** The console as a person uses it: a real gateway, the real program, a real browser with an authenticator. */
describe("gw console", able, () => {
  let provider: TestProvider;
  let home: Home;
  let gateway: Gateway;
  let served: Console;
  let port: number;
  let browser: Browser;
  let desk: Sight;
  let authenticator: Awaited<ReturnType<typeof addAuthenticator>>;

  const origin = (): string => served.origin;
  const nextLink = (): Promise<string> => served.nextLink();
  const approveButton = (sight: Sight) => sight.page.getByRole("button", { name: /Approve/ });
  const agents: AgentProcess[] = [];
  const newAgent = async (): Promise<AgentProcess> => {
    const agent = await startAgent(home);
    agents.push(agent);
    return agent;
  };
  const askFor = async (agent: AgentProcess, actions: readonly string[], purpose = "to tidy up"): Promise<string> => {
    const { body, status, text } = await agent.ask("POST", "/v1/runs", { purpose, actions, budget: {} });
    assert.equal(status, 202, text);
    return idOf(body, "approval_id");
  };

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.up();
    port = await freePort();
    served = startConsole(home, port);
    browser = await openBrowser();
    desk = await openSight(browser, await nextLink(), DESKTOP);
    await says(desk, /Nothing waits for you/);
    await clean(desk, "waiting-empty");
  });

  after(async () => {
    for (const agent of agents) agent.close();
    await browser?.close();
    await served?.program.end();
    await gateway?.end();
    await provider?.close();
  });

  test("asks for the passphrase before a yes without a passkey, as gw watch does", async () => {
    const agent = await newAgent();
    const id = await askFor(agent, ["demo.thing.get", "demo.thing.make", "demo.thing.burn"]);
    await press(desk, /Approve/);
    await prove(desk, home, "not the passphrase at all");
    await says(desk, /not the passphrase/);
    await clean(desk, "waiting-passphrase");
    await prove(desk, home);
    await says(desk, new RegExp(`${id} is approved`));
    agent.close();
  });

  test("goes on to the next card when one is over and says who decided, and takes nothing from whoever is at work on it", async () => {
    const asks = async (purpose: string): Promise<string> => askFor(await newAgent(), ["demo.thing.get"], purpose);
    const stands = (purpose: string) => desk.page.locator(".detail .claim").filter({ hasText: purpose }).waitFor();
    await go(desk, "#/now");
    const [first, second, third] = [await asks("the first"), await asks("the second"), await asks("the third")];
    await go(desk, "#/waiting");
    await stands("the first");
    await home.must(["approve", first]);
    await stands("the second");
    await says(desk, new RegExp(`${first} is approved by ada`));
    await clean(desk, "waiting-next");

    // Somebody else is quicker than whoever types why not.
    await press(desk, /Deny/);
    const why = desk.page.getByLabel(/Why/);
    await why.pressSequentially("not on Fri");
    await home.must(["approve", second]);
    const dialog = desk.page.getByRole("dialog");
    await dialog.getByText(/approved by ada/).waitFor();
    await desk.page.keyboard.type("day");
    assert.equal(await why.inputValue(), "not on Friday");
    await stands("the second");
    await clean(desk, "waiting-over");
    await dialog.getByRole("button", { name: "Close" }).click();
    await stands("the third");
    await says(desk, new RegExp(`${second} is approved by ada`));

    // And quicker than a passphrase: the card after it can be decided.
    await press(desk, /Approve/);
    await desk.page.getByRole("dialog", { name: "Is it you?" }).waitFor();
    const fourth = await asks("the fourth");
    await home.must(["approve", third]);
    await desk.page.locator(".ended.approved").waitFor();
    await prove(desk, home);
    await stands("the fourth");
    await press(desk, /Approve/);
    await prove(desk, home);
    await says(desk, new RegExp(`${fourth} is approved`));
    for (const agent of agents.splice(0)) agent.close();
  });

  test("enrols a passkey, approves with it, and what it decided can be checked from the log", async () => {
    authenticator = await addAuthenticator(desk);
    await go(desk, "#/people");
    await desk.page.getByLabel("Name of the new one").fill("laptop");
    await desk.page.getByRole("button", { name: "Enrol a passkey" }).click();
    await prove(desk, home, "not the passphrase at all");
    await says(desk, /not the passphrase/);
    await clean(desk, "passkeys-who");
    assert.match((await home.run(["passkey", "list"])).out, /^(?!.*laptop)/s);
    await prove(desk, home);
    await says(desk, /laptop is enrolled/);
    await clean(desk, "passkeys");
    assert.match((await home.run(["passkey", "list"])).out, /laptop {2}ada/);

    const agent = await newAgent();
    await go(desk, "#/waiting");
    const opened = await agent.ask("POST", "/v1/runs", {
      purpose: "to read things",
      actions: ["demo.thing.get"],
      budget: {},
    });
    await approveButton(desk).waitFor();
    await desk.page.locator("link[rel=icon][href='/icon-1.svg']").waitFor({ state: "attached" });
    assert.equal(await desk.page.title(), "(1) gw");
    const icon = await knock(port, "GET", "/icon-1.svg", { host: `gw.localhost:${port}` });
    assert.match(icon.bytes.toString("utf8"), /^<svg .*>1<\/text><\/svg>$/);
    const offered = await desk.page.getByRole("button", { name: "Tell me of new cards" }).count();
    const settled = (await desk.page.evaluate("Notification.permission")) !== "default";
    assert.equal(offered, settled ? 0 : 1);
    await desk.page.locator(".decide button:not([aria-disabled=true])").first().waitFor();
    await clean(desk, "waiting-session");
    await press(desk, /Approve with passkey/);
    await says(desk, /is approved/);
    await clean(desk, "waiting-approved");
    const answered = await call(agent, idIn(opened, "run_id"), "demo.thing.get", { id: "1" });
    assert.equal(answered.body["outcome"], "success", answered.text);

    const approvalId = idIn(opened, "approval_id");
    const shown = JSON.parse((await home.must(["activity", "show", approvalId, "--json"])).out);
    assert.equal(shown.approvals[0].decision.passkey, "verifies");
    assert.equal(shown.approvals[0].decision.signature, "verifies");
    await checkWithoutKey(home);

    await go(desk, "#/activity");
    await desk.page.getByText("demo.thing.get").first().waitFor();
    await clean(desk, "activity");
    await desk.page.getByText("More filters").click();
    const rows = desk.page.locator("li.entry a");
    for (const [label, nothing, all] of [
      ["Credential", "another-token", "demo-token"],
      ["Operator", "grace", "ada"],
      ["Run", "run_none", idIn(opened, "run_id")],
      ["From", "2099-01-01T00:00", "2020-01-01T00:00"],
    ] as const) {
      await desk.page.getByLabel(label, { exact: true }).fill(nothing);
      await says(desk, /Nothing to show/);
      await desk.page.getByLabel(label, { exact: true }).fill(all);
      await rows.first().waitFor();
    }
    // What only its card says, and what nothing says.
    for (const [words, found] of [
      ["to read thinks", false],
      ["to READ things", true],
    ] as const) {
      await desk.page.getByLabel("Search").fill(words);
      await (found ? rows.first().waitFor() : says(desk, /Nothing to show/));
    }
    await clean(desk, "activity-filtered");
    const [exported] = await Promise.all([
      desk.page.waitForEvent("download"),
      desk.page.getByRole("button", { name: "Export what is shown" }).click(),
    ]);
    const kept = JSON.parse(readFileSync(await exported.path(), "utf8")) as readonly Record<string, unknown>[];
    assert.deepEqual([...new Set(kept.map(({ run_id }) => run_id))], [opened.body["run_id"]]);
    await desk.page.getByText("demo.thing.get").first().click();
    await says(desk, /passkey verifies/);
    await says(desk, /happened/);
    await clean(desk, "call");

    await go(desk, "#/now");
    await desk.page.getByRole("button", { name: "Revoke" }).click();
    await desk.page.getByLabel(/Why/).fill("done for today");
    await clean(desk, "now-revoke");
    await desk.page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await says(desk, /has ended/);
    await clean(desk, "now");
    const refused = await call(agent, idIn(opened, "run_id"), "demo.thing.get", { id: "1" });
    assert.notEqual(refused.body["outcome"], "success");
    agent.close();

    await go(desk, "#/log");
    await desk.page.getByRole("button", { name: "Verify it" }).click();
    await desk.page.locator(".report .chip").filter({ hasText: "intact" }).waitFor();
    await clean(desk, "log");
    const [saved] = await Promise.all([
      desk.page.waitForEvent("download"),
      desk.page.getByRole("button", { name: "Download a signed checkpoint" }).click(),
    ]);
    assert.equal(saved.suggestedFilename(), "gw-head.note");
    const note = await saved.path();
    assert.equal((await home.verify(["--checkpoint", note])).code, 0);
    await desk.page.locator(".drop input").setInputFiles(note);
    await says(desk, /this is the log that .* was made of/);
    const forged = readFileSync(note, "utf8").replace(/\nseal (\d+) /, "\nseal 1$1 ");
    const file = { name: "other.note", mimeType: "text/plain", buffer: Buffer.from(forged) };
    await desk.page.locator(".drop input").setInputFiles(file);
    await says(desk, /not the log that other\.note was made of/);
    await clean(desk, "log-compared");
  });

  test("is the only place to approve what policy demands a passkey for; a terminal can still say no", async () => {
    await home.must(["policy", "decide-with", "passkey", "--effect", "write"]);
    assert.match((await home.run(["policy", "show"])).out, /decide_with {2}passkey for effect write/);
    await go(desk, "#/settings");
    await says(desk, /A passkey is needed for effect write/);
    await clean(desk, "settings-passkey");
    const agent = await newAgent();
    await go(desk, "#/waiting");
    const id = await askFor(agent, ["demo.thing.make"]);
    const tried = await home.operator(["approve", id]);
    assert.equal(codeOf(tried), "passkey_needed");
    assert.match(tried.err, new RegExp(`a passkey, at ${origin()}`), "the card says where");
    await desk.page.getByText("needs a passkey", { exact: true }).waitFor();
    await press(desk, /Approve with passkey/);
    await says(desk, new RegExp(`${id} is approved`));
    agent.close();

    const other = await newAgent();
    const denied = await askFor(other, ["demo.thing.make"], "once more");
    // Answered elsewhere while it stands open here: it says so, and can be pressed no more.
    await go(desk, `#/waiting/${denied}`);
    await approveButton(desk).waitFor();
    await home.must(["deny", denied, "--reason", "not by terminal"]);
    await says(desk, /not by terminal/);
    assert.equal(await approveButton(desk).count(), 0);
    other.close();
    assert.equal(codeOf(await home.operator(["passkey", "remove", "laptop"])), "decision_rule_unfit");
    await home.must(["policy", "decide-with", "any"]);
  });

  test("denies with a reason that reaches the agent, and narrows what is approved", async () => {
    const agent = await newAgent();
    const denied = await askFor(agent, ["demo.thing.get"], "to be refused");
    await go(desk, `#/waiting/${denied}`);
    await press(desk, /Deny/);
    await desk.page.getByLabel(/Why/).fill("not on Friday");
    await clean(desk, "waiting-deny");
    await desk.page.getByRole("dialog").getByRole("button", { name: "Deny" }).click();
    await says(desk, /is denied/);
    const [event] = (await home.events("approval_denied")).slice(-1);
    assert.match(String(event?.["reason"]), /not on Friday/);
    agent.close();

    const asker = await newAgent();
    const asked = { purpose: "to do two things", actions: ["demo.thing.get", "demo.thing.make"], budget: {} };
    const { body } = await asker.ask("POST", "/v1/runs", asked);
    const [wide, run] = [idOf(body, "approval_id"), idOf(body, "run_id")];
    await go(desk, `#/waiting/${wide}`);
    await desk.page.getByText("Narrow what you approve").click();
    await desk.page.getByLabel("demo.thing.make", { exact: true }).uncheck();
    const only = desk.page.getByLabel("demo.thing.get only where");
    await only.fill("colour=red");
    await press(desk, /Approve/);
    await says(desk, /has no argument colour.* Nothing was signed/);
    await only.fill("id in 1,2");
    await desk.page.getByLabel("Attempts").fill("1");
    await clean(desk, "waiting-narrow");
    await press(desk, /Approve/);
    await says(desk, new RegExp(`${wide} is approved`));
    const [started] = (await home.events("session_started")).slice(-1);
    assert.deepEqual(started?.["scope"], ["demo.thing.get"]);
    // The gateway holds every call to it.
    const refusalOf = async (id: string): Promise<unknown> =>
      (await call(asker, run, "demo.thing.get", { id })).body["code"];
    const sent = provider.received.length;
    assert.equal(await refusalOf("3"), "action_not_permitted");
    assert.equal(provider.received.length, sent, "nothing left");
    await go(desk, "#/now");
    await desk.page.locator("li.tile").filter({ hasText: "only where demo.thing.get id in 1,2" }).waitFor();
    const fits = await call(asker, run, "demo.thing.get", { id: "2" });
    assert.equal(fits.body["outcome"], "success", fits.text);
    assert.equal(await refusalOf("1"), "attempts_exhausted");
    asker.close();

    // One card for a session and the call that began it: a condition that excludes that very call would let nothing happen.
    const burner = await newAgent();
    const begun = await burner.ask("POST", "/v1/runs", {
      purpose: "to burn",
      actions: ["demo.thing.burn"],
      budget: {},
    });
    const burning = call(burner, idIn(begun, "run_id"), "demo.thing.burn", { name: "chaff" });
    const both = await until("one card asks for both", async () =>
      (await home.approvals()).find(({ card }) => (card as Members)["call"] !== null),
    );
    await go(desk, `#/waiting/${idOf(both, "approval_id")}`);
    await desk.page.getByText("Narrow what you approve").click();
    const burnt = desk.page.getByLabel("demo.thing.burn only where");
    await burnt.fill("name=wheat");
    await press(desk, /Approve/);
    await says(desk, /the call on this card is not one where name=wheat.* Nothing was signed/);
    await burnt.fill("name^=cha");
    await press(desk, /Approve/);
    await says(desk, new RegExp(`${idOf(both, "approval_id")} is approved`));
    await burning;
    await until("it was sent", () => provider.received.some(({ url }) => url === "/v1/burnt"));
    burner.close();
  });

  test("gives a card more time as far as its run has it, and makes no other card where it has none", async () => {
    const agent = await newAgent();
    const id = await askFor(agent, ["demo.thing.get", "demo.thing.burn"], "to take its time");
    const waiting = async (): Promise<Members> => {
      const card = (await home.approvals()).find(({ approval_id }) => approval_id === id);
      assert.ok(card !== undefined);
      return card;
    };
    const before = await waiting();
    await go(desk, `#/waiting/${id}`);
    await press(desk, /5 min more/);
    await says(desk, /has more time/);
    const later = await waiting();
    assert.notEqual(later["card_digest"], before["card_digest"], "when it expires is part of what is signed");
    assert.ok(Number(later["expires_in_ms"]) > Number(before["expires_in_ms"]));
    await press(desk, /5 min more/);
    await says(desk, /none outlives its run/);
    assert.equal((await waiting())["card_digest"], later["card_digest"]);
    await press(desk, /Approve/);
    await says(desk, new RegExp(`${id} is approved`));
    agent.close();
  });

  test("settles what nobody else can know by the person's own words, and asks who says so", async () => {
    provider.answer((_request, response) => void response.destroy());
    const agent = await newAgent();
    const run = await openRun(home, agent, ["demo.thing.make", "demo.thing.burn"]);
    const lost = await call(agent, run, "demo.thing.make", { name: "lost" });
    assert.equal(lost.body["outcome"], "unknown", lost.text);
    await go(desk, "#/now");
    await desk.page.getByRole("button", { name: "It did not" }).click();
    await desk.page.getByLabel(/Why/).fill("looked at C:\\jobs");
    await desk.page.getByRole("dialog").getByRole("button", { name: "Sign it" }).click();
    await prove(desk, home);
    await says(desk, /Settled by your signed word/);
    await clean(desk, "now-settled");
    const [said] = (await home.events("operation_settled")).slice(-1);
    assert.deepEqual([said?.["happened"], said?.["reason"], said?.["although"]], [false, "looked at C:\\jobs", null]);
    // What stands beside is written out once: a backslash that was typed is two, and not four.
    await go(desk, `#/call/${idIn(lost, "call_id")}`);
    await desk.page.locator("li.aside").filter({ hasText: "reason looked at C:\\\\jobs" }).waitFor();
    agent.close();
  });

  test("shows hostile text as text on every screen, and runs none of it", async () => {
    const agent = await newAgent();
    const hostile = `<img src=x onerror=alert(1)> \u202Eevil\u2066 \u001b[2J d\u0435mo <script>window.gotcha=1</script> ${"x".repeat(380)}`;
    const short = "<b onclick=x>\u202E\u200B\u001b]0;t\u0007 d\u0435mo";
    provider.answer((_request, response) => {
      response.writeHead(200, {
        "content-type": "application/json",
        "x-request-id": "<script>window.gotcha=3</script>",
      });
      response.end(JSON.stringify({ id: hostile, name: hostile }));
    });
    const { body, text } = await agent.ask("POST", "/v1/runs", {
      purpose: hostile,
      actions: ["demo.thing.get", "demo.thing.make", "demo.thing.burn"],
      budget: {},
    });
    const run = idOf(body, "run_id");
    const id = idOf(body, "approval_id");
    await go(desk, `#/waiting/${id}`);
    await desk.page.getByText("\\u{202e}", { exact: false }).first().waitFor();
    await shownAsText(desk, "waiting");
    await clean(desk, "waiting-hostile");
    await press(desk, /Approve/);
    await says(desk, new RegExp(`${id} is approved`));
    const sent = await call(agent, run, "demo.thing.make", { name: short });
    assert.equal(sent.body["outcome"], "success", `${text} ${sent.text}`);
    await call(agent, run, "demo.thing.get", { id: "<i>" });
    const burning = call(agent, run, "demo.thing.burn", { name: short });
    const [asked] = await home.approvals();
    await home.must(["deny", idOf(asked, "approval_id"), "--reason", "<i>\u202Eno</i>"]);
    await burning;
    const file = join(makeFolder(), "evil.yaml");
    writeFileSync(
      file,
      demoPack("https://evil.example").replace(
        "pack: demo",
        "pack: evil\ndescription: <img src=x onerror=alert(2)> d\u0435mo",
      ),
    );
    await home.run(["pack", "add", file]);
    for (const screen of [
      ...["now", "activity", `call/${idIn(sent, "call_id")}`, "charts", "log", "packs", "packs/evil", "packs/demo"],
      ...["credentials", "grants", "people", "settings"],
    ]) {
      await go(desk, `#/${screen}`);
      await desk.page.locator("main h2").first().waitFor();
      await desk.page.getByText("One moment").first().waitFor({ state: "detached" });
      await shownAsText(desk, screen);
    }
    await go(desk, `#/call/${idIn(sent, "call_id")}`);
    await says(desk, /Approved by ada/);
    await says(desk, /\\u\{202e\}/);
    await shownAsText(desk, "call");
    await shoot(desk, "call-hostile");
    await go(desk, "#/packs/evil");
    await says(desk, /onerror=alert\(2\)/);
    await shownAsText(desk, "pack");
    agent.close();
  });

  test("has every screen at hand in a window of half the width", async () => {
    const half = await openSight(browser, await nextLink(), { width: 1024, height: 740 });
    await half.page.locator(".bar nav a").first().waitFor();
    const hidden = await half.page.locator(".bar nav a").evaluateAll((tabs) =>
      tabs
        .filter((tab) => {
          const nav = tab.parentElement?.getBoundingClientRect();
          return nav === undefined || tab.getBoundingClientRect().right > nav.right + 1;
        })
        .map((tab) => tab.textContent),
    );
    assert.deepEqual(hidden, []);
    await half.context.close();
  });

  test("fits a phone, light and dark, with a passkey of its own", async () => {
    const phone = await openSight(browser, await nextLink(), PHONE, "dark");
    await says(phone, /connected/);
    const authenticator = await addAuthenticator(phone);
    await enrol(phone, home, "phone");
    const agent = await newAgent();
    const id = await askFor(agent, ["demo.thing.get", "demo.thing.make"], "from the sofa");
    await go(phone, `#/waiting/${id}`);
    await authenticator.verify(false);
    await press(phone, /Approve with passkey/);
    await says(phone, /did not answer/);
    const waiting = await home.approvals();
    assert.ok(
      waiting.some(({ approval_id }) => approval_id === id),
      "without a verified person nothing was decided",
    );
    await authenticator.verify(true);
    await clean(phone, "phone-waiting");
    const overflow = () => phone.page.evaluate("document.documentElement.scrollWidth - innerWidth");
    await phone.page.getByText("Narrow what you approve").click();
    await phone.page.getByLabel("demo.thing.get only where").fill("id in 1,2");
    await clean(phone, "phone-narrow");
    assert.ok(Number(await overflow()) <= 0, "what narrows scrolls sideways");
    await phone.page.getByLabel("demo.thing.get only where").fill("");
    await press(phone, /Approve with passkey/);
    await says(phone, new RegExp(`${id} is approved`));
    for (const screen of [
      "now",
      "activity",
      "log",
      "packs",
      "packs/demo",
      "credentials",
      "grants",
      "people",
      "settings",
    ]) {
      await go(phone, `#/${screen}`);
      await phone.page.locator("main h2").first().waitFor();
      await clean(phone, `phone-${screen.replace("/", "-")}`);
      assert.ok(Number(await overflow()) <= 0, `${screen} scrolls sideways`);
    }
    await go(phone, "#/activity");
    await phone.page.locator("li.entry a").first().click();
    await phone.page.locator("ol.timeline > li").first().waitFor();
    await clean(phone, "phone-call");
    assert.ok(Number(await overflow()) <= 0, "a call scrolls sideways");
    agent.close();
    assert.deepEqual(ownComplaints(phone), []);
    await phone.context.close();
  });

  test("answers its own page alone: no other name, page, key or link", async () => {
    const body = JSON.stringify({ token: "x".repeat(43) });
    const json = { "content-type": "application/json" };
    const host = `gw.localhost:${port}`;
    for (const [what, headers, status] of [
      ["a rebound name", { host: `evil.example:${port}` }, 403],
      ["the bare address", { host: `127.0.0.1:${port}` }, 403],
      ["another site", { host, origin: "https://evil.example" }, 403],
      ["another port", { host, origin: "http://gw.localhost:1" }, 403],
      ["a form of another site", { host, origin: origin(), "sec-fetch-site": "cross-site" }, 403],
      ["a sibling name", { host, origin: origin(), "sec-fetch-site": "same-site" }, 403],
      ["no origin at all", { host }, 403],
      ["a link nobody gave out", { host, origin: origin() }, 403],
    ] as const) {
      assert.equal((await knock(port, "POST", "/api/enter", { ...json, ...headers }, body)).status, status, what);
    }
    // What another user of this machine can do: connect, and be refused.
    for (const path of [
      "/api/me",
      "/api/events",
      "/api/activity",
      "/api/calls/x",
      "/api/log/checkpoint",
      "/api/passkeys",
    ]) {
      const bare = await knock(port, "GET", path, { host });
      assert.equal(bare.status, 401, path);
      assert.equal(bare.headers["access-control-allow-origin"], undefined);
    }
    assert.equal(
      (await knock(port, "GET", "/api/me", { host, authorization: `Bearer ${"x".repeat(43)}` })).status,
      401,
    );
    const bind = JSON.stringify({ label: "demo-token", bound_to: "https://evil.example" });
    const unkeyed = await knock(port, "POST", "/api/credentials/bind", { ...json, host, origin: origin() }, bind);
    assert.equal(unkeyed.status, 401);
    assert.equal((await knock(port, "GET", "/icon-3.svg", { host: `evil.example:${port}` })).status, 403);
    for (const path of ["/", "/icon-3.svg"]) {
      const { headers } = await knock(port, "GET", path, { host });
      const policy = String(headers["content-security-policy"]);
      for (const rule of ["default-src 'none'", "trusted-types 'none'", "frame-ancestors 'none'"])
        assert.ok(policy.includes(rule));
      assert.equal(headers["set-cookie"], undefined);
    }
    const large = await knock(
      port,
      "POST",
      "/api/enter",
      { ...json, host, origin: origin() },
      `"${"x".repeat(70_000)}"`,
    );
    assert.equal(large.status, 413);
  });

  test("answers whatever a page could ask with a code for it, and with no fault of its own", async () => {
    const token = new URL(await nextLink()).hash.slice(1);
    const host = `gw.localhost:${port}`;
    const json = { "content-type": "application/json", host, origin: origin() };
    const entered = await knock(port, "POST", "/api/enter", json, JSON.stringify({ token }));
    const { key } = JSON.parse(entered.bytes.toString("utf8")) as { readonly key: string };
    const ask = (method: string, path: string, body?: string) =>
      knock(port, method, path, { ...json, authorization: `Bearer ${key}` }, body);
    for (const [path, code] of [
      ["/api/calls/%", "percent_malformed"],
      ["/api/calls/%ff", "percent_malformed"],
      ["/api/packs/%zz/review", "percent_malformed"],
      ["/api/calls/a%2fb", "not_found"],
      ["//", "not_found"],
      ["/api/calls/none", "not_found"],
    ] as const) {
      const { status, bytes } = await ask("GET", path);
      assert.equal((JSON.parse(bytes.toString("utf8")) as Members)["code"], code, path);
      assert.equal(status, code === "not_found" ? 404 : 400, path);
    }
    const odd = [null, 1, "x", [], {}, [null], { "": 1 }, "\u0000", "\ud800"];
    const names = ["draft", "assertion", "narrow", "ticket", "decision", "card_digest", "reason", "line", "checkpoint"];
    const bodies = [
      ...odd.map((value) => JSON.stringify(Object.fromEntries(names.map((name) => [name, value])))),
      ...["", "[]", "{", '{"__proto__":{"x":1}}'],
    ];
    const paths = [
      ...["approvals/apr_x/draft", "decisions", "grants", "log/verify", "operations/op_x/settle", "passkeys/begin"],
      ...["passkeys/finish", "policy/set", "credentials/add", "sessions/ses_x/revoke"],
    ];
    const cases = paths.flatMap((path) => bodies.map((body) => [path, body] as const));
    for (const [path, body] of sampleOf("odd bodies that the console is sent", cases, 40)) {
      const { status } = await ask("POST", `/api/${path}`, body);
      assert.ok(status < 500, `${path} ${body}: ${status}`);
    }
    for (const query of ["offset=-1&limit=1e99", "since=never&until=%ff", "q=%00%ff&outcome[]=1", "older=1&export=1"]) {
      assert.equal((await ask("GET", `/api/activity?${query}`)).status, 200, query);
    }
  });

  test("lets a link in once; a stolen one and a second tab are told so", async () => {
    const link = await nextLink();
    const first = await openSight(browser, link);
    await says(first, /connected/);
    assert.equal(new URL(first.page.url()).hash, "#/waiting", "the token is gone from the address");
    const thief = await openSight(browser, link);
    await says(thief, /used already/);
    await clean(thief, "link-spent");
    await first.page.reload();
    await says(first, /needs a link of its own/);
    await first.context.close();
    await thief.context.close();
    const { code, err } = await startConsole(home, port).program.exited;
    assert.equal(code, 1);
    assert.match(err, /console_port_taken/);
    const beside = startConsole(home, await freePort());
    const other = await openSight(browser, await beside.nextLink());
    await says(other, /connected/);
    await other.context.close();
    await beside.program.end();
  });

  test("says that a yes found nobody until somebody is back or the card is over, and not beside either", async () => {
    const agent = await newAgent();
    const id = await askFor(agent, ["demo.thing.get", "demo.thing.burn"], "while nobody answers");
    await go(desk, `#/waiting/${id}`);
    const note = desk.page.locator(".detail .problem").filter({ hasText: "no connection" });
    const approveInVain = async (): Promise<void> => {
      await desk.page.getByText("no gateway").waitFor();
      await press(desk, /Approve with passkey/);
      await note.waitFor();
    };
    const connected = desk.page.locator(".status .chip").filter({ hasText: "connected" });
    process.kill(gateway.pid, "SIGSTOP");
    try {
      await approveInVain();
    } finally {
      process.kill(gateway.pid, "SIGCONT");
    }
    await connected.waitFor();
    await note.waitFor({ state: "detached" });
    await approveButton(desk).waitFor();
    await gateway.end("SIGKILL");
    await approveInVain();
    gateway = await home.up();
    await connected.waitFor();
    await desk.page.locator(".detail .ended").waitFor();
    await note.waitFor({ state: "detached" });
    agent.close();
  });

  test("says when the gateway is gone, and finds it again; an old tab after a restart is let in no more, but by a new link", async () => {
    await gateway.end("SIGTERM");
    await desk.page.getByText("no gateway").waitFor();
    await shoot(desk, "gateway-gone");
    gateway = await home.up();
    await desk.page.locator(".status .chip").filter({ hasText: "connected" }).waitFor();
    await served.program.end("SIGTERM");
    await desk.page.getByText("the console program is gone").waitFor();
    served = startConsole(home, port);
    const link = await nextLink();
    await go(desk, "#/people");
    await says(desk, /not one that gw console let in/);
    // A link of the same page is a step within it, and no new one.
    await desk.page.goto("about:blank");
    await desk.page.goto(link);
    await says(desk, /connected/);
  });

  test("knows a copy of a passkey by its counter, although the gateway has been started anew since", async () => {
    const agent = await newAgent();
    const id = await askFor(agent, ["demo.thing.get"], "with a copied key");
    await go(desk, `#/waiting/${id}`);
    await authenticator.countFrom(1);
    await press(desk, /Approve with passkey/);
    await says(desk, /there may be a second one/);
    assert.ok((await home.approvals()).some(({ approval_id }) => approval_id === id));
    await home.must(["deny", id]);
    agent.close();
  });

  test("asked nothing of anybody but itself, and weighs little", async (context) => {
    const foreign = desk.asked.filter((url) => !url.startsWith(`${origin()}/`) && !url.startsWith("blob:"));
    assert.deepEqual(foreign, []);
    assert.deepEqual(ownComplaints(desk), []);
    const weights = await Promise.all(
      ["/", "/page.js", "/page.css"].map(async (path) => {
        const { bytes } = await knock(port, "GET", path, { host: `gw.localhost:${port}` });
        return gzipSync(bytes).length;
      }),
    );
    const total = weights.reduce((sum, one) => sum + one, 0);
    if (pictured) context.diagnostic(`what was seen is in ${shots}`);
    context.diagnostic(`the page weighs ${(total / 1000).toFixed(1)} kB compressed`);
    assert.ok(total <= 120_000);
  });
});

/** Nothing that others wrote became markup, ran, moved the text about, or pushed the page aside. */
async function shownAsText({ page }: Sight, screen: string): Promise<void> {
  const seen = await page.evaluate(`(() => {
    const hidden = /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u200b-\\u200f\\u202a-\\u202e\\u2066-\\u2069]/;
    return {
      gotcha: window.gotcha ?? null,
      markup: document.querySelectorAll("main img, main script, main iframe, main [onclick], main i:not([class])").length,
      acting: hidden.test(document.body.textContent),
      aside: Math.max(0, document.documentElement.scrollWidth - innerWidth),
    };
  })()`);
  assert.deepEqual(seen, { gotcha: null, markup: 0, acting: false, aside: 0 }, screen);
}

/** A stranger with a copy of the log and an operator's public key, and with no vault, key or state of anybody. */
async function checkWithoutKey(home: Home): Promise<void> {
  const copy = join(makeFolder(), "audit");
  cpSync(join(home.folder, "audit"), copy, { recursive: true });
  const stranger = new Home(makeFolder());
  const check = async (key: string) => {
    const asked = ["audit", "verify", "--log", copy, "--operator", key, "--allow-unattested", "--json"];
    return JSON.parse((await stranger.run(asked)).out) as {
      readonly verdict: string;
      readonly hands: readonly { readonly passkey: string; readonly decisions: number; readonly pinned: boolean }[];
    };
  };
  const own = JSON.parse((await home.run(["operator", "list", "--json"])).out) as readonly Members[];
  const { verdict, hands } = await check(String(own[0]?.["key"]));
  assert.equal(verdict, "intact");
  assert.deepEqual(
    hands.map(({ passkey, decisions, pinned }) => [passkey, decisions, pinned]),
    [["laptop", 1, true]],
  );
  assert.deepEqual(
    (await check("ab".repeat(32))).hands.map(({ pinned }) => pinned),
    [false],
  );
}

interface Knocked {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
}

/** Plain HTTP to the port, with header fields that no browser would let a page choose. */
function knock(
  port: number,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Promise<Knocked> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, method, path, headers, setHost: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.concat(chunks) }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
