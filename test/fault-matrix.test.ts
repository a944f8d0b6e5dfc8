import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { allScopes, startReference } from "../packages/reference/src/start.ts";
import { dumpFile, writeSeeded } from "../packages/reference/test/stand.ts";
import { systemRandom } from "../src/adapters/platform/system.ts";
import { isSettled } from "../src/conventions/operation/state.ts";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import { signContext } from "../src/conventions/ticket/sign.ts";
import type { Call, Run } from "../src/gateway/run/run.ts";
import { type Errand, errands } from "../src/gateway/steps.ts";
import { digestText } from "../src/kernel/canonical-json.ts";
import { isoTime } from "../src/kernel/clock.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { OperationId, PlanId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { scriptedCaller } from "./support/caller.ts";
import { manualTime, untilDone } from "./support/clock.ts";
import { type Bench, operatorKeys, startBench } from "./support/gateway.ts";

const faults = {
  before: "timeout_before_commit",
  after: "timeout_after_commit",
  cut: "drop_mid_response",
  lie: "lie",
} as const;
type Fault = keyof typeof faults;

/** What comes of it: what the agent is told, what the provider did, and what is known once it has been found out. */
interface Cell {
  readonly told: string;
  readonly effects: number;
  /** `-` where there is no operation; a state alone, or with the reason why a person is asked. */
  readonly known: string;
}

interface Stage {
  readonly bench: Bench;
  readonly caller: ReturnType<typeof scriptedCaller>;
  readonly origin: string;
  openRun(...actions: readonly string[]): Promise<Run>;
  call(run: Run, action: string, input: JsonObject, stepMs?: number): Promise<Told>;
  /** Waits for the answer while time goes on by steps; with 0 it stands still, whatever the machine is busy with. */
  answer(call: Call, stepMs?: number): Promise<Told>;
  /** The next request to the endpoint suffers. */
  strike(endpoint: string, fault?: string): Promise<void>;
  /** Moves time along until the operation has ended or asks for a person. */
  found(told: Told): Promise<void>;
  rows(table: string): readonly Readonly<Record<string, unknown>>[];
}

interface Told {
  readonly outcome: string;
  readonly result: CallResult | null;
}

interface Convention {
  readonly errand: Errand;
  readonly cells: Readonly<Record<Fault, Cell>>;
  play(stage: Stage): Promise<Told>;
  effects(stage: Stage): number;
}

const ADA = { project_id: "project-001", subject_id: "ada", role: "editor", if_match: "r1" };
const REPORT = { account: "a1", range: { start: "2026-01-01", end: "2026-01-31" }, format: "csv" };
const RELEASE = { operation_id: "release-7", service: "web", artifact: digestText("seven"), environment: "staging" };
const SHIP = { environment: "staging", release: digestText("reference release 2") };
const reports = (stage: Stage): number => stage.rows("operations").filter(({ kind }) => kind === "report").length;
const members = (stage: Stage): number => stage.rows("memberships").length;

const conventions: Readonly<Record<string, Convention>> = {
  plan: {
    errand: "preview",
    cells: {
      before: { told: "success", effects: 0, known: "-" },
      after: { told: "success", effects: 0, known: "-" },
      cut: { told: "success", effects: 0, known: "-" },
      lie: { told: "preview_invalid", effects: 0, known: "-" },
    },
    async play(stage) {
      const run = await stage.openRun("membership.plan", "membership.apply");
      await stage.strike("POST /v1/projects/{project_id}/memberships/plan");
      return stage.answer(
        stage.bench.gateway.startPlan(stage.caller, run.id, { action: "reference.membership.apply", input: ADA }),
      );
    },
    effects: members,
  },
  execute: {
    errand: "execute",
    cells: {
      before: { told: "unknown", effects: 0, known: "create_unknown poll_allowance_exhausted" },
      after: { told: "unknown", effects: 1, known: "succeeded" },
      cut: { told: "unknown", effects: 1, known: "succeeded" },
      lie: { told: "success", effects: 1, known: "-" },
    },
    async play(stage) {
      const run = await stage.openRun("membership.plan", "membership.apply");
      const execute = await planned(stage, run, "membership.apply", ADA);
      await stage.strike("POST /memberships");
      return execute();
    },
    effects: members,
  },
  promote: {
    errand: "promote",
    cells: {
      before: { told: "unknown", effects: 1, known: "succeeded" },
      after: { told: "unknown", effects: 1, known: "succeeded" },
      cut: { told: "unknown", effects: 1, known: "succeeded" },
      lie: { told: "success", effects: 1, known: "-" },
    },
    async play(stage) {
      const run = await stage.openRun("deployment.plan", "deployment.promote");
      const execute = await planned(stage, run, "deployment.promote", SHIP);
      await stage.strike("POST /v1/deployments/execute");
      return execute();
    },
    effects: (stage) => stage.rows("deployments").filter(({ actor_id }) => actor_id === "robot").length,
  },
  rollback: {
    errand: "rollback",
    cells: {
      before: { told: "unknown", effects: 0, known: "create_unknown operation_not_reconcilable" },
      after: { told: "unknown", effects: 1, known: "create_unknown operation_not_reconcilable" },
      cut: { told: "unknown", effects: 1, known: "create_unknown operation_not_reconcilable" },
      lie: { told: "success", effects: 1, known: "-" },
    },
    async play(stage) {
      const run = await stage.openRun("deployment.plan", "deployment.promote", "deployment.rollback");
      const made = await (await planned(stage, run, "deployment.promote", SHIP))();
      const body = made.result?.response?.body as { readonly deployment_id?: string } | null;
      await stage.strike("POST /v1/environments/{environment}/rollbacks");
      const undo = { origin_deployment_id: String(body?.deployment_id), reason: "it burns" };
      return stage.call(run, "deployment.rollback", undo);
    },
    effects: (stage) => stage.rows("deployments").filter(({ rollback_of }) => rollback_of !== null).length,
  },
  ticketed: {
    errand: "call",
    cells: {
      before: { told: "unknown", effects: 0, known: "failed" },
      after: { told: "unknown", effects: 1, known: "create_unknown poll_allowance_exhausted" },
      cut: { told: "unknown", effects: 1, known: "create_unknown poll_allowance_exhausted" },
      lie: { told: "success", effects: 1, known: "-" },
    },
    async play(stage) {
      const run = await stage.openRun("release.ticketed");
      const nowMs = stage.bench.time.clock.wallMs();
      const context = {
        ticket_ref: "jira:OPS-17",
        allowed_targets: [`${stage.origin}/v1/releases`],
        allowed_operations: ["reference.release.ticketed"],
        expires_at: isoTime(nowMs + 300_000),
        issued_for_run: run.id,
        issuer: "ada",
        issued_at: isoTime(nowMs),
        observed_state: "in progress",
      };
      const signed = await signContext(context, { keyId: "k1", key: operatorKeys.privateKey });
      await stage.bench.gateway.attachTicket(run.id, signed);
      await stage.strike("POST /v1/releases");
      return stage.call(run, "release.ticketed", RELEASE);
    },
    effects: (stage) => stage.rows("operations").filter(({ kind }) => kind === "release").length,
  },
  "create job": {
    errand: "create_job",
    cells: {
      before: { told: "unknown", effects: 0, known: "failed" },
      after: { told: "unknown", effects: 1, known: "succeeded" },
      cut: { told: "unknown", effects: 1, known: "succeeded" },
      lie: { told: "unknown", effects: 1, known: "observing poll_allowance_exhausted" },
    },
    async play(stage) {
      const run = await stage.openRun("report.create");
      await stage.strike("POST /v1/reports");
      return stage.call(run, "report.create", REPORT);
    },
    effects: reports,
  },
  poll: {
    errand: "poll",
    cells: {
      before: { told: "unknown", effects: 1, known: "succeeded" },
      after: { told: "unknown", effects: 1, known: "succeeded" },
      cut: { told: "unknown", effects: 1, known: "succeeded" },
      lie: { told: "unknown", effects: 1, known: "observing operation_needs_person" },
    },
    async play(stage) {
      const run = await stage.openRun("report.create");
      await stage.strike("GET /v1/jobs/{job_id}");
      return stage.call(run, "report.create", REPORT);
    },
    effects: reports,
  },
  cancel: {
    errand: "cancel",
    cells: {
      before: { told: "unknown", effects: 0, known: "succeeded" },
      after: { told: "unknown", effects: 1, known: "cancelled" },
      cut: { told: "unknown", effects: 1, known: "cancelled" },
      lie: { told: "unknown", effects: 1, known: "cancelled" },
    },
    async play(stage) {
      const run = await stage.openRun("report.create", "report.cancel");
      // The job runs by the same clock: it must not end before the request to stop it has come.
      const made = await stage.call(run, "report.create", REPORT, 0);
      await stage.strike("DELETE /jobs/{job_id}");
      const id = made.result?.operation_id as OperationId;
      return stage.answer(stage.bench.gateway.startErrand(stage.caller, id, "cancel", "not needed"), 0);
    },
    effects: (stage) => stage.rows("operations").filter(({ cancel_at_ms }) => cancel_at_ms !== null).length,
  },
  reconcile: {
    errand: "reconcile",
    cells: {
      before: { told: "unknown", effects: 1, known: "succeeded" },
      after: { told: "unknown", effects: 1, known: "succeeded" },
      cut: { told: "unknown", effects: 1, known: "succeeded" },
      lie: { told: "unknown", effects: 1, known: "observing poll_allowance_exhausted" },
    },
    async play(stage) {
      const run = await stage.openRun("report.create");
      await stage.strike("POST /v1/reports", "drop_after_commit");
      await stage.strike("GET /operations/by-id/{client_operation_id}");
      return stage.call(run, "report.create", REPORT);
    },
    effects: reports,
  },
  discovery: {
    errand: "page",
    cells: {
      before: { told: "success", effects: 0, known: "-" },
      after: { told: "success", effects: 0, known: "-" },
      cut: { told: "success", effects: 0, known: "-" },
      lie: { told: "success", effects: 0, known: "-" },
    },
    async play(stage) {
      const run = await stage.openRun("project.list");
      await stage.strike("GET /v1/projects");
      return stage.call(run, "project.list", {});
    },
    effects: () => 0,
  },
};

/** Errands whose faults are told elsewhere, or are those of another row. */
const elsewhere: Readonly<Partial<Record<Errand, string>>> = {
  confirm: "a read after a success: without it the success stands unconfirmed (gateway-plans)",
  collect_result: "a read like a poll, under the same allowance (gateway-operations)",
  resume: "a write on a job whose end the next poll tells (gateway-operations)",
  token_retry: "the creation once more under its token (gateway-operations)",
  exchange: "a token for a call that is then not sent, or is sent once (gateway-tokens)",
  probe: "an operator's own, which is neither retried nor reconciled (gateway-probe)",
};

test("every errand has its row, or says where its faults are told", () => {
  const rows = Object.values(conventions).map(({ errand }) => errand);
  assert.deepEqual([...rows, ...Object.keys(elsewhere)].sort(), [...errands].sort());
});

describe("what each convention makes of each fault of the provider", { concurrency: 4 }, () => {
  for (const [name, convention] of Object.entries(conventions)) {
    for (const fault of Object.keys(faults) as Fault[]) {
      test(`${name}, ${faults[fault].replaceAll("_", " ")}`, async () => {
        const seen = await playCell(convention, fault);
        assert.deepEqual(seen, convention.cells[fault]);
      });
    }
  }
});

test("a promotion from a plan whose answer was lost is proven under its token, and can then be undone", async () => {
  const undone: Convention = {
    ...{ errand: "rollback", cells: {} as Convention["cells"] },
    async play(stage) {
      const run = await stage.openRun("deployment.plan", "deployment.promote", "deployment.rollback");
      const execute = await planned(stage, run, "deployment.promote", SHIP);
      await stage.strike("POST /v1/deployments/execute");
      const told = await execute();
      assert.equal(told.outcome, "unknown");
      await stage.found(told);
      const [made] = stage.rows("deployments").filter(({ actor_id }) => actor_id === "robot");
      const undo = { origin_deployment_id: String(made?.["deployment_id"]), reason: "it burns" };
      return stage.call(run, "deployment.rollback", undo);
    },
    effects: (stage) => stage.rows("deployments").filter(({ rollback_of }) => rollback_of !== null).length,
  };
  assert.deepEqual(await playCell(undone, "after"), { told: "success", effects: 1, known: "-" });
});

/** Previews, and gives what then executes that plan. */
async function planned(stage: Stage, run: Run, action: string, input: JsonObject): Promise<() => Promise<Told>> {
  const { gateway } = stage.bench;
  const request = { action: `reference.${action}`, input };
  const { result } = await stage.answer(gateway.startPlan(stage.caller, run.id, request));
  const { plan_id, expected_revision } = (result as { readonly plan?: JsonObject } | null)?.plan ?? {};
  const planId = String(plan_id) as PlanId;
  return () => stage.answer(gateway.startExecution(stage.caller, planId, String(expected_revision)));
}

/** Who is kept waiting waits a second; nobody else may be given up for being slow. */
function packFor(origin: string, fault: Fault): string {
  const patience = faults[fault].startsWith("timeout") ? 1 : 100;
  const shipped = readFileSync(join(dirname(import.meta.dirname), "packs", "reference.yaml"), "utf8");
  return `${shipped.replace("http://127.0.0.1:7411", origin).replace("timeout_s: 10", `timeout_s: ${patience}`)}
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
`;
}

async function playCell(convention: Convention, fault: Fault): Promise<Cell> {
  const folder = mkdtempSync(join(tmpdir(), "gw-matrix-"));
  const time = manualTime();
  const file = join(folder, "reference.db");
  await writeSeeded(file);
  const reference = await startReference({
    ...{ port: 0, file, clock: time.clock, sleep: time.sleep, random: systemRandom, faults: true },
    onFault: () => undefined,
  });
  const who = { actor: "robot", tenant: "acme", expiresInMs: 86_400_000 };
  const { origin } = reference;
  const bench = await startBench(packFor(origin, fault), {
    folder,
    time,
    token: await reference.issueToken({ ...who, scopes: allScopes }),
    credentials: [["reference", { eachUse: false, disabled: false, origin }]],
  });
  try {
    const control = await reference.issueToken({ ...who, scopes: ["control"] });
    const stage = stageOf(bench, origin, file, control, faults[fault]);
    const told = await convention.play(stage);
    await stage.found(told);
    const id = told.result?.operation_id ?? null;
    const operation = id === null ? null : bench.gateway.operations.get(id as OperationId);
    const known =
      operation === null ? "-" : [operation.state, ...(operation.problem?.code ?? "").split(" ")].join(" ").trim();
    return { told: told.outcome, effects: convention.effects(stage), known };
  } finally {
    await bench.close();
    await reference.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function stageOf(bench: Bench, origin: string, file: string, control: string, struck: string): Stage {
  const caller = scriptedCaller();
  const decided = new Set<string>();
  bench.gateway.desk.watch((approval) => {
    if (approval.card === null || approval.state !== "pending" || decided.has(approval.approvalId)) return;
    decided.add(approval.approvalId);
    setImmediate(() => void bench.gateway.desk.decide(bench.decision(approval)).catch(() => undefined));
  });
  const answer = async (call: Call, stepMs = 100): Promise<Told> => {
    let done = false;
    const told = call.done.then(
      (result): Told => ({ outcome: result.outcome, result }),
      (error: unknown): Told => {
        if (error instanceof Denied) return { outcome: error.code, result: null };
        throw error;
      },
    );
    told.catch(() => undefined).finally(() => (done = true));
    await untilDone(bench.time, stepMs, () => done);
    return told;
  };
  return {
    bench,
    caller,
    origin,
    answer,
    async openRun(...actions) {
      const run = await bench.openRun(
        caller,
        actions.map((name) => `reference.${name}`),
      );
      await run.admission?.session;
      return run;
    },
    call: (run, action, input, stepMs) =>
      answer(bench.gateway.startCall(caller, run.id, { action: `reference.${action}`, input }), stepMs),
    async strike(endpoint, fault = struck) {
      const headers = { authorization: `Bearer ${control}`, "content-type": "application/json" };
      const body = JSON.stringify({ fault, endpoint });
      const reply = await fetch(`${origin}/control/faults`, { method: "POST", headers, body });
      assert.equal(reply.status, 200, await reply.text());
    },
    async found({ result }) {
      if (result?.operation_id == null) return;
      const operation = bench.gateway.operations.get(result.operation_id as OperationId);
      await untilDone(bench.time, 2_000, () => isSettled(operation.state) || operation.problem !== null);
    },
    rows: (table) => JSON.parse(dumpFile(file, table)[table] ?? "[]") as readonly Readonly<Record<string, unknown>>[],
  };
}
