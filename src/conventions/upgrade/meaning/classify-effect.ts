import type { ApiOperation } from "../model/api.ts";
import { type EffectVerdict, harmless, type MeantEffect } from "./effect.ts";
import { grantThings, queryFields, things as thingWords, verbs } from "./vocabulary.ts";
import { singular, splitWords, staticSegments } from "./words.ts";

const STRENGTH: readonly MeantEffect[] = [
  "mint",
  "grant",
  "purchase",
  "send",
  "delete",
  "create",
  "write",
  "preview",
  "read",
];
const METHOD: Readonly<Record<string, readonly [effect: MeantEffect, weight: number]>> = {
  GET: ["read", 2],
  HEAD: ["read", 3],
  OPTIONS: ["read", 2],
  TRACE: ["read", 2],
  POST: ["create", 1],
  PUT: ["write", 2],
  PATCH: ["write", 2],
  DELETE: ["delete", 3],
};

/** Names from which an answer's content can be told, handed in by the caller who has them already. */
export interface EffectHints {
  readonly bodyFields: readonly string[];
  /** The answer holds a list under one of its own members, or is one. */
  readonly answersList: boolean;
  readonly answersToken: boolean;
}

/** Classifies by effect, not by verb: a GET that sends is a send, a POST that only searches is a read. */
export function classifyEffect(operation: ApiOperation, hints: EffectHints): EffectVerdict {
  const scores = new Map<MeantEffect, number>();
  const signs: { readonly effect: MeantEffect; readonly says: string }[] = [];
  const say = (effect: MeantEffect, weight: number, says: string): void => {
    scores.set(effect, (scores.get(effect) ?? 0) + weight);
    signs.push({ effect, says });
  };

  const [methodEffect, methodWeight] = METHOD[operation.method] ?? ["write", 1];
  scores.set(methodEffect, methodWeight);
  // POST is used for everything, so it neither supports nor contradicts anything.
  const spoken =
    operation.method === "POST"
      ? []
      : [{ effect: methodEffect, says: `the method ${operation.method} usually means ${methodEffect}` }];
  readName(operation, say);
  readPath(operation, say);
  const opening = effectOfSentence(operation.summary || operation.description);
  if (opening !== undefined) say(opening, 2, `its text opens with a word for ${opening}`);
  readAnswers(operation, hints, say);

  const effect = choose(operation, scores);
  const all = [...spoken, ...signs];
  const supporting = signs.filter((sign) => agrees(sign.effect, effect)).length;
  const against = all.filter((sign) => !agrees(sign.effect, effect)).length;
  return {
    effect,
    confidence: confidenceOf(supporting, against, spoken.length > 0 && against === 0),
    evidence: all.map(({ says }) => says),
    disguised: harmless(methodEffect) && !harmless(effect),
  };
}

/** A create that is also a write contradicts nothing; a read that sends does. */
function agrees(sign: MeantEffect, effect: MeantEffect): boolean {
  if (harmless(sign) || harmless(effect)) return harmless(sign) && harmless(effect);
  const plain: readonly MeantEffect[] = ["write", "create", "delete"];
  return sign === effect || plain.includes(sign);
}

type Say = (effect: MeantEffect, weight: number, says: string) => void;

function readName(operation: ApiOperation, say: Say): void {
  const words = splitWords(operation.operationId ?? "");
  // A generated id repeats method and path (`post-terminals-reassign`) and adds nothing to them.
  const repeats = words.join() === splitWords(`${operation.method} ${operation.path}`).join();
  const generated = repeats && ["POST", "PUT", "PATCH"].includes(operation.method);
  if (generated) return;
  // `postUsers` says how it is called, not that something is sent to somebody.
  const effect = words[0] === "post" ? undefined : effectOfWord(words[0] ?? "");
  if (effect !== undefined) say(effect, 3, `its name ${operation.operationId} begins with a word for ${effect}`);
}

function readPath(operation: ApiOperation, say: Say): void {
  const segments = staticSegments(operation.path);
  const last = segments.at(-1) ?? "";
  const words = splitWords(last);
  const ends = operation.path.endsWith("}") ? undefined : effectOfWord(words[0] ?? "");
  if (ends !== undefined && (last !== segments[0] || operation.method === "POST")) {
    // `GET /invoice` reads an invoice; `POST /invoice` makes one.
    const noun = operation.method === "GET" && thingWords.has(words[0] ?? "");
    say(ends, noun ? 1 : 3, `its path ends in ${last}, a word for ${ends}`);
  }
  const things = segments.flatMap((segment) => splitWords(segment).map(singular));
  const grants = things.filter((thing) => grantThings.has(thing));
  if (grants.length > 0 && ["POST", "PUT", "PATCH"].includes(operation.method)) {
    say("grant", 4, `it changes a ${grants[0]}, which decides what others may do`);
  }
}

function readAnswers(operation: ApiOperation, hints: EffectHints, say: Say): void {
  if (operation.answers.has("201")) say("create", 2, "it answers 201, something was created");
  if (operation.answers.has("202") && operation.method !== "GET")
    say("write", 1, "it answers 202, work goes on afterwards");
  if (hints.answersToken && !operation.path.endsWith("}")) say("mint", 2, "its answer holds a token or secret");
  if (operation.method !== "POST") return;
  const asks = hints.bodyFields.filter((field) => queryFields.has(field));
  if (hints.answersList && asks.length > 0)
    say("read", 3, `its body asks (${asks.slice(0, 3).join(", ")}) and its answer is a list`);
}

/** A side effect wins over a read of the same weight: the dangerous mistake is to call a send a read. */
function choose(operation: ApiOperation, scores: ReadonlyMap<MeantEffect, number>): MeantEffect {
  let best: MeantEffect = METHOD[operation.method]?.[0] ?? "write";
  for (const effect of STRENGTH) {
    const score = scores.get(effect) ?? 0;
    if (score > (scores.get(best) ?? 0)) best = effect;
    else if (score > 0 && score === scores.get(best) && STRENGTH.indexOf(effect) < STRENGTH.indexOf(best))
      best = effect;
  }
  // Whoever changes a role changes what others may do, however plain the verb.
  if ((scores.get("grant") ?? 0) >= 4) return "grant";
  const strongest = STRENGTH.find((effect) => !harmless(effect) && (scores.get(effect) ?? 0) >= 3);
  return harmless(best) && strongest !== undefined ? strongest : best;
}

function confidenceOf(supporting: number, against: number, methodAgrees: boolean): string {
  if (supporting === 0) return "unsure: nothing but the HTTP method speaks for it";
  if (against === 0) {
    return supporting > 1 || methodAgrees
      ? "clear: everything that speaks about it agrees"
      : "likely: one sign speaks for it, none against";
  }
  return supporting > against
    ? "likely: most signs agree, some do not"
    : "contradictory: the signs disagree, look at it yourself";
}

function effectOfWord(word: string): MeantEffect | undefined {
  return STRENGTH.find((effect) => verbs[effect].has(word));
}

/** `Purges`, `purge` and `purging` open a sentence alike. */
function effectOfSentence(text: string): MeantEffect | undefined {
  const word = splitWords(text)[0] ?? "";
  const forms = [
    word,
    word.replace(/s$/, ""),
    word.replace(/es$/, ""),
    word.replace(/ing$/, ""),
    word.replace(/ing$/, "e"),
  ];
  return forms.map(effectOfWord).find((effect) => effect !== undefined);
}
