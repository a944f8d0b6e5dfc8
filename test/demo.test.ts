import assert from "node:assert/strict";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { createClock, systemRandom, systemSleep } from "../src/adapters/platform/system.ts";
import { GW } from "./support/home.ts";

/** The demo as the suite compiled it, if it did: one that is loaded from its sources starts all that it plays with from theirs. */
const product = dirname(dirname(realpathSync(GW)));
const [demo, kind] = existsSync(join(product, "src"))
  ? [join(product, "demo"), "ts"]
  : [join(product, "dist", "demo"), "js"];
const { playDemo }: typeof import("../demo/demo.ts") = await import(join(demo, `demo.${kind}`));
const { expect }: typeof import("../demo/scene.ts") = await import(join(demo, `scene.${kind}`));
const { host }: typeof import("../demo/scenes/host.ts") = await import(join(demo, "scenes", `host.${kind}`));

const skip = process.platform === "linux" ? {} : { skip: "the gateway process is tested on Linux" };

test("a scene that does not go as told ends the demo with exit 1, and nothing of it is left", skip, async () => {
  const said: string[] = [];
  const io = { out: (line: string) => void said.push(line), err: (line: string) => void said.push(line) };
  const ports = { clock: createClock(), random: systemRandom, sleep: systemSleep };
  let home = "";
  let pid = 0;
  const after: string[] = [];
  const exit = await playDemo({ home: null, json: true }, io, ports, [
    {
      name: "look",
      title: "Look",
      async play(stage) {
        home = stage.home;
        pid = Number((await stage.operator.status())["pid"]);
        assert.ok(existsSync(home));
      },
    },
    { ...host, play: (stage, tell) => host.play({ ...stage, host: "there is no sshd" }, tell) },
    {
      name: "astray",
      title: "Astray",
      play: async () => expect(false, "the sun should shine", { weather: "rain" }),
    },
    { name: "never", title: "Never", play: async () => void after.push("played") },
  ]);
  assert.equal(exit, 1);
  assert.deepEqual(after, []);
  const told = said.slice(0, 2).map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  assert.deepEqual(
    told.map(({ scene, as_told, skipped }) => [scene, as_told, skipped]),
    [
      ["look", true, null],
      ["host", false, "there is no sshd"],
    ],
    "a scene that this machine cannot play says why, and the demo goes on",
  );
  assert.equal(said.at(-1), 'demo_astray: the sun should shine; instead: {"weather":"rain"}');
  assert.equal(existsSync(home), false, "a throw-away home is thrown away");
  assert.throws(() => process.kill(pid, 0), { code: "ESRCH" }, "the gateway process has ended");
});
