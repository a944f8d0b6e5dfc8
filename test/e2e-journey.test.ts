import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { asUser, GW, makeFolder, start, within } from "./support/home.ts";
import { noTmux, openPane, type Pane } from "./support/pane.ts";

const PASSPHRASE = "a first passphrase of eight quiet words";
const size = { columns: 80, rows: 24 };
const skip = noTmux === null ? asUser : { skip: noTmux };

/** From nothing to the first approved call, and a day of reads after it, as a person types it in terminals of 80x24. */
describe("the journey of a new user", skip, () => {
  const folder = makeFolder();
  const home = join(folder, "home");
  const { PATH, TMPDIR } = process.env;
  const env = { PATH, HOME: folder, GW_HOME: home, ...(TMPDIR === undefined ? {} : { TMPDIR }) };
  const panes: Pane[] = [];
  const tally = { commands: 0, secrets: 0 };
  const began = performance.now();

  after(async () => {
    await start([GW, "logout"], { env }).exited;
    for (const pane of panes) pane.close();
  });

  function run(command: string): Pane {
    const pane = openPane(folder, `${command}; echo "EXIT $?"; cat`, env, size);
    panes.push(pane);
    tally.commands++;
    return pane;
  }

  async function secret(pane: Pane, prompt: string | RegExp): Promise<void> {
    await pane.shows(prompt);
    pane.write(PASSPHRASE);
    pane.type("Enter");
    tally.secrets++;
  }

  const said = (what: string): string =>
    `${what}: ${Math.round((performance.now() - began) / 1000)} s, ${tally.commands} commands, ${tally.secrets} secrets typed`;

  test("the first approved call", async (t) => {
    const program = join(import.meta.dirname, "..", "src", "programs", "start.ts");
    const gateway = run(`${process.execPath} --disable-sigusr1 --disable-warning=ExperimentalWarning ${program}`);
    await gateway.shows("or `own` to type yours");
    gateway.write("own");
    gateway.type("Enter");
    await gateway.shows("New passphrase:");
    gateway.write(PASSPHRASE);
    gateway.type("Enter");
    await secret(gateway, "Once more:");
    await gateway.shows("It runs.");

    const call = run(`${GW} call reference.project.list`);
    await call.shows("Waiting for a person: gw approve");
    const approve = run(`${GW} approve`);
    await secret(approve, /Passphrase of \S+:/);
    await approve.shows(/reference\.project\.list/);
    await approve.shows("Sign this?");
    approve.write("y");
    approve.type("Enter");
    await call.shows("EXIT 0");
    assert.ok(tally.secrets <= 2, said("more than two"));
    t.diagnostic(said("first approved call"));
  });

  test("the next one, in gw watch, is read on the first screen", async (t) => {
    const watch = run(`${GW} watch`);
    await secret(watch, /Passphrase of \S+:/);
    await watch.shows("No card waits");
    const call = run(`${GW} call reference.project.list`);
    await watch.shows("end of the card");
    const [card] = watch
      .text()
      .split("\n")
      .filter((line) => line.includes("page 1 of"));
    assert.match(card ?? "", /page 1 of 1/, "an ordinary call is read on the first screen");
    assert.match(watch.text(), /reference\.project\.list/);
    await until(watch, "a", /Passphrase:/);
    await secret(watch, /Passphrase:/);
    await call.shows("EXIT 0");
    t.diagnostic(said("and one in gw watch"));
  });

  test("a day of reads asks nothing", async (t) => {
    const login = run(`${GW} login`);
    await secret(login, /Passphrase of \S+:/);
    await login.shows("EXIT 0");
    const before = tally.secrets;
    for (const command of ["activity", "sessions", "approvals", "operation list", "status", "actions", "grant list"]) {
      tally.commands++;
      const done = await within(start([GW, ...command.split(" ")], { env }).exited, 120_000, `gw ${command}`);
      assert.equal(done.code, 0, `gw ${command}: ${done.err}`);
    }
    assert.equal(tally.secrets, before);
    t.diagnostic(said("and a day of reads"));
  });

  /** A card that just appeared takes no key for a moment: a person presses again. */
  async function until(pane: Pane, key: string, shown: RegExp): Promise<void> {
    for (let times = 0; times < 100; times++) {
      pane.type(key);
      try {
        await pane.shows(shown, 1_000);
        return;
      } catch {
        // Not yet.
      }
    }
    assert.fail(`${key} is not taken`);
  }
});
