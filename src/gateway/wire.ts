import { createAllowances } from "../conventions/budget/allowance.ts";
import type { IssuerKey } from "../conventions/ticket/verify.ts";
import { createLatestWall } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { createAnswerRoom } from "./answer-room.ts";
import { createDesk } from "./approval/desk.ts";
import { type CallbackMemory, createCallbackMemory } from "./callback/memory.ts";
import type { Core } from "./core.ts";
import { createHandles } from "./discovery/handles.ts";
import { createEffects } from "./operation/effects.ts";
import { createObserver, type Observer } from "./operation/observe.ts";
import { recallOperation } from "./operation/operation-row.ts";
import { createOperationBook } from "./operation/operations.ts";
import { createShelf } from "./plan/shelf.ts";
import type { Ports } from "./ports.ts";
import { createDayCounts } from "./record/day-counts.ts";
import { createKeptVolume } from "./record/kept-volume.ts";
import { createLedger } from "./record/ledger.ts";
import { createEnvelope } from "./record/record.ts";
import { createDeploymentBook } from "./rollback/deployments.ts";
import { isUndoable, keepPromotion } from "./rollback/promotion.ts";
import { createBook } from "./run/book.ts";
import { createDaySpend } from "./run/day-spend.ts";
import { createHeldCallers } from "./run/held-callers.ts";
import { createWaiting } from "./run/waiting.ts";
import type { Surroundings, Unlocked } from "./surroundings.ts";
import { acceptForRun } from "./ticket/attach.ts";
import { createTickets } from "./ticket/tickets.ts";
import { createTokens } from "./token/tokens.ts";

/** The rooms' books and ports, put together once, and what locking and unlocking reach beside them. */
export interface Wired {
  readonly core: Core;
  /** What the service key opened, while it is open. */
  readonly opened: Opened;
  readonly volume: ReturnType<typeof createKeptVolume>;
  readonly tokens: ReturnType<typeof createTokens>;
  readonly memory: CallbackMemory;
  readonly observer: Observer;
}

interface Opened {
  unlocked: Unlocked | null;
}

export function wire(ports: Ports, around: Surroundings): Wired {
  const worker = around.worker ?? `worker ${ports.ids.next("evt")}`;
  const ledger = createLedger({
    audit: ports.audit,
    sleep: ports.sleep,
    worker,
    steps: ports.steps,
    onStop: around.onStop,
  });
  const envelope = createEnvelope(ports.ids, ports.clock);
  const book = createBook({
    runs: defaults.runsRemembered,
    callsPerRun: defaults.callsRememberedPerRun,
    resultBytes: defaults.resultsHeldBytes,
  });
  const volume = createKeptVolume(ledger, ports.clock);
  const { record, find, hasRoom } = ledger;
  const { operators, showHand } = around;
  const desk = createDesk({
    ...ports,
    record,
    find,
    hasRoom,
    volume,
    operators,
    ...(showHand === undefined ? {} : { showHand }),
  });
  const memory = createCallbackMemory();
  const opened: Opened = { unlocked: null };
  const tokens = createTokens(() => core);
  const core: Core = {
    worker,
    ports,
    openings: createAllowances({
      burst: defaults.runsBurstPerUid,
      perSecond: defaults.runsPerSecondPerUid,
      remembered: defaults.runsRemembered,
    }),
    callers: createHeldCallers({ perUid: defaults.callersHeldPerUid, total: defaults.callersHeld }),
    volume,
    waiting: createWaiting(defaults.callsWaitingPerUid),
    book,
    desk,
    ledger,
    envelope,
    plans: createShelf(),
    operations: createOperationBook((id) => recallOperation(core, id)),
    effects: createEffects(),
    deployments: createDeploymentBook((id) => ledger.find("deployments", id)),
    schedule: (operation) => observer.schedule(operation),
    cameEarly: (operation) => memory.takeEarly(operation, ports.clock.bootMs()),
    daySpend: createDaySpend(ports.clock),
    handles: createHandles(),
    answers: createAnswerRoom(defaults.answerRoomBytes),
    sshPlaces: createAnswerRoom(defaults.sshAtOnce),
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
    suspendCredential: async (label, of, reason) => around.suspendCredential?.(label, of, reason),
    credentials: () => opened.unlocked?.credentials ?? null,
  };
  const observer = createObserver(core);
  return { core, opened, volume, tokens, memory, observer };
}

function ticketIssuersOf(around: Surroundings): readonly IssuerKey[] {
  const operators = around.operators().keys.map((key) => ({ ...key, kind: "operator" as const }));
  return [...operators, ...around.ticketIssuers()];
}
