import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied } from "../../../kernel/failure.ts";
import { createMacosCallers, parseToken } from "./callers.ts";
import { parseProcess } from "./process.ts";

test("an audit token names user, pid and pid version", () => {
  const token = Buffer.alloc(32);
  for (const [index, value] of [501, 502, 20, 503, 20, 4711, 100, 9].entries()) token.writeUInt32LE(value, index * 4);
  const { pid, uid, version } = parseToken(token);
  assert.deepEqual({ pid, uid, version }, { pid: 4711, uid: 502, version: 9 });
});

test("a token that names no process is refused", () => {
  assert.throws(
    () => parseToken(Buffer.alloc(32)),
    (error) => error instanceof Denied && error.code === "caller_unknown",
  );
});

test("a process's record gives parent, start and whether it is traced", () => {
  const record = Buffer.alloc(136);
  record.writeUInt32LE(0x2, 0);
  record.writeUInt32LE(77, 16);
  record.writeBigUInt64LE(1_700_000_000n, 120);
  record.writeBigUInt64LE(42n, 128);
  assert.deepEqual(parseProcess(record), { parent: 77, startTime: "1700000000.000042", traced: true });
});

test("the macOS adapter touches nothing until it is asked, and on another system refuses to be", async () => {
  const callers = createMacosCallers();
  if (process.platform !== "darwin") await assert.rejects(callers.identify(0), { name: "Fault" });
  callers.close();
  await assert.rejects(callers.identify(0), (error) => error instanceof Denied && error.code === "caller_unknown");
});
