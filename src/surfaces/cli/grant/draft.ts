import type { ActionDefinition, Effect } from "../../../conventions/action/pack.ts";
import { readLimits } from "../../../conventions/budget/record.ts";
import { type Condition, readCondition, typeCondition } from "../../../conventions/grant/condition.ts";
import { type Grant, type GrantCaller, namesAction, readInclusion } from "../../../conventions/grant/grant.ts";
import { type Hours, readHours } from "../../../conventions/grant/hours.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier, showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { JsonValue } from "../../../kernel/json.ts";
import { GRANT_ACTION, GRANT_NAME } from "../../../vault/policy/grant-entries.ts";
import { type BudgetOptions, budgetAsked } from "../commands/budget-options.ts";

/** A grant as a person typed it. */
export interface GrantWords extends BudgetOptions {
  readonly name: string;
  readonly actions: readonly string[];
  readonly where: readonly string[];
  readonly effects: readonly string[];
  readonly include: readonly string[];
  readonly perDay: number;
  readonly until: string;
  readonly hours?: string;
  readonly idle: number;
}

const EFFECTS: readonly Effect[] = ["preview", "read", "write", "send", "create", "purchase"];
const DAY_MS = 86_400_000;

/** Read and typed against the actions that it names; refused as a whole where one word does not fit. */
export function draftGrant(
  words: GrantWords,
  caller: GrantCaller,
  known: readonly ActionDefinition[],
  wallMs: number,
): Grant {
  if (!GRANT_NAME.test(words.name)) throw invalid("its name is a-z, 0-9 and dashes, 64 at most");
  const effects = words.effects.map(readEffect);
  const named = known.filter(({ qualifiedName }) => namesAction(words.actions, qualifiedName));
  for (const pattern of words.actions) requireNamed(pattern, known);
  const reached = named.filter(({ effect }) => effects.includes(effect));
  if (reached.length === 0) {
    const found = [...new Set(named.map(({ effect }) => effect))].join(", ");
    throw invalid(`none of these actions is a ${effects.join(" or ")}; they are ${found}. Say which with --effects`);
  }
  const hours = words.hours === undefined ? null : parseHours(words.hours);
  return {
    name: words.name,
    caller,
    actions: [...words.actions].sort(),
    effects: EFFECTS.filter((effect) => effects.includes(effect)),
    conditions: words.where.map((text) => readBound(text, reached)),
    includes: words.include.map((word) => readInclusion(word) ?? unknownInclusion(word)),
    limits: readLimits(budgetAsked(words), {
      attempts: defaults.runAttempts,
      sideEffects: effects.every((effect) => effect === "read") ? 0 : defaults.runSideEffects,
      durationMs: defaults.runDurationMs,
      spendCents: 0,
    }),
    callsPerDay: words.perDay,
    createdAt: isoTime(wallMs),
    until: readUntil(words.until, wallMs),
    hours,
    idleDays: words.idle,
  };
}

function requireNamed(pattern: string, known: readonly ActionDefinition[]): void {
  if (!GRANT_ACTION.test(pattern)) throw invalid(`${showIdentifier(pattern)} is neither PACK.ACTION nor PACK.PART.*`);
  if (known.some(({ qualifiedName }) => namesAction([pattern], qualifiedName))) return;
  throw invalid(`no trusted pack has an action ${showIdentifier(pattern)}; see gw pack list`);
}

function readEffect(word: string): Effect {
  const effect = EFFECTS.find((one) => one === word);
  if (effect === undefined) throw invalid(`--effects takes ${EFFECTS.join(", ")}`);
  return effect;
}

/** A condition must mean the same for every action it bounds: one that lacks the argument would slip out or never pass. */
function readBound(text: string, actions: readonly ActionDefinition[]): Condition {
  const typed = actions.map((action) => {
    const condition = boundOn(action, text);
    if (typeof condition === "string") throw invalid(condition);
    return condition;
  });
  const [first] = typed;
  if (first === undefined || typed.some((one) => JSON.stringify(one) !== JSON.stringify(first))) {
    throw invalid(`${first?.input} is not of one type in all of these actions; make a grant for each`);
  }
  return first;
}

/** What a person typed about the arguments of one action; a sentence where it does not fit them. */
export function boundOn(action: ActionDefinition, text: string): Condition | string {
  const draft = readCondition(text);
  if (draft === null) {
    return `${showText(text)} is no condition: write name=value, name in a,b, name^=beginning or name<=number`;
  }
  const type = typeOf(action, draft.input);
  if (type === undefined) {
    return `${action.qualifiedName} has no argument ${draft.input} that could be compared; name only actions that have it`;
  }
  const condition = typeCondition(draft, type);
  return typeof condition === "string" ? `${condition} (${action.qualifiedName})` : condition;
}

/** The JSON type of an argument; that of its values where the schema lists them. */
function typeOf({ schema }: ActionDefinition, input: string): JsonValue | undefined {
  const { properties = {} } = schema;
  const property = Object.hasOwn(properties, input) ? properties[input] : undefined;
  if (property === undefined) return undefined;
  if (property.type !== undefined) return typeof property.type === "string" ? property.type : undefined;
  const types = new Set((property.enum ?? [property.const]).map((value) => typeof value));
  return types.size === 1 ? [...types][0] : undefined;
}

/** The furthest is a year away, so that what nobody uses does not stand for ever. */
function readUntil(text: string, wallMs: number): string {
  const untilMs = parseUntil(text);
  if (untilMs <= wallMs) throw invalid(`${text} is over already`);
  if (untilMs > wallMs + defaults.grantMaximumMs) throw invalid("it may stand for a year at most");
  return isoTime(untilMs);
}

/** A date means its end in UTC. */
export function parseUntil(text: string): number {
  const untilMs = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00.000Z`) + DAY_MS : Date.parse(text);
  if (!/^\d{4}-\d\d-\d\d(T[0-9:.]{5,12}(Z|[+-]\d\d:\d\d))?$/.test(text) || Number.isNaN(untilMs)) {
    throw invalid("--until is a date like 2027-03-31 or an RFC 3339 time");
  }
  return untilMs;
}

export function parseHours(text: string): Hours {
  const hours = readHours(text);
  if (hours === null) throw invalid("--hours is like mon-fri 08-18, in UTC");
  return hours;
}

function unknownInclusion(word: string): never {
  throw invalid(
    `--include ${showIdentifier(word)} is none of each_use:LABEL, each_use_actions, plans, unpreviewed, purchases, uncapped_cost`,
  );
}

function invalid(why: string): Denied {
  return new Denied("grant_invalid", `The grant was not signed: ${why}.`);
}
