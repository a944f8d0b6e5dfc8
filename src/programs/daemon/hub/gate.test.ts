import assert from "node:assert/strict";
import { test } from "node:test";
import type { IntentReceipt } from "../../../audit/receipt.ts";
import type { LimitAsk, LimitKeeper } from "../../../hub/limits.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { NO_HUB_RULES } from "../../../vault/policy/policy.ts";
import { createHubGate } from "./gate.ts";
import { hubStatus } from "./status.ts";

test("where work may be taken over, nothing leaves a gateway that the hub has not heard for half the time after which it may be", async () => {
  let silentMs: number | null = 0;
  let operations: "shared" | "own" = "shared";
  const gate = createHubGate({
    log: { head: () => ({ frame: 1 }) },
    sleep: { sleep: () => new Promise(() => undefined) },
    rules: () => ({ ...NO_HUB_RULES, operations }),
    shipper: () => ({ reach: () => Promise.resolve(true), silentMs: () => silentMs, status: () => assert.fail() }),
    limits: () => null,
    arrived: async () => undefined,
  });
  const send = () => gate.beforeSend({ frame: 1 } as IntentReceipt, "evt_1");
  const refused = (error: unknown): boolean => error instanceof Denied && error.code === "hub_unreachable";
  for (const ms of [0, defaults.hubSilentMs / 2 - 1]) {
    silentMs = ms;
    await send();
  }
  // Asleep between its intent and its send, or never heard at all.
  for (const ms of [defaults.hubSilentMs / 2, defaults.hubSilentMs * 9, null]) {
    silentMs = ms;
    await assert.rejects(send(), refused);
  }
  operations = "own";
  await send();
});

test("a call that needs the hub is refused where gw status says what is wrong, or that it connects, and nowhere else", () => {
  const { hubSilentMs: most } = defaults;
  const gone = new Denied("hub_unreachable", "gone");
  for (const rules of [
    { ...NO_HUB_RULES, operations: "shared" as const },
    { ...NO_HUB_RULES, log: "before_answer" as const },
  ])
    for (const silentMs of [null, 0, most / 2 - 1, most / 2, most - 1, most])
      for (const trouble of [null, gone]) {
        const known = { reachableMs: silentMs, tick: 1, behind: 0, fleet: [], trouble };
        const shipper = {
          reach: () => Promise.resolve(true),
          silentMs: () => silentMs,
          status: () => known,
          wake: () => undefined,
          finish: async () => undefined,
        };
        const gate = createHubGate({
          log: { head: () => ({ frame: 1 }) },
          sleep: { sleep: () => new Promise(() => undefined) },
          rules: () => rules,
          shipper: () => shipper,
          limits: () => null,
          arrived: async () => undefined,
        });
        const says = hubStatus(
          { hubId: "hub_1", rules, gateways: [] },
          {
            ...{ joined: null, shipper, keeper: null, queue: null, limits: null, waiting: null, following: null },
            trouble: null,
          },
        );
        const isWell = says["trouble"] === null && says["reachable_ms"] !== null;
        const admit = () => gate.admit({ sideEffect: true, standing: true });
        const about = `${rules.operations} ${rules.log} ${silentMs} ${trouble?.code}`;
        if (isWell) assert.doesNotThrow(admit, about);
        else assert.throws(admit, { code: "hub_unreachable" }, about);
      }
});

test("what a send costs counts also where an earlier send of its call took the money of the limit, and what was not taken is not given back", async () => {
  const asked: LimitAsk[] = [];
  const limits: LimitKeeper = {
    take: async (ask) => {
      asked.push(ask);
      return "2026-01-01";
    },
    known: () => [],
    close: () => undefined,
  };
  const money = { name: "money", counts: "spend_cents", of: { kind: "pack", name: "post" }, aDay: 100 } as const;
  const gate = createHubGate({
    log: { head: () => ({ frame: 1 }) },
    sleep: { sleep: () => new Promise(() => undefined) },
    rules: () => ({ ...NO_HUB_RULES, limits: [money, { ...money, name: "other", of: { kind: "pack", name: "x" } }] }),
    shipper: () => null,
    limits: () => limits,
    arrived: async () => undefined,
  });
  const repeat = { pack: "post", credential: null, grant: null, sideEffect: true, cents: 0 };
  const counted = await gate.count(repeat);
  counted?.settle(-40);
  counted?.giveBack();
  assert.deepEqual(asked, []);
  counted?.settle(7);
  assert.deepEqual(asked, [{ counter: "money (spend_cents, pack post)", most: Infinity, amount: 7 }]);
  assert.equal(await gate.count({ ...repeat, pack: "none" }), null);
});
