import assert from "node:assert/strict";
import { test } from "node:test";
import { soak, startSoak } from "./e2e-soak.ts";
import { asUser } from "./support/home.ts";

test(
  "a thousand calls at 64 at once with budgets near their limit: never one attempt or cent too many",
  asUser,
  async (t) => {
    const scene = await startSoak();
    try {
      const { heldBefore, heldAfter, seconds } = await soak(scene, { calls: 1_000, concurrent: 64 });
      t.diagnostic(
        `${Math.round(1_000 / seconds)} calls/s, gateway ${heldBefore.toFixed(1)} MiB before, ${heldAfter.toFixed(1)} MiB after`,
      );
      assert.ok(heldAfter < heldBefore + 16, `memory is flat: ${heldBefore} MiB, then ${heldAfter} MiB`);
      const verified = await scene.home.verify();
      assert.equal(verified.code, 0, verified.out);
    } finally {
      scene.agent.close();
      await scene.gateway.end();
      await scene.provider.close();
    }
  },
);
