import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openLog } from "../audit/log.ts";
import type { HubConnection } from "./connect.ts";
import { startShipper } from "./ship.ts";

test("a connection that is lost while nothing is to be said is known at once, and made anew", {
  timeout: 120_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-ship-"));
  const log = await openLog({
    ...{ folder, clock: { wallMs: () => 1_700_000_000_000 }, random: { bytes: randomBytes } },
    recipients: [generateKeyPairSync("x25519").publicKey],
    ...{ vaultGeneration: 1, vaultHash: Buffer.alloc(32) },
  });
  // A hub that takes everything; and time that stands still, so that no beat is due.
  const head = { tick: 0, statement: null as string | null, signature: null as Buffer | null };
  const lost: (() => void)[] = [];
  const connection = {
    async ask(text: string, values: readonly unknown[]) {
      if (text.startsWith("with head")) {
        Object.assign(head, { tick: values[1], statement: values[2], signature: values[3] });
        return [{ moved: true }];
      }
      return text.includes("select tick") ? [{ ...head }] : [];
    },
    onLost: (told: () => void) => void lost.push(told),
    close: async () => undefined,
  } as unknown as HubConnection;
  const troubles: string[] = [];
  const resting = () => new Promise((resolve) => setImmediate(resolve));
  const shipper = startShipper({
    ...{
      folder,
      log,
      hubId: "hub_1",
      vaultId: "vault_1",
      gateway: "web1",
      identity: generateKeyPairSync("ed25519").privateKey,
    },
    clock: { wallMs: () => 1_700_000_000_000, bootMs: () => 1_000, bootId: () => "boot" },
    sleep: {
      async sleep(_ms, signal) {
        await resting();
        if (signal === undefined || signal.aborted) return;
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      },
    },
    remembered: null,
    knows: () => ({ vault: 1, policy: 1 }),
    connect: async () => connection,
    remember: async () => undefined,
    onTrouble: ({ code }) => void troubles.push(code),
  });
  try {
    assert.equal(await shipper.reach(log.head().frame), true);
    lost[0]?.();
    while (lost.length < 2 || shipper.status().trouble !== null) await resting();
    assert.deepEqual(troubles, ["hub_unreachable"]);
    await log.seal();
    assert.equal(await shipper.reach(log.head().frame), true, "over the new one");
  } finally {
    await shipper.finish(0);
    await log.close();
    rmSync(folder, { recursive: true });
  }
});
