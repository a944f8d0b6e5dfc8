import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import { type ResponseRecord, readAnyJson } from "../outcome/result.ts";
import type { PlanRecord } from "./record.ts";

const MEMBERS = ["plan_id", "plan_token"];

/**
 * A preview's answer without the provider's own name of the plan: whoever holds that could execute past us. Our plan's
 * name stands in its place, wherever in the answer it was.
 */
export function hideProvidersPlan(response: ResponseRecord, ours: string): ResponseRecord {
  const body = readAnyJson(response);
  const everywhere = hiderOf(body, ours);
  if (body === undefined || everywhere === null) return response;
  const headers = everywhere(response.headers) as JsonObject;
  return { ...response, headers, body: everywhere(body), body_kind: "json" };
}

/** The same of what was read out of that answer, but for revisions: those are named again to execute it. */
export function hideInRecord(plan: PlanRecord, response: ResponseRecord, ours: string): PlanRecord {
  const { validation, effects, assumptions } = plan;
  const everywhere = hiderOf(readAnyJson(response), ours);
  if (everywhere === null) return plan;
  return { ...plan, ...(everywhere({ validation, effects, assumptions } as unknown as JsonObject) as object) };
}

/** Null where the answer names no plan. */
function hiderOf(body: JsonValue | undefined, ours: string): ((value: JsonValue) => JsonValue) | null {
  const names = body !== undefined && isJsonObject(body) ? MEMBERS.flatMap((member) => namesIn(body[member])) : [];
  if (names.length === 0) return null;
  // In one go, the longest first: ours may hold one of theirs.
  const sorted = names.toSorted((a, b) => b.length - a.length);
  const hide = (text: string): string => hideNames(text, sorted, ours);
  const everywhere = (value: JsonValue): JsonValue => {
    if (typeof value === "string") return hide(value);
    if (Array.isArray(value)) return value.map(everywhere);
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [hide(name), everywhere(member)]));
  };
  return everywhere;
}

/** As it stands, and as it would stand in a URL. */
function namesIn(value: JsonValue | undefined): readonly string[] {
  return typeof value === "string" && value !== ""
    ? [...new Set([value, encodeURIComponent(value.toWellFormed())])]
    : [];
}

/** Each place once. No pattern: a token may be as long as the answer, and none is compiled of that. */
function hideNames(text: string, names: readonly string[], ours: string): string {
  const found = names.map((name) => ({ name, at: placeOf(name, text, 0) }));
  let shown = "";
  for (let from = 0; ; ) {
    const next = found.reduce((one, other) => (other.at < one.at ? other : one));
    if (next.at === Number.POSITIVE_INFINITY) return shown + text.slice(from);
    shown += text.slice(from, next.at) + ours;
    from = next.at + next.name.length;
    for (const one of found) if (one.at < from) one.at = placeOf(one.name, text, from);
  }
}

/** So short that it is found by chance in clean text: such a name is one where it stands by itself. */
const SHORT = 6;

function placeOf(name: string, text: string, from: number): number {
  for (let at = text.indexOf(name, from); at >= 0; at = text.indexOf(name, at + 1)) {
    const end = at + name.length;
    const before = text.slice(Math.max(0, at - 2), at);
    if (name.length >= SHORT || !(/[\p{L}\p{N}]$/u.test(before) || /^[\p{L}\p{N}]/u.test(text.slice(end, end + 2))))
      return at;
  }
  return Number.POSITIVE_INFINITY;
}
