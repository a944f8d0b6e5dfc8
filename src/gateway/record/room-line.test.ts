import assert from "node:assert/strict";
import { test } from "node:test";
import type { NewEvent } from "../../audit/event.ts";
import { Denied } from "../../kernel/failure.ts";
import type { IntentReceipt } from "../ports.ts";
import { createRoomLine } from "./room-line.ts";

const denies = (code: string) => (error: unknown) => error instanceof Denied && error.code === code;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A log that can be full or broken, and time that is moved by hand. */
function stand() {
  const log = { refuses: null as Error | null, has: [] as string[], asked: 0 };
  let sleepers: (() => void)[] = [];
  const line = createRoomLine(
    {
      hasRoom: () => log.refuses !== FULL,
      async append(events) {
        log.asked++;
        if (log.refuses !== null) throw log.refuses;
        await turn();
        log.has.push(...events.map(({ event_id }) => event_id));
        return {} as IntentReceipt;
      },
    },
    { sleep: () => new Promise((resolve) => sleepers.push(resolve)) },
  );
  const look = async (): Promise<void> => {
    const woken = sleepers;
    sleepers = [];
    for (const wake of woken) wake();
    for (let turns = 0; turns < 20; turns++) await turn();
  };
  return { line, log, look, sleeping: () => sleepers.length };
}

const event = (event_id: string): NewEvent[] => [{ event_id } as NewEvent];
const FULL = new Denied("log_backlogged", "full", { retryAllowed: true });

test("where the log is full, what would begin is refused and what has happened waits, in the order in which it came", async () => {
  const { line, log, look, sleeping } = stand();
  log.refuses = FULL;
  await assert.rejects(line.append(event("new")), denies("log_backlogged"));
  const waiting = ["a", "b", "c"].map((id) => line.appendOnceRoom(event(id)));
  await look();
  await look();
  assert.deepEqual([log.has, sleeping()], [[], 1], "one looks for room, for all of them");
  log.refuses = null;
  await look();
  await Promise.all(waiting);
  assert.deepEqual(log.has, ["a", "b", "c"]);
});

test("nothing new passes what waits: it is refused until that is in the log", async () => {
  const { line, log, look } = stand();
  log.refuses = FULL;
  const waits = line.appendOnceRoom(event("end"));
  await turn();
  log.refuses = null;
  const asked = log.asked;
  await assert.rejects(line.append(event("new")), denies("log_backlogged"));
  assert.equal(log.asked, asked, "the log is not even asked");
  const later = line.appendOnceRoom(event("later"));
  await look();
  await Promise.all([waits, later]);
  await line.append(event("new"));
  assert.deepEqual(log.has, ["end", "later", "new"]);
});

test("what has happened is in line at once: what comes in the same turn stays behind it, though there is room by then", async () => {
  const { line, log, look } = stand();
  log.refuses = FULL;
  const end = line.appendOnceRoom(event("end"));
  log.refuses = null;
  await assert.rejects(line.append(event("new")), denies("log_backlogged"));
  assert.equal(line.hasRoom(), false);
  const later = line.appendOnceRoom(event("later"));
  await look();
  await Promise.all([end, later]);
  assert.equal(line.hasRoom(), true);
  assert.deepEqual(log.has, ["end", "later"]);
});

test("a log that breaks while something waits for it ends the waiting, for everybody, and the line goes on", async () => {
  const { line, log, look } = stand();
  log.refuses = FULL;
  const waiting = Promise.allSettled(["a", "b"].map((id) => line.appendOnceRoom(event(id))));
  await turn();
  const gone = new Error("the disk is gone");
  log.refuses = gone;
  await look();
  assert.deepEqual(
    (await waiting).map((one) => one.status === "rejected" && one.reason),
    [gone, gone],
  );
  log.refuses = null;
  await line.append(event("new"));
  assert.deepEqual(log.has, ["new"]);
});

test("where the log has room, what ends holds up neither what begins nor what else ends", async () => {
  const { line, log } = stand();
  const ends = ["a", "b"].map((id) => line.appendOnceRoom(event(id)));
  const begins = line.append(event("new"));
  assert.equal(log.asked, 3, "the log is asked for all of them at once");
  await Promise.all([...ends, begins]);
  assert.deepEqual(log.has, ["a", "b", "new"]);
});

test("only a full log is waited for: whatever else it says of an end is passed on at once", async () => {
  const { line, log, sleeping } = stand();
  for (const other of [new Error("the disk is gone"), new Denied("hub_unreachable", "away")]) {
    log.refuses = other;
    await assert.rejects(line.appendOnceRoom(event("end")), (error) => error === other);
  }
  assert.deepEqual([log.asked, sleeping()], [2, 0], "what failed is not tried again");
});

test("who is refused because something waits is told that the same may be asked again", async () => {
  const { line, log } = stand();
  log.refuses = FULL;
  void line.appendOnceRoom(event("end"));
  await turn();
  const refused = await line.append(event("new")).catch((error: unknown) => error);
  assert.ok(refused instanceof Denied && refused !== FULL);
  assert.equal(refused.retryAllowed, true);
});
