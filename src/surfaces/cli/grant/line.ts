import { parseArgs } from "node:util";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { type GrantWords, parseHours, parseUntil } from "./draft.ts";

const MANY = { type: "string", multiple: true, default: [] as string[] } as const;
const ONE = { type: "string" } as const;
const OPTIONS = {
  caller: MANY,
  actions: MANY,
  where: MANY,
  include: MANY,
  effects: { type: "string", default: "read" },
  "per-day": { type: "string", default: "1000" },
  until: ONE,
  hours: ONE,
  idle: { type: "string", default: String(defaults.grantIdleDays) },
  attempts: ONE,
  "side-effects": ONE,
  minutes: ONE,
  spend: ONE,
} as const;

/** Said on a hub before a grant is signed beside a card, while it can still be changed. */
export const FOR_EACH_HOST =
  "It is signed for every gateway of the vault. A number after uid: means the user of that number on each host.";

/** An agent chooses what the call on the card leaves out, and may come back with it. */
export const NOT_NAMED =
  "The narrowest that would have covered this call. Arguments that it does not name are free, also those that this call left out.";

/** A grant on one line, as a card proposes it and a person edits it: NAME and the options of `gw grant add`. */
export function readGrantLine(line: string): GrantWords & { readonly caller: readonly string[] } {
  const { values, positionals } = parsed(splitWords(line));
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw invalid("it begins with one name");
  if (values.until === undefined) throw invalid("--until is missing");
  // What does not fit is told while it is written, not after a secret was typed for it.
  parseUntil(values.until);
  if (values.hours !== undefined) parseHours(values.hours);
  const count = (
    option: "per-day" | "idle" | "attempts" | "side-effects" | "minutes" | "spend",
  ): number | undefined => {
    const text = values[option];
    if (text === undefined) return undefined;
    if (!/^\d{1,9}$/.test(text)) throw invalid(`--${option} is a whole number`);
    return Number(text);
  };
  const [attempts, sideEffects, minutes, spend] = (["attempts", "side-effects", "minutes", "spend"] as const).map(
    count,
  );
  return {
    name,
    caller: values.caller,
    actions: values.actions,
    where: values.where,
    include: values.include,
    effects: values.effects.split(","),
    perDay: count("per-day") ?? 0,
    idle: count("idle") ?? 0,
    until: values.until,
    ...(values.hours === undefined ? {} : { hours: values.hours }),
    ...(attempts === undefined ? {} : { attempts }),
    ...(sideEffects === undefined ? {} : { sideEffects }),
    ...(minutes === undefined ? {} : { minutes }),
    ...(spend === undefined ? {} : { spend }),
  };
}

/** As a shell would take it; what a card proposes has no quotes of its own. */
export function writeGrantLine(words: readonly string[]): string {
  return words.map((word) => (/^[A-Za-z0-9_.:/=,^<@+*-]+$/.test(word) ? word : `'${word}'`)).join(" ");
}

function parsed(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    throw invalid(error instanceof Error ? (error.message.split("\n")[0] ?? "") : "it cannot be read");
  }
}

function splitWords(line: string): string[] {
  const words: string[] = [];
  for (const [, single, double, plain] of line.matchAll(/\s*(?:'([^']*)'|"([^"]*)"|([^\s'"]+))(?=\s|$)/gy)) {
    words.push(single ?? double ?? plain ?? "");
  }
  const rest = line.replace(/\s*(?:'[^']*'|"[^"]*"|[^\s'"]+)(?=\s|$)/gy, "").trim();
  if (rest !== "") throw invalid("a quote is not closed, or stands within a word");
  return words;
}

function invalid(why: string): Denied {
  return new Denied("grant_invalid", `The grant was not signed: ${why.replace(/\.$/, "")}.`);
}
