import assert from "node:assert/strict";
import { createHash, generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { HubConnection } from "../connect.ts";
import type { RowKey } from "./parts.ts";
import { startState } from "./state.ts";
import type { RememberedTerm } from "./words.ts";

/** As many as it takes until all wait for something. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
}

/** What is asked of a hub that takes everything; the first connection comes when `come` is called. */
function startHere(remembered: RememberedTerm | null) {
  const asked: { readonly text: string; readonly values: readonly unknown[] }[] = [];
  const troubles: string[] = [];
  const lost: (() => void)[] = [];
  let isGone = false;
  let answers = Promise.resolve();
  const resting: { readonly ms: number; resolve(): void }[] = [];
  const connection = {
    async ask(text: string, values: readonly unknown[]) {
      asked.push({ text, values });
      await answers;
      if (isGone) throw new Denied("hub_unreachable", "gone");
      return text.startsWith("with") ? [{ moved: true }] : [];
    },
    onLost: (told: () => void) => void lost.push(told),
    close: async () => undefined,
  } as unknown as HubConnection;
  const { promise: first, resolve: come } = Promise.withResolvers<void>();
  let kept = remembered;
  const keeper = startState({
    ...{ hubId: "hub_1", gateway: "web1", vaultId: "vault_1" },
    identity: generateKeyPairSync("ed25519").privateKey,
    seal: {
      hide: (name) => createHash("sha256").update(name).digest("hex"),
      seal: (_about, plain) => plain,
      open: (_about, sealed) => sealed,
    },
    operators: () => [],
    clock: { wallMs: () => 1_700_000_000_000, bootMs: () => 0, bootId: () => "boot" },
    sleep: {
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          resting.push({ ms, resolve });
          signal?.addEventListener("abort", () => resolve());
        }),
    },
    connect: () => first.then(() => connection),
    recall: () => kept,
    lastTerm: () => kept?.term ?? 0,
    remember: async (term) => {
      kept = term;
    },
    ...{
      isOpen: () => true,
      all: () => [],
      find: (key: RowKey) => ({ ...key, runId: "run_1", state: "observing", body: {} }),
      isEndedElsewhere: () => false,
    },
    ...{ onTaken: async () => undefined, has: () => true, isHome: () => true, requireReadable: () => undefined },
    ...{ awaited: () => [], onTold: async () => undefined, onTrouble: ({ code }) => void troubles.push(code) },
    onAdopted: async () => ({ operations: 0, deployments: 0, minted: 0 }),
  });
  const askedFor = (word: string) => asked.filter(({ text }) => text.includes(word));
  const lose = (): void => {
    isGone = true;
    for (const told of lost) told();
  };
  /** It answers nothing until the function that this gives is called. */
  const hang = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    answers = promise;
    return resolve;
  };
  /** Whoever rests for so long has done so. */
  const pass = (long: number): void => {
    for (const { ms, resolve } of resting) if (ms === long) resolve();
  };
  return { keeper, come, lose, hang, pass, askedFor, kept: () => kept, troubles };
}

test("who ends the sharing while there is no connection yet begins nothing, and takes away what it said before", {
  timeout: 10_000,
}, async ({ signal }) => {
  const { keeper, come, askedFor, kept, troubles } = startHere({ term: 3, tick: 7 });
  keeper.close("withdraw");
  come();
  while (askedFor("delete from gw_hub.state_head").length === 0 && !signal.aborted) await new Promise(setImmediate);
  assert.equal(askedFor("insert into").length, 0);
  assert.deepEqual(askedFor("delete")[0]?.values, ["web1", 3], "and nothing that is begun since");
  assert.deepEqual([kept(), troubles], [{ term: 3, tick: 0 }, []]);
});

test("a hub that shows nothing of what this gateway took away itself was not put back", {
  timeout: 10_000,
}, async ({ signal }) => {
  const { keeper, come, troubles } = startHere({ term: 3, tick: 0 });
  come();
  while (keeper.status().term === 0 && !signal.aborted) await new Promise(setImmediate);
  assert.equal(keeper.status().term, 4, "a term that was never on any hub");
  assert.deepEqual(troubles, []);
  keeper.close();
});

test("a connection that is lost while nothing is to be said, or while that is gathered, is known at once", async () => {
  const row = { table: "operations", id: "op_1" };
  for (const isGathering of [false, true]) {
    const { keeper, come, lose, troubles } = startHere(null);
    come();
    await turns();
    if (isGathering) keeper.touch([row]);
    await turns();
    assert.deepEqual([keeper.status().term, keeper.status().trouble], [1, null]);
    lose();
    await turns();
    assert.deepEqual([keeper.status().trouble?.code, troubles], ["hub_unreachable", ["hub_unreachable"]]);
    keeper.close();
  }
});

test("once a call has waited in vain, status says so and the next ones are refused, until the hub answers", async () => {
  const { keeper, come, hang, pass, troubles } = startHere(null);
  const row = (id: string) => ({ table: "attempts", id, runId: "run_1", state: "sent", body: { side_effect: true } });
  const isAway = { code: "hub_unreachable" };
  come();
  await turns();
  const answer = hang();
  const waited = assert.rejects(keeper.put([row("evt_1")]), isAway);
  await turns();
  assert.doesNotThrow(keeper.requireReady);
  pass(defaults.hubWaitMs);
  await waited;
  assert.equal(keeper.status().trouble?.code, "hub_unreachable");
  assert.throws(keeper.requireReady, isAway);
  await assert.rejects(keeper.put([row("evt_2")]), isAway);
  answer();
  await turns();
  assert.equal(keeper.status().trouble, null);
  await keeper.put([row("evt_3")]);
  assert.deepEqual(troubles, ["hub_unreachable"]);
  keeper.close();
});

test("what is on its way to the hub counts as not there yet, until the hub has answered", async () => {
  const { keeper, come, hang, pass } = startHere(null);
  come();
  await turns();
  const answer = hang();
  const waits: number[] = [];
  const note = async (): Promise<void> => {
    await turns();
    waits.push(keeper.status().waiting);
  };
  keeper.touch([{ table: "operations", id: "op_1" }]);
  await note();
  pass(defaults.hubStateGatherMs);
  await note();
  answer();
  await note();
  assert.deepEqual(waits, [1, 1, 0]);
  keeper.close();
});
