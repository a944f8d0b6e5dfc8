import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { encodeCaller } from "../src/conventions/caller/evidence.ts";
import type { CallerEnd, LiveCaller } from "../src/conventions/caller/port.ts";
import { Denied } from "../src/kernel/failure.ts";
import { asAttack, openStage, type Stage, type StageOptions } from "./caller-stage.ts";

/** Exec is seen in two ways, by the kernel's own report and by comparing what /proc shows. Every attack meets both. */
const ways = [
  { way: "reported by the kernel", askKernelForExec: true },
  { way: "read from /proc alone", askKernelForExec: false },
];

describe("a caller is named by the operating system", asAttack, () => {
  test("a live process becomes a caller with every field of the evidence record", async () => {
    await withStage({}, async (stage) => {
      const attacker = stage.start();
      await attacker.say(`connect ${stage.socket}`);
      const caller = await (await stage.next()).caller;
      const record = encodeCaller(caller.evidence);
      const pid = attacker.process.pid ?? 0;
      assert.deepEqual(Object.keys(record), [
        "process",
        "path_observed",
        "signing_identifier",
        "designated_requirement",
        "cdhash",
        "validity",
      ]);
      const inode = caller.evidence.process.pidfdInode;
      assert.deepEqual(record["process"], {
        pid,
        start_time: startTimeOf(pid),
        uid: process.getuid?.(),
        pidfd_inode: inode,
      });
      assert.equal(record["path_observed"], stage.attackerPath);
      assert.equal(record["cdhash"], digestOf(stage.attackerPath));
      assert.equal(record["validity"], "unsigned");
      assert.equal(caller.binding, "process");
      assert.deepEqual(caller.check(), { kind: "same" });
    });
  });

  test("connections of one process share one caller, and another process with the same image is another", async () => {
    await withStage({}, async (stage) => {
      const first = stage.start();
      await first.say(`connect ${stage.socket}`);
      await first.say(`connect ${stage.socket}`);
      const second = stage.start();
      await second.say(`connect ${stage.socket}`);
      const callers = await Promise.all([1, 2, 3].map(async () => (await stage.next()).caller));
      const [one, again, other] = callers as [LiveCaller, LiveCaller, LiveCaller];
      assert.equal(one.key, again.key);
      assert.notEqual(one.key, other.key);
      assert.equal(one.evidence.cdhash, other.evidence.cdhash);
      again.close();
      assert.deepEqual(again.check(), { kind: "gone" });
      assert.deepEqual(one.check(), { kind: "same" });
    });
  });

  test("a session's hold outlives the connection and keeps the caller's key", async () => {
    await withStage({}, async (stage) => {
      const attacker = stage.start();
      await attacker.say(`connect ${stage.socket}`);
      const arrival = await stage.next();
      const connected = await arrival.caller;
      const session = connected.retain();
      connected.close();
      arrival.connection.destroy();
      await attacker.say(`connect ${stage.socket}`);
      const later = await (await stage.next()).caller;
      assert.equal(later.key, session.key);
      assert.deepEqual(session.check(), { kind: "same" });
    });
  });

  test("the parent chain is walked and names this process", async () => {
    await withStage({}, async (stage) => {
      const attacker = stage.start();
      await attacker.say(`connect ${stage.socket}`);
      const caller = await (await stage.next()).caller;
      const [parent] = caller.ancestry();
      assert.equal(parent?.pid, process.pid);
      assert.equal(parent?.startTime, startTimeOf(process.pid));
      assert.equal(parent?.path, process.execPath);
      assert.deepEqual(caller.evidence.ancestors[0], parent);
    });
  });

  test("a process that does not let itself be looked at is refused", async () => {
    await withStage({}, async (stage) => {
      const attacker = stage.start();
      await attacker.say("hide");
      await attacker.say(`connect ${stage.socket}`);
      await assert.rejects((await stage.next()).caller, isDenied("caller_unreadable"));
    });
  });

  test("a process that hides itself after it was identified is no longer the same", async () => {
    await withStage({ askKernelForExec: false }, async (stage) => {
      const attacker = stage.start();
      await attacker.say(`connect ${stage.socket}`);
      const caller = await (await stage.next()).caller;
      await attacker.say("hide");
      assert.notEqual(caller.check().kind, "same");
    });
  });
});

for (const { way, askKernelForExec } of ways) {
  describe(`a caller ends with its process image (${way})`, asAttack, () => {
    test("a gateway that can open no more files ends nobody for that", async () => {
      await withCaller({ askKernelForExec }, async (caller) => {
        const ends: unknown[] = [];
        caller.onExit((end) => ends.push(end));
        const giveBack = takeDescriptors();
        // Where the kernel does not say it, everybody is looked at twice a second.
        await pause(1_200).finally(giveBack);
        assert.deepEqual([ends, caller.check()], [[], { kind: "same" }]);
      });
    });

    test("the process exits: the caller is gone", async () => {
      await withCaller({ askKernelForExec }, async (caller, attacker) => {
        const ended = endOf(caller);
        attacker.process.kill("SIGKILL");
        assert.deepEqual(await ended, { kind: "gone" });
        assert.equal(caller.check().kind, "gone");
      });
    });

    test("exec of another program: the caller is replaced", async () => {
      await withCaller({ askKernelForExec }, async (caller, attacker) => {
        const ended = endOf(caller);
        attacker.tell("exec /bin/sleep 60");
        assert.equal((await ended).kind, "replaced");
        assert.equal(caller.check().kind, "replaced");
      });
    });

    test("exec of the very same file: the caller is replaced", async () => {
      await withCaller({ askKernelForExec }, async (caller, attacker, stage) => {
        const ended = endOf(caller);
        attacker.tell(`exec ${stage.attackerPath}`);
        assert.equal((await ended).kind, "replaced");
      });
    });

    test("exec while a CLONE_VM helper keeps the old address space alive: the caller is replaced", async () => {
      await withCaller({ askKernelForExec }, async (caller, attacker) => {
        await attacker.say("share-memory");
        assert.deepEqual(caller.check(), { kind: "same" });
        const ended = endOf(caller);
        attacker.tell("exec /bin/sleep 60");
        assert.equal((await ended).kind, "replaced");
      });
    });

    test("exec of the very same file behind a CLONE_VM helper: the caller is replaced", async () => {
      await withCaller({ askKernelForExec }, async (caller, attacker, stage) => {
        await attacker.say("share-memory");
        const ended = endOf(caller);
        attacker.tell(`exec ${stage.attackerPath}`);
        assert.equal((await ended).kind, "replaced");
      });
    });

    test("exec of the very same file behind a helper, with the old memory layout forged: the caller is replaced", async () => {
      await withCaller({ askKernelForExec }, async (caller, attacker, stage) => {
        const layout = layoutOf(caller.pid);
        await attacker.say("share-memory");
        const ended = endOf(caller);
        attacker.tell(`exec ${stage.attackerPath}`);
        await attacker.say(`forge ${layout}`);
        assert.equal(layoutOf(caller.pid), layout);
        assert.equal((await ended).kind, "replaced");
      });
    });

    test("exec from another thread: the caller ends, and who connects next is a new one", async () => {
      await withCaller({ askKernelForExec }, async (caller, attacker, stage) => {
        const ended = endOf(caller);
        attacker.tell(`thread-exec ${stage.attackerPath}`);
        // The first thread dies for it, so that for a moment it looks like an exit.
        assert.ok(["replaced", "gone"].includes((await ended).kind));
        await attacker.say(`connect ${stage.socket}`);
        assert.notEqual((await (await stage.next()).caller).key, caller.key);
      });
    });

    test("after exec the process that connects anew is a new caller", async () => {
      await withCaller({ askKernelForExec }, async (caller, attacker, stage) => {
        const ended = endOf(caller);
        attacker.tell(`exec ${stage.attackerPath}`);
        await ended;
        await attacker.say(`connect ${stage.socket}`);
        const next = await (await stage.next()).caller;
        assert.equal(next.pid, caller.pid);
        assert.equal(next.evidence.process.pidfdInode, caller.evidence.process.pidfdInode);
        assert.equal(next.evidence.cdhash, caller.evidence.cdhash);
        assert.notEqual(next.key, caller.key);
      });
    });

    test("a file replaced under a running caller: the session goes on, a new start is a new caller", async () => {
      await withCaller({ askKernelForExec, ownImage: true }, async (caller, _attacker, stage) => {
        const other = join(stage.folder, "other");
        copyFileSync(stage.attackerPath, other);
        writeFileSync(other, "not the same bytes any more", { flag: "a" });
        renameSync(other, stage.attackerPath);
        assert.deepEqual(caller.check(), { kind: "same" });
        const started = stage.start();
        await started.say(`connect ${stage.socket}`);
        const next = await (await stage.next()).caller;
        assert.notEqual(next.key, caller.key);
        assert.notEqual(next.evidence.cdhash, caller.evidence.cdhash);
        assert.equal(next.evidence.pathObserved, caller.evidence.pathObserved);
        assert.deepEqual(caller.check(), { kind: "same" });
      });
    });

    test("a tracer that attaches is noticed at the next look, and its end lets the caller go on", async () => {
      await withCaller({ askKernelForExec }, async (caller, attacker) => {
        const tracer = Number((await attacker.say("trace-me")).split(" ").at(-1));
        assert.deepEqual(caller.check(), { kind: "traced", tracer });
        await attacker.say("free-me");
        assert.deepEqual(caller.check(), { kind: "same" });
      });
    });

    test("a traced process does not become a caller", async () => {
      await withStage({ askKernelForExec }, async (stage) => {
        const attacker = stage.start();
        await attacker.say("trace-me");
        await attacker.say(`connect ${stage.socket}`);
        await assert.rejects((await stage.next()).caller, isDenied("caller_traced"));
      });
    });
  });
}

describe("a caller in another namespace", asAttack, () => {
  const cannot = spawnSync("unshare", ["-Ur", "true"]).status === 0 ? false : "user namespaces are not permitted here";

  for (const [name, flags] of [
    ["user", ["-Ur"]],
    ["pid and user", ["-Ur", "--pid", "--fork", "--kill-child"]],
  ] as const) {
    test(`${name} namespace: one caller for the life of its connection`, { skip: cannot }, async () => {
      await withStage({}, async (stage) => {
        const attacker = stage.start(["unshare", ...flags, stage.attackerPath]);
        await attacker.say(`connect ${stage.socket}`);
        await attacker.say(`connect ${stage.socket}`);
        const first = await (await stage.next()).caller;
        const second = await (await stage.next()).caller;
        assert.equal(first.pid, second.pid);
        assert.equal(first.binding, "connection");
        assert.equal(first.evidence.namespaces, "other");
        assert.notEqual(first.key, second.key);
        const ended = endOf(first);
        process.kill(first.pid, "SIGKILL");
        assert.deepEqual(await ended, { kind: "gone" });
      });
    });
  }
});

test("the socket file has its mode before anybody can connect", asAttack, async () => {
  await withStage({}, async (stage) => {
    assert.equal(statSync(stage.socket).mode & 0o777, 0o600);
  });
});

async function withStage(options: StageOptions, act: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = openStage(options);
  try {
    await act(stage);
  } finally {
    stage.close();
  }
}

async function withCaller(
  options: StageOptions,
  act: (caller: LiveCaller, attacker: ReturnType<Stage["start"]>, stage: Stage) => Promise<void>,
): Promise<void> {
  await withStage(options, async (stage) => {
    const attacker = stage.start();
    await attacker.say(`connect ${stage.socket}`);
    await act(await (await stage.next()).caller, attacker, stage);
  });
}

function endOf(caller: LiveCaller): Promise<CallerEnd> {
  // The watch keeps no process alive by itself, and here nothing else would.
  const alive = setInterval(() => undefined, 1_000);
  return new Promise<CallerEnd>((resolve) => caller.onExit(resolve)).finally(() => clearInterval(alive));
}

function isDenied(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Denied && error.code === code;
}

function startTimeOf(pid: number): string {
  return fieldsOf(pid)[19] ?? "";
}

function layoutOf(pid: number): string {
  return [...fieldsOf(pid).slice(23, 26), ...fieldsOf(pid).slice(42, 45)].join(" ");
}

function fieldsOf(pid: number): readonly string[] {
  const text = readFileSync(`/proc/${pid}/stat`, "latin1");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

function digestOf(path: string): string {
  return `sha256:${createHash("sha256").update(readFileSync(path)).digest("hex")}`;
}

/** All that this process may open, until they are given back. */
function takeDescriptors(): () => void {
  const limit = (soft: string) => execFileSync("prlimit", ["--pid", String(process.pid), `--nofile=${soft}:`]);
  const before = execFileSync("prlimit", [
    "--pid",
    String(process.pid),
    "--nofile",
    "--output",
    "SOFT",
    "--noheadings",
  ]);
  limit(String(readdirSync("/proc/self/fd").length + 16));
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync("/dev/null", "r"));
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "EMFILE");
  }
  return () => {
    for (const fd of taken) closeSync(fd);
    limit(before.toString("utf8").trim());
  };
}
