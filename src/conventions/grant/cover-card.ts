import { isJsonObject, type JsonValue } from "../../kernel/json.ts";
import type { Effect } from "../action/pack.ts";
import type { Card } from "../approval/card.ts";
import { readReason } from "../approval/reason.ts";
import type { CallerEvidence } from "../caller/evidence.ts";
import { type CallerFacts, type Cover, coverCall, coverCaller } from "./cover.ts";
import type { Grant } from "./grant.ts";

/** Whether the grant would have covered the call of a card of the past, had it been signed by then. */
export function coverCard(grant: Grant, card: Card): Cover {
  const { call, created_at } = card;
  if (call === null) return { kind: "not_covered", why: "the card shows no call" };
  if (card.ticket_needed !== undefined) return { kind: "not_covered", why: "it lacks its ticket" };
  const then = { ...grant, createdAt: created_at, until: "9999-12-31T00:00:00.000Z" };
  const wallMs = Date.parse(created_at);
  const caller = coverCaller(then, factsOf(card), { wallMs, latestMs: wallMs, lastUsedDay: null });
  if (caller.kind === "not_covered") return caller;
  return coverCall(grant, {
    action: call.action,
    effect: call.effect as Effect,
    input: call.arguments,
    credential: call.credential,
    // That no grant covered it then is not a reason of its own.
    because: call.because
      .filter((words) => !words.startsWith("the grant "))
      .map((words) => ({ kind: readReason(words), words })),
  });
}

/** The caller as the card recorded it; what the card does not say is taken as what no grant covers. */
function factsOf({ caller, context, mode }: Card): CallerFacts {
  const interpreter = context["interpreter"];
  const loaded: JsonValue | undefined = context["unowned_mappings"];
  return {
    ownUser: mode === "dedicated",
    evidence: {
      authority: context["authority"] as unknown as CallerEvidence["authority"],
      cdhash: String(caller["cdhash"]),
      interpreter: isJsonObject(interpreter) ? { name: String(interpreter["name"]), script: null } : null,
      process: caller["process"] as unknown as CallerEvidence["process"],
      unownedMappings: Array.isArray(loaded) ? loaded.map(String) : ["unknown"],
      namespaces: context["namespaces"] === "own" ? "own" : "other",
    },
  };
}
