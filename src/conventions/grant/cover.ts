import { defaults } from "../../kernel/defaults.ts";
import { counted } from "../../kernel/display.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Effect } from "../action/pack.ts";
import type { ReasonToAsk } from "../approval/reason.ts";
import type { CallerEvidence } from "../caller/evidence.ts";
import { conditionWords, holds } from "./condition.ts";
import { endsUnused, type Grant, inclusionWord, namesAction } from "./grant.ts";
import { hoursWords, isWithin } from "./hours.ts";

/** What is known of whoever calls, as far as a grant can rest on it. */
export interface CallerFacts {
  readonly evidence: Pick<
    CallerEvidence,
    "authority" | "cdhash" | "interpreter" | "process" | "unownedMappings" | "namespaces"
  >;
  /** Whether its user is neither the gateway's nor an operator's. */
  readonly ownUser: boolean;
  /** Whether `gw run` or the like opens a run for what it starts, or this is such a program, below a wrapper that lives. */
  readonly wrapping?: "wrapper" | "wrapped" | undefined;
}

/** What is known of the time: the clock now, the latest date that was seen (an end that came stays), the last day it was used. */
export interface Moment {
  readonly wallMs: number;
  readonly latestMs: number;
  readonly lastUsedDay: string | null;
}

export interface CallFacts {
  readonly action: string;
  readonly effect: Effect;
  readonly input: JsonObject;
  readonly credential: string | null;
  /** Why this call would be asked about in any session. */
  readonly because: readonly ReasonToAsk[];
}

/** Covered, or the first thing that is not. */
export type Cover = { readonly kind: "covered" } | { readonly kind: "not_covered"; readonly why: string };

const COVERED: Cover = { kind: "covered" };

/** Whether this process may act under the grant now at all. */
export function coverCaller(grant: Grant, caller: CallerFacts, moment: Moment): Cover {
  const cover = coverMoment(grant, moment);
  return cover.kind === "covered" ? coverProgram(grant, caller) : cover;
}

function coverMoment(grant: Grant, { wallMs, latestMs, lastUsedDay }: Moment): Cover {
  if (Date.parse(grant.until) <= wallMs) return not(`it ended on ${grant.until}`);
  if (Date.parse(grant.until) <= latestMs) {
    return not(
      `it ended on ${grant.until}, and the clock was set back behind that since (if it is right now, start the gateway anew)`,
    );
  }
  if (Date.parse(grant.createdAt) > wallMs) return not("the clock stands before it was signed");
  if (grant.hours !== null && !isWithin(grant.hours, wallMs)) return not(`it counts ${hoursWords(grant.hours)} alone`);
  if (endsUnused(grant, lastUsedDay) <= latestMs) {
    return not(
      `nobody used it for ${counted(grant.idleDays ?? defaults.grantIdleDays, "day")}, which ended it; sign it anew`,
    );
  }
  return COVERED;
}

function coverProgram(grant: Grant, { evidence, ownUser, wrapping }: CallerFacts): Cover {
  const { authority, image, command, uid } = grant.caller;
  if (authority === null && image === null && command === null && uid === null) return not("it names no caller");
  if (uid !== null && (evidence.process.uid !== uid || !ownUser)) {
    return not(`the caller does not run as user ${uid}, apart from operators and the gateway`);
  }
  // The wrapper only opens the run: it is no command of its own, and a call that it makes itself is held to what follows.
  if (command !== null && wrapping === "wrapper") return COVERED;
  if (command !== null && (wrapping !== "wrapped" || evidence.cdhash !== command)) {
    return not("the caller is not the command that it names, started by gw run");
  }
  if (authority !== null && authorityName(evidence.authority) !== authority) {
    return not(`${authority} does not vouch for the caller's image`);
  }
  if (image !== null && evidence.cdhash !== image) return not("the caller's image is another one");
  // What is known of an interpreter says nothing of the script; only a user of its own keeps other scripts away.
  if (evidence.interpreter !== null && uid === null) {
    return not(`${evidence.interpreter.name} runs any script, and the grant names no user of the agent's own`);
  }
  if (uid === null && evidence.unownedMappings.length > 0)
    return not("the caller has loaded code that nothing vouches for");
  if (evidence.namespaces !== "own") return not("the caller lives in another namespace");
  return COVERED;
}

/** Whether the grant lets this very call pass without a card. */
export function coverCall(grant: Grant, call: CallFacts): Cover {
  if (!namesAction(grant.actions, call.action)) return not(`it does not name ${call.action}`);
  if (!grant.effects.includes(call.effect)) return not(`it does not allow a ${call.effect}`);
  const broken = grant.conditions.find((condition) => !holds(condition, call.input));
  if (broken !== undefined) return not(`it holds only where ${conditionWords(broken)}`);
  const asked = call.because.find((reason) => !includes(grant, reason, call.credential));
  return asked === undefined ? COVERED : not(`it does not include this: ${asked.words}`);
}

function includes(grant: Grant, reason: ReasonToAsk, credential: string | null): boolean {
  const named = (word: string): boolean => grant.includes.some((inclusion) => inclusionWord(inclusion) === word);
  switch (reason.kind) {
    case "each_use_credential":
      return credential !== null && named(`each_use:${credential}`);
    case "each_use_action":
      return named("each_use_actions");
    case "previewless":
      return named("unpreviewed");
    case "purchase":
      return named("purchases");
    case "uncapped_cost":
      return named("uncapped_cost");
    case "plan":
      return named("plans");
    // The grant's own ceiling is what a person approved of what a run may spend.
    case "unapproved_spend":
      return grant.limits.spendCents > 0;
    case "other":
      return false;
  }
}

function authorityName(authority: CallerEvidence["authority"]): string | null {
  return authority.kind === "enrolled" || authority.kind === "sigstore" || authority.kind === "ima"
    ? authority.name
    : null;
}

function not(why: string): Cover {
  return { kind: "not_covered", why };
}
