import { digestJson } from "../../../kernel/canonical-json.ts";
import type { JsonValue } from "../../../kernel/json.ts";
import { choosesResources, isPaging } from "../meaning/steering.ts";
import type { Answer, Body, Operation, Parameter } from "../model/api.ts";
import { sortText } from "../model/order.ts";
import { compareSchemas } from "./compare-shape.ts";
import { type Draft, reachOf, type Surface } from "./difference.ts";
import type { Match } from "./match-operations.ts";
import { kindOf, type ShapeContext } from "./shape-context.ts";

/** Everything about one operation that is not security or server: what it takes, and what it answers. */
export function compareOperation(match: Match, context: ShapeContext): void {
  const request: ShapeContext = { ...context, inRequest: true, inAnswer: false };
  const answer: ShapeContext = { ...context, inRequest: false, inAnswer: true };
  compareNames(match, context);
  compareParameters(match, request);
  compareBody(match, request);
  compareAnswers(match.before, match.after, answer);
  compareCallbacks(match.before, match.after, context);
}

function compareNames({ before, after, by }: Match, context: ShapeContext): void {
  if (by !== "route") {
    emit(context, {
      surface: "request_compatibility",
      kind: "operation_renamed",
      change: "shifts",
      at: "route",
      says:
        by === "operation_id"
          ? "It stands at another path under the same operationId."
          : "It stands under another version prefix.",
      before: before.key,
      after: after.key,
    });
  }
  if (before.operationId !== after.operationId && by !== "operation_id") {
    emit(context, {
      surface: "request_compatibility",
      kind: "operation_id_changed",
      change: "shifts",
      at: "operationId",
      says: "It has another operationId.",
      before: before.operationId ?? "none",
      after: after.operationId ?? "none",
    });
  }
  if (after.deprecated !== before.deprecated) {
    emit(context, {
      surface: "request_compatibility",
      kind: "deprecation_changed",
      change: "shifts",
      at: "deprecated",
      says: after.deprecated ? "It is now deprecated and may go away." : "It is no longer deprecated.",
      before: String(before.deprecated),
      after: String(after.deprecated),
    });
  }
}

function emit(context: ShapeContext, draft: Omit<Draft, "subject">): void {
  context.add({ ...draft, subject: context.subject });
}

function compareParameters({ before, after }: Match, context: ShapeContext): void {
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

function compareBody({ before, after }: Match, context: ShapeContext): void {
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
  compareMedia("body", old.media, next.media, context);
}

function memberNames(body: Body, context: ShapeContext): string {
  const names = [...body.media.values()].flatMap((schema) => [...context.after.shapeOf(schema).properties.keys()]);
  return sortText(names).slice(0, 30).join(", ") || [...body.media.keys()].join(", ");
}

function mediaPrint(media: ReadonlyMap<string, JsonValue>, context: ShapeContext): string {
  return digestJson([...media].map(([type, schema]) => [type, context.after.contentPrint(schema)]));
}

function compareMedia(
  at: string,
  old: ReadonlyMap<string, JsonValue>,
  next: ReadonlyMap<string, JsonValue>,
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
    else if (!old.has(type))
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

const DENIALS = ["401", "403"];

function compareAnswers(before: Operation, after: Operation, context: ShapeContext): void {
  const hides =
    before.answers.has("403") && !after.answers.has("403") && after.answers.has("404") && !before.answers.has("404");
  if (hides) {
    emit(context, {
      surface: "credential_acceptance",
      kind: "possible_hiding",
      change: "shifts",
      at: "answers",
      says: "A denial is now written as 404: possible hiding. A probe must tell it from a missing record.",
      before: "403",
      after: "404",
    });
  }
  for (const status of sortText([...before.answers.keys(), ...after.answers.keys()])) {
    const old = before.answers.get(status);
    const next = after.answers.get(status);
    if (old !== undefined && next !== undefined) compareAnswer(`answer ${status}`, old, next, context);
    else if (!(hides && (status === "403" || status === "404"))) changeStatus(status, next, context);
  }
}

function changeStatus(status: string, next: Answer | undefined, context: ShapeContext): void {
  const added = next !== undefined;
  const at = `answer ${status}`;
  const [before, after] = added ? [null, status] : [status, null];
  if (DENIALS.includes(status)) {
    emit(context, {
      surface: "credential_acceptance",
      kind: added ? "denial_added" : "denial_removed",
      change: added ? "narrows" : "widens",
      at,
      says: added
        ? `It may now be denied with ${status}.`
        : `The document no longer says that it can be denied with ${status}.`,
      before,
      after,
    });
    return;
  }
  const async = added && status === "202" ? " Work may go on after the answer." : "";
  emit(context, {
    surface: "request_compatibility",
    kind: added ? "answer_added" : "answer_removed",
    change: added ? "shifts" : "narrows",
    at,
    says: `${added ? `It may now answer ${status}.` : `It no longer answers ${status}.`}${async}`,
    before,
    after,
    ...(next === undefined || next.media.size === 0 ? {} : { binding: mediaPrint(next.media, context) }),
  });
}

function compareAnswer(at: string, old: Answer, next: Answer, context: ShapeContext): void {
  compareMedia(at, old.media, next.media, context);
  for (const name of sortText([...old.headers.keys(), ...next.headers.keys()])) {
    const before = old.headers.get(name);
    const after = next.headers.get(name);
    const place = `${at} header ${name}`;
    if (before !== undefined && after !== undefined) compareSchemas(context, before, after, { at: place, name });
    else {
      const steers = name === "link" || name === "location";
      const added = after !== undefined;
      emit(context, {
        surface: steers ? "resource_reach" : "request_compatibility",
        kind: steers ? "pagination_changed" : added ? "header_added" : "header_removed",
        change: added ? (steers ? "widens" : "shifts") : "narrows",
        at: place,
        says: added ? `The answer now carries the header ${name}.` : `The answer no longer carries the header ${name}.`,
        before: added ? null : name,
        after: added ? name : null,
      });
    }
  }
  for (const name of sortText([...old.links.keys(), ...next.links.keys()])) {
    const before = old.links.get(name) ?? null;
    const after = next.links.get(name) ?? null;
    if (before === after) continue;
    emit(context, {
      surface: "resource_reach",
      kind: before === null ? "link_added" : after === null ? "link_removed" : "link_changed",
      change: before === null ? "widens" : after === null ? "narrows" : "shifts",
      at: `${at} link ${name}`,
      says: `The link ${name} steers a later request${after === null ? " no more" : ""}.`,
      before,
      after,
    });
  }
}

function compareCallbacks(before: Operation, after: Operation, context: ShapeContext): void {
  for (const callback of sortText([...before.callbacks, ...after.callbacks])) {
    const had = before.callbacks.includes(callback);
    if (had === after.callbacks.includes(callback)) continue;
    emit(context, {
      surface: "action_reach",
      kind: had ? "callback_removed" : "callback_added",
      change: had ? "narrows" : "widens",
      at: "callbacks",
      says: had
        ? `The provider no longer calls ${callback}.`
        : `The provider will now call ${callback}: a request makes it send.`,
      before: had ? callback : null,
      after: had ? null : callback,
    });
  }
}
