import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Grant } from "../../src/conventions/grant/grant.ts";
import { isSettled } from "../../src/conventions/operation/state.ts";
import type { CallResult } from "../../src/conventions/outcome/result.ts";
import { signContext } from "../../src/conventions/ticket/sign.ts";
import type { HttpTransport } from "../../src/gateway/ports.ts";
import type { Run } from "../../src/gateway/run/run.ts";
import type { Errand, Step } from "../../src/gateway/steps.ts";
import { digestText } from "../../src/kernel/canonical-json.ts";
import { isoTime } from "../../src/kernel/clock.ts";
import { Denied } from "../../src/kernel/failure.ts";
import type { CallId, OperationId, PlanId } from "../../src/kernel/ids.ts";
import type { JsonObject } from "../../src/kernel/json.ts";
import { Secret } from "../../src/kernel/secret.ts";
import { standardHeaders } from "../support/callbacks.ts";
import type { ScriptedCaller } from "../support/caller.ts";
import { type Bench, type BenchOptions, operatorKeys } from "../support/gateway.ts";
import type { Life, Told } from "./life.ts";

export interface Stage {
  readonly bench: Bench;
  readonly caller: ScriptedCaller;
  readonly life: Life;
  tell(told: Told): void;
  /** The steps that this life has passed. */
  readonly passed: ReadonlySet<Step>;
  settleAll(bench: Bench): Promise<void>;
  /** Another gateway on the same store, which lives until this process ends. */
  startAnother(options: Partial<BenchOptions>): Promise<Bench>;
  /** What makes a gateway die at the point. */
  readonly mortal: Partial<BenchOptions>;
}

/** What an agent and a person do in one life, and the steps around which this scene is interrupted. */
export interface Scene {
  readonly kills: readonly Step[];
  play(stage: Stage): Promise<unknown>;
}

export const TOKEN_SCENE = "token";
export const SOURCE_SCENE = "source";
/** What the vault holds of the credential that is exchanged. */
export const GRANT_FILE = "grant.json";

const RUN_ATTEMPTS = 37;

/** Covers the scripted agent's reads, so that nobody is asked. */
function grantFor({ bench, caller }: Stage): Grant {
  const wallMs = bench.time.clock.wallMs();
  return {
    name: "crash",
    caller: { authority: null, image: caller.evidence.cdhash, command: null, uid: null },
    actions: ["reference.project.list"],
    effects: ["read"],
    conditions: [],
    includes: [],
    limits: { attempts: RUN_ATTEMPTS, sideEffects: 0, durationMs: 600_000, spendCents: 0 },
    callsPerDay: 1_000,
    createdAt: isoTime(wallMs - 1_000),
    until: isoTime(wallMs + 86_400_000),
    hours: null,
    idleDays: null,
  };
}

/** Stands for the provider's webhook secret. */
export const CALLBACK_KEY = Buffer.alloc(32, 7);

const HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxb8Bcx0J54VpGYWQGqluHDJuT0CS5TTjsnIlOAxIRR";

/** The shipped pack, and beside it what needs a ticket. */
export function packFor(origin: string): string {
  const file = join(dirname(dirname(import.meta.dirname)), "packs", "reference.yaml");
  return `${readFileSync(file, "utf8").replace("http://127.0.0.1:7411", origin)}
  release.ticketed:
    effect: create
    retry: idempotent_write
    max_cost_cents: 0
    needs: { ticket: true }
    request: { method: POST, path: /v1/releases, body: application/json }
    input:
      operation_id: { in: body, type: string, maxLength: 128 }
      service: { in: body, type: string, minLength: 1, maxLength: 128 }
      artifact: { in: body, type: string, maxLength: 71 }
      environment: { in: body, enum: [staging, production] }
    unknown: { retry_allowed: true, reconcile: operation.by_client_id }
  release.looked_up:
    effect: create
    retry: idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: /v1/releases, body: application/json }
    input:
      operation_id: { in: body, type: string, maxLength: 128 }
      service: { in: body, type: string, minLength: 1, maxLength: 128 }
      artifact: { in: body, type: string, maxLength: 71 }
      environment: { in: body, enum: [staging, production] }
    unknown: { retry_allowed: true, reconcile: operation.by_client_id }
  release.repeated:
    effect: create
    retry: idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: /v1/releases, body: application/json }
    input:
      operation_id: { in: body, type: string, maxLength: 128 }
      service: { in: body, type: string, minLength: 1, maxLength: 128 }
      artifact: { in: body, type: string, maxLength: 71 }
      environment: { in: body, enum: [staging, production] }
    unknown: { retry_allowed: true, reconcile: token_retry }
  worker.restart:
    effect: write
    ssh: { host: host.example, port: 22, user: ops, host_key: "${HOST_KEY}", credential: reference, action: restart }
    input:
      worker: { type: string, pattern: "^[a-z0-9-]+$", maxLength: 32 }
  report.hurried:
    effect: create
    retry: idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: /v1/reports, body: application/json }
    input:
      account: { in: body, type: string, minLength: 1, maxLength: 64 }
      range:
        in: body
        type: object
        required: [start, end]
        properties: { start: { type: string, format: date }, end: { type: string, format: date } }
      format: { in: body, enum: [csv, json] }
    job:
      id: job_id
      status: report.status
      result: report.result
      succeeded: [succeeded]
      failed: [failed]
      cancelled: [cancelled]
      create_deadline_s: 30
      result_deadline_s: 1
      poll: { first_s: 30, cap_s: 30, max_checks: 3 }
`;
}

const all = (...names: readonly Errand[]): readonly Step[] =>
  names.flatMap((name) => [`${name}.intent`, `${name}.sent`, `${name}.settled`] as const);

export const scenes: ReadonlyMap<string, Scene> = new Map<string, Scene>([
  [
    "read",
    {
      kills: ["run.started", "approval.requested", "approval.finished", "session.started", ...all("page")],
      async play(stage) {
        const run = await openRun(stage, ["project.list"]);
        await call(stage, run, "project.list", {});
        await stage.bench.gateway.leaveRun(stage.caller, run.id, "process_exited");
      },
    },
  ],
  [
    "write",
    {
      kills: [...all("call"), "recovery.finished"],
      async play(stage) {
        const run = await openRun(stage, ["release.record"]);
        await call(stage, run, "release.record", releaseOf(stage));
      },
    },
  ],
  [
    "host",
    {
      kills: ["host.started"],
      async play(stage) {
        const run = await openRun(stage, ["worker.restart"]);
        await call(stage, run, "worker.restart", { worker: stage.life.tag });
      },
    },
  ],
  [
    "two people",
    {
      kills: ["approval.given"],
      async play(stage) {
        const rules = { passkey: null, twoPeople: ["reference.release.record"] };
        stage.bench.posture.decisions = { rules, where: [] };
        const run = await openRun(stage, ["release.record"]);
        await call(stage, run, "release.record", releaseOf(stage));
      },
    },
  ],
  [
    "granted",
    {
      kills: ["day.counted"],
      async play(stage) {
        stage.bench.grants.push(grantFor(stage));
        const run = await openRun(stage, ["project.list"]);
        await call(stage, run, "project.list", {});
      },
    },
  ],
  [
    "unknown",
    {
      kills: ["write.untracked", "lease.taken", ...all("reconcile")],
      async play(stage) {
        const run = await openRun(stage, ["release.looked_up"]);
        await arm(stage, "drop_after_commit", "POST /v1/releases");
        await call(stage, run, "release.looked_up", releaseOf(stage));
        await stage.settleAll(stage.bench);
      },
    },
  ],
  [
    "repeated",
    {
      kills: [...all("token_retry")],
      async play(stage) {
        const run = await openRun(stage, ["release.repeated"]);
        await arm(stage, "drop_after_commit", "POST /v1/releases");
        await call(stage, run, "release.repeated", releaseOf(stage));
        await stage.settleAll(stage.bench);
      },
    },
  ],
  [
    "takeover",
    {
      kills: ["operation.taken_over"],
      async play(stage) {
        const { number, origin } = stage.life;
        // One gateway stops with its creation on the way; another on the same store waits for the lease and finds out.
        const never = new Promise<never>(() => undefined);
        const wrapHttp = (http: HttpTransport): HttpTransport => ({
          send: (receipt, request, credential, limits) =>
            http.send(receipt, request, credential, limits).then((seen) => (request.method === "GET" ? seen : never)),
        });
        const first = await stage.startAnother({ logFolder: `first-${number}`, wrapHttp });
        const run = await openRun({ ...stage, bench: first }, ["report.create"]);
        void createReport({ ...stage, bench: first }, run);
        while (!first.sent.includes(`POST ${origin}/v1/reports`)) await first.time.sleep.sleep(200);
        await first.time.sleep.sleep(5_000);
        await first.abandon();
        const second = await stage.startAnother({ logFolder: `second-${number}`, ...stage.mortal });
        await stage.settleAll(second);
      },
    },
  ],
  [
    "plan",
    {
      kills: [...all("preview", "execute", "confirm"), "plan.executed", "write.confirmed"],
      async play(stage) {
        const run = await openRun(stage, ["membership.plan", "membership.apply"]);
        await executePlan(stage, run, "ada");
      },
    },
  ],
  [
    "stale",
    {
      kills: ["plan.rejected"],
      async play(stage) {
        const run = await openRun(stage, ["membership.plan", "membership.apply"]);
        const { planId, revision } = await preview(stage, run, "grace");
        await executePlan(stage, run, "linus");
        await answered(stage, stage.bench.gateway.startExecution(stage.caller, planId, revision));
      },
    },
  ],
  [
    "job",
    {
      kills: [...all("create_job", "poll", "collect_result"), "job.created", "observation.started"],
      async play(stage) {
        const run = await openRun(stage, ["report.create"]);
        await createReport(stage, run);
        await stage.settleAll(stage.bench);
      },
    },
  ],
  [
    "callback",
    {
      kills: ["callback.taken"],
      async play(stage) {
        const run = await openRun(stage, ["report.create"]);
        const { operation_id } = (await createReport(stage, run)) ?? {};
        const { remoteJobId } = stage.bench.gateway.operations.get(operation_id as OperationId);
        // The repeat is what a provider does that saw us die before the answer.
        for (let time = 0; time < 2; time++) await callBack(stage, remoteJobId);
        await stage.settleAll(stage.bench);
      },
    },
  ],
  [
    "unclear",
    {
      kills: ["job.unclear"],
      async play(stage) {
        const run = await openRun(stage, ["report.create"]);
        await arm(stage, "rate_limited", "POST /v1/reports");
        const asked = createReport(stage, run);
        // The agent leaves between two tries.
        await passed(stage, "create_job.settled");
        await stage.bench.gateway.leaveRun(stage.caller, run.id, "process_exited");
        await asked;
      },
    },
  ],
  [
    "spent",
    {
      kills: ["budget.denied"],
      async play(stage) {
        const run = await openRun(stage, ["report.create"], { attempts: 1 });
        await arm(stage, "unavailable_after_commit", "POST /v1/reports");
        await createReport(stage, run);
      },
    },
  ],
  [
    "cancel",
    {
      kills: [...all("cancel")],
      async play(stage) {
        const run = await openRun(stage, ["report.create", "report.cancel"]);
        const { operation_id } = (await createReport(stage, run)) ?? {};
        const id = operation_id as OperationId;
        await answered(stage, stage.bench.gateway.startErrand(stage.caller, id, "cancel", "not needed"));
        await stage.settleAll(stage.bench);
      },
    },
  ],
  [
    "resume",
    {
      kills: [...all("resume")],
      async play(stage) {
        const run = await openRun(stage, ["report.create", "report.resume"]);
        await arm(stage, "job_fails", "POST /v1/reports");
        const { operation_id } = (await createReport(stage, run)) ?? {};
        await stage.settleAll(stage.bench);
        const id = operation_id as OperationId;
        await answered(stage, stage.bench.gateway.startErrand(stage.caller, id, "resume", "once more"));
        await stage.settleAll(stage.bench);
      },
    },
  ],
  [
    "late",
    {
      kills: ["deadline.passed"],
      async play(stage) {
        const run = await openRun(stage, ["report.hurried"]);
        await createReport(stage, run, "report.hurried");
        await stage.settleAll(stage.bench);
      },
    },
  ],
  [
    "stopped",
    {
      kills: ["operation.stopped", "errand.taken", "operation.settled"],
      async play(stage) {
        const run = await openRun(stage, ["release.looked_up"]);
        await arm(stage, "drop_after_commit", "POST /v1/releases");
        await call(stage, run, "release.looked_up", releaseOf(stage));
        // The read finds the request and proves nothing of its effect, until its allowance is used up.
        await stage.settleAll(stage.bench);
        await askOnce(stage);
        await settleByHand(stage);
      },
    },
  ],
  [
    "deploy",
    {
      kills: [...all("promote", "rollback")],
      async play(stage) {
        const run = await openRun(stage, ["deployment.plan", "deployment.promote", "deployment.rollback"]);
        const environment = "staging";
        const release = digestText(`reference release ${(stage.life.number % 2) + 1}`);
        // What an earlier life left open is a person's to end: until then the same call is not sent.
        await stage.settleAll(stage.bench);
        await settleByHand(stage);
        const { planId, revision } = await planFor(stage, run, "deployment.promote", { environment, release });
        const made = await answered(stage, stage.bench.gateway.startExecution(stage.caller, planId, revision));
        const body = made?.response?.body as { readonly deployment_id?: string } | null;
        const origin_deployment_id = String(body?.deployment_id);
        await call(stage, run, "deployment.rollback", { origin_deployment_id, reason: stage.life.tag });
      },
    },
  ],
  [
    "ticket",
    {
      kills: ["ticket.refused", "ticket.attached"],
      async play(stage) {
        const run = await openRun(stage, ["release.ticketed"]);
        await stage.bench.gateway.attachTicket(run.id, await ticketFor(stage, "run_another")).catch(() => undefined);
        await stage.bench.gateway.attachTicket(run.id, await ticketFor(stage, run.id));
        await call(stage, run, "release.ticketed", releaseOf(stage));
      },
    },
  ],
  [
    "refusals",
    {
      kills: ["session.widened", "approval.refused", "call.denied", "denials.counted", "session.ended"],
      async play(stage) {
        const { bench, caller, life } = stage;
        const run = await openRun(stage, ["project.get"]);
        const request = { actions: ["reference.project.search"], credentials: [], reason: life.tag };
        await bench.gateway.requestAccess(caller, run.id, request).then(({ answer }) => answer);
        const [session] = run.sessions.values();
        const old = bench.gateway.desk.find(session?.approvalId ?? "");
        if (old !== undefined) await bench.gateway.desk.decide(bench.decision(old)).catch(() => undefined);
        await Promise.all(Array.from({ length: 120 }, () => call(stage, run, "release.record", {})));
        await bench.time.sleep.sleep(2_000);
        await bench.gateway.revoke(bench.revocation(session?.id ?? ""));
      },
    },
  ],
  [
    "requests",
    {
      kills: ["request.told", "requests.counted"],
      async play({ bench, life }) {
        const told = { plane: "agent", who: life.tag, principal: life.tag, operator: null, traceparent: null } as const;
        const asked = { endpoint: "POST /v1/runs", mediaType: null, requestDigest: null, fields: { tag: life.tag } };
        const request = { ...told, ...asked, body: () => NO_BODY, correlationId: life.tag };
        const answered = { kind: "answered", decision: "any caller", status: 201, runId: null, callId: null } as const;
        await bench.gateway.requests.record({ ...request, outcome: answered });
        const denied = { kind: "denied", denied: new Denied("unknown_member", life.tag) } as const;
        const refused = { ...request, outcome: denied };
        await Promise.all(Array.from({ length: 120 }, () => bench.gateway.requests.record(refused)));
        await bench.time.sleep.sleep(2_000);
      },
    },
  ],
  [
    "lock",
    {
      kills: ["run.ended", "gateway.locked"],
      async play(stage) {
        await openRun(stage, ["project.get"]);
        await stage.bench.gateway.lock("at night", "ada");
      },
    },
  ],
  [
    "probe",
    {
      kills: ["probe.opened", ...all("probe"), "probe.closed"],
      async play({ bench, life }) {
        const { probes } = bench.gateway;
        const credential = { label: "main", present: "bearer", name: null } as const;
        const id = await probes.open({
          api: "Reference",
          versions: [{ base: life.origin, header: null }],
          credentials: [{ ...credential, token: Secret.fromText(life.token) }],
          requests: 10,
          sideEffects: 0,
          operator: "ada",
          operatorKeyId: "k1",
        });
        await probes.send(id, "k1", {
          caseId: "projects",
          method: "GET",
          url: `${life.origin}/v1/projects/atlas`,
          headers: {},
          body: undefined,
          credential: "main",
          sideEffect: false,
        });
        await probes.close(id, "k1", null);
      },
    },
  ],
  [
    SOURCE_SCENE,
    {
      kills: ["source.read"],
      async play(stage) {
        await call(stage, await openRun(stage, ["project.list"]), "project.list", {});
      },
    },
  ],
  [
    TOKEN_SCENE,
    {
      // After the third the new refresh token is lost: the provider refuses the old one, and a person agrees anew.
      kills: ["exchange.intent", "exchange.settled", "exchange.sent", "token.kept"],
      async play(stage) {
        const run = await openRun(stage, ["project.list"]);
        await call(stage, run, "project.list", {});
        await agreeAnew(stage);
        await call(stage, run, "project.list", {});
      },
    },
  ],
]);

/** An operator gives a new refresh token. */
async function agreeAnew({ life }: Stage): Promise<void> {
  const file = join(life.folder, GRANT_FILE);
  const { version } = JSON.parse(readFileSync(file, "utf8")) as { readonly version: number };
  const agreed = await fetch(`${life.tokens}/agree`, { method: "POST" });
  const { refresh_token: secret } = (await agreed.json()) as { readonly refresh_token: string };
  writeFileSync(file, JSON.stringify({ version: version + 1, secret }));
}

async function openRun({ bench, caller }: Stage, actions: readonly string[], limits = {}): Promise<Run> {
  const names = actions.map((name) => `reference.${name}`);
  const run = await bench.openRun(caller, names, { attempts: RUN_ATTEMPTS, durationMs: 3_600_000, ...limits });
  await run.admission?.session;
  return run;
}

/** One more read, asked for from another machine: the same word a second time is not taken. */
async function askOnce({ bench, life }: Stage): Promise<void> {
  for (const { id, state } of bench.gateway.operations.list()) {
    if (isSettled(state)) continue;
    const signed = bench.errand(id, { nonce: life.tag });
    for (let time = 0; time < 2; time++) await bench.gateway.errand(signed).catch(orDenied);
  }
}

function orDenied(error: unknown): void {
  if (!(error instanceof Denied)) throw error;
}

async function settleByHand({ bench }: Stage): Promise<void> {
  for (const { id, state } of bench.gateway.operations.list()) {
    if (isSettled(state)) continue;
    await bench.gateway.settle(bench.settlement(id, true, { although: "nothing else will tell" }));
  }
}

/** Whatever comes of it is what the agent was told. */
async function answered(stage: Stage, call: { readonly id: CallId; readonly done: Promise<CallResult> }) {
  const { tag } = stage.life;
  try {
    const result = await call.done;
    stage.tell({ kind: "result", tag, callId: call.id, outcome: result.outcome });
    if (result.operation_id !== null) stage.tell({ kind: "operation", tag, operationId: result.operation_id });
    return result;
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    stage.tell({ kind: "result", tag, callId: call.id, outcome: error.code });
    return null;
  }
}

function call(stage: Stage, run: Run, action: string, input: JsonObject): Promise<CallResult | null> {
  const request = { action: `reference.${action}`, input };
  return answered(stage, stage.bench.gateway.startCall(stage.caller, run.id, request));
}

function createReport(stage: Stage, run: Run, action = "report.create"): Promise<CallResult | null> {
  const range = { start: "2026-01-01", end: "2026-01-31" };
  return call(stage, run, action, { account: stage.life.tag, range, format: "csv" });
}

function callBack({ bench, life }: Stage, jobId: string | null): Promise<void> {
  const body = JSON.stringify({ data: { job_id: jobId } });
  const headers = standardHeaders(CALLBACK_KEY, `evt-${life.tag}`, Math.floor(bench.time.clock.wallMs() / 1000), body);
  const received = { rawHeaders: Object.entries(headers).flat(), body: Buffer.from(body) };
  return bench.gateway.callbacks.receive({
    pack: "reference",
    peer: "127.0.0.1",
    correlationId: life.tag,
    ...received,
  });
}

const NO_BODY = { digest: null, bytes: 0 };

function releaseOf({ life: { tag } }: Stage): JsonObject {
  return { operation_id: tag, service: tag, artifact: digestText(tag), environment: "staging" };
}

async function preview(
  stage: Stage,
  run: Run,
  subject: string,
): Promise<{ readonly planId: PlanId; readonly revision: string }> {
  const project_id = `project-${String(stage.life.number + 1).padStart(3, "0")}`;
  const input = { project_id, subject_id: subject, role: "editor", if_match: "r1" };
  const made = await planFor(stage, run, "membership.apply", input);
  stage.tell({ kind: "plan", tag: stage.life.tag, ...made });
  return made;
}

async function planFor(
  stage: Stage,
  run: Run,
  action: string,
  input: JsonObject,
): Promise<{ readonly planId: PlanId; readonly revision: string }> {
  const asked = stage.bench.gateway.startPlan(stage.caller, run.id, { action: `reference.${action}`, input });
  const { plan } = (await asked.done) as CallResult & { readonly plan?: JsonObject };
  const planId = String(plan?.["plan_id"]) as PlanId;
  const revision = String(plan?.["expected_revision"]);
  return { planId, revision };
}

async function executePlan(stage: Stage, run: Run, subject: string): Promise<void> {
  const { planId, revision } = await preview(stage, run, subject);
  await answered(stage, stage.bench.gateway.startExecution(stage.caller, planId, revision));
}

/** Until this life has passed the step. */
async function passed({ passed: names, bench }: Stage, step: Step): Promise<void> {
  while (!names.has(step)) await bench.time.sleep.sleep(50);
}

async function arm({ life }: Stage, fault: string, endpoint: string): Promise<void> {
  const headers = { authorization: `Bearer ${life.control}`, "content-type": "application/json" };
  const body = JSON.stringify({ fault, endpoint });
  const reply = await fetch(`${life.origin}/control/faults`, { method: "POST", headers, body });
  if (reply.status !== 200) throw new Error(`could not arm ${fault}: ${await reply.text()}`);
}

async function ticketFor({ bench, life }: Stage, runId: string): Promise<string> {
  const nowMs = bench.time.clock.wallMs();
  return signContext(
    {
      ticket_ref: "jira:OPS-17",
      allowed_targets: [`${life.origin}/v1/releases`],
      allowed_operations: ["reference.release.ticketed"],
      expires_at: isoTime(nowMs + 600_000),
      issued_for_run: runId,
      issuer: "ada",
      issued_at: isoTime(nowMs),
      observed_state: "in progress",
    },
    { keyId: "k1", key: operatorKeys.privateKey },
  );
}
