import { digestJson } from "../../../kernel/canonical-json.ts";
import type { JsonValue } from "../../../kernel/json.ts";
import type { Body } from "../model/api.ts";
import { sortText } from "../model/order.ts";
import { compareSchemas } from "./compare-shape.ts";
import { reachOf } from "./difference.ts";
import type { Match } from "./match-operations.ts";
import { emitFor as emit, type ShapeContext } from "./shape-context.ts";

export function compareBody({ before, after }: Match, context: ShapeContext): void {
  const old = before.body;
  const next = after.body;
  if (old === null && next === null) return;
  if (old === null || next === null) {
    emit(
      context,
      next === null
        ? {
            surface: "request_compatibility",
            kind: "body_removed",
            change: "narrows",
            at: "body",
            says: "It takes no body any more.",
            before: "a body",
            after: null,
          }
        : {
            surface: next.required ? "request_compatibility" : reachOf(context.effect),
            kind: "body_added",
            change: next.required ? "narrows" : "widens",
            at: "body",
            says: next.required ? "It now needs a body." : "It now takes a body.",
            before: null,
            after: `${next.required ? "required" : "optional"}: ${memberNames(next, context)}`,
            binding: mediaPrint(next.media, context),
          },
    );
    return;
  }
  if (old.required !== next.required) {
    emit(context, {
      surface: "request_compatibility",
      kind: next.required ? "body_required" : "body_optional",
      change: next.required ? "narrows" : "shifts",
      at: "body",
      says: next.required ? "A body must now be sent." : "The body may now be left out.",
      before: old.required ? "required" : "optional",
      after: next.required ? "required" : "optional",
    });
  }
  compareMedia("body", old, next, context);
  compareRest("body", old.rest, next.rest, context);
}

/** What no reader knows by name: that it is another one is told, and a person judges what it means. */
export function compareRest(at: string, before: string, after: string, context: ShapeContext): void {
  if (before === after) return;
  emit(context, {
    surface: "request_compatibility",
    kind: "description_changed",
    change: "shifts",
    at,
    says: "It is described in another way.",
    before: before || "nothing more",
    after: after || "nothing more",
  });
}

function memberNames(body: Body, context: ShapeContext): string {
  const names = [...body.media.values()].flatMap((schema) => [...context.after.shapeOf(schema).properties.keys()]);
  return sortText(names).slice(0, 30).join(", ") || [...body.media.keys()].join(", ");
}

export function mediaPrint(media: ReadonlyMap<string, JsonValue>, context: ShapeContext): string {
  return digestJson([...media].map(([type, schema]) => [type, context.after.contentPrint(schema)]));
}

export function compareMedia(
  at: string,
  { media: old, encodings: oldForms }: Pick<Body, "media" | "encodings">,
  { media: next, encodings: nextForms }: Pick<Body, "media" | "encodings">,
  context: ShapeContext,
): void {
  for (const type of sortText([...old.keys(), ...next.keys()])) {
    if (!next.has(type))
      emit(context, {
        surface: "request_compatibility",
        kind: "media_type_removed",
        change: "narrows",
        at: `${at} ${type}`,
        says: `${type} is gone from ${at}.`,
        before: type,
        after: null,
      });
    else if (old.has(type)) compareForm(`${at} ${type}`, type, oldForms.get(type), nextForms.get(type), context);
    else
      emit(context, {
        surface: "request_compatibility",
        kind: "media_type_added",
        change: "shifts",
        at: `${at} ${type}`,
        says: `${type} is a new form of ${at}.`,
        before: null,
        after: type,
        binding: context.after.contentPrint(next.get(type) ?? true),
      });
  }
  // The same two schemas under several media types are one comparison.
  const done = new Map<JsonValue, Set<JsonValue>>();
  const common = [...old.keys()].filter((type) => next.has(type));
  for (const type of common) {
    const before = old.get(type) ?? true;
    const after = next.get(type) ?? true;
    const partners = done.get(before) ?? new Set();
    if (partners.has(after)) continue;
    done.set(before, partners.add(after));
    compareSchemas(context, before, after, { at: done.size === 1 ? at : `${at} ${type}`, name: "" });
  }
}

function compareForm(at: string, type: string, before = "the usual", after = "the usual", context: ShapeContext): void {
  if (before === after) return;
  emit(context, {
    surface: "request_compatibility",
    kind: "encoding_changed",
    change: "shifts",
    at,
    says: `The parts of ${type} are written in another way.`,
    before,
    after,
  });
}
