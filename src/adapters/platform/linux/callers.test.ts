import assert from "node:assert/strict";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { CallerEvidence } from "../../../conventions/caller/evidence.ts";
import type { LiveCaller } from "../../../conventions/caller/port.ts";
import { Denied } from "../../../kernel/failure.ts";
import { createLinuxCallers } from "./callers.ts";
import type { VerifiedConnection } from "./connection.ts";
import type { Hold } from "./hold.ts";
import { listenVerified } from "./listener.ts";

const skip = process.platform === "linux" ? false : "written for Linux";
const folder = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(folder, { recursive: true, force: true }));
let stands = 0;

test("evidence is read once for connections that arrive together", { skip }, async () => {
  await withStand(async ({ callers, dial, asked }) => {
    const fds = await Promise.all([1, 2, 3, 4].map(async () => (await dial()).connection.fd));
    const found = await Promise.all(fds.map((fd) => callers.identify(fd)));
    assert.equal(new Set(found.map(({ key }) => key)).size, 1);
    assert.equal(asked(), 1);
    for (const caller of found) caller.close();
  });
});

test("when the last hold is given back the caller is forgotten, and the next one has another key", {
  skip,
}, async () => {
  await withStand(async ({ callers, dial, asked }) => {
    const { connection } = await dial();
    const first = await callers.identify(connection.fd);
    const kept = first.retain();
    first.close();
    first.close();
    assert.deepEqual(first.check(), { kind: "gone" });
    assert.throws(
      () => first.retain(),
      (error) => error instanceof Denied && error.code === "caller_gone",
    );
    const again = await callers.identify(connection.fd);
    assert.equal(again.key, kept.key);
    again.close();
    kept.close();
    const later = await callers.identify(connection.fd);
    assert.notEqual(later.key, kept.key);
    assert.equal(asked(), 2);
    later.close();
  });
});

test("evidence that cannot be read refuses everybody who waits for it, and leaves no descriptor", {
  skip,
}, async () => {
  const refuse = (): Promise<CallerEvidence> => Promise.reject(new Denied("caller_unreadable", "no"));
  await withStand(async ({ callers, dial }) => {
    const { connection } = await dial();
    const before = readdirSync("/proc/self/fd").length;
    for (let round = 0; round < 3; round++) {
      await assert.rejects(callers.identify(connection.fd), (error) => error instanceof Denied);
    }
    await new Promise(setImmediate);
    assert.equal(readdirSync("/proc/self/fd").length, before);
  }, refuse);
});

test("closing ends every caller once, tells its listeners, and lets nobody else in", { skip }, async () => {
  await withStand(async ({ callers, dial }) => {
    const { connection } = await dial();
    const caller = await callers.identify(connection.fd);
    const ends: string[] = [];
    caller.onExit(({ kind }) => ends.push(kind));
    callers.close();
    callers.close();
    caller.onExit(({ kind }) => ends.push(`late ${kind}`));
    assert.deepEqual(ends, ["gone", "late gone"]);
    assert.deepEqual(caller.check(), { kind: "gone" });
    await assert.rejects(callers.identify(connection.fd), (error) => error instanceof Denied);
    caller.close();
  });
});

test("a listener of a hold that was given back is not called", { skip }, async () => {
  await withStand(async ({ callers, dial }) => {
    const { connection } = await dial();
    const [one, other] = [await callers.identify(connection.fd), await callers.identify(connection.fd)];
    const told: string[] = [];
    one.onExit(() => told.push("one"));
    other.onExit(() => told.push("other"));
    one.close();
    callers.close();
    assert.deepEqual(told, ["other"]);
    other.close();
  });
});

test("a caller that is its connection is gone with it, and is told of once; another one's hold is given back in silence", {
  skip,
}, async () => {
  for (const [binding, told] of [
    ["connection", ["gone"]],
    ["process", []],
  ] as const) {
    const read = (hold: Hold): Promise<CallerEvidence> => Promise.resolve({ ...evidenceOf(hold), binding });
    await withStand(async ({ callers, dial }) => {
      const { connection } = await dial();
      const caller = await callers.identify(connection.fd);
      const heard: string[] = [];
      caller.onExit(({ kind }) => heard.push(kind));
      caller.close();
      caller.close();
      callers.close();
      assert.deepEqual(heard, told);
    }, read);
  }
});

test("something that is no local socket has no caller", { skip }, async () => {
  await withStand(async ({ callers }) => {
    const file = openSync("/dev/null", "r");
    const closed = openSync("/dev/null", "r");
    closeSync(closed);
    await assert.rejects(callers.identify(file), (error) => error instanceof Denied && error.code === "caller_unknown");
    await assert.rejects(
      callers.identify(closed),
      (error) => error instanceof Denied && error.code === "caller_unknown",
    );
  });
});

interface Stand {
  readonly callers: ReturnType<typeof createLinuxCallers>;
  dial(): Promise<{ readonly client: Socket; readonly connection: VerifiedConnection }>;
  asked(): number;
}

async function withStand(
  act: (stand: Stand) => Promise<void>,
  read: (hold: Hold) => Promise<CallerEvidence> = (hold) => Promise.resolve(evidenceOf(hold)),
): Promise<void> {
  const path = join(folder, `${++stands}.sock`);
  let asked = 0;
  const callers = createLinuxCallers({
    readEvidence(hold) {
      asked++;
      return read(hold);
    },
  });
  const accepted: ((connection: VerifiedConnection) => void)[] = [];
  const nobody = { identify: (): Promise<LiveCaller> => Promise.reject(new Denied("caller_unknown", "")), close() {} };
  const listener = listenVerified({
    path,
    mode: 0o600,
    callers: nobody,
    accept: (connection) => accepted.shift()?.(connection),
  });
  const clients: Socket[] = [];
  try {
    await act({
      callers,
      asked: () => asked,
      async dial() {
        const arrived = new Promise<VerifiedConnection>((resolve) => accepted.push(resolve));
        const client = connect(path);
        clients.push(client);
        await once(client, "connect");
        return { client, connection: await arrived };
      },
    });
  } finally {
    for (const client of clients) client.destroy();
    for (const connection of listener.connections) connection.destroy();
    listener.close();
    callers.close();
  }
}

function evidenceOf(hold: Hold): CallerEvidence {
  return {
    process: { pid: hold.peer.pid, startTime: hold.startTime, uid: hold.peer.uid, pidfdInode: hold.peer.pidfdInode },
    pathObserved: "",
    signingIdentifier: null,
    designatedRequirement: null,
    cdhash: "",
    validity: "unsigned",
    authority: { kind: "unsigned", note: null },
    interpreter: null,
    unownedMappings: [],
    ancestors: [],
    namespaces: hold.namespaces,
    binding: "process",
  };
}
