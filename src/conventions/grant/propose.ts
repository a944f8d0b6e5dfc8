import { isoTime } from "../../kernel/clock.ts";
import { showText } from "../../kernel/display.ts";
import { isJsonObject, type JsonValue } from "../../kernel/json.ts";
import type { Card, CardCall } from "../approval/card.ts";
import { readReason } from "../approval/reason.ts";
import { holds, readCondition, typeCondition } from "./condition.ts";

/** The narrowest grant that would have covered the call of a card, as `gw grant add` takes it; or why none could. */
export type Proposal =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "none"; readonly why: string };

const DAYS_MS = 30 * 86_400_000;
const CALLS_A_DAY = 20;
/** What a person still reads at a prompt. */
const VALUE_CHARACTERS = 120;

export function proposeGrant(card: Card): Proposal {
  const { call } = card;
  if (call === null) return none("this card shows no call to take a grant from");
  if (card.ticket_needed !== undefined) return none("a call that lacks its ticket is asked about every time");
  if (card.asks === "redirect" || card.asks === "custody") return none("a grant covers calls, and this is none");
  const caller = callerWords(card);
  if (typeof caller === "string") return none(caller);
  // That another grant does not cover it is why it is asked about, and nothing that the new one would have to name.
  const because = call.because.filter((words) => !words.startsWith("the grant "));
  const includes = because.map((words) => inclusionOf(words, call));
  if (includes.includes(null)) return none(`no grant covers this: ${because[includes.indexOf(null)]}`);
  const until = isoTime(Date.parse(card.created_at) + DAYS_MS).slice(0, 10);
  return {
    kind: "words",
    words: [
      `${call.action.replaceAll(/[._]/g, "-").slice(0, 40)}-${card.approval_id.slice(-4)}`,
      ...caller,
      ...["--actions", call.action, "--effects", call.effect],
      ...Object.entries(call.arguments).flatMap(([name, value]) => conditionOf(name, value)),
      ...includes.flatMap((word) => (word === null || word === "" ? [] : ["--include", word])),
      // A run under the grant has the grant's money alone: whatever asked, the call has to be payable again.
      ...(call.maximum_cents === null || call.maximum_cents === 0 ? [] : ["--spend", String(call.maximum_cents)]),
      ...["--per-day", String(CALLS_A_DAY), "--until", until],
    ],
  };
}

function callerWords({ caller, context, mode }: Card): readonly string[] | string {
  const image = caller["cdhash"];
  const process: JsonValue | undefined = caller["process"];
  const uid = isJsonObject(process) ? process["uid"] : undefined;
  const own = mode === "dedicated" && typeof uid === "number" ? ["--caller", `uid:${uid}`] : [];
  if (context["namespaces"] !== "own") return "the caller lives in another namespace";
  if (own.length === 0 && isJsonObject(context["interpreter"])) {
    return `${String(context["interpreter"]["name"])} runs any script, and the agent has no user of its own`;
  }
  const loaded = context["unowned_mappings"];
  if (own.length === 0 && Array.isArray(loaded) && loaded.length > 0) {
    return "the caller has loaded code that nothing vouches for";
  }
  const exact = typeof image === "string" && /^sha256:[0-9a-f]{64}$/.test(image) ? ["--caller", `image:${image}`] : [];
  return own.length + exact.length === 0 ? "nothing about the caller can be held to" : [...own, ...exact];
}

/** The word that a grant has to name, none (""), or null where no word would do. */
function inclusionOf(words: string, call: CardCall): string | null {
  const kind = readReason(words);
  switch (kind) {
    case "each_use_credential":
      return `each_use:${call.credential}`;
    case "each_use_action":
      return "each_use_actions";
    case "previewless":
      return "unpreviewed";
    case "purchase":
      return "purchases";
    case "uncapped_cost":
      return "uncapped_cost";
    case "plan":
      return "plans";
    case "unapproved_spend":
      return "";
    case "other":
      return null;
  }
}

/** An argument that a condition cannot hold stays free; the person sees which are bound. */
function conditionOf(name: string, value: JsonValue): readonly string[] {
  const text = `${name}=${String(value)}`;
  // It is edited as it stands: what a screen would have to write out in another way (hidden, turned around, moved) is not on it.
  if (text.length > VALUE_CHARACTERS || /['"]/.test(text) || showText(text) !== text) return [];
  const draft = readCondition(text);
  const type = typeof value === "number" ? "integer" : typeof value;
  const condition = draft === null ? "" : typeCondition(draft, type);
  return typeof condition !== "string" && condition.input === name && holds(condition, { [name]: value })
    ? ["--where", text]
    : [];
}

function none(why: string): Proposal {
  return { kind: "none", why };
}
