import type { ValueSpelling } from "../../packages/request/src/schema.ts";
import {
  type ErrandStatement,
  type RevocationStatement,
  type SettlementStatement,
  type Signed,
  verifyStatement,
} from "../conventions/approval/decision.ts";
import type { Volume } from "../conventions/budget/volume.ts";
import type { SessionEnding } from "../conventions/caller/session.ts";
import type { JobErrand } from "../conventions/operation/errand.ts";
import type { TicketEvidence } from "../conventions/ticket/verify.ts";
import { Denied } from "../kernel/failure.ts";
import type { CallId, OperationId, PlanId, RunId } from "../kernel/ids.ts";
import type { JsonObject } from "../kernel/json.ts";
import { adopt, awaited, hasAdopted, type LeftBehind, learnEndings, release, type TakenOver } from "./adopt.ts";
import type { Desk } from "./approval/desk.ts";
import { type Callbacks, createCallbacks } from "./callback/receive.ts";
import type { ContainedAnswer } from "./contained/answer.ts";
import { answerContained, type ContainedRequest, recordRefused, type WrapperRefusal } from "./contained/request.ts";
import { requireSpace, requireUnlocked } from "./core.ts";
import { type CallRequest, startCall } from "./dispatch.ts";
import { createGuard } from "./guard.ts";
import { createLock, type Lock } from "./lock.ts";
import type { Operation } from "./operation/operations.ts";
import { type OperatorOperations, operatorOperations, reconcileNow } from "./operation/operator-operations.ts";
import { requireLiveCaller } from "./outbound/admit.ts";
import type { Definition } from "./outbound/outbound.ts";
import type { AnswerRoom, LiveCaller, Ports, SpoolFile } from "./ports.ts";
import { createDenialRecorder } from "./record/denials.ts";
import type { Ledger } from "./record/ledger.ts";
import { createRequestRecorder, type RequestRecorder } from "./record/requests.ts";
import { type Access, type AccessRequest, requestAccess } from "./run/access.ts";
import { createDeadlines } from "./run/deadlines.ts";
import { closeSession, endRun, revokeSession } from "./run/end.ts";
import { findOperation, findRun, partyIn, requireRun } from "./run/find.ts";
import { joinRun, openRun, type RunRequest } from "./run/open.ts";
import type { Call, Run, Session } from "./run/run.ts";
import type { Surroundings } from "./surroundings.ts";
import { takeBackCall } from "./take-back.ts";
import { attachTicket } from "./ticket/attach.ts";
import { lapsedBecause } from "./ticket/ticket.ts";
import type { TokenDesk } from "./token/port.ts";
import { createProbes, type Probes } from "./upgrade/probe.ts";
import { wire } from "./wire.ts";

export interface PlanRequest {
  /** The action that would be carried out, or the one that previews it. */
  readonly action: string;
  readonly input: JsonObject;
  readonly spelling?: ValueSpelling;
  readonly traceparent?: string | null;
}

/** The gateway as its surfaces see it. Nothing here that an agent plane calls can approve, unlock or read a journal. */
export interface Gateway extends Lock {
  readonly desk: Desk;
  readonly ledger: Ledger;
  /** What the planes took and refused. */
  readonly requests: RequestRecorder;
  /** How much may still be written for whom before a person said yes. */
  readonly volume: Volume;
  readonly locked: boolean;
  /** Where large answers find room. */
  readonly answers: AnswerRoom;
  actions(): readonly Definition[];
  definition(action: string): Definition | null;
  openRun(caller: LiveCaller, request: RunRequest): Promise<Run>;
  joinRun(caller: LiveCaller, id: RunId | undefined): Promise<Run>;
  run(caller: LiveCaller, id: RunId | undefined): Run;
  startCall(caller: LiveCaller, runId: RunId | undefined, request: CallRequest): Call;
  /** What a tool in a box sent: the answer is what it is told, whatever became of it. */
  answerContained(
    caller: LiveCaller,
    runId: RunId | undefined,
    request: ContainedRequest,
    onGone: (takeBack: () => void) => void,
  ): Promise<ContainedAnswer>;
  /** Room for the body of such a request, where it is larger than what is held. */
  openSpool(caller: LiveCaller): SpoolFile;
  /** What the wrapper of a box refused itself. */
  recordRefused(caller: LiveCaller, runId: RunId | undefined, refusal: WrapperRefusal): Promise<void>;
  call(caller: LiveCaller, id: CallId | undefined): Call;
  /** Asks the provider what an action would do; the result carries the stored plan. */
  startPlan(caller: LiveCaller, runId: RunId | undefined, request: PlanRequest): Call;
  /** Carries out a stored plan, by its identifier and the revision that was read. */
  startExecution(
    caller: LiveCaller,
    planId: PlanId | undefined,
    expectedRevision: string,
    more?: Pick<CallRequest, "repeatOf" | "traceparent">,
  ): Call;
  /** An operation of this caller; another's does not exist for it. */
  operation(caller: LiveCaller, id: OperationId | undefined): Operation;
  /** Asks the state-owning system now what became of it. */
  reconcile(caller: LiveCaller, id: OperationId | undefined): Promise<Operation>;
  /** Asks the provider something about it, the way of every call. What came of that is read afterwards. */
  startErrand(
    caller: LiveCaller,
    id: OperationId | undefined,
    errand: JobErrand,
    reason: string,
    traceparent?: string | null,
  ): Call;
  /** For operators alone. */
  readonly operations: Omit<OperatorOperations, "settle">;
  /** What the hub tells of who looks after which operations. */
  readonly fleet: {
    /** Goes on with what another gateway left. */
    adopt(left: LeftBehind, operator: string | null): Promise<TakenOver>;
    hasAdopted(gateway: string, term: number): boolean;
    /** Another gateway looks after what was under way here. */
    release(gateway: string, along: Parameters<typeof release>[2]): Promise<void>;
    /** The gateways that have what was taken over here and has not ended as far as is known. */
    awaited(): readonly string[];
    learnEndings(holder: string, gateway: string, rows: LeftBehind["rows"]): Promise<void>;
  };
  /** An operator's signed word on what became of an operation. */
  settle(signed: Signed<SettlementStatement>): Promise<Operation>;
  /** What an operator signed on another machine is to be done with an operation. */
  errand(signed: Signed<ErrandStatement>): Promise<Operation>;
  readonly probes: Probes;
  /** Tokens that credentials are exchanged for. */
  readonly tokens: TokenDesk;
  /** What providers tell on the callbacks listener. */
  readonly callbacks: Callbacks;
  /** Whoever asked for a call no longer wants it; false when it has already been sent. */
  takeBack(caller: LiveCaller, id: CallId): Promise<boolean>;
  /** Asks a person for more than the caller's session has. */
  requestAccess(caller: LiveCaller, runId: RunId | undefined, request: AccessRequest): Promise<Access>;
  /** The surface knows that the caller's part in the run is over. */
  leaveRun(caller: LiveCaller, runId: RunId, reason: SessionEnding): Promise<void>;
  /** A surface refuses something on its own; it is recorded like any other refusal. */
  refuse(caller: LiveCaller, action: string, denied: Denied): Promise<void>;
  sessions(): readonly Session[];
  /** Whether a session of this caller stands, or a person is being asked for one. */
  standingOf(caller: LiveCaller): "approved" | "waiting" | "stranger";
  runOf(session: Session): Run | undefined;
  revoke(signed: Signed<RevocationStatement>): Promise<void>;
  /** The run and the work context attached to it, for an operator. */
  /** `lapsed`: why what is attached counts no longer. */
  ticketOf(runId: RunId | undefined): {
    readonly run: Run;
    readonly evidence: TicketEvidence | null;
    readonly lapsed: Denied | null;
  };
  attachTicket(runId: RunId | undefined, context: string): Promise<TicketEvidence>;
}

export function createGateway(ports: Ports, around: Surroundings): Gateway {
  const wired = wire(ports, around);
  const { core, opened, volume, tokens, memory, observer } = wired;
  const { book, desk, ledger } = core;
  const denials = createDenialRecorder(core);
  const requests = createRequestRecorder(core);
  const probes = createProbes(core);
  const deadlines = createDeadlines(core);
  const operations = operatorOperations(core, observer);
  const lock = createLock(wired, probes);
  const { guarded, guardSession, within, findRunToAct } = createGuard(core, denials);

  return {
    desk,
    ledger,
    requests,
    volume,
    answers: core.answers,
    get locked() {
      return opened.unlocked === null;
    },
    actions: () => around.packs().all(),
    definition: (action) => around.packs().find(action),

    openRun(caller, request) {
      const action = request.actions.join(" ").slice(0, 200);
      return guarded(caller, action, async () => {
        const run = await openRun(core, caller, request);
        deadlines.watch(run);
        guardSession(caller, action, run);
        return run;
      });
    },
    joinRun: (caller, id) =>
      guarded(caller, "join", async () => {
        const run = await joinRun(core, caller, id);
        guardSession(caller, "join", run);
        return run;
      }),

    run: (caller, id) => findRun(core, caller, id),
    startCall: (caller, runId, request) =>
      startCall(core, denials, caller, findRunToAct(caller, runId, request.action), request),
    answerContained: async (caller, runId, request, onGone) => {
      const run = findRunToAct(caller, runId, `${request.method} ${request.origin}`.slice(0, 200));
      return answerContained(core, denials, caller, run, request, onGone);
    },
    openSpool({ uid }) {
      requireSpace(core);
      if (core.ports.spool === undefined)
        throw new Denied("body_too_large", "this gateway has no room for large bodies");
      return core.ports.spool.open(uid);
    },
    recordRefused: async (caller, runId, refusal) =>
      recordRefused(denials, caller, findRun(core, caller, runId), refusal),
    call: (caller, id) => book.findCall(caller.key, id),
    startPlan: (caller, runId, request) => {
      const run = findRun(core, caller, runId);
      return startCall(core, denials, caller, run, { ...request, as: { kind: "plan" } });
    },
    startExecution: (caller, planId, expectedRevision, more) => {
      const plan = core.plans.find(planId, ({ runId, callerKey }) => callerKey === partyIn(core, caller, runId));
      const run = findRun(core, caller, plan.runId);
      const request = { action: plan.action, input: {}, as: { kind: "execute", plan, expectedRevision } } as const;
      return startCall(core, denials, caller, run, { ...request, ...more });
    },
    operation: (caller, id) => findOperation(core, caller, id),
    reconcile: (caller, id) =>
      guarded(caller, "reconcile", async () => {
        requireLiveCaller(caller);
        requireUnlocked(core);
        const operation = findOperation(core, caller, id);
        return within(operation.purse.id, () => reconcileNow(core, observer, operation));
      }),
    startErrand(caller, id, kind, reason, traceparent = null) {
      const operation = findOperation(core, caller, id);
      const run = findRun(core, caller, operation.purse.id);
      const as = { kind, operation, reason };
      return startCall(core, denials, caller, run, { action: operation.action, input: {}, as, traceparent });
    },
    operations,
    fleet: {
      async adopt(left, operator) {
        requireUnlocked(core);
        return await adopt(core, left, operator);
      },
      hasAdopted: (name, term) => hasAdopted(core, name, term),
      release: (name, along) => release(core, name, along),
      awaited: () => awaited(core),
      learnEndings: (holder, name, rows) => learnEndings(core, holder, name, rows),
    },
    settle: async (signed) => {
      const { vaultId, keys } = around.operators();
      return operations.settle(verifyStatement(signed, vaultId, keys));
    },
    errand: async (signed) => {
      const { vaultId, keys } = around.operators();
      return operations.errand(verifyStatement(signed, vaultId, keys));
    },
    callbacks: createCallbacks(core, memory, observer),
    probes,
    tokens,
    takeBack: async (caller, id) => takeBackCall(core, caller, book.findCall(caller.key, id)),
    requestAccess: (caller, runId, request) =>
      guarded(caller, request.actions.join(" ").slice(0, 200), async () => {
        const run = book.findRun(caller.key, runId);
        return within(run.id, async () => requestAccess(core, run, caller, request));
      }),
    async leaveRun(caller, runId, reason) {
      const run = book.findRun(caller.key, runId);
      const session = run.sessions.get(caller.key);
      if (session !== undefined) await closeSession(core, run, session, reason, null);
      else if (run.state === "pending" && run.ownerKey === caller.key) await endRun(core, run, reason);
    },
    refuse: (caller, action, denied) => denials.record(denied, { caller, runId: null, callId: null, action }),
    sessions: () => book.sessions(),
    standingOf({ key }) {
      if (book.hasSession(key)) return "approved";
      const asked = book.openRunsOf(key) > 0 || desk.list().some(({ callerKey }) => callerKey === key);
      return asked ? "waiting" : "stranger";
    },
    runOf: (session) => book.run(session.runId),

    revoke: (signed) => {
      const { vaultId, keys } = around.operators();
      return revokeSession(core, verifyStatement(signed, vaultId, keys));
    },

    ticketOf(runId) {
      const run = requireRun(core, runId);
      const evidence = core.tickets.of(run);
      return { run, evidence, lapsed: evidence === null ? null : lapsedBecause(core, evidence) };
    },
    attachTicket: async (runId, context) => attachTicket(core, requireRun(core, runId), context),

    unlock: lock.unlock,
    lock: lock.lock,
    resume: lock.resume,
  };
}
