import type { NewEvent } from "../audit/event.ts";
import type { Moment } from "../conventions/operation/evolve.ts";
import { type Lease, TAKEN_AWAY } from "../conventions/operation/record.ts";
import { isSettled, type OperationState } from "../conventions/operation/state.ts";
import { isoTime } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import type { JsonObject, JsonValue } from "../kernel/json.ts";
import { isJsonObject } from "../kernel/json.ts";
import { CLAIM, claimRow, holdersOf, keyOfRow, readHolders } from "./attempt/claim.ts";
import { isAlsoElsewhere, MINTED } from "./attempt/mint.ts";
import { requireReadable } from "./left-rows.ts";
import { settleHeld } from "./operation/held-reserve.ts";
import { isTakenAway, nextLease } from "./operation/lease.ts";
import type { OperationNeeds } from "./operation/needs.ts";
import { step, transitionEvent } from "./operation/operation.ts";
import { operationRow, readOperation } from "./operation/operation-row.ts";
import { learn, type Operation } from "./operation/operations.ts";
import { CUSTODIAN } from "./operation/read-operation.ts";
import type { StateRow, StateStore } from "./ports.ts";
import { takeUp } from "./recover.ts";
import {
  type Deployment,
  deploymentKey,
  deploymentRow,
  installDeployment,
  readDeployment,
} from "./rollback/deployments.ts";

/** What another gateway had under way, as its own store held it. */
export interface LeftBehind {
  readonly gateway: string;
  readonly term: number;
  readonly rows: readonly Omit<StateRow, "onlyIf" | "unordered" | "over">[];
  /** How far its clock was ahead of this host's. */
  readonly aheadMs: number;
  /** Whether it may lend a credential, and could have done something with it. */
  mayLend(label: string): boolean;
}

/** How much of it is looked after here now. */
export interface TakenOver {
  readonly operations: number;
  /** That can be undone from here. */
  readonly deployments: number;
  /** Secrets that answers brought, and nobody took into the vault yet. */
  readonly minted: number;
}

/** A term that is this gateway's, or was and went on to another. */
type Taken = Pick<LeftBehind, "gateway" | "term">;

export const ADOPTED = "adopted";

/**
 * Goes on with what another gateway left, as after a start of our own: jobs are observed, what was sent and not answered is asked
 * about. It all becomes this gateway's in one commit, with a note of it, so that it happens once.
 */
export async function adopt(core: OperationNeeds, left: LeftBehind, operator: string | null): Promise<TakenOver> {
  if (hasAdopted(core, left.gateway, left.term)) return { operations: 0, deployments: 0, minted: 0 };
  requireReadable(left.gateway, left.rows);
  const owned = left.rows.map((row) => ownedRow(core, row, left.aheadMs));
  const store = storeOf(owned);
  const found = takeUp(core, store, () => true);
  const operations = found.operations.filter((one) => isFree(core, one)).map((one) => standingAlone(one, left.gateway));
  const taken = new Set<unknown>(operations.map(({ id }) => id));
  const events = found.events.filter((event) => !("operation_id" in event) || taken.has(event.operation_id));
  // Claims are merged with what this host holds itself; the rest of what takeUp writes is of the other's store.
  const claims = left.rows.filter(({ table, state }) => table === "notes" && state === CLAIM);
  const open = new Map(claims.map((row) => [row.id, row as StateRow]));
  for (const row of found.rows) if (row.table === "notes") open.set(row.id, row);
  const merged = [...open.values()].map((row) => {
    const own = holdersOf(core, keyOfRow(row));
    const theirs = readHolders(row).filter(({ call_id }) => own.every((one) => one.call_id !== call_id));
    return claimRow(keyOfRow(row), [...own, ...theirs]);
  });
  const deployed = left.rows.filter((row) => isItsDeployment(core, left, row) && isFreeDeployment(core, row.id));
  const minted = left.rows.filter(
    ({ table, id, state }) =>
      // By its name too: it shall be no other note of this host, whatever it says of itself.
      table === "notes" && state === MINTED && id.startsWith(`${MINTED} `) && core.ledger.find("notes", id) === null,
  );
  const counts = { operations: operations.length, deployments: deployed.length, minted: minted.length };
  const told = {
    ...core.envelope("operations_adopted"),
    ...{ gateway: left.gateway, term: left.term, ...counts, operator },
  };
  const kept = operations.map((operation) => unfenced(operationRow(core, operation)));
  const undoable = deployed.flatMap((row) => {
    // Of no run of this host, whatever it says: a person is asked before it is undone.
    return installDeployment(core.deployments, { ...readDeployment(row), party: `${HOLDER}${left.gateway}` });
  });
  // What the other knew of operations that it had taken over itself, for whoever still asks.
  const known = owned.filter(({ table, id, state, body }) => {
    if (table !== "operations" || !isSettled(state as OperationState)) return false;
    return typeof body["takenFrom"] === "string" && core.ledger.find("operations", id) === null;
  });
  const once: StateRow = { ...noteOf(left), onlyIf: (stored) => stored === null };
  const rows = [...kept, ...merged, ...undoable, ...minted, ...known, once];
  await core.ledger.record("operation.taken_over", [told, ...events], rows);
  for (const operation of operations) {
    core.operations.put(operation);
    core.schedule(operation);
  }
  await learnEndings(core, left.gateway, left.gateway, left.rows);
  return counts;
}

/** The gateways that have what was taken over here, as long as nobody knows how it ended. */
export function awaited({ operations }: Pick<OperationNeeds, "operations">): readonly string[] {
  const open = operations.all().filter((one) => !isSettled(one.state) && isTakenAway(one));
  return [...new Set(open.map(({ lease }) => lease?.owner.slice(HOLDER.length) ?? ""))];
}

/**
 * What became of operations that `holder` took over from here, by the rows of a gateway that has them: that one, or whoever took over
 * from there. Nobody is believed about what somebody else has.
 */
export async function learnEndings(
  core: OperationNeeds,
  holder: string,
  gateway: string,
  rows: LeftBehind["rows"],
): Promise<void> {
  requireReadable(gateway, rows);
  for (const operation of core.operations.all()) {
    if (isSettled(operation.state) || !isTakenAway(operation)) continue;
    if (operation.lease?.owner !== `${HOLDER}${holder}`) continue;
    const row = rows.find(({ table, id, state }) => {
      return table === "operations" && id === operation.id && isSettled(state as OperationState);
    });
    const theirs = row === undefined ? null : readOperation(core, row);
    if (theirs === null || theirs.fingerprint !== operation.fingerprint) continue;
    const { state, remoteJobId, remoteState, progress, resultDigest, history } = theirs;
    const ended = { ...operation };
    const now = { ...operation, state, remoteJobId, remoteState, progress, resultDigest, history };
    const standing = { ...now, problem: null, nextPoll: null, asking: null };
    learn(ended, { kind: "stored_by_another", theirs: standing, lease: leaseOf(gateway, operation.lease) });
    const last = history.at(-1);
    const told = transitionEvent(core, operation, {
      ...{ at: isoTime(core.ports.clock.wallMs()), actor: `${HOLDER}${gateway}`, from: operation.state, to: state },
      ...{ cause: last?.cause ?? "taken_over", remote_job_id: remoteJobId },
    });
    const held = settleHeld(core, ended);
    const kept = unfenced(operationRow(core, ended));
    await core.ledger.record("operation.taken_over", [told, ...held.events], [kept, ...held.rows]);
    core.operations.put(ended);
  }
}

const HOLDER = "gateway ";

/** One that it could have made: it would be undone with this gateway's credential, and what it replaces could be undone no more. */
function isItsDeployment(
  core: Pick<OperationNeeds, "packs">,
  { mayLend }: Pick<LeftBehind, "mayLend">,
  { table, id, state, body }: LeftBehind["rows"][number],
): boolean {
  if (table !== "deployments" || state !== "current" || !isJsonObject(body["provenance"] ?? null)) return false;
  const { pack, provenance } = body as unknown as Deployment;
  const packs = core.packs().all();
  const label = packs.find((one) => one.pack.name === pack)?.pack.provider?.credential ?? null;
  return id === deploymentKey(pack, provenance.deployment_id) && (label === null || mayLend(label));
}

/** What this gateway deployed itself, or knows to be over, stays as it is here. */
function isFreeDeployment({ ledger }: Pick<OperationNeeds, "ledger">, id: string): boolean {
  const row = ledger.find("deployments", id);
  return row === null || (!("tampered" in row) && row.state === "taken_over");
}

export function hasAdopted({ ledger }: Pick<OperationNeeds, "ledger">, gateway: string, term: number): boolean {
  return ledger.find("notes", noteId(gateway, term)) !== null;
}

/** Another gateway looks after all that was under way here: nothing of it is read, moved or settled here any more. */
export async function release(core: OperationNeeds, gateway: string, along: readonly Taken[]): Promise<void> {
  const open = core.operations.all().filter((one) => !isSettled(one.state) && !isTakenAway(one));
  // Whoever has them can undo them. Secrets stay here too: of two places that have one, an operator needs but one.
  const deployed = core.ledger.load("deployments", "current").flatMap((row) => {
    if ("tampered" in row) return [];
    const deployment: Deployment = { ...readDeployment(row), state: "taken_over", takenBy: gateway };
    return [deployment];
  });
  const minted = core.ledger.load("notes", MINTED).flatMap((row) => {
    if ("tampered" in row || isAlsoElsewhere(row)) return [];
    return [{ ...row, body: { ...row.body, taken_by: gateway } }];
  });
  if (open.length + along.length + deployed.length + minted.length === 0) return;
  const events: NewEvent[] = [];
  // A copy: whatever is still on its way with the old one finds that the term is not its own, and writes nothing.
  const released = open.map((operation) => {
    const copy = { ...operation };
    learn(copy, { kind: "leased", lease: leaseOf(gateway, operation.lease) });
    learn(copy, { kind: "look_again", at: null });
    // Nobody here learns any more how that ended; a person who does can say so.
    const lost = { observation: "taken_over_before_the_result" } as const;
    events.push(...step(core, copy, { kind: "no_clear_answer", ...lost }, CUSTODIAN));
    events.push(...step(core, copy, { kind: "reconciliation_inconclusive", ...lost }, CUSTODIAN));
    return copy;
  });
  const counts = { operations: open.length, deployments: deployed.length };
  const told = { ...core.envelope("operations_released"), gateway, ...counts };
  const rows = [
    ...released.map((operation) => unfenced(operationRow(core, operation))),
    ...deployed.map(deploymentRow),
    ...minted,
    ...along.map(noteOf),
  ];
  await core.ledger.record("operation.taken_over", [told, ...events], rows);
  for (const deployment of deployed) core.deployments.put(deployment);
  for (const operation of open) learn(operation, { kind: "look_again", at: null });
  for (const operation of released) core.operations.put(operation);
}

/** Runs out for nobody here. */
function leaseOf(gateway: string, before: Lease | null): Lease {
  return {
    owner: `${HOLDER}${gateway}`,
    expires_at: TAKEN_AWAY,
    expires_boot_ms: Number.MAX_SAFE_INTEGER,
    boot_id: "",
    term: (before?.term ?? 0) + 1,
  };
}

export const noteId = (gateway: string, term: number): string => `${ADOPTED} ${gateway} ${term}`;

const noteOf = ({ gateway, term }: Taken): StateRow => ({
  table: "notes",
  id: noteId(gateway, term),
  runId: "",
  state: ADOPTED,
  body: {},
});

/** What is or was under way here by itself, or ended here, stays as it is, whatever another gateway says about one of that name. */
function isFree(core: OperationNeeds, { id, fingerprint }: Operation): boolean {
  const row = core.ledger.find("operations", id);
  if (row === null) return true;
  if ("tampered" in row) return false;
  const ours = readOperation(core, row);
  return !isSettled(ours.state) && isTakenAway(ours) && ours.fingerprint === fingerprint;
}

/** It belongs to no session and no purse of this host, whatever it says: nothing is sent again for it, no reserve is given back. */
function standingAlone(operation: Operation, gateway: string): Operation {
  // Whose it was first is who asks; a second taking changes nothing of that.
  return { ...operation, repeats: defaults.tokenRepeats, held: 0, takenFrom: operation.takenFrom ?? gateway };
}

/** Whatever stands here under its name is older: the term was taken on the hub. */
function unfenced({ onlyIf: _onlyIf, ...row }: StateRow): StateRow {
  return { ...row, unordered: true };
}

/** Under a lease of ours, and its times by our clock. */
function ownedRow(core: OperationNeeds, row: LeftBehind["rows"][number], aheadMs: number): StateRow {
  const { worker: _worker, ...body } = row.body;
  if (row.table !== "operations") return { ...row, body };
  const lease = nextLease(core, (body["lease"] ?? null) as Lease | null);
  const shift = (value: JsonValue | undefined): JsonValue => shifted(value ?? null, aheadMs);
  const times = {
    firstSent: shift(body["firstSent"]),
    createDeadline: shift(body["createDeadline"]),
    resultDeadline: shift(body["resultDeadline"]),
    nextPoll: shift(body["nextPoll"]),
  };
  return { ...row, body: { ...body, ...times, lease, boot_id: "" } };
}

function shifted(value: JsonValue, aheadMs: number): JsonValue {
  if (!isJsonObject(value)) return value;
  const moment = value as unknown as Moment;
  return { ...moment, at: isoTime(Date.parse(moment.at) - aheadMs) } as unknown as JsonObject;
}

/** Their rows, for whoever reads a store. Nothing is written to it. */
function storeOf(rows: readonly StateRow[]): StateStore {
  const find: StateStore["find"] = (table, id) => rows.find((row) => row.table === table && row.id === id) ?? null;
  return {
    find,
    load: (table, state) => rows.filter((row) => row.table === table && row.state === state),
    commit: () => Promise.resolve(),
    forget: () => undefined,
    change: (table, id) => Promise.resolve(find(table, id)),
  };
}
