import { Denied } from "../../kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { PathArgument } from "../url/build.ts";
import type { QueryPair, Scalar } from "../url/query.ts";
import { checkHeaderValue } from "./headers.ts";
import type { ActionDefinition, HttpAction, InputField, Slot, UrlAction } from "./pack.ts";
import { ROLLBACK_BODY, type RollbackFill } from "./rollback.ts";
import type { SpooledBody } from "./spooled.ts";

/** What the gateway itself puts into a request, from its own records and never from the agent. */
export interface GatewayFill {
  readonly planId?: string;
  readonly planRevision?: string | number;
  readonly cursor?: string;
  /** One page of a list as a tool asked for it, and nothing beside what it said. */
  readonly page?: { readonly size: number | null; readonly cursor: string | null };
  readonly pageSize?: number;
  readonly rollback?: RollbackFill;
  /** The body that a text among the arguments stands for. */
  readonly spooled?: SpooledBody;
}

export interface BodyValue {
  readonly field: InputField | null;
  readonly value: JsonValue;
}

export interface Gathered {
  readonly path: Map<string, PathArgument>;
  readonly query: QueryPair[];
  /** Names in lower case. */
  readonly headers: Map<string, string>;
  /** By wire name. */
  readonly body: Map<string, BodyValue>;
}

/** Sorts checked arguments and the gateway's own values by where they go. */
export function gather(action: HttpAction | UrlAction, args: JsonObject, fill: GatewayFill): Gathered {
  const gathered: Gathered = { path: new Map(), query: [], headers: new Map(), body: new Map() };
  for (const field of action.inputs) {
    const value = argumentOf(field, args);
    if (value !== undefined) place(gathered, field, value);
  }
  if (action.plan !== null) {
    const { id, revision } = requirePlan(action.plan, fill);
    placeSlot(gathered, action.plan.id, id);
    if (action.plan.revision !== null) placeSlot(gathered, action.plan.revision, revision);
  }
  if (action.pages !== null && fill.page !== undefined) {
    const { cursorParam, sizeParam } = action.pages;
    const { size, cursor } = fill.page;
    if (sizeParam !== null && size !== null) placeSlot(gathered, { place: "query", wireName: sizeParam }, size);
    if (cursor !== null) placeSlot(gathered, { place: "query", wireName: cursorParam }, cursor);
  } else if (action.pages !== null) {
    const { cursorParam, sizeParam, pageSize } = action.pages;
    if (sizeParam !== null) placeSlot(gathered, { place: "query", wireName: sizeParam }, fill.pageSize ?? pageSize);
    if (fill.cursor !== undefined) placeSlot(gathered, { place: "query", wireName: cursorParam }, fill.cursor);
  }
  if (action.rollback !== null && action.kind === "http") placeRollback(gathered, action, fill.rollback);
  return gathered;
}

/** What an execution carries, however it is sent; the revision is empty where the definition takes none. */
export function requirePlan(
  { revision }: NonNullable<ActionDefinition["plan"]>,
  { planId, planRevision }: GatewayFill,
): { readonly id: string; readonly revision: string | number } {
  if (planId === undefined)
    throw new Denied("missing_member", "this action executes a plan; preview first and execute that plan");
  if (revision !== null && planRevision === undefined)
    throw new Denied("missing_member", "executing a plan needs the expected revision");
  return { id: planId, revision: planRevision ?? "" };
}

/** An argument, or the definition's constant where there is one. */
export function argumentOf(field: InputField, args: JsonObject): JsonValue | undefined {
  return Object.hasOwn(args, field.name) ? args[field.name] : field.constant;
}

function place(gathered: Gathered, field: InputField, value: JsonValue): void {
  const { wireName, percent, list } = field;
  switch (field.place) {
    case "path":
      gathered.path.set(field.name, { value: value as Scalar, percent });
      return;
    case "query":
      gathered.query.push({ name: wireName, value: value as Scalar | readonly Scalar[], percent, list });
      return;
    case "header":
      gathered.headers.set(wireName.toLowerCase(), checkHeaderValue(field.name, String(value)));
      return;
    case "body":
      gathered.body.set(wireName, { field, value });
      return;
    case null:
      return;
  }
}

/** Opaque text of a provider, such as a cursor, may hold escapes of its own: they are data. */
function placeSlot(gathered: Gathered, slot: Slot, value: string | number): void {
  const { place: where, wireName } = slot;
  switch (where) {
    case "path":
      gathered.path.set(wireName, { value, percent: "literal" });
      return;
    case "query":
      gathered.query.push({ name: wireName, value, percent: "literal", list: null });
      return;
    case "header":
      gathered.headers.set(wireName.toLowerCase(), checkHeaderValue(wireName, String(value)));
      return;
    case "body":
      gathered.body.set(wireName, { field: null, value });
      return;
    case "field":
      // Lint lets no HTTP action say this.
      return;
  }
}

function placeRollback(gathered: Gathered, action: HttpAction, fill: RollbackFill | undefined): void {
  if (fill === undefined)
    throw new Denied("missing_member", "a rollback is built from the stored record of a deployment, which is missing");
  if (action.template.parameters.includes("environment"))
    gathered.path.set("environment", { value: fill.environment, percent: "literal" });
  for (const [wireName, member] of ROLLBACK_BODY) gathered.body.set(wireName, { field: null, value: fill[member] });
}
