import type { Asked, NewEvent } from "../../audit/event.ts";
import type { Send } from "../../conventions/action/send.ts";
import type { RunBudget } from "../../conventions/budget/budget.ts";
import type { Reservation } from "../../conventions/budget/decide.ts";
import type { CostRecord } from "../../conventions/budget/record.ts";
import type { Carried } from "../../conventions/budget/settle.ts";
import type { ClaimKey, Holder } from "../../conventions/outcome/claim.ts";
import type { Verdict } from "../../conventions/outcome/classify.ts";
import type { TransportObservation } from "../../conventions/outcome/observation.ts";
import type { CallId, OperationId, RunId } from "../../kernel/ids.ts";
import type { HttpLoan } from "../../vault/lent.ts";
import type { Authorization } from "../approval/authorize.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { AnswerHolder, AnswerSink, Counted, StateRow } from "../ports.ts";
import type { Run, Session, Wait } from "../run/run.ts";
import type { Errand } from "../steps.ts";
import type { TicketUse } from "../ticket/tickets.ts";

/** What one send needs to know. Retries and redirects change `request` and `credential`; nothing else. */
export interface Shot {
  /** What it is for: names its steps. */
  readonly errand: Errand;
  readonly callId: CallId;
  readonly outbound: Outbound;
  readonly authorization: Authorization;
  readonly request: Send;
  /** The label to lend, or null where the redirect rule stripped it. */
  readonly credential: string | null;
  /** Lends what the vault does not hold, such as a test token of one probe; the vault lends without it. */
  readonly lend?: (origin: string) => HttpLoan;
  /** The tracked operation that this attempt belongs to. */
  readonly operationId?: OperationId;
  /** The reserve of an earlier send of the same call: there is one charge at most, so one reserve. */
  readonly carries?: CarriedSend | undefined;
  /** Of every send that has an effect: nobody else sends the same while it is open. */
  readonly claim?: Claim | HeldByOperation | undefined;
  /** Where the call came from, as a surface told it: written once, with the first intent of the call. */
  readonly context?: NewEvent | undefined;
  /** The trace that the agent says its call belongs to: a claim, for the log alone. */
  readonly traceparent?: string | null;
  /** Whoever asked hands on the very bytes of the answer. */
  readonly keepsBytes?: true | undefined;
  /** Whose place a large answer takes, where somebody has it after the attempt. */
  readonly holder?: AnswerHolder | undefined;
  /** Who gets the answer while it comes, and may go away. */
  readonly stream?: AnswerStream | undefined;
  /** Durable together with the intent, before anything is sent. */
  readonly beside?: (attemptId: string, reservation: Reservation) => Beside;
  /** Takes out of the answer what nothing behind it may see, and keeps what must not be lost, before anything is made of it. */
  readonly take?: (observation: TransportObservation) => Promise<TransportObservation>;
  /** Durable together with the completion. */
  readonly after?: ((attempted: Attempted) => Beside) | undefined;
}

/** An answer on its way to a tool while it comes. */
export interface AnswerStream extends AnswerSink {
  /** Something of an answer was handed on: nothing else can be the answer then. */
  readonly begun: boolean;
  /** Whoever wanted it is gone. */
  readonly gone: AbortSignal;
}

/** One side effect on its way: it is held in the store before its intent is logged, and until somebody knows. */
export interface Claim {
  readonly key: ClaimKey;
  /** Calls that stand in the way and that a person decided to go past. */
  readonly despite: ReadonlySet<string>;
  /** Something left, or may have, and nothing tells yet whether it had its effect. */
  doubt: boolean;
  /** Attempts of it that were left without an answer. */
  unseen: readonly string[];
  /** As it stands in the store, once it does. */
  holder: Holder | null;
}

/** A repeat under its own token has one effect at most, and its operation holds the claim already. */
export type HeldByOperation = "held_by_operation";

/** What the room that asked for an attempt wants written with it. */
export interface Beside {
  readonly events: readonly NewEvent[];
  readonly rows: readonly StateRow[];
  /** What the record of the end itself says of the request that it answers. */
  readonly asked?: Asked | undefined;
}

/** An attempt of a live session, paid by its run. */
export interface Sending extends Shot {
  readonly run: Run;
  readonly session: Session;
  /** As it stood on the card, for an action that needs one. */
  readonly ticket?: TicketUse | undefined;
  readonly custody?: undefined;
  /** Told what the next send waits for, and with null when it no longer does. */
  readonly onWait?: (wait: Wait | null) => void;
}

/** A read that the gateway makes for an operation, paid by the operation's own allowance. It outlives the session. */
export interface CustodySending extends Shot {
  readonly run: { readonly id: RunId; budget: RunBudget };
  readonly session: { readonly id: string; readonly caller: { readonly key: string } };
  /** The operation, whose allowance changes with the attempt; null once another gateway looks after it. */
  readonly custody: () => StateRow | null;
  /** Ends something at its provider, with what was lent for that before the lock: nothing new is opened for it. */
  readonly behindLock?: boolean;
}

/** And what limits of the fleet counted of it, where it was sent by this same call. */
export interface CarriedSend extends Carried {
  readonly counted?: Counted | null;
}

export interface Attempted {
  readonly attemptId: string;
  readonly reservation: Reservation;
  /** What of it stays reserved, since nobody knows what this send or one before it comes to. */
  readonly held: number;
  readonly observation: TransportObservation;
  readonly verdict: Verdict;
  readonly cost: CostRecord;
  /** What limits of the fleet counted of its money, by this send or by the one that it took over from. */
  readonly counted?: Counted | null;
}

/** A preview keeps to its own path in the log: no intent and no completion of a change is written for it. */
export function isPreview({ definition }: Outbound): boolean {
  return definition.action.effect === "preview";
}
