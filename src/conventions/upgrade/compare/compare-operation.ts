import type { Operation } from "../model/api.ts";
import { sortText } from "../model/order.ts";
import { compareAnswers } from "./compare-answers.ts";
import { compareBody } from "./compare-body.ts";
import { compareParameters } from "./compare-parameters.ts";
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
