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
  console.log(`the gateway held ${soaked.rssBefore} MiB before and ${soaked.rssAfter} MiB after; the log verifies`);
  // What a call leaves behind for the collector may pile up for a while; what it keeps may not: that would be a MiB a hundred calls.
  if (soaked.rssAfter > soaked.rssBefore + 256) throw new Error("memory grows with the calls");
} finally {
  scene.agent.close();
  await scene.gateway.end();
  await scene.provider.close();
}
