import assert from "node:assert/strict";
import { test } from "node:test";
import type { StateRow, StateStore } from "../../../gateway/ports.ts";
import type { SharedRow } from "../../../hub/state/rows.ts";
import type { StateKeeper } from "../../../hub/state/state.ts";
import { Denied } from "../../../kernel/failure.ts";
import { shareStore } from "./state.ts";

test("a read is not looked for on the hub when it ends, and a side effect is", async () => {
  const told: string[] = [];
  const keeper = {
    requireReady: () => undefined,
    touch: (keys: readonly SharedRow[]) => told.push(...keys.map(({ id }) => `touch ${id}`)),
    put: async (rows: readonly SharedRow[]) => told.push(...rows.map(({ id }) => `put ${id}`)),
  } as unknown as StateKeeper;
  const store = { commit: async () => undefined } as unknown as StateStore;
  const guard = { hide: () => null, show: () => null };
  const shared = shareStore(store, { shares: () => true, keeper: () => keeper, worker: "log 1", guard });
  const attempt = (id: string, body: StateRow["body"], ended = false): StateRow => ({
    ...{ table: "attempts", id, runId: "run_1", state: ended ? "settled" : "sent", body },
    ...(ended ? { over: true } : {}),
  });
  await shared.commit([attempt("read", { side_effect: false })], "process");
  await shared.commit([attempt("effect", { side_effect: true })], "power");
  await shared.commit([attempt("read", {}, true)], "process");
  await shared.commit([attempt("effect", {}, true)], "process");
  // Of an earlier life: nobody here knows what it was.
  await shared.commit([attempt("old", {}, true)], "process");
  assert.deepEqual(told, ["put effect", "touch effect", "touch old"]);
});

test("the intent of a side effect goes to disk and hub side by side, and what leaves waits for both", async () => {
  const told: string[] = [];
  let ready: Denied | null = null;
  let hub = Promise.withResolvers<void>();
  let disk = Promise.withResolvers<void>();
  const keeper = {
    requireReady() {
      if (ready !== null) throw ready;
    },
    put: () => hub.promise,
    touch: (keys: readonly SharedRow[]) => told.push(...keys.map(({ id }) => id)),
  } as unknown as StateKeeper;
  let now = keeper;
  const store = { commit: () => disk.promise } as unknown as StateStore;
  const guard = { hide: () => null, show: () => null };
  const shared = shareStore(store, { shares: () => true, keeper: () => now, worker: "log 1", guard });
  const effect = (id: string): StateRow => ({
    ...{ table: "attempts", id, runId: "run_1", state: "sent", body: { side_effect: true } },
  });
  const intend = (id: string): Promise<void> => {
    [hub, disk] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    return shared.commit([effect(id)], "power");
  };
  const isRefused = (error: unknown): boolean => error instanceof Denied && error.code === "hub_unreachable";
  const away = new Denied("hub_unreachable", "gone");
  const isOpen = (work: Promise<void>): Promise<boolean> =>
    Promise.race([work.then(() => false), tick().then(() => true)]);
  const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  let written = intend("late");
  disk.resolve();
  await written;
  const late = shared.arrived("late");
  assert.equal(await isOpen(late), true, "the hub does not have it yet");
  hub.resolve();
  await late;
  await shared.arrived("late");

  written = intend("refused");
  hub.reject(away);
  await tick();
  assert.equal(await isOpen(written), true, "the disk does not have it yet");
  disk.resolve();
  await written;
  await assert.rejects(shared.arrived("refused"), isRefused);
  await assert.rejects(shared.arrived("refused"), isRefused, "whoever asks once more hears the same");

  // What another life of the store wrote, or one that shared nothing, never was on its way there.
  const { arrived } = shareStore(store, { shares: () => true, keeper: () => keeper, worker: "log 1", guard });
  await assert.rejects(arrived("late"), isRefused);
  const { arrived: unasked } = shareStore(store, { shares: () => false, keeper: () => null, worker: "log 1", guard });
  await unasked("late");

  // What ended here is let go of, also where it never left.
  await shared.commit([{ ...effect("refused"), state: "tracked", body: {}, over: true }], "process");
  await assert.rejects(shared.arrived("refused"), (error) => isRefused(error) && error !== away);
  assert.deepEqual(told.splice(0), ["refused"]);

  // Somebody joined anew while it was written: what the hub had of it went with the words of before.
  written = intend("moved");
  hub.resolve();
  const later = Promise.withResolvers<void>();
  now = { ...keeper, put: () => later.promise };
  disk.resolve();
  await written;
  const moved = shared.arrived("moved");
  assert.equal(await isOpen(moved), true, "the keeper of now does not have it yet");
  later.resolve();
  await moved;
  now = keeper;

  // What is on the hub and not here is taken back there, and not before the hub has it.
  written = intend("unwritten");
  disk.reject(new Error("no room"));
  await assert.rejects(written, /no room/);
  assert.deepEqual(told, []);
  hub.resolve();
  await tick();
  assert.deepEqual(told, ["unwritten"]);

  // What ends before the hub has its intent is told once more behind it, and not before: the hub would keep what is over.
  told.splice(0);
  written = intend("withdrawn");
  const end = (id: string): Promise<void> => {
    const row: StateRow = { ...effect(id), state: "tracked", body: {}, over: true };
    disk.resolve();
    return shared.commit([row], "process");
  };
  disk.resolve();
  await written;
  await end("withdrawn");
  assert.deepEqual(told, ["withdrawn"]);
  hub.resolve();
  await tick();
  assert.deepEqual(told.splice(0), ["withdrawn", "withdrawn"]);

  // What the hub has is told of once when it ends.
  written = intend("ordinary");
  hub.resolve();
  disk.resolve();
  await written;
  await shared.arrived("ordinary");
  await tick();
  await end("ordinary");
  await tick();
  assert.deepEqual(told, ["ordinary"]);

  // What is known to be refused is not written at all.
  ready = away;
  await assert.rejects(intend("never"), isRefused);
});
