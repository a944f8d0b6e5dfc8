import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { DESKTOP, noBrowser, openBrowser, openSight, type Sight } from "./support/browser.ts";
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
import { asUser, demoPack, type Gateway, Home, type Members, makeFolder, start } from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

const able = noBrowser === undefined ? asUser : { skip: noBrowser };

const compiler =
  spawnSync("cc", ["--version"]).error === undefined ? {} : { skip: "no C compiler to build an agent with" };

const SPARE = `format: gw.pack/v1
pack: spare
description: Reads spare parts, and nothing else
provider:
  origin: https://spare.example
  credential: spare-token
  auth: { scheme: bearer }
actions:
  part.get:
    effect: read
    request: { method: GET, path: "/v1/parts/{id}" }
    input:
      id: { in: path, type: string, maxLength: 64 }
`;

/** What operators sign beside decisions: packs, credentials, grants, people, settings. Each click is looked up with a command. */
describe("the console's rooms of the signed home", able, () => {
  let provider: TestProvider;
  let home: Home;
  let gateway: Gateway;
  let served: Console;
  let browser: Browser;
  let desk: Sight;
  const answers: Promise<string>[] = [];

  const list = async (...words: string[]): Promise<readonly Members[]> =>
    JSON.parse((await home.run([...words, "--json"])).out) as readonly Members[];
  const click = (name: string | RegExp) => desk.page.getByRole("button", { name }).first().click();
  const addPack = async (name: string, text: string): Promise<void> => {
    const file = join(dirname(home.folder), `${name}.yaml`);
    writeFileSync(file, text);
    const { code, err } = await home.run(["pack", "add", file]);
    assert.equal(code, 0, err);
  };

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.up();
    served = startConsole(home, await freePort());
    browser = await openBrowser();
    desk = await openSight(browser, await served.nextLink(), DESKTOP);
    desk.page.on("response", (response) => {
      // What is told on and on has no end to wait for.
      if (!response.url().endsWith("/api/events")) answers.push(response.text().catch(() => ""));
    });
    await says(desk, /Nothing waits for you/);
  });

  after(async () => {
    await browser?.close();
    await served?.program.end();
    await gateway?.end();
    await provider?.close();
  });

  test("shows a pack with its actions, effects, reach and lint, and trusts exactly the bytes that it showed", async () => {
    await addPack("spare", SPARE);
    await go(desk, "#/packs");
    await says(desk, /not trusted/);
    await clean(desk, "packs");
    await desk.page.getByRole("link", { name: "spare" }).click();
    await says(desk, /reaches https:\/\/spare\.example/);
    await says(desk, /missing in the vault: spare-token/);
    await desk.page.getByRole("row", { name: /spare\.part\.get/ }).waitFor();
    await addPack("spare", SPARE.replace("Reads spare parts", "Reads all parts"));
    await click("Trust exactly this");
    await prove(desk, home);
    await says(desk, /changed since it was shown/);
    await go(desk, "#/packs");
    await go(desk, "#/packs/spare");
    await says(desk, /Reads all parts/);
    await click("Trust exactly this");
    await prove(desk, home);
    await says(desk, /spare is trusted at exactly these bytes/);
    await clean(desk, "pack-trusted");
    const row = (await list("pack", "list")).find(({ pack }) => pack === "spare");
    assert.equal(row?.["trusted"], true);
  });

  test("reviews a changed pack difference by difference, and trusts it when the whole is signed", async () => {
    const sign = async (why: string): Promise<void> => {
      await desk.page.getByLabel(/Why/).fill(why);
      await desk.page.getByRole("dialog").getByRole("button", { name: "Sign it" }).click();
      await prove(desk, home);
    };
    await addPack("demo", demoPack(provider.origin).replace("/v1/burnt", "/v1/ashes"));
    await go(desk, "#/packs/demo");
    await says(desk, /a new version waits/);
    const trusting = desk.page.getByRole("button", { name: "Trust exactly this", disabled: true });
    await trusting.waitFor();
    await says(desk, /once every difference above is accepted/);
    assert.equal((await list("pack", "list")).find(({ pack }) => pack === "demo")?.["trusted"], false);
    const open = desk.page.getByRole("button", { name: /^Accept d-/ });
    await open.first().waitFor();
    await clean(desk, "pack-review");
    // Whoever changes their mind says so: the last word counts.
    await desk.page
      .getByRole("button", { name: /^Reject d-/ })
      .first()
      .click();
    await sign("not like this");
    await says(desk, /is rejected, and signed/);
    await desk.page.getByText("Accept it after all").waitFor();
    await trusting.waitFor();
    for (let left = await open.count(); left > 0; left--) {
      await open.first().click();
      await sign("the provider moved it");
      await says(desk, /is accepted, and signed/);
      await desk.page.waitForFunction(`document.querySelectorAll('[aria-label^="Accept d-"]').length === ${left - 1}`);
    }
    await click("Sign the whole review, without documents or a probe");
    await sign("read all of it");
    await says(desk, /the whole review is accepted/);
    await click("Trust exactly this");
    await prove(desk, home);
    await says(desk, /demo is trusted at exactly these bytes/);
    assert.equal((await list("pack", "list")).find(({ pack }) => pack === "demo")?.["trusted"], true);
  });

  test("takes credentials, rotates and disables them, and no value ever comes out", async () => {
    await go(desk, "#/credentials");
    await says(desk, /not used since the unlock/);
    await click("Add a credential");
    const dialog = desk.page.getByRole("dialog");
    await dialog.getByLabel("Label, as packs name it").fill("spare-token");
    await dialog.getByLabel(/Origins that may get it/).fill("https://spare.example");
    await dialog.getByLabel("Value").fill("a-value-that-only-goes-in");
    await clean(desk, "credentials-add");
    await click("Store it");
    await prove(desk, home);
    await says(desk, /Stored and sealed/);
    await clean(desk, "credentials");
    const tile = desk.page.locator("li.tile").filter({ hasText: "spare-token" });
    await tile.getByRole("button", { name: "Rotate" }).click();
    await dialog.getByLabel("Value").fill("another-value-that-only-goes-in");
    await click("Rotate it");
    await prove(desk, home);
    await says(desk, /has a new value/);
    await tile.getByRole("button", { name: "Bind" }).click();
    await dialog.getByLabel(/Origins that may get it/).fill("https://eu.spare.example\nnot an origin");
    await click("Sign it");
    await prove(desk, home);
    await desk.page.getByRole("alert").first().waitFor();
    await tile.getByRole("button", { name: "Bind" }).click();
    await dialog.getByLabel(/Origins that may get it/).fill("https://eu.spare.example\nhttps://spare.example");
    await clean(desk, "credentials-bind");
    await click("Sign it");
    await prove(desk, home);
    await says(desk, /goes to these places from now on/);
    await tile.getByRole("button", { name: "Disable" }).click();
    await prove(desk, home);
    await says(desk, /lent to nobody/);
    const [row] = (await list("credential", "list")).filter(({ label }) => label === "spare-token");
    assert.deepEqual(
      [row?.["state"], row?.["version"], row?.["bound_to"], row?.["kind"]],
      ["disabled", 2, ["https://eu.spare.example", "https://spare.example"], "bearer"],
    );
    await home.must(["credential", "bind", "spare-token", "--origin", "https://spare.example"]);
    const [bound] = (await list("credential", "list")).filter(({ label }) => label === "spare-token");
    assert.deepEqual(bound?.["bound_to"], ["https://spare.example"]);
    await tile.getByRole("button", { name: "Remove" }).click();
    await prove(desk, home);
    await says(desk, /cannot be brought back/);
    assert.deepEqual(
      (await list("credential", "list")).map(({ label }) => label),
      ["demo-token"],
    );
    const texts = await Promise.all(answers);
    assert.ok(texts.filter((text) => text.includes('"spare-token"')).length >= 4, "the answers were there to look at");
    for (const text of texts) assert.doesNotMatch(text, /only-goes-in/);
  });

  test(
    "approves a card and grants its like, after which such a call asks nobody; and takes the grant away",
    compiler,
    async () => {
      const agent = join(dirname(home.folder), "agent");
      execFileSync("cc", ["-O1", "-o", agent, join(import.meta.dirname, "fixtures", "grant-agent.c")]);
      const act = async (seconds: number): Promise<Members> => {
        const { out, err } = await start([agent, home.agentSocket, "demo.thing.get", '{"id":"7"}', String(seconds)])
          .exited;
        assert.notEqual(out, "", err);
        return JSON.parse(out) as Members;
      };
      const until = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
      const words = ["--caller", `image:${agent}`, "--actions", "demo.thing.get", "--where", "id=1", "--until", until];
      await home.must(["grant", "add", "first", ...words]);
      await go(desk, "#/waiting");
      const acting = act(120);
      await press(desk, /Approve and grant/);
      await clean(desk, "waiting-grant");
      await click("Sign the grant and approve");
      await prove(desk, home);
      await says(desk, /lets such calls pass without a card/);
      await prove(desk, home);
      await says(desk, /is approved/);
      assert.equal((await acting)["outcome"], "success");
      assert.equal((await act(120))["outcome"], "success");
      assert.equal(Number((await home.status())["approvals_pending"]), 0);
      await go(desk, "#/grants");
      await says(desk, /last used/);
      await clean(desk, "grants");
      await desk.page
        .locator("li.tile")
        .filter({ hasText: "demo-thing-get" })
        .getByRole("button", { name: "Remove" })
        .click();
      await prove(desk, home);
      await says(desk, /is removed/);
      assert.deepEqual(
        (await list("grant", "list")).map(({ name }) => name),
        ["first"],
      );
      assert.equal((await act(1))["state"], "pending");
    },
  );

  test("shows operators and callers, and takes a caller's trust away by a signature", async () => {
    await home.must(["caller", "enroll", process.execPath, "--as", "our node"]);
    await go(desk, "#/people");
    await clean(desk, "people");
    await click("Remove our node");
    await prove(desk, home);
    await says(desk, /vouches for no caller any more/);
    assert.deepEqual(await list("caller", "list"), []);
  });

  test("changes settings by a signature, and tells in one place what lowers protection", async () => {
    const standing = async (name: string): Promise<unknown> =>
      (await list("policy", "show")).find((row) => row["setting"] === name || row["ceiling"] === name)?.["value"];
    await go(desk, "#/settings");
    await says(desk, /Every setting is at its safe value/);
    await desk.page.getByLabel("callbacks").selectOption("loopback");
    await prove(desk, home);
    await says(desk, /This lowers protection/);
    await clean(desk, "settings-lowered");
    assert.equal(await standing("callbacks"), "loopback");
    await click("Set it back to off");
    await prove(desk, home);
    await says(desk, /Every setting is at its safe value/);
    await desk.page.getByLabel("run attempts").fill("50");
    await click("Sign");
    await prove(desk, home);
    await says(desk, /run_attempts is 50/);
    assert.deepEqual([await standing("callbacks"), await standing("run_attempts")], ["off", 50]);
    await desk.page.getByLabel("write", { exact: true }).click();
    await prove(desk, home);
    await says(desk, /nobody could approve/);
    await clean(desk, "settings");
    assert.deepEqual(ownComplaints(desk), []);
  });
});
