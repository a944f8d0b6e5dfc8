import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { defaults } from "../src/kernel/defaults.ts";

const SCENE = join(import.meta.dirname, "fixtures", "callback-network-scene.ts");
const IN_A_NETWORK = ["--user", "--map-root-user", "--net"];
const made = spawnSync("unshare", [...IN_A_NETWORK, "ip", "link", "set", "lo", "up"]).status === 0;
const skip = made ? false : "no network of its own can be made here";

test("whoever has all addresses of one IPv6 network is one peer of the callback listener", { skip }, () => {
  const scene = spawnSync("unshare", [...IN_A_NETWORK, process.execPath, SCENE], { encoding: "utf8" });
  assert.equal(scene.status, 0, scene.stderr);
  const { kept, beside, taken, refused } = JSON.parse(scene.stdout) as Record<string, unknown>;
  assert.equal(kept, defaults.callbackConnectionsPerPeer);
  assert.deepEqual(beside, { same: 0, other: 202 });
  // One of this network was let in before.
  assert.equal(taken, defaults.callbacksBurstPerPeer - 1);
  assert.equal(refused, 70 - defaults.callbacksBurstPerPeer + 1);
});
