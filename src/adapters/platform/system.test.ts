import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Denied } from "../../kernel/failure.ts";
import { createCallerPlatform, harden, listenForCallers } from "./callers.ts";
import { createClock, systemRandom, systemSleep } from "./system.ts";

const skip = process.platform === "linux" ? false : "written for Linux";

test("boot time counts from this machine's boot and never runs backwards", { skip }, () => {
  const clock = createClock();
  const uptimeMs = Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1_000;
  const first = clock.bootMs();
  assert.ok(Math.abs(first - uptimeMs) < 60_000);
  assert.ok(Number.isSafeInteger(first));
  for (let look = 0, last = first; look < 100; look++) {
    const now = clock.bootMs();
    assert.ok(now >= last);
    last = now;
  }
});

test("the boot id names this boot", { skip }, () => {
  const clock = createClock();
  assert.match(clock.bootId(), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.equal(clock.bootId(), createClock().bootId());
});

test("sleep ends early when its signal aborts, before or during, and never rejects", async () => {
  await systemSleep.sleep(60_000, AbortSignal.abort());
  const stop = new AbortController();
  const sleeping = systemSleep.sleep(60_000, stop.signal);
  stop.abort();
  await sleeping;
  await systemSleep.sleep(1);
});

test("random bytes are as many as asked for and differ", () => {
  assert.equal(systemRandom.bytes(16).length, 16);
  assert.notDeepEqual(systemRandom.bytes(16), systemRandom.bytes(16));
});

test("a platform without an adapter refuses with its code", async () => {
  const refused = (error: unknown): boolean => error instanceof Denied && error.code === "platform_unsupported";
  const nothing = { enrolled: new Map(), sigstore: null, imaKeys: [] };
  await assert.rejects(
    createCallerPlatform(() => nothing, null, "win32"),
    refused,
  );
  await assert.rejects(harden({ inspectable: false, startsPrivileged: false }, "freebsd"), refused);
  assert.throws(() => createClock("win32"), refused);
  const callers = { identify: () => Promise.reject(new Error("never asked")), close: () => undefined };
  const options = { path: "/nowhere", mode: 0o600, callers, accept: () => undefined };
  await assert.rejects(listenForCallers(options, "win32"), refused);
});

test("this platform gives callers and a listener", { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  const callers = await createCallerPlatform(() => ({ enrolled: new Map(), sigstore: null, imaKeys: [] }));
  const path = join(folder, "agent.sock");
  const listener = await listenForCallers({ path, mode: 0o600, callers, accept: () => undefined });
  listener.close();
  callers.close();
  await assert.rejects(callers.identify(0), (error) => error instanceof Denied && error.code === "caller_unknown");
  rmSync(folder, { recursive: true });
});
