import { digestJson } from "../../../kernel/canonical-json.ts";
import type { JsonValue } from "../../../kernel/json.ts";
import type { EffectVerdict, MeantEffect } from "../meaning/effect.ts";
import { type Api, type ApiOperation, describeSecurity, type Parameter } from "../model/api.ts";
import type { Schemas } from "../model/shape.ts";
import { type Difference, type Draft, reachOf } from "./difference.ts";

/** A new operation with all that a reviewer asks first: its effect, who gets in, what it hands out. */
export function describeAdded(
  api: Api,
  operation: ApiOperation,
  effect: EffectVerdict | undefined,
  found: Pick<Difference, "credential" | "flows"> & { readonly near: readonly string[] },
): Draft {
  const kind = effect?.effect ?? "write";
  const notes: string[] = [];
  if (found.near.length > 0)
    notes.push(`It stands beside what these actions use: ${found.near.join(", ")}. Probe it with their credential.`);
  if (operation.roles.length > 0) notes.push(`The text asks for: ${operation.roles.join("; ")}.`);
  const text = operation.summary || operation.description;
  return {
    surface: reachOf(kind),
    kind: "operation_added",
    change: "widens",
    subject: operation.key,
    at: "",
    says: `New operation. ${effectSentence(kind)}`,
    before: null,
    after: `${text.split("\n", 1)[0]?.slice(0, 240) || operation.operationId || operation.key}\nasks for ${describeSecurity(operation)}`,
    binding: contractPrint(api.schemas, operation, kind),
    notes,
    operations: [operation.key],
    lines: { before: null, after: operation.position?.line ?? null },
    effect: effect ?? null,
    credential: found.credential,
    flows: found.flows,
    together: `${kind} ${api.title} ${operation.key}`,
  };
}

/** Everything a caller of the operation deals with, so that a decision about it does not cover a later version of it. */
export function contractPrint(schemas: Schemas, operation: ApiOperation, effect: MeantEffect): string {
  const print = (schema: JsonValue): string => schemas.contentPrint(schema);
  const taken = (one: Parameter): JsonValue => [
    one.in,
    one.name,
    one.required,
    one.style,
    one.allowReserved,
    one.rest,
    print(one.schema),
  ];
  const media = (map: ReadonlyMap<string, JsonValue>): string[] =>
    [...map].map(([type, schema]) => `${type} ${print(schema)}`);
  return digestJson({
    effect,
    security: describeSecurity(operation),
    servers: operation.servers,
    parameters: operation.parameters.map(taken),
    body:
      operation.body === null
        ? null
        : [
            operation.body.required,
            operation.body.rest,
            ...media(operation.body.media),
            ...[...operation.body.encodings].map((one) => [...one]),
          ],
    answers: [...operation.answers].map(([status, answer]) => [
      status,
      ...media(answer.media),
      ...[...answer.headers.values()].map(taken),
      ...[...answer.links].map((one) => [...one]),
      answer.rest,
    ]),
    callbacks: [...operation.callbacks].map(([name, call]) => [name, contractPrint(schemas, call, effect)]),
    rest: operation.rest,
  });
}

function effectSentence(effect: MeantEffect): string {
  switch (effect) {
    case "read":
      return "It reads.";
    case "preview":
      return "It computes without changing anything.";
    case "write":
      return "It changes something.";
    case "create":
      return "It creates something.";
    case "delete":
      return "It deletes something.";
    case "send":
      return "It sends something to somebody.";
    case "purchase":
      return "It can cost money.";
    case "grant":
      return "It changes what others may do.";
    case "mint":
      return "It hands out something that opens doors.";
  }
}

export function describeRemoved(operation: ApiOperation): Draft {
  return {
    surface: "request_compatibility",
    kind: "operation_removed",
    change: "narrows",
    subject: operation.key,
    at: "",
    says: "The operation is gone.",
    before: operation.operationId ?? operation.key,
    after: null,
    operations: [operation.key],
    lines: { before: operation.position?.line ?? null, after: null },
    together: operation.key,
  };
}
