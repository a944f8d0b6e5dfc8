import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { loadLibc } from "./libc.ts";
import { createReactor, EPOLLIN } from "./reactor.ts";

const skip = process.platform === "linux" ? false : "epoll is Linux's";

test("a pidfd says that its process is gone, with promises working in the listener", { skip }, async () => {
  const reactor = createReactor();
  const child = spawn("sleep", ["60"]);
  const pidfd = loadLibc().pidfdOpen(child.pid ?? 0, 0);
  try {
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      const watch = reactor.watch(pidfd, { events: EPOLLIN, holds: true }, () => {
        watch.stop();
        order.push("ready");
        void Promise.resolve().then(() => {
          order.push("promise");
          resolve();
        });
      });
      child.kill("SIGKILL");
    });
    assert.deepEqual(order, ["ready", "promise"]);
  } finally {
    reactor.close();
    closeSync(pidfd);
  }
});

test("a watch that was stopped in the same batch is not called", { skip }, async () => {
  const reactor = createReactor();
  const children = [spawn("sleep", ["60"]), spawn("sleep", ["60"])];
  const pidfds = children.map(({ pid }) => loadLibc().pidfdOpen(pid ?? 0, 0));
  const called: number[] = [];
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(children.map((child) => new Promise((resolve) => child.once("exit", resolve))));
  await new Promise<void>((resolve) => {
    const watches = pidfds.map((pidfd, index) =>
      reactor.watch(pidfd, { events: EPOLLIN, holds: true }, () => {
        called.push(index);
        for (const watch of watches) watch.stop();
        setTimeout(resolve, 20);
      }),
    );
  });
  assert.equal(called.length, 1);
  reactor.close();
  for (const pidfd of pidfds) closeSync(pidfd);
});

test("a reactor that watches without holding lets the process end, and a closed one takes no watch", { skip }, () => {
  const reactor = createReactor();
  reactor.close();
  reactor.close();
  assert.throws(() => reactor.watch(0, { events: EPOLLIN, holds: false }, () => undefined), { name: "Fault" });
});

test("processes that end with watches still open end cleanly, in the main thread and in a worker", {
  skip,
}, async () => {
  const module = JSON.stringify(new URL("./reactor.ts", import.meta.url).href);
  const source = `const { createReactor, EPOLLIN } = await import(${module});
    const { loadLibc } = await import(${module}.replace("reactor", "libc"));
    createReactor().watch(loadLibc().pidfdOpen(process.pid, 0), { events: EPOLLIN, holds: false }, () => undefined);`;
  for (const ending of ["", "process.exit(0)"]) {
    const child = spawn(process.execPath, ["--input-type=module", "-e", `${source}\n${ending}`], { stdio: "inherit" });
    assert.deepEqual(await new Promise((resolve) => child.once("exit", (code, signal) => resolve([code, signal]))), [
      0,
      null,
    ]);
  }
  const worker = new Worker(`(async () => { ${source} })()`, { eval: true });
  assert.equal(await new Promise((resolve) => worker.once("exit", resolve)), 0);
});
