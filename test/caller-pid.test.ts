import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { cannotAttack } from "./caller-stage.ts";

const NAMESPACE = ["-Ur", "--pid", "--fork", "--mount-proc", "--kill-child"];
const SCENE = join(import.meta.dirname, "fixtures", "pid-namespace-scene.ts");
const permitted = spawnSync("unshare", [...NAMESPACE, "true"]).status === 0;
const skip = cannotAttack ?? (permitted ? false : "pid namespaces are not permitted here");

describe("a bare pid is not an identity", { skip }, () => {
  test("a pid that is reused names a new caller, and the old one is gone", async () => {
    const scene = start("reuse");
    const answer: unknown = JSON.parse(await lineOf(scene));
    assert.deepEqual(answer, { samePid: true, samePath: true, sameKey: false, old: "gone", new: "same" });
    await once(scene, "close");
  });

  test("a process that the gateway cannot see (pid 0) is refused", async () => {
    const scene = start("outside");
    const lines = createInterface(scene.stdout)[Symbol.asyncIterator]();
    const path = String((await lines.next()).value);
    const client = connect(path);
    client.on("error", () => undefined);
    assert.deepEqual(JSON.parse(String((await lines.next()).value)), { code: "caller_unknown" });
    client.destroy();
    await once(scene, "close");
  });
});

function start(name: string): ChildProcessWithoutNullStreams {
  const scene = spawn("unshare", [...NAMESPACE, process.execPath, SCENE, name]);
  scene.stderr.pipe(process.stderr);
  return scene;
}

async function lineOf(scene: ChildProcessWithoutNullStreams): Promise<string> {
  for await (const line of createInterface(scene.stdout)) return line;
  throw new Error("the scene ended without an answer");
}
