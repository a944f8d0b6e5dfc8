import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertNothingLost, killWriter } from "./audit-kill.ts";
import { freshFolder, makeKeys, removeFolders } from "./audit-kit.ts";
import { sampleOf } from "./support/whole.ts";

after(removeFolders);

test("SIGKILL of a writer under load, again and again: nothing acknowledged is lost and the log verifies", async () => {
  const keys = makeKeys();
  const folder = freshFolder();
  const acked = new Set<string>();
  const rounds = Array.from({ length: 30 }, (_, round) => round);
  let wanted = 0;
  for (const round of sampleOf("kills of a writer", rounds, 8)) {
    // From a handful of events to a few segments' worth.
    const events = 1 + ((round * 137) % 900);
    wanted += events;
    for (const id of await killWriter(folder, keys, round, events)) acked.add(id);
  }
  const records = await assertNothingLost(folder, keys, acked);
  // Of every round the first line says how the log was opened.
  assert.ok(acked.size >= wanted - rounds.length, `${acked.size} of ${wanted} events were acknowledged`);
  assert.ok(records >= acked.size);
});
