import { lstatSync, rmSync, writeSync } from "node:fs";
import { harden } from "../adapters/platform/callers.ts";
import { isOwnProgram } from "../adapters/platform/own-program.ts";
import { createClock, systemSleep } from "../adapters/platform/system.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { holdKeys } from "../surfaces/keeper/hold-keys.ts";
import { serveKeys } from "../surfaces/keeper/serve-keys.ts";
import { readCompartment } from "../vault/compartment.ts";

/**
 * What `gw login` leaves behind: keeps one operator's keys for a while and lends them to that operator's own programs.
 * Usage: gw-keeper SOCKET VAULT OPERATOR KEY MILLISECONDS, with the keys on standard input.
 */
const [path = "", vaultId = "", operator = "", keyId = "", forMs = ""] = process.argv.slice(2);
try {
  await harden({ inspectable: false, startsPrivileged: false });
  const plain = await readKeys();
  const clock = createClock();
  const held = holdKeys({ operator, keyId, vaultId }, readCompartment(plain), Number(forMs), {
    bootMs: clock.bootMs,
    runningMs: () => performance.now(),
  });
  plain.fill(0);
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.abort());
  rmSync(path, { force: true });
  const server = await serveKeys(path, held, { isOwnProgram, ended: () => stop.abort() });
  const made = socketAt(path);
  writeSync(1, "ready\n");
  // Where its socket is gone, or another login's is there, nobody could ask for the keys any more, nor end this.
  while (held.look() && !stop.signal.aborted && socketAt(path) === made)
    await systemSleep.sleep(defaults.loginLookMs, stop.signal);
  held.wipe();
  // To close ours would take away the name, whoever's it is by now.
  if (socketAt(path) !== made) process.exit(0);
  // First the name: whoever logs in anew finds it free, and nobody finds a socket that nobody serves.
  rmSync(path, { force: true });
  server.close();
} catch (error) {
  writeSync(1, error instanceof Denied ? `${error.code}: ${error.message}\n` : `${error}\n`);
  process.exitCode = 1;
}

async function readKeys(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) chunks.push(chunk);
  const whole = Buffer.concat(chunks);
  for (const chunk of chunks) chunk.fill(0);
  return whole;
}

/** Which one it is: the number alone may be that of a later one. */
function socketAt(file: string): string | null {
  const found = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev} ${found.ino} ${found.ctimeNs}`;
}
