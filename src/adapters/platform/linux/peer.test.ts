import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { loadLibc } from "./libc.ts";
import { isAlive } from "./peer.ts";

const skip = process.platform === "linux" ? false : "pidfds are Linux's";

test("a signal that arrives while a caller is looked at does not make it a dead one", { skip }, async () => {
  const pidfd = loadLibc().pidfdOpen(process.pid, 0);
  // Handled, so that a call which it interrupts comes back with EINTR instead of starting over.
  let heard = 0;
  const hear = (): void => void heard++;
  process.on("SIGWINCH", hear);
  const storm = spawn("bash", ["-c", `for ((i = 0; i < 200000; i++)); do kill -WINCH ${process.pid} || exit; done`]);
  try {
    for (let turn = 0; turn < 4_000 && heard < 2_000; turn++) {
      for (let look = 0; look < 50; look++) assert.ok(isAlive(pidfd), `look ${turn}.${look}`);
      await setImmediate();
    }
    assert.ok(heard > 0, "signals did arrive");
  } finally {
    storm.kill("SIGKILL");
    process.off("SIGWINCH", hear);
    closeSync(pidfd);
  }
});

test("a process that has exited is not alive, although its pidfd is still held", { skip }, async () => {
  const child = spawn("sleep", ["30"]);
  const pidfd = loadLibc().pidfdOpen(child.pid ?? 0, 0);
  try {
    assert.ok(isAlive(pidfd));
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
    assert.equal(isAlive(pidfd), false);
  } finally {
    closeSync(pidfd);
  }
});
