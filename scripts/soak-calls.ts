import { soak, startSoak } from "../test/e2e-soak.ts";

/** Ten thousand calls at 64 at once, or as many as the argument says, with budgets near their limit. */
const calls = Number(process.argv[2] ?? 10_000);
const scene = await startSoak();
try {
  const soaked = await soak(scene, { calls, concurrent: 64 });
  const verified = await scene.home.verify();
  if (verified.code !== 0) throw new Error(`the log does not verify: ${verified.out}${verified.err}`);
  const rate = Math.round(calls / soaked.seconds);
  console.log(`${calls} calls, ${soaked.sent} sent, denied ${JSON.stringify(soaked.denied)}, ${rate} calls/s`);
  console.log(
    `the gateway held ${soaked.heldBefore.toFixed(1)} MiB before and ${soaked.heldAfter.toFixed(1)} MiB after; the log verifies`,
  );
  // Answers of ended calls are held, small ones here. What a call of 64 at once is made of would be a MiB for every thirteen.
  if (soaked.heldAfter > soaked.heldBefore + 64) throw new Error("memory grows with the calls");
} finally {
  scene.agent.close();
  await scene.gateway.end();
  await scene.provider.close();
}
