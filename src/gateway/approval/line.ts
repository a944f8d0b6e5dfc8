import type { DecisionStatement, Verified } from "../../conventions/approval/decision.ts";
import {
  addCoolDown,
  type CardPlace,
  type CoolDowns,
  coolDownKey,
  isCoolingDown,
  mayOpen,
  mayWait,
  pickNext,
} from "../../conventions/approval/queue.ts";
import type { Clock } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { counted } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import type { ApprovalId, Ids } from "../../kernel/ids.ts";
import type { Approval, Question } from "./question.ts";

/** A question that nobody has decided, and who waits for the answer. */
export interface Entry {
  approval: Approval;
  question: Question;
  readonly resolvers: ((answer: Promise<Verified<DecisionStatement>>) => void)[];
}

const limits = { openPerUid: defaults.cardsOpenPerUid, waitingPerUid: defaults.cardsWaitingPerUid };

/** Whose question is shown, whose waits, and what was just denied: within the limits of each user. */
export function createLine({ clock, ids }: { readonly clock: Clock; readonly ids: Ids }) {
  const entries = new Map<ApprovalId, Entry>();
  const finished: Approval[] = [];
  let coolDowns: CoolDowns = new Map();

  const open = (): Entry[] => [...entries.values()].filter(({ approval }) => approval.card !== null);
  const waiting = (): Entry[] => [...entries.values()].filter(({ approval }) => approval.card === null);

  return {
    open,
    all: (): Entry[] => [...entries.values()],
    of: (approvalId: string): Entry | undefined => entries.get(approvalId as ApprovalId),
    /** As it stands, or as it ended if that is not long ago. */
    find: (approvalId: string): Approval | undefined =>
      entries.get(approvalId as ApprovalId)?.approval ?? finished.find((one) => one.approvalId === approvalId),

    enter(question: Question, resolvers: Entry["resolvers"]): Entry {
      const approval: Approval = {
        approvalId: question.approvalId ?? ids.next("apr"),
        runId: question.runId,
        callId: question.callId,
        callerKey: question.callerKey,
        uid: question.uid,
        mode: question.mode,
        state: "pending",
        card: null,
        cardDigest: null,
        askedBootMs: clock.bootMs(),
        expiresBootMs: Math.min(question.deadlineBootMs, clock.bootMs() + defaults.approvalWaitMs),
        decidedBy: null,
        reason: null,
        given: [],
      };
      const entry = { approval, question, resolvers };
      entries.set(approval.approvalId, entry);
      return entry;
    },

    /** Out of the line, and remembered for a while as it ended. */
    leave({ approval }: Entry): void {
      entries.delete(approval.approvalId);
      finished.push(approval);
      if (finished.length > defaults.cardsRemembered) finished.shift();
    },

    /** Those who wait and may be shown now. */
    next(): Entry[] {
      const shown = open().map(({ question }) => question);
      const places = waiting().map((entry) => ({ ...entry.question, entry }));
      return pickNext(shown, places, limits).map(({ entry }) => entry);
    },

    requireRoom(place: CardPlace): void {
      const shown = open().map((entry) => entry.question);
      const line = waiting().map((entry) => entry.question);
      if (mayOpen(shown, place, limits) || mayWait(line, place, limits)) return;
      throw new Denied("approvals_full", "Too many questions of this user wait for a person already.");
    },

    requireNotCooling({ uid, askDigest, callDigest, budget }: Question): void {
      const nowMs = clock.bootMs();
      const keys = [askDigest, ...(callDigest === undefined ? [] : [callDigest])].map((one) => coolDownKey(uid, one));
      const key = keys.find((one) => isCoolingDown(coolDowns, one, budget, nowMs));
      if (key === undefined) return;
      const seconds = Math.ceil(((coolDowns.get(key)?.untilBootMs ?? nowMs) - nowMs) / 1000);
      throw new Denied(
        "approval_cooling_down",
        `A person denied exactly this a moment ago; it is not asked again for ${counted(seconds, "second")}.`,
      );
    },

    coolDown({ uid, askDigest, callDigest, budget }: Question): void {
      const nowMs = clock.bootMs();
      const denied = { untilBootMs: nowMs + defaults.denialCoolDownMs, budget };
      // With a budget the question was about more than its call, and that may be what was denied.
      const digests = callDigest === undefined || budget !== null ? [askDigest] : [askDigest, callDigest];
      for (const digest of digests)
        coolDowns = addCoolDown(coolDowns, coolDownKey(uid, digest), denied, nowMs, defaults.coolDownsRemembered);
    },
  };
}
