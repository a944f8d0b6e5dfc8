import type { ReasonToAsk } from "../../conventions/approval/reason.ts";
import { type CallFacts, type Cover, coverCall, coverCaller } from "../../conventions/grant/cover.ts";
import { type Grant, namesAction } from "../../conventions/grant/grant.ts";
import { digestGrant } from "../../conventions/grant/record.ts";
import type { Scope } from "../../conventions/scope/scope.ts";
import { counted } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import type { RunId } from "../../kernel/ids.ts";
import type { LiveCaller } from "../ports.ts";
import type { Session, StandingOn } from "../run/run.ts";
import type { OutboundNeeds } from "./needs.ts";

/** The grant under which a session begins: one that this caller may use now, and that names all that was asked for. */
export function findGrant(core: OutboundNeeds, asked: Scope, caller: LiveCaller, wraps: boolean): Grant | null {
  const found = core
    .grants()
    .find(
      (grant) =>
        coverNow(core, grant, caller, wraps ? "wrapper" : undefined).kind === "covered" &&
        asked.actions.every(
          ({ action, effect }) =>
            namesAction(grant.actions, action) && (grant.effects as readonly string[]).includes(effect),
        ),
    );
  return found ?? null;
}

export function standOn(grant: Grant): StandingOn {
  return { name: grant.name, digest: digestGrant(grant) };
}

/** The grant that a session stands on, as signed policy holds it now. It must be the very one, and let this caller act still. */
export function requireGrant(core: OutboundNeeds, session: Session, on = session.grant): Grant | null {
  const { caller } = session;
  if (on === null) return null;
  const grant = core.grants().find((one) => one.name === on.name && digestGrant(one) === on.digest);
  if (grant === undefined) {
    throw new Denied("grant_ended", `The grant ${on.name} was removed or changed. Ask anew: a person decides.`);
  }
  const cover = coverNow(core, grant, caller, wrappingOf(core, session.runId, caller));
  if (cover.kind === "covered") return grant;
  throw new Denied("grant_ended", `The grant ${on.name} no longer covers this caller: ${cover.why}.`);
}

/** The other grant that a call rests on, as signed policy holds it now; null where it is the one of its session, or none. */
export function requireOtherGrant(
  core: OutboundNeeds,
  session: Session,
  { grant }: { readonly grant?: StandingOn },
): Grant | null {
  return grant === undefined || grant.name === session.grant?.name ? null : requireGrant(core, session, grant);
}

/**
 * The grant that lets this very call pass: the one that its session stands on, or else another that covers caller and call now
 * and has room for it in the run. Otherwise why a person is asked after all.
 */
export async function coveringGrant(
  core: OutboundNeeds,
  own: Grant,
  { caller, runId }: Session,
  call: CallFacts,
  hasRoom: (grant: Grant) => boolean,
): Promise<{ readonly grant: Grant } | { readonly beyond: ReasonToAsk }> {
  const beyond = await reasonBeyondGrant(core, own, call);
  if (beyond === null) return { grant: own };
  for (const grant of core.grants()) {
    if (grant.name === own.name) continue;
    if (!hasRoom(grant)) continue;
    if (coverNow(core, grant, caller, wrappingOf(core, runId, caller)).kind !== "covered") continue;
    if ((await reasonBeyondGrant(core, grant, call)) === null) return { grant };
  }
  return { beyond };
}

async function reasonBeyondGrant(
  core: Pick<OutboundNeeds, "dayCounts">,
  grant: Grant,
  call: CallFacts,
): Promise<ReasonToAsk | null> {
  const cover = coverCall(grant, call);
  if (cover.kind === "not_covered") return beyond(`the grant ${grant.name} does not cover it: ${cover.why}`);
  if (await core.dayCounts.take(`grant ${grant.name}`, grant.callsPerDay)) return null;
  return beyond(`the grant ${grant.name} has covered ${counted(grant.callsPerDay, "call")} today, which is all it may`);
}

function beyond(words: string): ReasonToAsk {
  return { kind: "other", words };
}

/** What a wrapper started belongs to its run, as long as the wrapper lives; the wrapper itself is no wrapped command. */
export function wrappingOf(
  core: Pick<OutboundNeeds, "book">,
  runId: RunId,
  { key }: LiveCaller,
): "wrapped" | undefined {
  const run = core.book.run(runId);
  return run !== undefined && run.kin !== null && run.ownerKey !== key ? "wrapped" : undefined;
}

export function coverNow(
  core: OutboundNeeds,
  grant: Grant,
  { evidence, uid }: LiveCaller,
  wrapping: "wrapper" | "wrapped" | undefined,
): Cover {
  const caller = { evidence, ownUser: core.isAgentUser(uid), wrapping };
  const lastUsedDay = core.dayCounts.lastDay(`grant ${grant.name}`);
  return coverCaller(grant, caller, {
    ...{ wallMs: core.ports.clock.wallMs(), latestMs: core.latestWallMs(), lastUsedDay },
  });
}
