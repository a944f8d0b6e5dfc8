import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openLog } from "../audit/log.ts";
import type { HubConnection } from "./connect.ts";
import { startShipper } from "./ship.ts";

const resting = () => new Promise((resolve) => setImmediate(resolve));
/** As many as it takes until all wait for something. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await resting();
}

/** A shipper of a real log, and a hub that takes everything. Time stands still but for what a test does, so that no beat is due. */
async function startHere() {
  const folder = mkdtempSync(join(tmpdir(), "gw-ship-"));
  const log = await openLog({
    ...{ folder, clock: { wallMs: () => 1_700_000_000_000 }, random: { bytes: randomBytes } },
    recipients: [generateKeyPairSync("x25519").publicKey],
    ...{ vaultGeneration: 1, vaultHash: Buffer.alloc(32) },
  });
  const head = { tick: 0, statement: null as string | null, signature: null as Buffer | null };
  const here = { bootMs: 1_000, answerTakesMs: 0, lost: [] as (() => void)[], troubles: [] as string[] };
  const connection = {
    async ask(text: string, values: readonly unknown[]) {
      if (text.startsWith("with head")) {
        Object.assign(head, { tick: values[1], statement: values[2], signature: values[3] });
        here.bootMs += here.answerTakesMs;
        return [{ moved: true }];
      }
      return text.includes("select tick") ? [{ ...head }] : [];
    },
    onLost: (told: () => void) => void here.lost.push(told),
    close: async () => undefined,
  } as unknown as HubConnection;
  const shipper = startShipper({
    ...{ folder, log, hubId: "hub_1", vaultId: "vault_1", gateway: "web1" },
    identity: generateKeyPairSync("ed25519").privateKey,
    clock: { wallMs: () => 1_700_000_000_000, bootMs: () => here.bootMs, bootId: () => "boot" },
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
    onTrouble: ({ code }) => void here.troubles.push(code),
  });
  const end = async (): Promise<void> => {
    await shipper.finish(0);
    await log.close();
    rmSync(folder, { recursive: true });
  };
  return { here, log, shipper, end };
}

test("a connection that is lost while nothing is to be said, or while that is gathered, is known at once, and made anew", async () => {
  const { here, log, shipper, end } = await startHere();
  try {
    assert.equal(await shipper.reach(log.head().frame), true);
    for (const [times, isGathering] of [false, true].entries()) {
      await turns();
      if (isGathering) shipper.wake();
      await turns();
      assert.equal(shipper.status().trouble, null);
      here.lost[times]?.();
      await turns();
      assert.deepEqual(here.troubles.splice(0), ["hub_unreachable"]);
      assert.deepEqual([here.lost.length, shipper.status().trouble], [times + 2, null]);
    }
    await log.seal();
    assert.equal(await shipper.reach(log.head().frame), true, "over the new one");
  } finally {
    await end();
  }
});

test("of an answer that waited for a machine that slept, the hub's word is as old as the question", async () => {
  const { here, log, shipper, end } = await startHere();
  try {
    assert.equal(await shipper.reach(log.head().frame), true);
    assert.equal(shipper.silentMs(), 0);
    here.answerTakesMs = 600_000;
    await log.seal();
    assert.equal(await shipper.reach(log.head().frame), true);
    assert.equal(shipper.silentMs(), 600_000, "another may have taken over meanwhile");
  } finally {
    await end();
  }
});
