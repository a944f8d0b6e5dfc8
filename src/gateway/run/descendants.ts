import { namesImage } from "../../conventions/caller/evidence.ts";
import { mayContinue } from "../../conventions/caller/session.ts";
import { narrowScope } from "../../conventions/scope/scope.ts";
import { Denied } from "../../kernel/failure.ts";
import type { ApprovalId } from "../../kernel/ids.ts";
import { writeQuestion } from "../approval/cards.ts";
import { requireLiveCaller } from "../outbound/admit.ts";
import { coverNow, wrappingOf } from "../outbound/grants.ts";
import type { LiveCaller } from "../ports.ts";
import type { RunNeeds } from "./needs.ts";
import type { Footing, Kin, Run, Session } from "./run.ts";
import { startSession } from "./sessions.ts";

/**
 * What `gw run` starts. A person approved a wrapper and whatever it starts; each of those processes is a caller of its
 * own, and it belongs to the run when its parents, as the kernel names them now, reach the wrapper that still lives.
 * An image that no card of the run has shown is asked about once.
 */
export function createKin(): Kin {
  return { images: new Map(), joining: new Map() };
}

/** Said on the wrapper's card, which is what a person signs. */
export const descendantsNote =
  "anything that this program starts may act in this run, as long as this program lives; a program with another image is asked about once";

/** Ended sessions of processes that are gone are kept this many to a run. */
const ENDED_KEPT = 200;

/** Whether the caller is, right now, below the live process that opened the run. Anything unclear is no. */
export function isDescendant(run: Run, caller: LiveCaller): boolean {
  const owner = run.sessions.get(run.ownerKey);
  if (run.kin === null || run.state !== "open" || owner === undefined || !mayContinue(owner)) return false;
  if (caller.key === run.ownerKey || caller.uid !== owner.caller.uid || caller.binding !== "process") return false;
  // The owner is held and alive on both sides of the walk, so its pid meant nobody else in between.
  return bothLive(owner.caller, caller) && reaches(caller, owner.caller) && bothLive(owner.caller, caller);
}

/** The session of a process that `isDescendant` let in, now or once a person has answered about its image. */
export function joinAsDescendant(core: RunNeeds, run: Run, kin: Kin, caller: LiveCaller): Promise<Session> {
  const known = kin.joining.get(caller.key);
  if (known !== undefined) return known;
  const joining = admit(core, run, kin, caller).finally(() => kin.joining.delete(caller.key));
  joining.catch(() => undefined);
  kin.joining.set(caller.key, joining);
  return joining;
}

async function admit(core: RunNeeds, run: Run, kin: Kin, caller: LiveCaller): Promise<Session> {
  requireDescendant(run, caller);
  const footing = await footingOf(core, run, kin, caller);
  // A person may have taken minutes: the parents are walked again before anything is granted.
  requireDescendant(run, caller);
  dropOldSessions(core, run);
  return startSession(core, run, caller, footing);
}

function requireDescendant(run: Run, caller: LiveCaller): void {
  requireLiveCaller(caller);
  if (run.state === "ended") throw new Denied("run_ended", `The run ended (${run.endReason ?? "no reason kept"}).`);
  if (!isDescendant(run, caller)) throw new Denied("not_found", "There is no such run for this caller.");
}

function footingOf(core: RunNeeds, run: Run, kin: Kin, caller: LiveCaller): Footing | Promise<Footing> {
  const owner = run.sessions.get(run.ownerKey);
  if (owner === undefined) throw new Denied("not_found", "There is no such run for this caller.");
  const { cdhash } = caller.evidence;
  const isOwners = namesImage(cdhash) && cdhash === owner.caller.evidence.cdhash;
  if (owner.grant === null ? isOwners : isCovered(core, owner, caller)) return owner;
  // Nobody can say that the next process runs the same: a yes and a no are about this one.
  if (!namesImage(cdhash)) return askAboutImage(core, run, owner, caller);
  const known = kin.images.get(cdhash);
  if (known !== undefined) return known;
  const asked = askAboutImage(core, run, owner, caller);
  kin.images.set(cdhash, asked);
  asked.catch((refused: unknown) => {
    // A person's no stands for the run; a question that nobody answered may be asked again.
    if (!(refused instanceof Denied && refused.code === "approval_denied")) kin.images.delete(cdhash);
  });
  return asked;
}

/** Under a grant it is the grant that says which programs below the wrapper may act; a person is asked about others. */
function isCovered(core: RunNeeds, { grant: on, runId }: Session, caller: LiveCaller): boolean {
  const grant = core.grants().find(({ name }) => name === on?.name);
  return grant !== undefined && coverNow(core, grant, caller, wrappingOf(core, runId, caller)).kind === "covered";
}

async function askAboutImage(
  core: Pick<RunNeeds, "acceptTicket" | "desk" | "posture">,
  run: Run,
  owner: Session,
  caller: LiveCaller,
): Promise<Footing> {
  const { cdhash } = caller.evidence;
  const why = namesImage(cdhash)
    ? `no card of this run has shown this image (${cdhash}); approving lets every process with this image that it starts act in this run`
    : "nobody can say which image it runs; approving lets this one process act in this run";
  const notes = [`process ${owner.caller.pid} started it with gw run, and ${why}`];
  const ask = core.desk.ask(writeQuestion(core, { mode: "join", run, caller, scope: owner.scope, call: null, notes }));
  const { statement } = await ask.answer;
  const scope = narrowScope(owner.scope, statement.narrow);
  return {
    scope,
    approvalId: statement.approval_id as ApprovalId,
    approvedBy: statement.operator,
    approvedAt: statement.decided_at,
    grant: null,
  };
}

function reaches(caller: LiveCaller, owner: LiveCaller): boolean {
  const { startTime } = owner.evidence.process;
  return caller.ancestry().some((one) => one.pid === owner.pid && one.startTime === startTime);
}

function bothLive(owner: LiveCaller, caller: LiveCaller): boolean {
  return owner.check().kind === "same" && caller.check().kind === "same";
}

/** A shell makes a process a call: what is left of those that exited must not grow with the run. */
function dropOldSessions({ book }: Pick<RunNeeds, "book">, run: Run): void {
  const gone = [...run.sessions].filter(
    ([key, { id, endReason }]) => key !== run.ownerKey && endReason === "process_exited" && !run.untold.has(id),
  );
  for (const [key, session] of gone.slice(0, Math.max(0, gone.length - ENDED_KEPT))) {
    run.sessions.delete(key);
    book.forgetSession(session);
  }
}
