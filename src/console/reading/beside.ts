import type { AuditEvent } from "../../audit/event.ts";
import type { ActivityEntry } from "../../audit/journals/activity-entry.ts";
import { type Contents, gatherContents } from "../../audit/journals/contents.ts";
import type { LogItem } from "../../audit/read/reader.ts";

/** Of kept texts: the newest. */
const TEXT_CHARACTERS = 64_000_000;
const GATHERING = 100;

/** What the log says beside the entries of the journal: who approved, and the texts of cards, requests and decisions. */
export interface Beside {
  add(item: LogItem): void;
  /** Whether somebody of this name, or a part of it, approved or decided an entry. */
  by(name: string): (entry: ActivityEntry) => boolean;
  /** Whether a text that was kept of an entry says this. Each is looked through once, however many entries it stands behind. */
  saying(text: string): (entry: ActivityEntry) => boolean;
  /** False once older texts were let go. */
  isWhole(): boolean;
}

const DIGESTS = ["card_digest", "statement_digest", "kept_digest", "fields_digest"] as const;
const PEOPLE = ["operator", "approved_by"] as const;

export function startBeside(mostCharacters = TEXT_CHARACTERS): Beside {
  const people = new Map<string, Set<string>>();
  const digests = new Map<string, Set<string>>();
  const texts = new Map<string, string>();
  const gathering = new Map<string, Contents>();
  let characters = 0;
  let whole = true;

  function keep(digest: string, text: string): void {
    if (texts.has(digest)) return;
    // There are letters of which lower case makes two: what is held counts.
    const lower = text.toLowerCase();
    texts.set(digest, lower);
    characters += lower.length;
    for (const [oldest, { length }] of texts) {
      if (characters <= mostCharacters) return;
      texts.delete(oldest);
      characters -= length;
      whole = false;
    }
  }

  function take(event: AuditEvent): void {
    if (event.event_type === "content_kept") {
      const { digest } = event;
      const one = gathering.get(digest) ?? gatherContents();
      one.add(event);
      const text = one.find(digest);
      gathering.delete(digest);
      if (text !== null) keep(digest, text);
      else gathering.set(digest, one);
      for (const oldest of gathering.keys()) if (gathering.size > GATHERING) gathering.delete(oldest);
      return;
    }
    const said = event as unknown as Readonly<Record<string, unknown>>;
    // A session's card and approver stand behind every call of its run.
    const key = [said["attempt_id"], said["call_id"], said["run_id"]].find((one) => typeof one === "string");
    if (typeof key !== "string") return;
    for (const name of DIGESTS) note(digests, key, said[name]);
    for (const name of PEOPLE) note(people, String(said["call_id"] ?? key), said[name]);
  }

  return {
    add: (item) => void (item.kind === "record" && take(item.event)),
    by: (name) => behind(people, (one) => one.toLowerCase().includes(name)),
    saying(text) {
      // Kept texts are JSON: what is looked for stands in them as JSON writes it.
      const written = JSON.stringify(text).slice(1, -1);
      const fitting = new Set([...texts].flatMap(([digest, kept]) => (kept.includes(written) ? [digest] : [])));
      return behind(digests, (digest) => fitting.has(digest));
    },
    isWhole: () => whole,
  };
}

/** Whether something noted under a name that leads to an entry fits. */
function behind(
  noted: ReadonlyMap<string, ReadonlySet<string>>,
  fits: (value: string) => boolean,
): (entry: ActivityEntry) => boolean {
  const keys = new Set([...noted].flatMap(([key, values]) => ([...values].some(fits) ? [key] : [])));
  return (entry) => keysOf(entry).some((key) => keys.has(key));
}

function keysOf(entry: ActivityEntry): readonly string[] {
  const { attempt_id, call_id, run_id } = entry as unknown as Readonly<Record<string, unknown>>;
  return [attempt_id, call_id, run_id].filter((one) => typeof one === "string");
}

function note(noted: Map<string, Set<string>>, key: string, value: unknown): void {
  if (typeof value !== "string") return;
  const before = noted.get(key);
  if (before === undefined) noted.set(key, new Set([value]));
  else before.add(value);
}
