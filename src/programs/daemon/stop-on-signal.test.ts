import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

/** Ends a process that closes so, and says how it ended. */
async function endedBy(signal: NodeJS.Signals, close: string, mostMs: number) {
  const source = pathToFileURL(join(import.meta.dirname, "stop-on-signal.ts")).href;
  const program = `import { stopOnSignal } from ${JSON.stringify(source)};
setInterval(() => undefined, 1_000);
stopOnSignal(${close}, ${mostMs});
process.stdout.write("ready");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "pipe"] });
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  await once(child.stdout, "data");
  const closed = once(child, "close");
  child.kill(signal);
  child.kill(signal);
  const [code] = (await closed) as [number | null];
  return { code, err };
}

test("a process that is told to end closes first, and a second signal does not cut that short", async () => {
  const close = `async (signal) => { await new Promise((resolve) => setTimeout(resolve, 20)); process.stderr.write(signal); }`;
  assert.deepEqual(await endedBy("SIGTERM", close, 3_600_000), { code: 0, err: "SIGTERM" });
});

test("one that cannot close, since its disk does not answer, ends all the same and says so", async () => {
  const { code, err } = await endedBy("SIGINT", "() => new Promise(() => undefined)", 20);
  assert.equal(code, 1);
  assert.match(err, /SIGINT/);
});
