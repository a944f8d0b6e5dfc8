import { isJsonObject, type JsonValue } from "../../kernel/json.ts";
import type { Verdict } from "./classify.ts";

/**
 * GraphQL answers 200 to nearly everything and says in the body what became of it. Errors without any data are the
 * provider's no; errors beside data prove nothing about a side effect.
 */
export function holdToGraphql(verdict: Verdict, sideEffect: boolean, readBody: () => JsonValue): Verdict {
  if (verdict.kind !== "success") return verdict;
  const { observation } = verdict;
  const body = readBody();
  const unclear: Verdict = { kind: sideEffect ? "unknown" : "error", reason: "answer_unclear", observation };
  if (!isJsonObject(body)) return unclear;
  const { data = null, errors = null } = body;
  const isSilent = data === null || (isJsonObject(data) && Object.values(data).every((member) => member === null));
  if (!Array.isArray(errors) || errors.length === 0) return data === null ? unclear : verdict;
  if (isSilent) return { kind: "error", reason: "provider_said_no", observation };
  return sideEffect ? unclear : verdict;
}
