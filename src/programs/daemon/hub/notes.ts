import type { StateStore } from "../../../gateway/ports.ts";
import type { Generations } from "../../../hub/documents.ts";
import { DOCUMENTS_PURPOSE } from "../../../hub/policy-order.ts";
import type { RememberedTick } from "../../../hub/ship.ts";
import type { RememberedTerm } from "../../../hub/state/words.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import type { HubMembership } from "../../../vault/policy/policy.ts";

const TICK = "hub";
const TERM = "hub state";
const DOCUMENTS = DOCUMENTS_PURPOSE;

export type HubNotes = ReturnType<typeof hubNotes>;

/** What this host remembers of a hub, in its own state: how far it was there, so that it knows one that was put back. */
export function hubNotes(store: () => StateStore | null, { hubId, gateway, joinedAt }: HubMembership) {
  /** Only what is in memory counts where the gateway is locked; the hub, being ahead of the note then, is still believed only if it shows our own past. */
  async function remember(id: string, what: JsonObject): Promise<void> {
    const body: JsonObject = { hub_id: hubId, gateway, joined_at: joinedAt, ...what };
    await store()
      ?.commit([{ table: "notes", id, runId: "", state: "kept", body }], "process")
      .catch(() => undefined);
  }

  function last(id: string): JsonObject | null {
    const row = store()?.find("notes", id) ?? null;
    return row !== null && "body" in row && row.body["hub_id"] === hubId ? row.body : null;
  }

  /** What was remembered before the operator last signed does not count: that is what they signed for. */
  function find(id: string): JsonObject | null {
    const note = last(id);
    return note?.["joined_at"] === joinedAt ? note : null;
  }

  return {
    tick(): RememberedTick | null {
      const note = find(TICK);
      return note === null ? null : { tick: Number(note["tick"]), link: String(note["link"]) };
    },
    term(): RememberedTerm | null {
      const note = find(TERM);
      return note === null ? null : { term: Number(note["term"]), tick: Number(note["tick"]) };
    },
    lastTerm: (): number => Number(last(TERM)?.["term"] ?? 0),
    generations(): Generations {
      const note = find(DOCUMENTS);
      return { vault: Number(note?.["vault"] ?? 0), policy: Number(note?.["policy"] ?? 0) };
    },
    rememberTick: (tick: RememberedTick) => remember(TICK, { ...tick }),
    rememberTerm: (term: RememberedTerm) => remember(TERM, { ...term }),
    rememberGenerations: (next: Generations) => remember(DOCUMENTS, { ...next }),
  };
}
