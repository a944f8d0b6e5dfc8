import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { rawPublicOf } from "../../../audit/keys/raw.ts";
import type { HubConnection } from "../../../hub/connect.ts";
import type { Speaker } from "../../../hub/speaker.ts";
import { type HeadStatement, type HubStatement, signHubWith, type WaitingStatement } from "../../../hub/statement.ts";
import type { HubPolicy } from "../../../vault/policy/policy.ts";
import { findWaiting } from "./waiting.ts";

const [identity, signing] = [generateKeyPairSync("ed25519").privateKey, generateKeyPairSync("ed25519").privateKey];
const speaker: Speaker = {
  ...{ hubId: "hub_1", gateway: "web1", vaultId: "vlt_1", logId: "log_1", joinedAt: "t1" },
  identityKey: rawPublicOf("ed25519", identity),
};
const hub = {
  hubId: "hub_1",
  gateways: [
    {
      ...{ gateway: "web1", identityKey: speaker.identityKey },
      waiting: { signingKey: rawPublicOf("ed25519", signing), readingKey: Buffer.alloc(32) },
    },
  ],
} as unknown as HubPolicy;
const knows = { vault: 1, policy: 1 };
const link = "a".repeat(64);
const head: HeadStatement = {
  ...{ format: "gw.hub-head/v1", hub_id: "hub_1", gateway: "web1", log_id: "log_1", tick: 9, segment: 1, offset: 8 },
  ...{ frame_end: 8, next_frame: 103, link, part: null, knows, written_at: "t2" },
};
const asks = (frame: number, hub_ms: number): WaitingStatement => ({
  ...{ format: "gw.hub-waiting/v1", hub_id: "hub_1", gateway: "web1", vault_id: "vlt_1", nonce: "n1" },
  ...{ sealing_key: Buffer.alloc(32, 1).toString("base64url"), knows, log_id: "log_1", frame, hub_ms },
  attestation: {
    ...{ open_frame: 90, open_link: link, head_frame: 95, head_link: link },
    ...{ before_frame: 89, before_link: link, unclean: false },
  },
});

/** A hub on which the gateway put its head at 1,000 ms and says at each look what is next of `said`. */
async function look(
  said: readonly WaitingStatement[],
): Promise<{ readonly refused: string | null; readonly slept: number }> {
  let [nowMs, at, slept] = [1_000, 0, 0];
  const row = (statement: HubStatement, key: typeof identity) => {
    const { text, signature } = signHubWith(statement, key);
    return { gateway: "web1", statement: text, signature };
  };
  const connection = {
    hubId: "hub_1",
    async ask(text: string) {
      if (text.includes("log_head")) return [row(head, identity)];
      if (text.includes(".waiting")) return [row(said[Math.min(at++, said.length - 1)] ?? assert.fail(), signing)];
      return [{ ms: String(nowMs) }];
    },
  } as unknown as HubConnection & { readonly hubId: string };
  const time = {
    clock: { bootMs: () => nowMs },
    sleep: {
      async sleep(ms: number) {
        slept++;
        nowMs += ms;
      },
    },
  };
  const {
    waiting: [found],
  } = await findWaiting(time, connection, [speaker], hub, knows, {});
  return { refused: found === undefined ? "nobody" : (found.refused?.code ?? null), slept };
}

test("a request that was said before its gateway's newest head is looked at once more before it counts as cut back", async () => {
  assert.deepEqual(await look([asks(102, 900)]), { refused: null, slept: 0 });
  assert.deepEqual(await look([asks(100, 900), asks(100, 1_000), asks(103, 1_001)]), { refused: null, slept: 2 });
});

test("a request that shows less than a head which was there before it is of a log that was cut back", async () => {
  assert.deepEqual(await look([asks(100, 1_001)]), { refused: "log_rolled_back", slept: 0 });
  assert.deepEqual(await look([asks(100, 900), asks(101, 1_600)]), { refused: "log_rolled_back", slept: 1 });
});

test("nobody is waited for without end: a request that is never said anew is over", async () => {
  assert.equal((await look([asks(100, 900)])).refused, "nobody");
});
