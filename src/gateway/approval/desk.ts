import type { NewEvent } from "../../audit/event.ts";
import { digestCard } from "../../conventions/approval/card.ts";
import {
  type DecisionStatement,
  type ExtensionStatement,
  type GivenDecision,
  requireSameCard,
  type Signed,
  type Verified,
  verifyStatement,
} from "../../conventions/approval/decision.ts";
import { requireNarrowable } from "../../conventions/approval/narrowing.ts";
import type { CardPlace } from "../../conventions/approval/queue.ts";
import { type ApprovalTrigger, stepApproval } from "../../conventions/approval/state.ts";
import type { EnrolledPasskey } from "../../conventions/passkey/passkey.ts";
import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied, Fault } from "../../kernel/failure.ts";
import type { ApprovalId } from "../../kernel/ids.ts";
import type { StateRow } from "../ports.ts";
import { createEnvelope } from "../record/record.ts";
import { bytesOf, payerOf } from "../record/written.ts";
import { acceptWith, createAnswer, failed, notPending, refusal, undecided } from "./answer.ts";
import { createHands, demandOf, passkeyNeeded, requireOther, stillGiven } from "./demand.ts";
import { clearHand, decisionEvent, extendedEvent, links, requestedEvents, statementEvents } from "./events.ts";
import { extendedUntil } from "./extend.ts";
import { createLine, type Entry } from "./line.ts";
import type { DeskPorts } from "./needs.ts";
import type { Approval, Ask, Question } from "./question.ts";
import { createRefusals } from "./refused.ts";

/**
 * The desk where questions wait for a person. It opens cards within the limits, verifies decisions, lets time run out
 * and takes questions back; every step is in the log before anybody is told.
 */
export interface Desk {
  /** Denied `approvals_full` where a question of this caller would not even wait. */
  requireRoom(place: CardPlace): void;
  /** Puts a question in line. Denied at once when the line is full or the same thing was just denied. */
  ask(question: Question): Ask;
  /** Replaces a question that nobody has decided by a larger one; whoever waits for the old gets the new answer. */
  supersede(approvalId: ApprovalId, question: Question): Ask | null;
  /** An approval, a denial, or the first yes of two. */
  decide(given: GivenDecision): Promise<Approval>;
  /** Gives a pending question more time, up to what its run has left. */
  extend(approvalId: string, ms: number): Promise<Approval>;
  /** The same, as somebody signed it on another machine for the very card that they read. The log has it, and a refusal too. */
  extendAsSigned(signed: Signed<ExtensionStatement>): Promise<Approval>;
  withdraw(reason: string, which: (approval: Approval) => boolean): Promise<void>;
  list(): readonly Approval[];
  find(approvalId: string): Approval | undefined;
  /** Told of every change: opened, decided, expired, withdrawn. */
  watch(listener: (approval: Approval) => void): () => void;
}

export function createDesk(ports: DeskPorts): Desk {
  const { clock, ids } = ports;
  const envelope = createEnvelope(ids, clock);
  const noteRefused = createRefusals(ports, envelope);
  const line = createLine(ports);
  const listeners = new Set<(approval: Approval) => void>();
  const hands = createHands(ports.find);

  function enter(question: Question, resolvers: Entry["resolvers"]): Entry {
    const entry = line.enter(question, resolvers);
    void runOut(entry).catch(() => undefined);
    return entry;
  }

  function moveLine(): void {
    for (const entry of line.next()) void show(entry);
  }

  function show(entry: Entry, said: readonly NewEvent[] = []): Promise<void> {
    const { approval, question } = entry;
    const wallMs = clock.wallMs();
    const expiresAt = isoTime(wallMs + Math.max(0, approval.expiresBootMs - clock.bootMs()));
    const card = question.writeCard(approval.approvalId, isoTime(wallMs), expiresAt);
    // Another card: what somebody said to the one before it is no yes to this.
    entry.approval = { ...approval, card, cardDigest: digestCard(card), given: [] };
    announce(entry.approval);
    const events = requestedEvents(envelope, entry.approval, question);
    // Any other card is of a session that a person let begin.
    if (question.mode === "session" || question.mode === "join")
      ports.volume.charge(payerOf(question.uid), bytesOf(events));
    const recorded = ports.record("approval.requested", [...said, ...events]);
    recorded.catch(() => undefined);
    return recorded;
  }

  function announce(approval: Approval): void {
    for (const listener of listeners) listener(approval);
  }

  /** One step of the table, recorded before anybody learns of it, and once the log has room: it cannot be taken back. */
  async function finish(
    entry: Entry,
    trigger: ApprovalTrigger,
    evidence: "signature" | "observation",
    change: Pick<Approval, "decidedBy" | "reason">,
    events: readonly NewEvent[],
    rows?: () => readonly StateRow[],
  ): Promise<void> {
    const state = stepApproval(entry.approval.state, trigger, evidence);
    if (state === null) throw new Fault(`an approval that is ${entry.approval.state} cannot take ${trigger}`);
    entry.approval = { ...entry.approval, ...change, state };
    line.leave(entry);
    try {
      await ports.record("approval.finished", events, rows);
    } catch (error) {
      // Nobody is left waiting for an answer that will not come any more.
      for (const resolve of entry.resolvers) resolve(failed(error));
      throw error;
    }
    announce(entry.approval);
    moveLine();
  }

  function showHand(signed: GivenDecision, passkey: EnrolledPasskey | null): void {
    const { vaultId, keys } = ports.operators();
    const owner = keys.find(({ keyId }) => keyId === passkey?.operatorKeyId);
    const text = owner === undefined ? null : clearHand(signed, passkey, vaultId, owner.publicKey);
    if (text !== null) ports.showHand?.(text);
  }

  /** The entry that this was signed for: shown, this very card, and in time. */
  function requireOpen(
    entry: Entry | undefined,
    signed: Verified<DecisionStatement> | Verified<ExtensionStatement>,
  ): Entry {
    if (entry === undefined || entry.approval.cardDigest === null) throw notPending();
    requireSameCard(signed, entry.approval.approvalId, entry.approval.cardDigest);
    if (entry.approval.expiresBootMs <= clock.bootMs()) throw notPending();
    return entry;
  }

  /** Whether it was signed for this very card, by somebody who is an operator now. */
  function judge(entry: Entry | undefined, signed: GivenDecision) {
    const operators = ports.operators();
    const verified = verifyStatement(signed, operators.vaultId, operators.keys);
    const asked = requireOpen(entry, verified);
    return { operators, verified, asked, answered: [signed, verified, operators.passkeys ?? []] as const };
  }

  /** The same of a yes, which may need another one: who said it before and could say it now. */
  function judgeYes(entry: Entry | undefined, signed: GivenDecision) {
    const { operators, verified, asked, answered } = judge(entry, signed);
    const { approval, question } = asked;
    requireNarrowable(question.mode, approval.card, signed.statement.narrow);
    const demand = demandOf(approval, question);
    if (demand.passkey && signed.assertion === undefined) throw passkeyNeeded(operators.passkeys ?? []);
    const given = stillGiven(approval.given, demand, operators);
    requireOther(given, verified);
    if (given.length < approval.given.length) asked.approval = { ...approval, given };
    return { verified, given, isLast: given.length + 1 >= demand.approvers, answered };
  }

  /** The first yes of two: on record, and shown with the card, which goes on waiting. */
  async function give(
    entry: Entry,
    { statement }: Verified<DecisionStatement>,
    signed: GivenDecision,
    hand: EnrolledPasskey | null,
  ): Promise<Approval> {
    if (statement.ticket_context !== undefined) {
      throw new Denied(
        "ticket_invalid",
        "Another operator has to approve this too, and the last one assigns the ticket.",
      );
    }
    const { operator, operator_key_id: operatorKeyId, decided_at: decidedAt, narrow } = statement;
    const passkey = hand?.credentialId ?? null;
    const given = [...entry.approval.given, { operator, operatorKeyId, decidedAt, narrow, passkey }];
    const standing = { ...entry.approval, given };
    entry.approval = standing;
    const event = decisionEvent(envelope, "approval_given", entry.approval, signed, hand);
    showHand(signed, hand);
    await ports.record("approval.given", [...statementEvents(envelope, signed, hand), event], () => hands.rows(hand));
    // Whoever decided meanwhile tells of that, once the log has it.
    if (entry.approval === standing) announce(standing);
    return standing;
  }

  async function runOut(entry: Entry): Promise<void> {
    while (entry.approval.state === "pending") {
      const leftMs = entry.approval.expiresBootMs - clock.bootMs();
      if (leftMs > 0) {
        await ports.sleep.sleep(Math.min(leftMs, defaults.expiryLookMs));
        continue;
      }
      const event = { ...envelope("approval_expired"), ...links(entry.approval) };
      await settleWithout(entry, "time_passed", null, event);
    }
  }

  async function settleWithout(
    entry: Entry,
    trigger: "time_passed" | "withdrawn",
    reason: string | null,
    event: NewEvent,
  ): Promise<void> {
    await finish(entry, trigger, "observation", { decidedBy: null, reason }, [event]);
    for (const resolve of entry.resolvers) resolve(undecided(trigger, reason));
  }

  async function extend(approvalId: string, ms: number, by?: Verified<ExtensionStatement>): Promise<Approval> {
    const entry = line.of(approvalId);
    if (entry === undefined) throw notPending();
    const expiresBootMs = extendedUntil(entry.approval, entry.question, clock.bootMs(), ms);
    entry.approval = { ...entry.approval, expiresBootMs };
    // The card says when it expires, so that more time makes it another card: a signature for the old one no longer fits.
    if (entry.approval.card === null) announce(entry.approval);
    else await show(entry, by === undefined ? [] : [extendedEvent(envelope, entry.approval, by)]);
    return entry.approval;
  }

  return {
    requireRoom: line.requireRoom,
    ask(question) {
      line.requireNotCooling(question);
      line.requireRoom(question);
      const { promise, resolve } = createAnswer();
      const entry = enter(question, [resolve]);
      moveLine();
      return { approvalId: entry.approval.approvalId, answer: promise };
    },

    supersede(approvalId, question) {
      const old = line.of(approvalId);
      if (old === undefined) return null;
      // What was denied is not asked again by way of a question that nobody has answered yet.
      line.requireNotCooling(question);
      const { promise, resolve } = createAnswer();
      const entry = enter(question, [...old.resolvers.splice(0), resolve]);
      const event = { ...envelope("approval_withdrawn"), ...links(old.approval), reason: "superseded" };
      void finish(old, "withdrawn", "observation", { decidedBy: null, reason: "superseded" }, [event]).catch(
        () => undefined,
      );
      moveLine();
      return { approvalId: entry.approval.approvalId, answer: promise };
    },

    async decide(signed) {
      const { statement } = signed;
      const entry = line.of(statement.approval_id);
      try {
        const { asked, answered } = judge(entry, signed);
        const { reason } = statement;
        const { resolvers } = asked;
        if (statement.decision === "approve") {
          const first = judgeYes(entry, signed);
          if (!first.isLast) return await give(asked, first.verified, signed, hands.take(...answered));
          // Nothing is looked up for a hand that does not count.
          hands.look(...answered);
          const accepted = await acceptWith(asked.question, first.verified);
          // Checking what came along took time: somebody else may have decided meanwhile, or an operator be gone.
          if (line.of(asked.approval.approvalId) !== asked) throw notPending();
          const { verified, given, isLast, answered: still } = judgeYes(entry, signed);
          const hand = hands.takeLater(...still);
          if (!isLast) return await give(asked, verified, signed, hand);
          const approved = decisionEvent(envelope, "approval_approved", asked.approval, signed, hand);
          const events = [...statementEvents(envelope, signed, hand), approved, ...accepted.events];
          showHand(signed, hand);
          const decidedBy = [...given.map(({ operator }) => operator), statement.operator].join(" and ");
          const change = { decidedBy, reason };
          await finish(asked, "operator_approved", "signature", change, events, () => hands.rows(hand));
          accepted.take();
          for (const resolve of resolvers) resolve(Promise.resolve(verified));
        } else {
          const hand = hands.take(...answered);
          line.coolDown(asked.question);
          const why = reason ?? "no reason given";
          const refused = { ...decisionEvent(envelope, "approval_denied", asked.approval, signed, hand), reason: why };
          const events = [...statementEvents(envelope, signed, hand), refused];
          showHand(signed, hand);
          const change = { decidedBy: statement.operator, reason };
          await finish(asked, "operator_denied", "signature", change, events, () => hands.rows(hand));
          for (const resolve of resolvers) {
            resolve(refusal("approval_denied", `${statement.operator} denied this: ${why}`));
          }
        }
        return asked.approval;
      } catch (error) {
        throw await noteRefused(signed.statement, error);
      }
    },

    extend,
    async extendAsSigned(signed) {
      try {
        const { vaultId, keys } = ports.operators();
        const verified = verifyStatement(signed, vaultId, keys);
        const { approval } = requireOpen(line.of(signed.statement.approval_id), verified);
        return await extend(approval.approvalId, verified.statement.seconds * 1000, verified);
      } catch (error) {
        throw await noteRefused(signed.statement, error);
      }
    },

    async withdraw(reason, which) {
      const taken = line.all().filter(({ approval }) => which(approval));
      await Promise.all(
        taken.map((entry) => {
          const event = { ...envelope("approval_withdrawn"), ...links(entry.approval), reason };
          return settleWithout(entry, "withdrawn", reason, event);
        }),
      );
    },

    list: () => line.open().map(({ approval }) => approval),
    find: line.find,
    watch(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
