import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertNothingLost, killWriter } from "./audit-kill.ts";
import { freshFolder, makeKeys, removeFolders } from "./audit-kit.ts";

after(removeFolders);

test("SIGKILL of a writer under load, thirty times: nothing acknowledged is lost and the log verifies", async () => {
  const keys = makeKeys();
  const folder = freshFolder();
  const acked = new Set<string>();
  for (let round = 0; round < 30; round++) {
    // From a handful of events to a few segments' worth.
    for (const id of await killWriter(folder, keys, round, 1 + ((round * 137) % 900))) acked.add(id);
  }
  const records = await assertNothingLost(folder, keys, acked);
  assert.ok(acked.size > 5_000, `${acked.size} events were acknowledged`);
  assert.ok(records >= acked.size);
});
