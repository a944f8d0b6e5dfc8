import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { SshTransport } from "../src/gateway/ports.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { defaults } from "../src/kernel/defaults.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { type Bench, startBench } from "./support/gateway.ts";

const HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxb8Bcx0J54VpGYWQGqluHDJuT0CS5TTjsnIlOAxIRR";
const PACK = `
format: gw.pack/v1
pack: ops
actions:
  worker.show:
    effect: read
    ssh: { host: host.example, port: 22, user: ops, host_key: "${HOST_KEY}", credential: ops-key, action: show_worker }
    input: { worker: { type: string, pattern: "^[a-z0-9]{1,9}$" } }
`;
const HALF = defaults.sshAtOnce / 2;

type Observation = Awaited<ReturnType<SshTransport["send"]>>;

const answered: Observation = {
  ...{ kind: "answered", status: 0, headers: {}, body: Buffer.from("{}") },
  ...{ remoteRequestId: null, elapsedMs: 1, withheld: null },
};

let bench: Bench;
let caller: ScriptedCaller;
/** Connections that are under way, each with how it is ended. */
let open: (() => void)[];
let most: number;

beforeEach(async () => {
  [open, most] = [[], 0];
  caller = scriptedCaller();
  bench = await startBench(PACK, {
    credentials: [["ops-key", { eachUse: false, disabled: false, origin: "" }]],
    ssh: {
      send: () =>
        new Promise((resolve) => {
          open.push(() => resolve(answered));
          most = Math.max(most, open.length);
        }),
    },
  });
});
afterEach(() => bench.close());

async function opened(by: ScriptedCaller): Promise<Run> {
  return bench.openApproved(by, ["ops.worker.show"]);
}

function show(by: ScriptedCaller, run: Run, count: number) {
  return Array.from({ length: count }, (_, index) =>
    bench.gateway.startCall(by, run.id, { action: "ops.worker.show", input: { worker: `w${index}` } }),
  );
}

/** Whatever can begin has begun. */
const settled = (): Promise<void> => bench.time.advance(0);

function endAll(): void {
  for (const end of open.splice(0)) end();
}

test("however many calls an agent makes of hosts, half of the connections at most are its own, and others get in", async () => {
  const other = scriptedCaller();
  const calls = show(caller, await opened(caller), 30);
  const run = await opened(other);
  await untilDone(bench.time, 0, () => open.length === HALF);
  calls.push(...show(other, run, 3));
  await untilDone(bench.time, 0, () => open.length === HALF + 3);
  await settled();
  assert.equal(open.length, HALF + 3);
  while (calls.some(({ state }) => state !== "done")) {
    endAll();
    await settled();
  }
  assert.equal(most, HALF + 3);
  assert.deepEqual([...new Set(await Promise.all(calls.map(async ({ done }) => (await done).outcome)))], ["success"]);
});

test("a session that is revoked while its calls wait for a place sends none of them", async () => {
  const run = await opened(caller);
  const calls = show(caller, run, HALF + 5);
  await untilDone(bench.time, 0, () => open.length === HALF);
  const session = run.sessions.get(caller.key) ?? assert.fail();
  await bench.gateway.revoke(bench.revocation(session.id));
  endAll();
  await settled();
  assert.deepEqual([open.length, most], [0, HALF]);
  const seen = await Promise.all(calls.slice(HALF).map(({ done }) => done));
  assert.deepEqual(
    seen.map(({ outcome, transport_observation: { kind } }) => [outcome, kind]),
    Array.from({ length: 5 }, () => ["error", "never_sent"]),
  );
});

test("a call that gets no place in its time sent nothing, and holds none", async () => {
  const run = await opened(caller);
  const calls = show(caller, run, HALF + 1);
  await untilDone(bench.time, 0, () => open.length === HALF);
  const late = calls.at(-1) ?? assert.fail();
  await untilDone(bench.time, 5_000, () => late.state === "done");
  const { outcome, transport_observation: seen } = await late.done;
  assert.deepEqual([outcome, seen.kind, seen.reason], ["error", "never_sent", "deadline"]);
  assert.equal(most, HALF);
  endAll();
  await settled();
  const next = show(caller, run, 1);
  await untilDone(bench.time, 0, () => open.length === 1);
  endAll();
  assert.equal((await next[0]?.done)?.outcome, "success");
});
