import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { lendPlayers, lentAt, playCommand } from "../scripts/suite/players.ts";
import { makeFolder, until } from "./support/home.ts";

/** In the place of `gw`: what it does is its first argument. */
const PROGRAM = `
import { writeFileSync } from "node:fs";
export async function runCommand() {
  const [what] = process.argv.slice(2);
  if (what === "stays") {
    writeFileSync("stays", String(process.pid));
    setInterval(() => undefined, 1_000);
  }
  if (what === "lingers") setTimeout(() => { process.stdout.write("late"); process.exitCode = 4; }, 20);
  if (what === "waits") await new Promise(() => undefined);
  if (what === "throws") throw new Error("broken");
  if (what === "litters") {
    process.umask(0);
    process.chdir("/");
    process.env.LITTER = "left";
    process.exitCode = 7;
  }
  if (what === "looks")
    process.stdout.write([process.umask().toString(8), process.cwd(), process.env.LITTER, process.exitCode].join(" "));
}
`;

function makeProgram(): { readonly root: string; readonly gw: string } {
  const root = realpathSync(makeFolder());
  mkdirSync(join(root, "bin"));
  mkdirSync(join(root, "src", "programs"), { recursive: true });
  const gw = join(root, "bin", "gw");
  writeFileSync(gw, "");
  writeFileSync(join(root, "src", "programs", "gw.ts"), PROGRAM);
  return { root, gw };
}

test("commands that share a process end as in one of their own, and leave nothing to the next", async () => {
  const { root, gw } = makeProgram();
  const pids = new Set<number | undefined>();
  const play = async (what: string) => {
    const order = { args: [what], env: { PATH: process.env["PATH"] }, input: "", folder: root };
    const { code, out, err } = await playCommand(gw, order, (child) => {
      pids.add(child.pid);
      process.once("exit", () => child.kill("SIGKILL"));
    });
    return [code, out, err.split("\n")[0]];
  };
  assert.deepEqual(await play("lingers"), [4, "late", ""]);
  assert.deepEqual(await play("waits"), [13, "", ""]);
  assert.deepEqual(await play("throws"), [1, "", "Error: broken"]);
  assert.deepEqual(await play("litters"), [7, "", ""]);
  assert.deepEqual(await play("looks"), [0, `22 ${root}  `, ""]);
  assert.equal(pids.size, 1);
});

test("a run lends its players to whoever stands where it does, and ends one whose test is gone", async () => {
  const { root, gw } = makeProgram();
  const order = (what: string) => ({ args: [what], env: { PATH: process.env["PATH"] }, input: "", folder: root });
  const nobody = (): never => assert.fail("a process of its own was started");
  await lendPlayers(gw, root);
  assert.deepEqual(await playCommand(gw, order("lingers"), nobody), { code: 4, out: "late", err: "" });
  assert.deepEqual(await playCommand(gw, order("waits"), nobody), { code: 13, out: "", err: "" });

  const socket = lentAt(gw);
  assert.ok(socket !== undefined);
  const asking = connect(socket);
  asking.write(`${JSON.stringify(order("stays"))}\n`);
  const file = join(root, "stays");
  const pid = await until("the command is at work", () => existsSync(file) && Number(readFileSync(file, "utf8")));
  asking.destroy();
  await until("its process has ended", () => !existsSync(`/proc/${pid}`));
  assert.deepEqual(await playCommand(gw, order("looks"), nobody), { code: 0, out: `22 ${root}  `, err: "" });

  // Another limit, another place.
  process.env["GW_TEST_PLAYERS"] = process.env["GW_TEST_PLAYERS"]?.replace("Max open files", "Max open doors");
  assert.equal(lentAt(gw), undefined);
});
