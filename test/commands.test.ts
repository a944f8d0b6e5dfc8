import assert from "node:assert/strict";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { playCommand } from "./support/commands.ts";
import { makeFolder } from "./support/home.ts";

/** In the place of `gw`: what it does is its first argument. */
const PROGRAM = `
const [what] = process.argv.slice(2);
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
`;

test("commands that share a process end as in one of their own, and leave nothing to the next", async () => {
  const root = realpathSync(makeFolder());
  mkdirSync(join(root, "bin"));
  mkdirSync(join(root, "src", "programs"), { recursive: true });
  const gw = join(root, "bin", "gw");
  writeFileSync(gw, "");
  writeFileSync(join(root, "src", "programs", "gw.ts"), PROGRAM);
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
