import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { test } from "node:test";
import { Denied } from "../../kernel/failure.ts";
import { Unreachable } from "../client/connection.ts";
import { answering } from "./answer.ts";
import { type CliIo, exits } from "./io.ts";

async function told(error: Error): Promise<{ readonly exit: number; readonly lines: readonly string[] }> {
  const lines: string[] = [];
  const io = { err: (line: string) => void lines.push(line) } as unknown as CliIo;
  const exit = await answering(io, () => Promise.reject(error));
  return { exit, lines };
}

test("a refusal is its code and its message, and what a provider wrote in it acts on nothing", async () => {
  const { exit, lines } = await told(new Denied("plan_stale", "\u001b[2Jgone\u202e: x\nplan_ok: fine\r"));
  assert.equal(exit, exits.denied);
  assert.deepEqual(lines, ["plan_stale: \\u{1b}[2Jgone\\u{202e}: x", "  plan_ok: fine\\u{d}"]);
});

test("a file that the operating system refuses is a sentence with its code, not a trace of ours", async () => {
  const missing = await access("/nowhere/at/all").then(
    () => assert.fail(),
    (error: Error) => error,
  );
  const { exit, lines } = await told(missing);
  assert.equal(exit, exits.denied);
  assert.deepEqual([lines.length, lines[0]?.split(":")[0]], [1, "file_unusable"]);
});

test("findings stand below it, escaped as well", async () => {
  const errors = [{ code: "schema_violation", path: "", message: "\u0007ring" }] as const;
  const { lines } = await told(new Denied("schema_violation", "no", { errors }));
  assert.deepEqual(lines, ["schema_violation: no", "  /: \\u{7}ring"]);
});

test("what to do next stands below where the refusal names no command itself, and only where it says more", async () => {
  const lines = async (message: string, next: string) => (await told(new Denied("not_found", message, { next }))).lines;
  assert.deepEqual(await lines("It is not there.", "See: gw pack list."), [
    "not_found: It is not there.",
    "  See: gw pack list.",
  ]);
  assert.deepEqual((await lines("gw runs as user 7.", "Ask them.")).length, 2, "no command, whatever it begins with");
  assert.deepEqual(await lines("See: gw grant list", "Look elsewhere."), ["not_found: See: gw grant list"]);
  assert.deepEqual(await lines("Too long.", "The message says how much."), ["not_found: Too long."]);
  assert.deepEqual(await lines("Too long.", "Send less."), ["not_found: Too long."], "a person sends nothing");
});

test("a finding that only repeats the message is said once", async () => {
  const errors = [{ code: "json_malformed", path: "", message: "byte 1: no" }] as const;
  assert.deepEqual((await told(new Denied("json_malformed", "byte 1: no", { errors }))).lines, [
    "json_malformed: byte 1: no",
  ]);
});

test("what is escaped already, and letters of every script, stay as they are", async () => {
  assert.deepEqual((await told(new Denied("not_found", "\\u{202e} h\u00e4 \u6771"))).lines, [
    "not_found: \\u{202e} h\u00e4 \u6771",
  ]);
});

test("each refusal has the exit that it stands for", async () => {
  assert.equal((await told(new Denied("gateway_locked", "x"))).exit, exits.locked);
  assert.equal((await told(new Unreachable("x"))).exit, exits.unreachable);
  assert.equal((await told(new Denied("hub_unreachable", "x"))).exit, exits.unreachable);
  await assert.rejects(told(new TypeError("ours")), TypeError);
});
