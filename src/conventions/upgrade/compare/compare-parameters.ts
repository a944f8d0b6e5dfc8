import { choosesResources, isPaging } from "../meaning/steering.ts";
import type { Parameter } from "../model/api.ts";
import { sortText } from "../model/order.ts";
import { compareSchemas } from "./compare-shape.ts";
import { reachOf, type Surface } from "./difference.ts";
import type { Match } from "./match-operations.ts";
import { emitFor as emit, kindOf, type ShapeContext } from "./shape-context.ts";

export function compareParameters({ before, after }: Match, context: ShapeContext): void {
  const olds = new Map(before.parameters.map((parameter) => [placeOf(parameter, before.path), parameter]));
  const news = new Map(after.parameters.map((parameter) => [placeOf(parameter, after.path), parameter]));
  for (const place of sortText([...olds.keys(), ...news.keys()])) {
    const old = olds.get(place);
    const next = news.get(place);
    if (old === undefined && next !== undefined) addParameter(next, context);
    else if (next === undefined && old !== undefined) removeParameter(old, context);
    else if (old !== undefined && next !== undefined) compareParameter(old, next, context);
  }
}

/** Path parameters are known by where they stand, all others by their name. */
function placeOf(parameter: Parameter, path: string): string {
  if (parameter.in !== "path") return `${parameter.in} ${parameter.name}`;
  const names = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name);
  const index = names.indexOf(parameter.name);
  return index < 0 ? `path ${parameter.name}` : `path #${index}`;
}

function reach(context: ShapeContext, name: string): Surface {
  return isPaging(name) ? "resource_reach" : reachOf(context.effect);
}

function addParameter(parameter: Parameter, context: ShapeContext): void {
  const at = `${parameter.in} ${parameter.name}`;
  const binding = context.after.contentPrint(parameter.schema);
  const shape = context.after.shapeOf(parameter.schema);
  if (parameter.required) {
    emit(context, {
      surface: "request_compatibility",
      kind: "parameter_required",
      change: "narrows",
      at,
      says: `${at} must now be sent.`,
      before: null,
      after: "required",
      binding,
    });
    return;
  }
  const paging = isPaging(parameter.name);
  emit(context, {
    surface: reach(context, parameter.name),
    kind: paging ? "pagination_changed" : "parameter_added",
    change: "widens",
    at,
    says: paging ? `${at} now chooses pages.` : `A request may now carry ${at}.`,
    before: null,
    after: `optional ${kindOf(shape)}`,
    binding,
    together: `${at} ${kindOf(shape)}`,
  });
}

function removeParameter(parameter: Parameter, context: ShapeContext): void {
  const at = `${parameter.in} ${parameter.name}`;
  const filter =
    parameter.in === "query" && choosesResources(parameter.name) && reachOf(context.effect) === "resource_reach";
  const paging = isPaging(parameter.name);
  emit(context, {
    surface: filter || paging ? "resource_reach" : "request_compatibility",
    kind: paging ? "pagination_changed" : "parameter_removed",
    change: filter ? "shifts" : "narrows",
    at,
    says: filter
      ? `${at} is gone: if it is now ignored, a request that used it to choose gets everything.`
      : `${at} is no longer taken.`,
    before: parameter.required ? "required" : "optional",
    after: null,
  });
}

function compareParameter(old: Parameter, next: Parameter, context: ShapeContext): void {
  const at = `${next.in} ${next.name}`;
  if (old.name !== next.name) {
    emit(context, {
      surface: "request_compatibility",
      kind: "parameter_renamed",
      change: "shifts",
      at,
      says: `The path parameter ${old.name} is now called ${next.name}; the wire does not see it, its meaning may have moved.`,
      before: old.name,
      after: next.name,
    });
  }
  if (old.required && !next.required) {
    const wider = choosesResources(next.name);
    emit(context, {
      surface: wider ? "resource_reach" : "request_compatibility",
      kind: "parameter_optional",
      change: wider ? "widens" : "shifts",
      at,
      says: wider
        ? `${at} may now be left out: a request that does not choose may get everything.`
        : `${at} may now be left out.`,
      before: "required",
      after: "optional",
    });
  } else if (!old.required && next.required) {
    emit(context, {
      surface: "request_compatibility",
      kind: "parameter_required",
      change: "narrows",
      at,
      says: `${at} must now be sent.`,
      before: "optional",
      after: "required",
    });
  }
  if (old.style !== next.style) {
    emit(context, {
      surface: "request_compatibility",
      kind: "style_changed",
      change: "shifts",
      at,
      says: `${at} is written in another way.`,
      before: old.style || "the usual",
      after: next.style || "the usual",
    });
  }
  if (old.allowReserved !== next.allowReserved) {
    emit(context, {
      surface: next.allowReserved ? reach(context, next.name) : "request_compatibility",
      kind: "reserved_allowed",
      change: next.allowReserved ? "widens" : "narrows",
      at,
      says: next.allowReserved
        ? `${at} now goes out with / ? # and & as they are: a value can reach beyond its place.`
        : `Reserved characters in ${at} are now encoded.`,
      before: String(old.allowReserved),
      after: String(next.allowReserved),
    });
  }
  if (old.deprecated !== next.deprecated || old.rest !== next.rest) {
    emit(context, {
      surface: "request_compatibility",
      kind: "parameter_changed",
      change: "shifts",
      at,
      says: next.deprecated ? `${at} is now deprecated and may go away.` : `${at} is described in another way.`,
      before: `${old.deprecated ? "deprecated" : "in use"}${old.rest}`,
      after: `${next.deprecated ? "deprecated" : "in use"}${next.rest}`,
    });
  }
  if (old.allowEmpty !== next.allowEmpty) {
    emit(context, {
      surface: next.allowEmpty ? reach(context, next.name) : "request_compatibility",
      kind: "empty_allowed",
      change: next.allowEmpty ? "widens" : "narrows",
      at,
      says: next.allowEmpty ? `${at} may now be empty.` : `${at} may no longer be empty.`,
      before: String(old.allowEmpty),
      after: String(next.allowEmpty),
    });
  }
  compareSchemas(context, old.schema, next.schema, { at, name: next.name });
}
