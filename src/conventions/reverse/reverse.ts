import { matchPath, type RequestTarget, splitTarget } from "../../../packages/request/src/target.ts";
import { Denied } from "../../kernel/failure.ts";
import type { HttpAction, Pack } from "../action/pack.ts";
import { shapeOf } from "../url/template.ts";
import { mayBeDocument } from "./document.ts";
import { type Head, readHead, requireNoCredential } from "./head.ts";
import { type Candidate, type Match, matchAction } from "./match.ts";
import { nearestByPath } from "./nearest.ts";
import type { Miss, NoAction, PlainRequest, Reversed } from "./plain.ts";

/** The one action of these packs that says this request, with what it is told; or why there is none. */
export function reverse(packs: readonly Pack[], request: PlainRequest, placeholder: string): Reversed {
  try {
    return find(packs, request, placeholder);
  } catch (error) {
    if (error instanceof Denied) return refused(error.code, error.message, null);
    throw error;
  }
}

function find(packs: readonly Pack[], request: PlainRequest, placeholder: string): Reversed {
  const here = packs.filter(({ provider }) => provider?.origin === request.origin);
  // Before anything else: whatever comes of it, a foreign credential is never looked at twice.
  const heads = new Map(here.map((pack) => [pack, readHead(request.headers, placeholder, tokenField(pack))]));
  requireNoCredential(request.target, placeholder, (name) => here.some((pack) => declares(pack, name)));
  const target = splitTarget(request.target);
  if (here.length === 0) {
    readHead(request.headers, placeholder, null);
    return refused("origin_not_in_packs", `no pack of this run speaks to ${request.origin}`, null);
  }
  const matching = here.flatMap((pack) => candidatesOf(pack, target));
  const sameMethod = mostLiteral(matching.filter(({ action }) => action.method === request.method));
  if (sameMethod.length === 0) {
    const [other] = matching;
    if (other === undefined) {
      const nearest = nearestByPath(here, request.method, target.path);
      return refused("path_not_in_packs", `no action has the path ${target.path}`, nearest);
    }
    const why = `it is ${other.action.method}, not ${request.method}`;
    return refused("request_not_in_packs", "no action says this request", missOf(other, why, 1));
  }
  return choose(withItsDocument(sameMethod, request), (one) =>
    matchAction(one, target, heads.get(one.pack) as Head, request),
  );
}

function declares({ actions }: Pack, name: string): boolean {
  return [...actions.values()].some(({ inputs }) =>
    inputs.some(({ place, wireName }) => place === "query" && wireName === name),
  );
}

/** Exactly one may fit. Where an action says by a constant what another takes as an input, it is the one that is meant. */
function choose(candidates: readonly Candidate[], match: (one: Candidate) => Match): Reversed {
  const hits: Extract<Match, { kind: "hit" }>[] = [];
  let nearest: Miss | null = null;
  for (const candidate of candidates) {
    const matched = match(candidate);
    if (matched.kind === "hit") hits.push(matched);
    else if (nearest === null || matched.depth > nearest.depth) nearest = missOf(candidate, matched.why, matched.depth);
  }
  const best = Math.max(...hits.map(({ rank }) => rank));
  const [hit, other] = hits.filter(({ rank }) => rank === best);
  if (hit === undefined) return refused("request_not_in_packs", "no action says this request", nearest);
  const packs = new Set(hits.map(({ found }) => found.pack.name));
  if (packs.size > 1)
    return refused("pack_choice_needed", `the packs ${[...packs].join(" and ")} both say this request`, null);
  if (other === undefined) return hit.found;
  const names = [hit, other].map(({ found }) => found.action.qualifiedName);
  return refused("action_ambiguous", `${names.join(" and ")} both say this request`, null);
}

/** Those whose document the tool sent. Where there is none, all of them, so that the refusal can name the nearest. */
function withItsDocument(candidates: readonly Candidate[], { body }: PlainRequest): readonly Candidate[] {
  try {
    const meant = candidates.filter(({ action }) => mayBeDocument(action, body));
    return meant.length === 0 ? candidates : meant;
  } catch (error) {
    // A body that cannot be read as JSON is each action's own to refuse, or to unpack first.
    if (error instanceof Denied) return candidates;
    throw error;
  }
}

function candidatesOf(pack: Pack, { path }: RequestTarget): readonly Candidate[] {
  const first = path.slice(1).split("/", 1)[0] ?? "";
  const index = indexOf(pack);
  return [...(index.literal.get(first) ?? []), ...index.others].flatMap((action) => {
    const matched = matchPath(action.template, path);
    return matched === undefined ? [] : [{ pack, action, params: matched.params }];
  });
}

interface PathIndex {
  /** By the literal that their path begins with. */
  readonly literal: ReadonlyMap<string, readonly HttpAction[]>;
  readonly others: readonly HttpAction[];
}

/** A pack never changes: whoever has the same one has the same index. */
const indexes = new WeakMap<Pack, PathIndex>();

function indexOf(pack: Pack): PathIndex {
  const known = indexes.get(pack);
  if (known !== undefined) return known;
  const literal = new Map<string, HttpAction[]>();
  const others: HttpAction[] = [];
  for (const action of pack.actions.values()) {
    if (action.kind !== "http") continue;
    const [first] = action.template.segments;
    if (first?.kind !== "literal") others.push(action);
    else if (!literal.get(first.text)?.push(action)) literal.set(first.text, [action]);
  }
  const made = { literal, others };
  indexes.set(pack, made);
  return made;
}

/** What a provider serves under a literal path is never what it serves under a parameter. */
function mostLiteral(candidates: readonly Candidate[]): readonly Candidate[] {
  const weights = candidates.map(({ action }) => shapeOf(action.template));
  const least = weights.toSorted()[0];
  return candidates.filter((_, index) => weights[index] === least);
}

/** The field in which this provider takes its token, where that is not Authorization. */
function tokenField({ provider }: Pack): string | null {
  return provider?.auth?.header ?? null;
}

function missOf({ action }: Pick<Candidate, "action">, why: string, depth: number): Miss {
  return { action: action.qualifiedName, why, depth };
}

function refused(code: NoAction["code"], message: string, nearest: Miss | null): NoAction {
  return { kind: "refused", code, message, nearest };
}
