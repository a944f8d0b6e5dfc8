import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { test } from "node:test";
import type { Denied } from "../kernel/failure.ts";
import type { HubConnection } from "./connect.ts";
import { startWaiting, type WaitingParts } from "./waiting.ts";

test("a locked gateway that cannot ask on the hub says so, whatever keeps it from that", async () => {
  const troubles: (Denied | null)[] = [];
  const told = Promise.withResolvers<void>();
  const connection = { onLost: () => undefined, close: async () => undefined } as unknown as HubConnection;
  const waiting = startWaiting({
    ...{ hubId: "hub_1", gateway: "web1", vaultId: "vlt_1", signing: generateKeyPairSync("ed25519").privateKey },
    random: { bytes: randomBytes },
    sleep: { sleep: () => new Promise((resolve) => setImmediate(resolve)) },
    connect: async () => connection,
    requireOwnPast: async () => {
      throw Object.assign(new Error("EIO: i/o error, read"), { code: "EIO" });
    },
    tell(trouble) {
      troubles.push(trouble);
      told.resolve();
    },
  } as Partial<WaitingParts> as WaitingParts);
  await told.promise;
  await waiting.close();
  assert.equal(troubles[0]?.code, "internal_fault");
});
