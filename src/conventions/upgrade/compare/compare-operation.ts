import { type ApiOperation, describeSecurity } from "../model/api.ts";
import { sortText } from "../model/order.ts";
import { compareAnswers } from "./compare-answers.ts";
import { compareBody, compareRest } from "./compare-body.ts";
import { compareParameters } from "./compare-parameters.ts";
import { contractPrint } from "./describe-operation.ts";
import type { Draft } from "./difference.ts";
import type { Match } from "./match-operations.ts";
import { emitFor as emit, type ShapeContext } from "./shape-context.ts";

/** Everything about one operation that is not security or server: what it takes, and what it answers. */
export function compareOperation(match: Match, context: ShapeContext): void {
  const request: ShapeContext = { ...context, inRequest: true, inAnswer: false };
  const answer: ShapeContext = { ...context, inRequest: false, inAnswer: true };
  compareNames(match, context);
  compareParameters(match, request);
  compareBody(match, request);
  compareAnswers(match.before, match.after, answer);
  compareCalls("callback", match.before.callbacks, match.after.callbacks, context);
  compareRest("", match.before.rest, match.after.rest, context);
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

/** What the provider calls, of itself or because of a request: what it sends is given to us, what we answer it takes. */
export function compareCalls(
  what: "callback" | "webhook",
  before: ReadonlyMap<string, ApiOperation>,
  after: ReadonlyMap<string, ApiOperation>,
  context: ShapeContext,
): void {
  for (const name of sortText([...before.keys(), ...after.keys()])) {
    const [old, next] = [before.get(name), after.get(name)];
    const at = `${what} ${name}`;
    if (old !== undefined && next !== undefined) {
      const inside = { ...context, add: (draft: Draft) => context.add({ ...draft, at: `${at} ${draft.at}`.trim() }) };
      compareCall({ before: old, after: next, by: "route" }, inside);
      continue;
    }
    emit(context, {
      surface: "action_reach",
      kind: next === undefined ? `${what}_removed` : `${what}_added`,
      change: next === undefined ? "narrows" : "widens",
      at,
      says:
        next === undefined
          ? `The provider no longer calls ${name}.`
          : `The provider ${what === "callback" ? `will now call ${name}: a request makes it send` : `can now send ${name}`}.`,
      before: next === undefined ? name : null,
      after: next === undefined ? null : name,
      ...(next === undefined ? {} : { binding: contractPrint(context.after, next, "send") }),
    });
  }
}

function compareCall(match: Match, context: ShapeContext): void {
  const given: ShapeContext = { ...context, inRequest: false, inAnswer: true };
  compareParameters(match, given);
  compareBody(match, given);
  compareAnswers(match.before, match.after, { ...context, inRequest: true, inAnswer: false });
  compareRest("", match.before.rest, match.after.rest, context);
  const [old, next] = [describeSecurity(match.before), describeSecurity(match.after)];
  if (old === next) return;
  emit(context, {
    surface: "credential_acceptance",
    kind: "security_changed",
    change: "shifts",
    at: "security",
    says: "The provider shows by another credential that it is the one who calls.",
    before: old,
    after: next,
  });
}
