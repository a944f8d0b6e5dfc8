import { fstatSync } from "node:fs";
import type { NewEvent } from "../../audit/event.ts";
import type { Clock } from "../../kernel/clock.ts";

/**
 * The operational log: one line a fact, for people on a terminal and as JSON for everything else. It says how the gateway
 * fares and never what was called, by whom or with what: that is in the audit log, for those who may read it.
 */
export interface Facts {
  /** A person reads along: warnings and errors alone, as sentences. */
  readonly plain: boolean;
  tell(level: Level, event: string, about?: About): void;
}

export type Level = "info" | "warning" | "error";
export type About = Readonly<Record<string, string | number | boolean | null>>;

/** What the service manager's journal takes for urgency, from syslog. */
const PRIORITIES: Readonly<Record<Level, number>> = { info: 6, warning: 4, error: 3 };
const TEXT_LENGTH = 600;

export interface FactsForm {
  /** For a person's eyes; otherwise one JSON object a line. */
  readonly plain: boolean;
  /** Lines go to a journal that reads `<N>` at their beginning. */
  readonly journal: boolean;
}

export function createFacts(clock: Clock, form: FactsForm, write: (line: string) => void): Facts {
  return {
    plain: form.plain,
    tell(level, event, about = {}) {
      if (form.plain) {
        if (level !== "info") write(`gw: ${printableAscii(String(about["message"] ?? event))}\n`);
        return;
      }
      const bounded = Object.entries(about).map(([name, value]) => [
        name,
        typeof value === "string" && value.length > TEXT_LENGTH ? `${value.slice(0, TEXT_LENGTH)}…` : value,
      ]);
      const fact = { time: new Date(clock.wallMs()).toISOString(), level, event, ...Object.fromEntries(bounded) };
      write(`${form.journal ? `<${PRIORITIES[level]}>` : ""}${printableAscii(JSON.stringify(fact))}\n`);
    },
  };
}

/** What others wrote cannot begin a line, move a cursor or turn the direction of writing: all of it is printable ASCII. */
export function printableAscii(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Standard error as it is: a terminal, the service manager's journal (which it names by device and inode), or a file. */
export function readForm(environment: NodeJS.ProcessEnv): FactsForm {
  const { dev, ino } = fstatSync(2);
  return { plain: process.stderr.isTTY === true, journal: environment["JOURNAL_STREAM"] === `${dev}:${ino}` };
}

interface Told {
  readonly level: Level;
  readonly members: readonly string[];
  /** For a person at a terminal, who is shown warnings and errors alone. */
  readonly words?: string;
}

/** Events that are facts for an administrator too, and of each only members that name no person and no call. */
const TOLD: Readonly<Record<string, Told>> = {
  gateway_started: { level: "info", members: ["version", "mode", "locked"] },
  gateway_unlocked: { level: "info", members: ["method", "vault_generation"] },
  gateway_locked: { level: "info", members: [] },
  gateway_stopped: { level: "info", members: ["reason"] },
  recovery_finished: { level: "info", members: ["unfinished", "unknown", "resumed"] },
  unlock_failed: { level: "warning", members: ["method", "count"], words: "an unlock was refused" },
  operator_refused: { level: "warning", members: ["code"], words: "a login as operator was refused" },
  caller_refused: { level: "warning", members: ["code"], words: "a program that called was refused" },
  denials_counted: { level: "warning", members: ["code", "count"], words: "refusals were counted, not written singly" },
  policy_refused: { level: "warning", members: ["code"], words: "the policy file is not obeyed" },
  vault_refused: { level: "warning", members: ["code"], words: "the vault file is not obeyed" },
  state_tampered: { level: "error", members: ["table"], words: "the state was changed by another program" },
};

export function tellEvents(facts: Facts, events: readonly NewEvent[]): void {
  for (const event of events) {
    const told = TOLD[event.event_type];
    if (told === undefined) continue;
    const given = event as unknown as Readonly<Record<string, string | number | boolean | null | undefined>>;
    const about = told.members.map((name) => [name, given[name] ?? null]);
    facts.tell(
      told.level,
      event.event_type,
      Object.fromEntries(facts.plain ? [...about, sentence(told, about)] : about),
    );
  }
}

function sentence({ words = "" }: Told, about: readonly (readonly unknown[])[]): readonly [string, string] {
  const known = about.filter(([, value]) => value !== null).map(([name, value]) => `${name} ${value}`);
  return ["message", known.length === 0 ? words : `${words} (${known.join(", ")})`];
}
