import assert from "node:assert/strict";
import { test } from "node:test";
import type { NewEvent } from "../../audit/event.ts";
import { createVolume } from "../../conventions/budget/volume.ts";
import type { StateRow } from "../ports.ts";
import type { CallbackNeeds } from "./needs.ts";
import { createCallbackRecorder } from "./recorder.ts";

/** A recorder with so many bytes a day for each who pays, and what it wrote. */
function stand(bytesPerDay: number, hasRoom = true) {
  const clock = { wallMs: () => 1_790_000_000_000, bootMs: () => 0, bootId: () => "boot" };
  const written: NewEvent[] = [];
  const kept: string[] = [];
  const take = async (events: readonly NewEvent[]): Promise<void> => void written.push(...events);
  const core = {
    ports: { clock, sleep: { sleep: () => new Promise(() => undefined) } },
    volume: createVolume({ bytesPerDay, remembered: 10 }, clock, () => undefined),
    ledger: {
      hasRoom: () => hasRoom,
      note: take,
      record(_step: string, events: readonly NewEvent[], rows: readonly StateRow[]) {
        kept.push(...rows.map(({ id }) => id));
        return take(events);
      },
    },
    envelope: (event_type: string) => ({ event_type, event_id: `evt_${written.length}`, occurred_at: "now" }),
  } as unknown as CallbackNeeds;
  return { recorder: createCallbackRecorder(core), written, kept };
}

const about = { pack: "acme", peer: "127.0.0.1", body_digest: "sha256:ab", body_bytes: 2 };
const strange = { ...about, pack: null, code: "callback_pack_unknown", correlation_id: "c1" } as const;
const told = { ...about, provider_event_id: null, remote_job_id: "job-1", effect: "repeated" } as const;

test("what strangers send is paid from one volume of theirs, and counted where that is used up", async () => {
  const { recorder, written } = stand(4_096);
  const first = await recorder.refused(strange);
  assert.deepEqual(first, { eventId: written[0]?.event_id });
  let outcome: unknown = first;
  for (let sent = 1; outcome !== "counted" && sent < 20; sent++) outcome = await recorder.refused(strange);
  assert.equal(outcome, "counted");
  assert.ok(written.length < 6, `${written.length} events within 4,096 bytes`);
  await recorder.received(told, []);
  assert.equal(written.at(-1)?.event_type, "callback_received", "a pack has its own");
});

test("what a pack sends is paid from its own volume, and its rows are kept all the same", async () => {
  const { recorder, written, kept } = stand(4_096);
  for (let sent = 0; sent < 20; sent++) await recorder.received(told, []);
  assert.ok(written.length > 0 && written.length < 6, `${written.length} events within 4,096 bytes`);
  await recorder.received(told, [{ table: "notes", id: "event 1", runId: "", state: "callback", body: {} }]);
  assert.deepEqual(kept, ["event 1"]);
  await recorder.received({ ...told, pack: "other" }, []);
  assert.equal(written.at(-1)?.event_type, "callback_received");
});

test("while the log is full what comes is counted, whoever sends it, and its rows are kept", async () => {
  const { recorder, written, kept } = stand(1_048_576, false);
  assert.equal(await recorder.refused(strange), "counted");
  await recorder.received(told, []);
  await recorder.received(told, [{ table: "notes", id: "event 1", runId: "", state: "callback", body: {} }]);
  assert.deepEqual([written, kept], [[], ["event 1"]]);
});
