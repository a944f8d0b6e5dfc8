import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Secret } from "../../kernel/secret.ts";
import { openService } from "../lend.ts";
import { parseVault } from "../verify.ts";

/**
 * Borrows secrets as the gateway does, then writes its own writable memory to standard output. It learns the secrets
 * from the vault alone, so that whatever the reader finds was left by a loan. Arguments: vault, key file, origin, end.
 */
const [vaultPath = "", keyPath = "", origin = "", end = ""] = process.argv.slice(2);
const key = readFileSync(keyPath);
const serviceKey = Secret.take(key);
const service = openService(parseVault(readFileSync(vaultPath, "utf8")), serviceKey);
serviceKey.wipe();

let touched = 0;
const held: unknown[] = [];
for (let round = 0; round < 200; round++) {
  for (const { label } of service.list()) {
    const loan = service.lendHttp(label, origin);
    touched += loan.headerValue.use((bytes) => bytes.reduce((sum, byte) => sum + byte, 0));
    if (end === "hold") held.push(loan);
    else loan.release();
  }
}
if (end === "lock") service.wipe();
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
collect();
collect();

const memory = openSync("/proc/self/mem", "r");
const chunk = Buffer.alloc(1 << 16);
const untouched = Buffer.alloc(chunk.length);
for (const line of readFileSync("/proc/self/maps", "latin1").split("\n")) {
  const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
  if (from === undefined || to === undefined || line.includes("[v")) continue;
  for (let at = BigInt(`0x${from}`), stop = BigInt(`0x${to}`); at < stop; at += BigInt(chunk.length)) {
    const length = Number(stop - at < BigInt(chunk.length) ? stop - at : BigInt(chunk.length));
    const bytes = readRegion(length, at);
    // Most of what a process may write to it never has.
    if (!bytes.equals(untouched.subarray(0, bytes.length))) writeWhole(bytes);
  }
}
closeSync(memory);
process.exitCode = touched > 0 && held.length >= 0 ? 0 : 1;

function readRegion(length: number, at: bigint): Buffer {
  try {
    return chunk.subarray(0, readSync(memory, chunk, 0, length, at));
  } catch {
    return chunk.subarray(0, 0);
  }
}

function writeWhole(bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(1, bytes, written);
}
