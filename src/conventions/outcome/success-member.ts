import { isJsonObject, type JsonValue } from "../../kernel/json.ts";
import type { Verdict } from "./classify.ts";

/** Where a provider says in the body, and not in the status, whether it took a request. */
export interface SuccessMember {
  readonly member: string;
  readonly is: string | number | boolean;
}

/**
 * Holds a 2xx answer to what the provider says in it. Another value is the provider's own no; an answer that does not say
 * is proof of nothing, so that a side effect stays unknown.
 */
export function holdToMember(
  verdict: Verdict,
  rule: SuccessMember | null,
  sideEffect: boolean,
  readBody: () => JsonValue,
): Verdict {
  if (rule === null || verdict.kind !== "success") return verdict;
  const { observation } = verdict;
  const body = readBody();
  const said = isJsonObject(body) ? body[rule.member] : undefined;
  if (said === rule.is) return verdict;
  if (said === undefined) return { kind: sideEffect ? "unknown" : "error", reason: "answer_unclear", observation };
  return { kind: "error", reason: "provider_said_no", observation };
}
