import {
  type RevocationStatement,
  type SettlementStatement,
  type Signed,
  verifyStatement,
} from "../conventions/approval/decision.ts";
import { createAllowances } from "../conventions/budget/allowance.ts";
import type { Volume } from "../conventions/budget/volume.ts";
import type { SessionEnding } from "../conventions/caller/session.ts";
import type { Grant } from "../conventions/grant/grant.ts";
import type { TicketService } from "../conventions/ticket/lookup.ts";
import type { IssuerKey, TicketEvidence } from "../conventions/ticket/verify.ts";
import { createLatestWall } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied, placeDenied } from "../kernel/failure.ts";
import type { CallId, OperationId, PlanId, RunId } from "../kernel/ids.ts";
import type { JsonObject } from "../kernel/json.ts";
import { adopt, hasAdopted, type LeftBehind, release } from "./adopt.ts";
import { createDesk, type DecidingKeys, type Desk } from "./approval/desk.ts";
import { createCallbackMemory } from "./callback/memory.ts";
import { type Callbacks, createCallbacks } from "./callback/receive.ts";
import type { ContainedAnswer } from "./contained/answer.ts";
import { answerContained, type ContainedRequest, recordRefused, type WrapperRefusal } from "./contained/request.ts";
import { type Core, requireSpace, requireUnlocked } from "./core.ts";
import { createHandles } from "./discovery/handles.ts";
import { type CallRequest, startCall } from "./dispatch.ts";
import { createObserver } from "./operation/observe.ts";
import { recallOperation } from "./operation/operation-row.ts";
import { createOperationBook, type Operation } from "./operation/operations.ts";
import { type OperatorOperations, operatorOperations, reconcileNow } from "./operation/operator-operations.ts";
import { requireLiveCaller } from "./outbound/admit.ts";
import type { Definition, PackBook } from "./outbound/outbound.ts";
import { createShelf } from "./plan/shelf.ts";
import type { Credentials, LiveCaller, Ports, SpoolFile, StateStore } from "./ports.ts";
import type { Posture } from "./posture.ts";
import { createDayCounts } from "./record/day-counts.ts";
import { createDenialRecorder } from "./record/denials.ts";
import { createKeptVolume } from "./record/kept-volume.ts";
import { createLedger, type Ledger } from "./record/ledger.ts";
import { createEnvelope } from "./record/record.ts";
import { createRequestRecorder, type RequestRecorder } from "./record/requests.ts";
import { recover } from "./recover.ts";
import { createDeploymentBook } from "./rollback/deployments.ts";
import { isUndoable, keepPromotion } from "./rollback/promotion.ts";
import { type Access, type AccessRequest, requestAccess } from "./run/access.ts";
import { createBook } from "./run/book.ts";
import { createDaySpend } from "./run/day-spend.ts";
import { createDeadlines } from "./run/deadlines.ts";
import { findOperation, findRun, partyIn, requireRun } from "./run/find.ts";
import { joinRun, openRun, type RunRequest } from "./run/open.ts";
import type { Call, Run, Session } from "./run/run.ts";
import { closeSession, endRun, revokeSession } from "./run/sessions.ts";
import { createWaiting } from "./run/waiting.ts";
import { takeBackCall } from "./take-back.ts";
import { acceptForRun, attachTicket } from "./ticket/attach.ts";
import { createTickets } from "./ticket/tickets.ts";
import type { TokenDesk } from "./token/port.ts";
import { createTokens } from "./token/tokens.ts";
import { createProbes, type Probes } from "./upgrade/probe.ts";

export interface PlanRequest {
  /** The action that would be carried out, or the one that previews it. */
  readonly action: string;
  readonly input: JsonObject;
  readonly traceparent?: string | null;
}

/** What the service key opened. */
export interface Unlocked {
  readonly credentials: Credentials;
  readonly store: StateStore;
}

/** What the composition root knows and the gateway asks for when it needs it, since signed policy can change. */
export interface Surroundings {
  packs(): PackBook;
  posture(): Posture;
  /** None where absent. */
  grants?(): readonly Grant[];
  /** Nobody where absent. */
  isAgentUser?(uid: number): boolean;
  operators(): DecidingKeys;
  /** Puts what a passkey answered into the log in clear. Nowhere where absent. */
  showHand?(text: string): void;
  /** Whose work contexts count beside the operators' own. */
  ticketIssuers(): readonly IssuerKey[];
  /** Where tickets are looked up before they count; none where it is not given. */
  ticketServices?(): readonly TicketService[];
  /**
   * Names this process among the workers on one store. The same name after a restart takes its own leases up again, so it
   * must be one that a lock keeps to one process, such as the log's.
   */
  readonly worker?: string;
  /** Stops lending a credential, here and in the vault's file. Nothing where absent. */
  suspendCredential?(label: string, reason: string): Promise<void>;
  /** The gateway can no longer record and has stopped sending. */
  onStop(cause: unknown): void;
}

/** The gateway as its surfaces see it. Nothing here that an agent plane calls can approve, unlock or read a journal. */
export interface Gateway {
  readonly desk: Desk;
  readonly ledger: Ledger;
  /** What the planes took and refused. */
  readonly requests: RequestRecorder;
  /** How much may still be written for whom before a person said yes. */
  readonly volume: Volume;
  readonly locked: boolean;
  actions(): readonly Definition[];
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
  /** Asks the provider to stop it. How it ends is read afterwards. */
  startCancel(caller: LiveCaller, id: OperationId | undefined, reason: string, traceparent?: string | null): Call;
  /** Asks the provider to go on with failed work, where it documents that. Whether it does is read afterwards. */
  startResume(caller: LiveCaller, id: OperationId | undefined, reason: string, traceparent?: string | null): Call;
  /** For operators alone. */
  readonly operations: Omit<OperatorOperations, "settle">;
  /** What the hub tells of who looks after which operations. */
  readonly fleet: {
    /** Goes on with what another gateway left. Says how many operations that are. */
    adopt(left: LeftBehind, operator: string | null): Promise<number>;
    hasAdopted(gateway: string, term: number): boolean;
    /** Another gateway looks after what was under way here. */
    release(gateway: string, along: Parameters<typeof release>[2]): Promise<void>;
  };
  /** An operator's signed word on what became of an operation. */
  settle(signed: Signed<SettlementStatement>): Promise<Operation>;
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
  ticketOf(runId: RunId | undefined): { readonly run: Run; readonly evidence: TicketEvidence | null };
  attachTicket(runId: RunId | undefined, context: string): Promise<TicketEvidence>;
  unlock(unlocked: Unlocked): Promise<void>;
  /** After a stop that has passed: every session has ended, what was under way is recovered as after a restart. */
  resume(operator: string): Promise<void>;
  /**
   * `locked` is told once nothing is lent any more. The promise is kept once the exchanges that were under way have ended as well,
   * within their timeouts: a refresh token that a provider replaces meanwhile is kept.
   */
  lock(reason: string, operator: string | null, locked?: () => void): Promise<void>;
}

export function createGateway(ports: Ports, around: Surroundings): Gateway {
  const worker = around.worker ?? `worker ${ports.ids.next("evt")}`;
  const ledger = createLedger({ audit: ports.audit, worker, steps: ports.steps, onStop: around.onStop });
  const envelope = createEnvelope(ports.ids, ports.clock);
  const book = createBook({
    runs: defaults.runsRemembered,
    callsPerRun: defaults.callsRememberedPerRun,
    resultBytes: defaults.resultsHeldBytes,
  });
  const volume = createKeptVolume(ledger, ports.clock);
  const { record, find } = ledger;
  const { operators, showHand } = around;
  const desk = createDesk({
    ...ports,
    record,
    find,
    volume,
    operators,
    ...(showHand === undefined ? {} : { showHand }),
  });
  const memory = createCallbackMemory();
  let unlocked: Unlocked | null = null;
  const tokens = createTokens(() => core);
  const core: Core = {
    worker,
    ports,
    openings: createAllowances({
      burst: defaults.runsBurstPerUid,
      perSecond: defaults.runsPerSecondPerUid,
      remembered: defaults.runsRemembered,
    }),
    volume,
    waiting: createWaiting(defaults.callsWaitingPerUid),
    book,
    desk,
    ledger,
    envelope,
    plans: createShelf(),
    operations: createOperationBook((id) => recallOperation(core, id)),
    deployments: createDeploymentBook((id) => ledger.find("deployments", id)),
    schedule: (operation) => observer.schedule(operation),
    cameEarly: (operation) => memory.takeEarly(operation, ports.clock.bootMs()),
    daySpend: createDaySpend(ports.clock),
    handles: createHandles(),
    tokens,
    keepPromotion: (definition, made, answer) =>
      isUndoable(definition) ? keepPromotion(core, definition, made, answer) : [],
    tickets: createTickets(
      () => ticketIssuersOf(around),
      () => around.ticketServices?.() ?? [],
    ),
    acceptTicket: (run) => acceptForRun(core, run),
    packs: around.packs,
    grants: around.grants ?? (() => []),
    isAgentUser: around.isAgentUser ?? (() => false),
    dayCounts: createDayCounts(ledger, ports.clock),
    latestWallMs: createLatestWall(ports.clock),
    posture: around.posture,
    suspendCredential: async (label, reason) => around.suspendCredential?.(label, reason),
    credentials: () => unlocked?.credentials ?? null,
  };
  const denials = createDenialRecorder(core);
  const requests = createRequestRecorder(core);
  const probes = createProbes(core);
  const observer = createObserver(core);
  const deadlines = createDeadlines(core);
  const operations = operatorOperations(core, observer);

  /** Everything an agent asks that is not a call: refused with the same care. */
  async function guarded<Result>(caller: LiveCaller, action: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Denied) await denials.record(error, { caller, runId: null, callId: null, action });
      throw error;
    }
  }

  /** A refusal about something that is the caller's names the run it is in. */
  async function within<Result>(runId: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Denied) placeDenied(error, { runId });
      throw error;
    }
  }

  /** Whoever tries to act in a run that is not theirs leaves a trace. */
  function findRunToAct(caller: LiveCaller, id: RunId | undefined, action: string): Run {
    try {
      return findRun(core, caller, id);
    } catch (error) {
      if (error instanceof Denied) void denials.record(error, { caller, runId: null, callId: null, action });
      throw error;
    }
  }

  /** What an agent asks about work that it started goes the way of every call. */
  function startOnOperation(
    caller: LiveCaller,
    id: OperationId | undefined,
    kind: "cancel" | "resume",
    reason: string,
    traceparent: string | null,
  ): Call {
    const operation = findOperation(core, caller, id);
    const run = findRun(core, caller, operation.purse.id);
    return startCall(core, denials, caller, run, {
      action: operation.action,
      input: {},
      as: { kind, operation, reason },
      traceparent,
    });
  }

  async function unlock(next: Unlocked): Promise<void> {
    ledger.openStore(next.store);
    let operations: readonly Operation[];
    try {
      ({ operations } = await recover(core, next.store));
      const tampered = memory.load(next.store, envelope);
      core.daySpend.load(next.store);
      volume.load(next.store);
      if (tampered.length > 0) await ledger.record("recovery.finished", tampered);
    } catch (error) {
      // Nothing is left half open: it stays locked, and the next unlock begins anew.
      ledger.openStore(null);
      memory.clear();
      throw error;
    }
    unlocked = next;
    for (const operation of operations) {
      core.operations.put(operation);
      observer.schedule(operation);
    }
    observer.start();
  }

  async function lock(reason: string, operator: string | null, locked?: () => void): Promise<void> {
    if (unlocked === null) return;
    core.tokens.clear();
    unlocked = null;
    probes.clear();
    await observer.stop();
    await desk.withdraw("gateway_locked", () => true);
    for (const run of [...book.openRuns()]) {
      for (const session of run.sessions.values()) await closeSession(core, run, session, "gateway_locked", operator);
      await endRun(core, run, "gateway_locked");
    }
    await ledger.record("gateway.locked", [{ ...envelope("gateway_locked"), operator, reason }]);
    locked?.();
    await core.tokens.settled();
    core.tokens.clear();
    ledger.openStore(null);
    // Their rows keep the schedule; whoever unlocks next reads them from there.
    core.operations.clear();
    memory.clear();
  }

  return {
    desk,
    ledger,
    requests,
    volume,
    get locked() {
      return unlocked === null;
    },
    actions: () => around.packs().all(),

    openRun: (caller, request) =>
      guarded(caller, request.actions.join(" ").slice(0, 200), async () => {
        const run = await openRun(core, caller, request);
        deadlines.watch(run);
        return run;
      }),
    joinRun: (caller, id) => guarded(caller, "join", () => joinRun(core, caller, id)),

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
        return within(operation.purse.id, () => reconcileNow(observer, operation));
      }),
    startCancel: (caller, id, reason, trace = null) => startOnOperation(caller, id, "cancel", reason, trace),
    startResume: (caller, id, reason, trace = null) => startOnOperation(caller, id, "resume", reason, trace),
    operations,
    fleet: {
      async adopt(left, operator) {
        requireUnlocked(core);
        return (await adopt(core, left, operator)).length;
      },
      hasAdopted: (name, term) => hasAdopted(core, name, term),
      release: (name, along) => release(core, name, along),
    },
    settle: async (signed) => {
      const { vaultId, keys } = around.operators();
      return operations.settle(verifyStatement(signed, vaultId, keys));
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
      return { run, evidence: core.tickets.of(run) };
    },
    attachTicket: async (runId, context) => attachTicket(core, requireRun(core, runId), context),

    unlock,
    lock,
    async resume(operator) {
      ledger.resume();
      const opened = unlocked;
      if (opened === null) return;
      await lock("resumed", operator);
      await unlock(opened);
    },
  };
}

function ticketIssuersOf(around: Surroundings): readonly IssuerKey[] {
  const operators = around.operators().keys.map((key) => ({ ...key, kind: "operator" as const }));
  return [...operators, ...around.ticketIssuers()];
}
