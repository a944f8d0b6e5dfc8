import { parseJsonValue } from "../../../packages/request/src/json/parse.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import type {
  Assumption,
  EffectGroup,
  EffectRelation,
  PlanEffect,
  Preview,
  ReadRevision,
  Validation,
} from "./record.ts";

export type PreviewReading =
  | { readonly kind: "preview"; readonly preview: Preview }
  /** `why` is in our words; nothing of the answer is taken over. */
  | { readonly kind: "not_a_preview"; readonly why: string };

/**
 * Whether an answer is a preview: 200, or 202 where planning itself takes time, and `mode: preview` in its body. Anything
 * else is not taken for one, least of all a 201. What a provider left out is never filled in to look executable.
 */
export function readPreview(status: number, body: Uint8Array): PreviewReading {
  if (status !== 200 && status !== 202) return no(`its status is ${status}, and a preview is 200 or 202`);
  let value: JsonValue;
  try {
    value = parseJsonValue(body, { longIntegersAsText: true });
  } catch (error) {
    if (error instanceof Denied) return no("its body is not strict JSON");
    throw error;
  }
  if (!isJsonObject(value) || value["mode"] !== "preview") return no("its body does not say mode: preview");
  try {
    return { kind: "preview", preview: readRecord(value, status) };
  } catch (error) {
    if (error instanceof Unreadable) return no(error.message);
    throw error;
  }
}

class Unreadable extends Error {}

function no(why: string): PreviewReading {
  return { kind: "not_a_preview", why };
}

function readRecord(value: JsonObject, status: number): Preview {
  const plan_id = optionalText(value, "plan_id") ?? optionalText(value, "plan_token");
  const validation = list(value, "validation").map(readValidation);
  const executable = value["executable"] === true && plan_id !== null && status === 200;
  return {
    mode: "preview",
    // A blocking finding outweighs what the provider says of the whole.
    executable: executable && !validation.some(({ blocks_execution }) => blocks_execution),
    validation,
    plan_id,
    expires_at: readExpiry(value),
    request_digest: optionalText(value, "request_digest") ?? "",
    read_revisions: list(value, "read_revisions").map(readRevision),
    effects: readEffects(list(value, "effects")),
    assumptions: list(value, "assumptions").map(readAssumption),
  };
}

/** With its zone: of any other it would be for us to say when that is. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/** One that cannot be read is no leave to carry it out at any time. */
function readExpiry(value: JsonObject): string | null {
  const found = optionalText(value, "expires_at");
  if (found !== null && !(MOMENT.test(found) && Number.isFinite(Date.parse(found))))
    throw new Unreadable("its expires_at is no moment");
  return found;
}

function readValidation(entry: JsonValue): Validation {
  const one = record(entry, "validation");
  const severity = one["severity"] === "warning" ? "warning" : "error";
  return {
    severity,
    code: text(one, "code"),
    path: optionalText(one, "path") ?? "",
    message: optionalText(one, "message") ?? "",
    // An error means that the same input would not execute, whatever the flag says.
    blocks_execution: severity === "error" || one["blocks_execution"] === true,
    repair: optionalText(one, "repair"),
  };
}

function readRevision(entry: JsonValue): ReadRevision {
  const one = record(entry, "read_revisions");
  return { resource: text(one, "resource"), revision: text(one, "revision") };
}

const relations: readonly EffectRelation[] = ["direct", "derived", "separate"];

/** Groups with a total and a sample, or plain effects that each name their relation: both come out as groups. */
function readEffects(entries: readonly JsonValue[]): readonly EffectGroup[] {
  const groups: EffectGroup[] = [];
  const plain = new Map<EffectRelation, PlanEffect[]>();
  for (const entry of entries) {
    const one = record(entry, "effects");
    const relation = relations.find((name) => name === (one["relation"] ?? "direct"));
    if (relation === undefined) throw new Unreadable("an effect is neither direct, derived nor separate");
    if (!Array.isArray(one["sample"])) {
      const effects = plain.get(relation) ?? [];
      plain.set(relation, effects);
      effects.push(readEffect(one));
      continue;
    }
    const sample = list(one, "sample").map((effect) => readEffect(record(effect, "effects")));
    const total = one["total"];
    if (typeof total !== "number" || !Number.isSafeInteger(total) || total < sample.length)
      throw new Unreadable("the total of its effects does not fit their sample");
    groups.push({ relation, total, sample, next_cursor: optionalText(one, "next_cursor") });
  }
  for (const [relation, sample] of plain) groups.push({ relation, total: sample.length, sample, next_cursor: null });
  return groups.sort((a, b) => relations.indexOf(a.relation) - relations.indexOf(b.relation));
}

function readEffect(one: JsonObject): PlanEffect {
  const compensating = optionalText(one, "compensating_action");
  return {
    resource: text(one, "resource"),
    revision: optionalText(one, "revision"),
    previous: one["previous"] ?? null,
    proposed: one["proposed"] ?? null,
    cause: text(one, "cause"),
    ...(compensating === null ? {} : { compensating_action: compensating }),
  };
}

function readAssumption(entry: JsonValue): Assumption {
  const one = record(entry, "assumptions");
  return {
    dependency: text(one, "dependency"),
    assumed: optionalText(one, "assumed") ?? "",
    may_proceed_without: one["may_proceed_without"] === true,
  };
}

function record(value: JsonValue, of: string): JsonObject {
  if (!isJsonObject(value)) throw new Unreadable(`an entry of its ${of} is no object`);
  return value;
}

function list(value: JsonObject, name: string): readonly JsonValue[] {
  const found = value[name] ?? [];
  if (!Array.isArray(found)) throw new Unreadable(`its ${name} is no list`);
  if (found.length > defaults.previewEntries)
    throw new Unreadable(`its ${name} has more than ${defaults.previewEntries} entries`);
  return found;
}

function text(value: JsonObject, name: string): string {
  const found = value[name];
  if (typeof found !== "string" || found === "") throw new Unreadable(`an entry has no ${name}`);
  return found;
}

function optionalText(value: JsonObject, name: string): string | null {
  const found = value[name] ?? null;
  if (found === null) return null;
  if (typeof found !== "string") throw new Unreadable(`its ${name} is no text`);
  return found === "" ? null : found;
}
