import { createSecretKey, generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { createClock, systemSleep } from "../src/adapters/platform/system.ts";
import { openStateStore } from "../src/adapters/store/sqlite/state.ts";
import { openLog } from "../src/audit/log.ts";
import { readPack } from "../src/conventions/action/read.ts";
import { createGateway } from "../src/gateway/gateway.ts";
import type { StateRow } from "../src/gateway/ports.ts";
import { createIds } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import type { Bench } from "./bench.ts";

const PACK = `
format: gw.pack/v1
pack: acme
provider: { origin: "http://127.0.0.1:1", network: private, idempotency: { header: Idempotency-Key, window_s: 86400 } }
actions:
  report.create:
    effect: create
    retry: idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: /v1/reports, body: application/json }
    job: { id: job_id, status: report.status, succeeded: [succeeded], failed: [failed], poll: { first_s: 2, max_checks: 1000 } }
  report.status:
    effect: read
    request: { method: GET, path: "/v1/jobs/{job_id}" }
    input: { job_id: { in: path, type: string, maxLength: 64 } }
`;

const random = { bytes: randomBytes };
const MEASURED_MS = 2_500;

/** Open operations with a read due, one worker, a real log and store; only the provider answers from memory. */
async function measure(count: number) {
  const folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  const clock = createClock();
  const ids = createIds(clock, random);
  const { pack } = readPack(Buffer.from(PACK), "bench.yaml");
  if (pack === null) throw new TypeError("the pack of the bench does not read");
  const definitions = new Map([...pack.actions.values()].map((action) => [action.qualifiedName, { pack, action }]));
  const recipients = [generateKeyPairSync("x25519").publicKey];
  const audit = { folder: join(folder, "audit"), clock, random, recipients, vaultGeneration: 1 };
  const log = await openLog({ ...audit, vaultHash: Buffer.alloc(32) });
  const store = await openStateStore(join(folder, "state.db"), createSecretKey(randomBytes(32)), random);
  const rows = Array.from({ length: count }, (_, index) => rowOf(ids.next("op"), `job-${index}`, pack.digest, clock));
  await store.commit(rows, "process");
  let polls = 0;
  const gateway = createGateway(
    {
      clock,
      sleep: systemSleep,
      random,
      ids,
      audit: log,
      http: {
        async send(_receipt: unknown, request: { readonly url: string }) {
          polls++;
          const job_id = request.url.slice(request.url.lastIndexOf("/") + 1);
          const body = Buffer.from(JSON.stringify({ job_id, state: "running" }));
          const headers = { "content-type": "application/json" };
          return { kind: "answered", status: 200, headers, body, remoteRequestId: null, elapsedMs: 1, withheld: null };
        },
      },
    } as never,
    {
      packs: () => ({ find: (name: string) => definitions.get(name) ?? null, all: () => [...definitions.values()] }),
      posture: () => ({ mode: "guard-rail" }),
      operators: () => ({ vaultId: "v", keys: [] }),
      onStop: () => undefined,
    } as never,
  );
  const delay = monitorEventLoopDelay({ resolution: 5 });
  const started = performance.now();
  await gateway.unlock({ credentials: { find: () => null } as never, store });
  while (polls === 0) await pause(1);
  const resumedMs = performance.now() - started;
  delay.enable();
  const [before, from] = [polls, performance.now()];
  // All of a few, or as many of many as fit the time: the cost of one read is what is compared.
  while (polls < count && performance.now() - from < MEASURED_MS) await pause(1);
  const perSecond = ((polls - before) / (performance.now() - from)) * 1000;
  delay.disable();
  const heapMb = process.memoryUsage().heapUsed / 1_048_576;
  await gateway.lock("done", null);
  await log.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
  return { resumedMs, perSecond, delayMs: delay.percentile(99) / 1e6, heapMb };
}

function rowOf(id: string, job: string, packDigest: string, clock: ReturnType<typeof createClock>): StateRow {
  const moment = (ms: number) => ({
    at: new Date(clock.wallMs() + ms).toISOString(),
    bootMs: clock.bootMs() + ms,
  });
  const limits = { attempts: 1_010, sideEffects: 0, durationMs: 86_400_000, spendCents: 0 };
  const body = {
    kind: "job",
    callId: "call_bench",
    sessionId: "ses_bench",
    callerKey: "bench",
    party: "bench",
    action: "acme.report.create",
    packDigest,
    credential: null,
    input: {},
    fingerprint: "sha256:00",
    token: "t".repeat(32),
    attemptId: null,
    authorization: { kind: "session", approvalId: null, authorizedBy: "ada", decidedAt: "" },
    createdAt: new Date(clock.wallMs()).toISOString(),
    createDeadline: moment(30_000),
    resultDeadline: moment(600_000),
    remoteJobId: job,
    remoteState: null,
    progress: null,
    lease: null,
    nextPoll: moment(0),
    checks: 0,
    faults: 0,
    custodian: false,
    cancel: null,
    problem: null,
    resultDigest: null,
    history: [],
    boot_id: clock.bootId(),
    purse: { limits, attemptsUsed: 0, sideEffectAttempts: 0 },
  };
  return { table: "operations", id, runId: "run_bench", state: "observing", body: body as unknown as JsonObject };
}

export const bench: Bench = {
  name: "operations",
  async run(emit) {
    const small = await measure(500);
    const large = await measure(10_000);
    const beside = "500 open operations";
    const row = (what: string, value: number, unit: string, other: number) =>
      emit({ case: `10,000 open: ${what}`, value, unit, beside, ratio: value / other });
    row("restart until the first read", large.resumedMs, "ms", small.resumedMs);
    row("reads of due operations", large.perSecond, "reads/s", small.perSecond);
    row("event-loop delay, 99th percentile", large.delayMs, "ms", small.delayMs);
    row("heap in use", large.heapMb, "MiB", small.heapMb);
  },
};
