import type { DecisionStatement, Verified } from "../../conventions/approval/decision.ts";
import { codeOfState } from "../../conventions/approval/state.ts";
import { withdrawnWords } from "../../conventions/approval/withdrawn.ts";
import { Denied } from "../../kernel/failure.ts";
import type { Acceptance, Question } from "./question.ts";

/** What the card lets an approval bring along. One that brings what nobody asked for is refused, not obeyed in part. */
export async function acceptWith({ accept }: Question, decision: Verified<DecisionStatement>): Promise<Acceptance> {
  if (accept !== undefined) return accept(decision);
  if (decision.statement.ticket_context === undefined) return { events: [], take: () => undefined };
  throw new Denied(
    "ticket_invalid",
    "This card takes no ticket. Nothing was decided; attach it with gw ticket attach.",
  );
}

export function notPending(): Denied {
  return new Denied("approval_not_pending", "This question is no longer open. The decision changed nothing.");
}

/** An answer that nobody has to wait for: a no to a question that whoever asked has left must not end the gateway. */
export function createAnswer(): PromiseWithResolvers<Verified<DecisionStatement>> {
  const answer = Promise.withResolvers<Verified<DecisionStatement>>();
  answer.promise.catch(() => undefined);
  return answer;
}

/** A rejected promise that nobody needs to catch: all who asked may have left. */
export function refusal(code: Denied["code"], message: string): Promise<never> {
  return failed(new Denied(code, message));
}

/** The same, of what kept the answer from being written down. */
export function failed(error: unknown): Promise<never> {
  const rejected = Promise.reject(error);
  rejected.catch(() => undefined);
  return rejected;
}

/** Nobody said yes or no: time ran out, or the question was taken back. */
export function undecided(trigger: "time_passed" | "withdrawn", reason: string | null): Promise<never> {
  if (trigger === "time_passed") return refusal(codeOfState("expired"), "Nobody decided in time. Nothing was sent.");
  return refusal(
    codeOfState("withdrawn"),
    `The question was taken back: ${withdrawnWords(reason ?? "")}. Nothing was sent.`,
  );
}
