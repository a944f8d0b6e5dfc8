import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { walkAncestry } from "./ancestry.ts";
import { becomeSubreaper } from "./harden.ts";

const skip = process.platform === "linux" ? false : "/proc is Linux's";

test("the chain runs from the parent to the first process, each with its start time", { skip }, () => {
  const chain = walkAncestry(process.pid);
  assert.equal(chain[0]?.pid, process.ppid);
  for (const [index, { pid, startTime }] of chain.entries()) {
    const fields = fieldsOf(pid);
    assert.equal(fields[19], startTime);
    const next = chain[index + 1];
    if (next !== undefined) assert.equal(Number(fields[1]), next.pid);
  }
});

test("a process that does not exist has no chain, and no descriptor is left behind", { skip }, () => {
  const before = readdirSync("/proc/self/fd").length;
  assert.deepEqual(walkAncestry(2 ** 22 + 1), []);
  for (let round = 0; round < 50; round++) walkAncestry(process.pid);
  assert.equal(readdirSync("/proc/self/fd").length, before);
});

test("an orphan stays below a subreaper, so that its ancestry still reaches it", { skip }, async () => {
  becomeSubreaper();
  const parent = spawn("sh", ["-c", "sh -c 'echo $$; exec sleep 60' & read x < /dev/null; exit 0"]);
  const orphan = Number(String((await once(parent.stdout, "data"))[0]));
  if (parent.exitCode === null) await once(parent, "exit");
  try {
    while (Number(fieldsOf(orphan)[1]) === parent.pid) await new Promise(setImmediate);
    assert.equal(walkAncestry(orphan)[0]?.pid, process.pid);
  } finally {
    process.kill(orphan, "SIGKILL");
  }
});

function fieldsOf(pid: number): readonly string[] {
  const text = readFileSync(`/proc/${pid}/stat`, "latin1");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}
