import { canonicalJson } from "../../../kernel/canonical-json.ts";
import type { ActionDefinition, Pack } from "../../action/pack.ts";
import type { Change, Draft } from "../compare/difference.ts";
import { withoutVersion } from "../meaning/words.ts";
import { routeOf } from "../model/read-operation.ts";
import { type Demand, plainOf, type Term, termOf, terms } from "./terms.ts";

/** One changed term of a pack: a difference to decide, and what must be shown about it. */
export interface PackDifference {
  readonly draft: Draft;
  readonly demand: Exclude<Demand, "nothing">;
  /** The action that it is about; null for the provider. */
  readonly action: string | null;
}

/**
 * Every term that differs between what was trusted and what is to be. Without a pack to compare with, all is new. `of` is
 * the name that it was trusted under: a pack of another name that goes to the same place takes nothing of it away.
 */
export function comparePacks(before: Pack | null, after: Pack, of: string = after.name): readonly PackDifference[] {
  const found: PackDifference[] = [];
  const renamed = of !== after.name;
  const add = (demand: Demand, action: string | null, draft: Draft): void => {
    if (demand !== "nothing") found.push({ demand, action, draft });
  };
  const subject = `pack ${after.name} provider`;
  const providers = [before?.provider ?? null, after.provider] as const;
  if (before === null) add(renamed ? "decision" : "upgrade", null, lost(after, of));
  else
    compareTerms(terms.provider, providers[0] ?? {}, providers[1] ?? {}, (name, term, change) =>
      add(term.demand, null, { ...change, subject, at: name }),
    );
  const names = new Set([...(before?.actions.keys() ?? []), ...after.actions.keys()]);
  for (const name of [...names].sort()) {
    const next = after.actions.get(name);
    const named = before?.actions.get(name);
    // Under another name of the pack only the same request is the same action.
    const other = renamed && named !== undefined && next !== undefined && requestOf(named) !== requestOf(next);
    const old = other ? undefined : named;
    if (old !== undefined && next !== undefined) compareActions(old, next, add);
    else if (next !== undefined) add(next.kind === "http" ? "evidence" : "decision", name, added(next));
    else if (old !== undefined && !renamed) add("decision", null, removed(old));
  }
  if (renamed && found.length > 0) add("decision", null, beside(after, of));
  return found;
}

/** What is sent, whatever it is called and whichever version it names. */
function requestOf(action: ActionDefinition): string {
  switch (action.kind) {
    case "http":
      return routeOf(action.method, withoutVersion(action.template.text));
    case "url":
      return canonicalJson(plainOf(action.allow));
    case "ssh":
      return canonicalJson([action.host, action.port, plainOf(action.action)]);
  }
}

/** How many requests of one pack the other has too. */
export function shareRequests(one: Pack, other: Pack): number {
  const known = new Set([...one.actions.values()].map(requestOf));
  return [...other.actions.values()].filter((action) => known.has(requestOf(action))).length;
}

/**
 * Whether a pack of another name adds requests to what goes to the same place with the same credential, and touches none:
 * then a person who says so is enough.
 */
export function addsOnly(before: Pack | null, after: Pack, changes: readonly PackDifference[]): boolean {
  if (before === null || shareRequests(before, after) > 0) return false;
  return changes.every(({ demand, draft }) => demand === "decision" || draft.kind === "action_added");
}

/** Where its requests go: two packs that share one speak to the same provider, whatever they are called. */
export function placesOf({ provider, actions }: Pack): ReadonlySet<string> {
  const places = new Set<string>(provider === null ? [] : [provider.origin]);
  for (const action of actions.values()) {
    if (action.kind === "ssh") places.add(`${action.host}:${action.port}`);
    if (action.kind === "url") for (const { origin } of action.allow) places.add(origin);
  }
  return places;
}

function compareActions(
  old: ActionDefinition,
  next: ActionDefinition,
  add: (demand: Demand, action: string | null, draft: Draft) => void,
): void {
  const subject = `action ${next.qualifiedName}`;
  compareTerms(terms.action, old, next, (name, term, change) => {
    const moved = name === "template" && movesVersion(change.before, change.after);
    add(moved ? "upgrade" : term.demand, next.name, { ...change, subject, at: name === "template" ? "path" : name });
  });
  const inputs = new Map(old.inputs.map((one) => [one.name, one]));
  for (const input of next.inputs) {
    const before = inputs.get(input.name);
    inputs.delete(input.name);
    const at = `input ${input.name}`;
    if (before === undefined) {
      add(next.kind === "http" ? "evidence" : "decision", next.name, {
        ...{ surface: "action_reach", kind: "input_added", change: "widens", subject, at },
        ...{ says: `Agents may now send ${input.name}.`, before: null, after: canonicalJson(plainOf(input)) },
      });
    } else {
      compareTerms(terms.input, before, input, (name, term, change) =>
        add(term.demand, next.name, { ...change, subject, at: `${at} ${name}` }),
      );
    }
  }
  for (const [name, input] of inputs) {
    add("decision", next.name, {
      ...{ surface: "request_compatibility", kind: "input_removed", change: "narrows", subject, at: `input ${name}` },
      ...{ says: `Agents may no longer send ${name}.`, before: canonicalJson(plainOf(input)), after: null },
    });
  }
}

type TermChange = Omit<Draft, "subject" | "at">;

function compareTerms(
  rows: Readonly<Record<string, readonly [Demand, Draft["surface"], string]>>,
  old: object,
  next: object,
  tell: (name: string, term: Term, change: TermChange) => void,
): void {
  for (const name of new Set([...Object.keys(old), ...Object.keys(next)])) {
    const term = termOf(rows, name);
    if (term.demand === "nothing") continue;
    const before = canonicalJson(plainOf((old as Record<string, unknown>)[name]));
    const after = canonicalJson(plainOf((next as Record<string, unknown>)[name]));
    if (before === after) continue;
    const change: Change = "shifts";
    const says = `The pack changes ${term.says}.`;
    tell(name, term, { surface: term.surface, kind: "pack_term_changed", change, says, before, after });
  }
}

/** Nobody can say then that the version stayed the same. */
function lost({ name }: Pack, of: string): Draft {
  return {
    ...{ surface: "action_reach", kind: "trusted_pack_lost", change: "shifts", subject: `pack ${of}`, at: "" },
    ...{ says: "The bytes that were trusted are gone, so that all of it counts as new.", before: null, after: name },
  };
}

function beside({ name }: Pack, of: string): Draft {
  return {
    ...{ surface: "action_reach", kind: "pack_beside", change: "widens", subject: `pack ${name}`, at: "" },
    ...{ says: `Another name for where ${of} goes, which is trusted already.`, before: of, after: name },
  };
}

function added(action: ActionDefinition): Draft {
  return {
    ...{ surface: "action_reach", kind: "action_added", change: "widens", subject: `action ${action.qualifiedName}` },
    ...{ at: "", says: "The pack has a new action.", before: null, after: canonicalJson(plainOf(action)) },
  };
}

function removed(action: ActionDefinition): Draft {
  return {
    ...{ surface: "request_compatibility", kind: "action_removed", change: "narrows" },
    ...{
      subject: `action ${action.qualifiedName}`,
      at: "",
      says: "The action is gone.",
      before: action.name,
      after: null,
    },
  };
}

/** `/v1/x` to `/v2/x`, or a prefix gained or lost: the same path of another version. Both are canonical JSON. */
function movesVersion(before: string | null, after: string | null): boolean {
  const [old, next] = [before, after].map((text) => (text === null ? "" : String(JSON.parse(text))));
  if (old === undefined || next === undefined) return false;
  const prefix = (path: string): string => path.slice(0, path.length - withoutVersion(path).length);
  return prefix(old) !== prefix(next);
}
