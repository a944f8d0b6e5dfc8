import assert from "node:assert/strict";
import { COLLECT, heldMiB } from "./support/held.ts";
import { call, demoPack, type Gateway, Home, makeFolder, openPlane, openRun, type Plane } from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** A gateway under load: how many callers' worth of calls at once, how many calls, and what the budgets leave out. */
export interface Soak {
  readonly calls: number;
  readonly concurrent: number;
}

export interface Soaked {
  readonly sent: number;
  readonly denied: Readonly<Record<string, number>>;
  readonly seconds: number;
  /** What the gateway holds, in MiB: after the first calls, and after the last. */
  readonly heldBefore: number;
  readonly heldAfter: number;
}

const PRICE = 7;
const BUY = `  thing.buy:
    effect: create
    max_cost_cents: ${PRICE}
    request: { method: POST, path: /v1/bought, body: application/json }
    input:
      name: { in: body, type: string, maxLength: 64 }
`;

export async function startSoak(): Promise<{ home: Home; provider: TestProvider; gateway: Gateway; agent: Plane }> {
  const provider = await startProvider();
  const home = await new Home(makeFolder()).init();
  await home.addCredential("demo-token", provider.origin);
  await home.trustPack("demo", demoPack(provider.origin, BUY));
  const gateway = await home.upWith(COLLECT);
  return { home, provider, gateway, agent: openPlane(home.agentSocket) };
}

/** Three runs side by side, each with another limit that is nearly enough; none may be passed by one. */
export async function soak(
  { home, provider, gateway, agent }: Awaited<ReturnType<typeof startSoak>>,
  { calls, concurrent }: Soak,
): Promise<Soaked> {
  const each = Math.floor(calls / 3);
  const reads = each - 10;
  const writes = Math.min(each - 10, 900);
  const cents = (Math.min(each - 10, 900) + 1) * PRICE - 1;
  const wide = { attempts: each + 100, side_effects: 1_000, duration_seconds: 3_600, spend_cents: 0 };
  const plans = [
    { action: "demo.thing.get", budget: { ...wide, attempts: reads }, allowed: reads },
    { action: "demo.thing.make", budget: { ...wide, side_effects: writes }, allowed: writes },
    { action: "demo.thing.buy", budget: { ...wide, spend_cents: cents }, allowed: Math.floor(cents / PRICE) },
  ];
  const warm = await openRun(home, agent, ["demo.thing.get"], { ...wide, attempts: 200 });
  await flood(
    agent,
    concurrent,
    Array.from({ length: 200 }, (_, id) => [warm, "demo.thing.get", id] as const),
  );
  const heldBefore = await heldMiB(gateway);
  const before = provider.received.length;
  const runs: string[] = [];
  for (const { action, budget } of plans) runs.push(await openRun(home, agent, [action], budget));
  const work = Array.from({ length: each }, (_, id) =>
    plans.map(({ action }, run) => [runs[run] ?? "", action, id] as const),
  ).flat();
  const startedAt = performance.now();
  const codes = await flood(agent, concurrent, work);
  const seconds = (performance.now() - startedAt) / 1000;
  const all = plans.reduce((sum, plan) => sum + plan.allowed, 0);
  const denied = Object.fromEntries(Object.entries(codes).filter(([code]) => code !== "success"));
  assert.deepEqual(codes, {
    success: all,
    attempts_exhausted: each - reads,
    side_effects_exhausted: each - writes,
    spend_exhausted: each - Math.floor(cents / PRICE),
  });
  for (const [index, { action, allowed }] of plans.entries()) {
    const { attempts_used, side_effect_attempts, settled_spend, reserved_spend } = await budgetOf(
      agent,
      runs[index] ?? "",
    );
    const path = { "demo.thing.get": "/v1/things/", "demo.thing.make": "/v1/things", "demo.thing.buy": "/v1/bought" }[
      action
    ];
    const method = action === "demo.thing.get" ? "GET" : "POST";
    const reached = provider.received
      .slice(before)
      .filter((one) => one.method === method && one.url.startsWith(path ?? "")).length;
    assert.equal(reached, allowed, `${action}: never one too many, and none that fits is refused`);
    assert.equal(attempts_used, allowed, action);
    if (action === "demo.thing.make") assert.equal(side_effect_attempts, writes);
    if (action === "demo.thing.buy") assert.deepEqual([settled_spend, reserved_spend], [allowed * PRICE, 0]);
  }
  return { sent: provider.received.length - before, denied, seconds, heldBefore, heldAfter: await heldMiB(gateway) };
}

async function flood(
  agent: Plane,
  concurrent: number,
  work: readonly (readonly [run: string, action: string, id: number])[],
): Promise<Record<string, number>> {
  const codes: Record<string, number> = {};
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let item = work[next++]; item !== undefined; item = work[next++]) {
      const [run, action, id] = item;
      const input = action === "demo.thing.get" ? { id: `t${id}` } : { name: `t${id}` };
      const { body } = await call(agent, run, action, input, 60);
      const code = String(body["outcome"] ?? body["code"]);
      codes[code] = (codes[code] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: concurrent }, worker));
  return codes;
}

async function budgetOf(agent: Plane, run: string): Promise<Record<string, number>> {
  const { body } = await agent.ask("GET", `/v1/runs/${run}`);
  return body["budget"] as Record<string, number>;
}
