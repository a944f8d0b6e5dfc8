import type { NewEvent } from "../../audit/event.ts";
import { opaqueBytes } from "../../conventions/action/pack.ts";
import type { BoxTier } from "../../conventions/box/plan.ts";
import { openBudget, type RunLimits } from "../../conventions/budget/budget.ts";
import { withinCeilings } from "../../conventions/budget/ceilings.ts";
import { namesAction } from "../../conventions/grant/grant.ts";
import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied, placeDenied } from "../../kernel/failure.ts";
import type { RunId } from "../../kernel/ids.ts";
import { needsPerson } from "../approval/demand.ts";
import { ceilingsOf, now, requireSpace, requireUnlocked, requireVolume } from "../core.ts";
import { notPermitted, requireLiveCaller, requireSession } from "../outbound/admit.ts";
import { findGrant } from "../outbound/grants.ts";
import { type Definition, type PackBook, reachOf } from "../outbound/outbound.ts";
import type { LiveCaller } from "../ports.ts";
import { nameCaller } from "../record/record.ts";
import { runRow } from "../record/rows.ts";
import { bytesOf, payerOf } from "../record/written.ts";
import { createKin, descendantsNote, isDescendant, joinAsDescendant } from "./descendants.ts";
import { endRun, tellNext } from "./end.ts";
import type { RunNeeds } from "./needs.ts";
import { newTally, type Run } from "./run.ts";
import { requestSession } from "./sessions.ts";

export interface RunRequest {
  readonly purpose: string;
  /** PACK.ACTION, or PACK.* and PACK.PART.* for all that begin so, as in a grant. */
  readonly actions: readonly string[];
  readonly limits: RunLimits;
  /** What the surface itself knows of the caller and a person should read first. */
  readonly notes?: readonly string[];
  /** Whatever the caller starts may act as well. The card says so. */
  readonly descendants?: boolean;
  /** The caller says that it holds a box without a network, and speaks for whatever runs in it. The card says so. */
  readonly contained?: boolean;
  /** How that box was built. The card says it too. */
  readonly boxTier?: BoxTier;
  /** The caller says that it is the proxy of what it starts: nothing keeps that to it. The card says so. */
  readonly proxied?: boolean;
  /** The command that the caller says it will start. */
  readonly command?: readonly string[];
  /** A call comes right after: a person is asked about the session and that call at once, with the call in full. */
  readonly opensWithCall?: boolean;
  /** The actions are what its first call needs: a person is asked about more when a call needs more. */
  readonly asksAsItGoes?: boolean;
}

/** Said on the wrapper's card. Nobody but the wrapper can know it, and the card says that too. */
const containedNote =
  "whatever runs in its box speaks through this program; the box has no other network (so this program says; nothing here proves it)";

const tierNotes: Readonly<Record<BoxTier, string>> = {
  transparent: "the box is of the first tier: every connection in it ends at this program",
  bubblewrap:
    "the box is of the second tier, made by bubblewrap: tools reach this program by proxy variables, and whatever ignores them reaches nothing",
};

const proxiedNote =
  "NOT CONTAINED: what it starts is asked to use this program as its proxy, and can go past it to any network, with any credential it finds";

/** Opens a run and asks a person for its first session. */
export async function openRun(core: RunNeeds, caller: LiveCaller, request: RunRequest): Promise<Run> {
  requireLiveCaller(caller);
  requireUnlocked(core);
  requireSpace(core);
  if (core.book.openRunsOf(caller.key) >= defaults.runsPerCaller) {
    throw new Denied("too_many_requests", `This caller has ${defaults.runsPerCaller} open runs already.`);
  }
  const limits = withinCeilings(request.limits, ceilingsOf(core));
  const definitions = pickActions(core.packs(), request.actions);
  const asked = { actions: definitions.map(reachOf), requestBytes: requestBytesOf(request, definitions) };
  const ahead =
    findGrant(core, asked, caller, request.descendants === true) !== null && !needsPerson(core, asked.actions);
  if (!ahead) requireVolume(core, caller);
  requireOpening(core, caller, request, ahead);
  core.callers.keep(caller);
  const moment = now(core);
  const id = core.ports.ids.next("run");
  const run: Run = {
    id,
    ownerKey: caller.key,
    purpose: request.purpose,
    notes: [
      ...(request.contained === true ? [containedNote] : []),
      ...(request.contained === true && request.boxTier !== undefined ? [tierNotes[request.boxTier]] : []),
      ...(request.proxied === true ? [proxiedNote] : []),
      ...(request.descendants === true ? [descendantsNote] : []),
      ...(request.notes ?? []),
    ],
    contained: request.contained === true,
    proxied: request.proxied === true,
    command: request.command ?? null,
    opensWithCall: request.opensWithCall === true,
    asksAsItGoes: request.asksAsItGoes === true,
    widening: new Map(),
    asked,
    createdAt: isoTime(moment.wallMs),
    sessions: new Map(),
    kin: request.descendants === true ? createKin() : null,
    tally: newTally(),
    over: new AbortController(),
    state: "pending",
    endReason: null,
    refusal: null,
    budget: openBudget(id, limits, moment),
    admission: null,
    untold: new Set(),
    told: Promise.resolve(),
  };
  const { attempts, durationMs, spendCents, sideEffects } = limits;
  const event = {
    ...core.envelope("run_started"),
    run_id: run.id,
    caller_id: nameCaller(caller),
    purpose: run.purpose,
    actions: run.asked.actions.map(({ action }) => action),
    budget: { attempts, duration_ms: durationMs, spend_cents: spendCents, side_effects: sideEffects },
    deadline_at: run.budget.deadlineAt,
  };
  if (!ahead) core.volume.charge(payerOf(caller.uid), RUN_BYTES + bytesOf([event]));
  await begin(core, run, event);
  try {
    if (!run.opensWithCall) run.admission = requestSession(core, run, caller, "session", null);
  } catch (error) {
    if (error instanceof Denied) placeDenied(error, { runId: run.id });
    await endRun(core, run, error instanceof Denied ? error.code : "internal_fault");
    throw error;
  }
  if (run.opensWithCall) void endUnlessCalled(core, run).catch(() => undefined);
  return run;
}

/** In the book before it is in the log: a lock that comes meanwhile ends it with all others. */
async function begin(core: RunNeeds, run: Run, event: NewEvent): Promise<void> {
  const row = runRow(run);
  core.book.addRun(run);
  try {
    await tellNext(run, () => core.ledger.record("run.started", [event], [row]));
  } catch (error) {
    // It never began, so that there is no end to tell.
    run.state = "ended";
    core.book.endRun(run);
    throw error;
  }
  if (run.state !== "ended") return;
  requireUnlocked(core);
  throw new Denied("run_ended", `The run ended (${run.endReason ?? ""}) while it was written down. Open another one.`);
}

/** Its rows in the state, and how it ends where nobody approves it. */
const RUN_BYTES = 4_096;

/** Tools push and upload, as much as a pack lets an opaque body be; what an agent writes by itself is short. */
function requestBytesOf({ contained, proxied }: RunRequest, definitions: readonly Definition[]): number {
  if (contained !== true && proxied !== true) return defaults.runRequestBytes;
  const largest = Math.max(0, ...definitions.map(({ action }) => opaqueBytes(action)));
  return largest <= defaults.containedBodyBytes
    ? defaults.containedBodyBytes
    : Math.min(largest, defaults.spooledBodyBytes) + defaults.agentHeaderBytes;
}

/** Nobody is asked and nothing is written where there is no room on the desk, or this user opened too much in a short time. */
function requireOpening(
  core: Pick<RunNeeds, "desk" | "openings" | "ports">,
  caller: LiveCaller,
  { purpose, actions, command = [] }: RunRequest,
  ahead: boolean,
): void {
  if (!ahead) core.desk.requireRoom({ callerKey: caller.key, uid: caller.uid });
  const bytes = [...actions, ...command].reduce((sum, name) => sum + name.length, purpose.length * 3);
  const cost = 1 + Math.floor(bytes / defaults.runCostBytes);
  if (core.openings.take(`uid ${caller.uid}`, core.ports.clock.bootMs(), cost)) return;
  throw new Denied(
    "too_many_requests",
    `User ${caller.uid} opened too many runs in a short time. Go on with one that stands.`,
  );
}

/** Asks a person to let another process act in a run that stands. */
export async function joinRun(core: RunNeeds, caller: LiveCaller, id: RunId | undefined): Promise<Run> {
  requireLiveCaller(caller);
  requireUnlocked(core);
  requireSpace(core);
  const run = id === undefined ? undefined : core.book.run(id);
  const owner = run?.sessions.get(run.ownerKey);
  // Only a caller of the same user may even ask, and only about a run that stands.
  if (run === undefined || owner === undefined || run.state !== "open" || owner.caller.uid !== caller.uid) {
    throw new Denied("not_found", "There is no such run for this caller.");
  }
  const known = run.sessions.get(caller.key);
  if (known !== undefined) {
    // It never begins again, and whoever had it is not told that they joined.
    requireSession(known);
    return run;
  }
  if (run.kin !== null && isDescendant(run, caller)) {
    void joinAsDescendant(core, run, run.kin, caller);
    return run;
  }
  if (run.admission !== null && run.admission.approvalId !== null)
    throw new Denied("approvals_full", "Another process is being asked about for this run.");
  run.admission = requestSession(core, run, caller, "join", null);
  return run;
}

/** Nobody was asked about it, and nobody will be: the call that should have come did not, or did not fit. */
async function endUnlessCalled(core: RunNeeds, run: Run): Promise<void> {
  await core.ports.sleep.sleep(defaults.firstCallMs, run.over.signal);
  if (run.state === "pending" && run.admission === null) await endRun(core, run, "no_call_came");
}

function pickActions(packs: PackBook, names: readonly string[]): readonly Definition[] {
  const picked = new Map<string, Definition>();
  for (const name of names) {
    const found = name.endsWith(".*")
      ? packs.all().filter(({ action }) => namesAction([name], action.qualifiedName))
      : [packs.find(name)].filter((definition) => definition !== null);
    if (found.length === 0) throw notPermitted();
    for (const definition of found) picked.set(definition.action.qualifiedName, definition);
  }
  return [...picked.values()];
}
