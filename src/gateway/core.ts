import type { Allowances } from "../conventions/budget/allowance.ts";
import type { Now } from "../conventions/budget/budget.ts";
import { type Ceilings, STANDARD_CEILINGS } from "../conventions/budget/ceilings.ts";
import type { Volume } from "../conventions/budget/volume.ts";
import type { Grant } from "../conventions/grant/grant.ts";
import type { DecisionRules } from "../conventions/passkey/demand.ts";
import { Denied } from "../kernel/failure.ts";
import type { JsonValue } from "../kernel/json.ts";
import type { Desk } from "./approval/desk.ts";
import type { Accept } from "./approval/question.ts";
import type { Handles } from "./discovery/handles.ts";
import type { Operation, OperationBook } from "./operation/operations.ts";
import type { Definition, PackBook } from "./outbound/outbound.ts";
import type { PlanShelf } from "./plan/shelf.ts";
import type { Credentials, LiveCaller, Ports, StateRow } from "./ports.ts";
import type { DayCounts } from "./record/day-counts.ts";
import type { Ledger } from "./record/ledger.ts";
import type { Envelope } from "./record/record.ts";
import { payerOf } from "./record/written.ts";
import type { DeploymentBook } from "./rollback/deployments.ts";
import type { Book } from "./run/book.ts";
import type { DaySpend } from "./run/day-spend.ts";
import type { Run } from "./run/run.ts";
import type { Waiting } from "./run/waiting.ts";
import type { Tickets } from "./ticket/tickets.ts";
import type { Tokens } from "./token/port.ts";

/** What the gateway found, and what the operator signed, that it must know while it works. */
export interface Posture {
  readonly mode: "guard-rail" | "dedicated";
  /** Whether a caller's user could act as the gateway or as an operator: its cards say guard-rail, whatever the mode. */
  mayDecide?(caller: Pick<LiveCaller, "uid" | "pid">): boolean;
  /** What no run passes; the standard ones where policy names none. */
  readonly ceilings?: Ceilings;
  /** What a yes needs beside an operator's key, and where passkeys decide; nothing where it is absent. */
  readonly decisions?: { readonly rules: DecisionRules; readonly where: readonly string[] };
}

/** What every step of a call works with. */
export interface Core {
  /** Names this process among the gateways on one store. */
  readonly worker: string;
  readonly ports: Ports;
  /** How often each user may open a run. */
  readonly openings: Allowances;
  /** How much may be written for each user before a person said yes. */
  readonly volume: Volume;
  /** Calls that wait for a person to let their session begin. */
  readonly waiting: Waiting;
  readonly book: Book;
  readonly desk: Desk;
  readonly ledger: Ledger;
  readonly envelope: Envelope;
  readonly plans: PlanShelf;
  readonly operations: OperationBook;
  readonly deployments: DeploymentBook;
  /** Tells the observer that an operation has a read due; it does nothing before the observer runs. */
  schedule(operation: Operation): void;
  /** Whether a callback about its job came before the job had a name; it is told once. */
  cameEarly(operation: Operation): boolean;
  /** Keeps what an answer proves of a promotion, where a rollback could undo it. */
  keepPromotion(
    definition: Definition,
    made: { readonly runId: string; readonly party: string },
    answer: JsonValue,
  ): readonly StateRow[];
  readonly tickets: Tickets;
  readonly daySpend: DaySpend;
  readonly handles: Handles;
  readonly tokens: Tokens;
  /** Takes the work context that a person may assign while letting the run begin. */
  acceptTicket(run: Run): Accept;
  packs(): PackBook;
  /** Decisions that an operator signed ahead. */
  grants(): readonly Grant[];
  /** Whether this is a user that only agents run as: neither the gateway's own, nor root, nor an operator's. */
  isAgentUser(uid: number): boolean;
  readonly dayCounts: DayCounts;
  /** The wall time, but never earlier than it has been in this process: what ended does not begin again. */
  latestWallMs(): number;
  posture(): Posture;
  /** Stops lending a credential until an operator says otherwise. */
  suspendCredential(label: string, reason: string): Promise<void>;
  /** Null while locked. */
  credentials(): Credentials | null;
}

export function ceilingsOf(core: Core): Ceilings {
  return core.posture().ceilings ?? STANDARD_CEILINGS;
}

export function now({ ports: { clock } }: Core): Now {
  return { wallMs: clock.wallMs(), bootMs: clock.bootMs(), bootId: clock.bootId() };
}

/** New work needs room for its whole story; what began may still end in the reserve. */
export function requireSpace({ ports }: Core): void {
  if (ports.space?.low() !== true) return;
  throw new Denied(
    "disk_low",
    "The disk under the gateway's home is nearly full, and nothing new is begun. Nothing was sent.",
  );
}

/** A question writes down who asks: not for somebody who had as much written as fits a day before anybody said yes. */
export function requireVolume({ volume }: Core, { uid }: Pick<LiveCaller, "uid">): void {
  if (volume.asks(payerOf(uid))) return;
  throw new Denied(
    "too_many_requests",
    `User ${uid} had as much written down in a day as fits before a person says yes. Go on with a run that stands; a little more fits every few seconds.`,
  );
}

export function requireUnlocked(core: Core): Credentials {
  const credentials = core.credentials();
  if (credentials === null) {
    throw new Denied("gateway_locked", "The gateway is locked. An operator unlocks it with: gw unlock");
  }
  return credentials;
}
