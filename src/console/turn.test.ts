import assert from "node:assert/strict";
import { test } from "node:test";
import { createTurn } from "./turn.ts";

test("the copy is fetched before each look and change, never between a signature and its delivery, and again after a failure", async () => {
  const steps: string[] = [];
  const pause = () => new Promise((resolve) => setImmediate(resolve));
  const turn = createTurn(async () => {
    steps.push("fetch");
    await pause();
    steps.push("fetched");
  });
  const failing = turn.changed(async () => {
    steps.push("sign");
    await pause();
    steps.push("refused");
    throw new Error("the gateway did not take it");
  });
  const looked = turn.seen(() => steps.push("look"));
  await assert.rejects(failing, /did not take it/);
  await looked;
  assert.deepEqual(steps, ["fetch", "fetched", "sign", "refused", "fetch", "fetched", "look"]);
});
