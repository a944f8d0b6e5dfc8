import type { Answer, ApiOperation, Parameter } from "../model/api.ts";
import { sortText } from "../model/order.ts";
import { compareMedia, compareRest, mediaPrint } from "./compare-body.ts";
import { compareSchemas } from "./compare-shape.ts";
import { emitFor as emit, type ShapeContext } from "./shape-context.ts";

const DENIALS = ["401", "403"];

export function compareAnswers(before: ApiOperation, after: ApiOperation, context: ShapeContext): void {
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

/** Written, promised or described in another way: whoever reads it must know, and nothing is sent by it. */
function compareHeader(at: string, before: Parameter, after: Parameter, context: ShapeContext): void {
  const told = ({ required, style, allowEmpty, allowReserved, deprecated, rest }: Parameter): string =>
    [required && "always there", deprecated && "deprecated", allowEmpty && "may be empty", allowReserved && "reserved"]
      .filter((one) => one !== false)
      .join(", ") +
    style +
    rest;
  compareRest(at, told(before), told(after), context);
  compareSchemas(context, before.schema, after.schema, { at, name: after.name });
}

function compareAnswer(at: string, old: Answer, next: Answer, context: ShapeContext): void {
  compareMedia(at, old, next, context);
  compareRest(at, old.rest, next.rest, context);
  for (const name of sortText([...old.headers.keys(), ...next.headers.keys()])) {
    const before = old.headers.get(name);
    const after = next.headers.get(name);
    const place = `${at} header ${name}`;
    if (before !== undefined && after !== undefined) compareHeader(place, before, after, context);
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
