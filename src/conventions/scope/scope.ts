import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import { count, list, object, text } from "../../../packages/request/src/shape.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Send } from "../action/send.ts";
import { type ActionCondition, type Condition, conditionWords, holds } from "../grant/condition.ts";

/**
 * What a person granted one session: which actions, and through them which hosts, credentials, methods, SSH destinations,
 * paths or command families, and how large a request may be. Everything not listed is refused, always with the same words.
 */
export interface ActionReach {
  readonly action: string;
  readonly effect: string;
  readonly channel: Send["kind"];
  /** An origin, or `user@host:port` for SSH. */
  readonly destination: string;
  /** The fingerprint by which an SSH host is known; null for HTTP, where the name is proven by its certificate. */
  readonly hostKey: string | null;
  readonly credential: string | null;
  /** The HTTP method, or `ssh`. */
  readonly method: string;
  /** The path template, or the command family of the receiver. */
  readonly path: string;
  /** What a person put on its arguments: all of it has to hold. */
  readonly conditions?: readonly Condition[];
}

export interface Scope {
  readonly actions: readonly ActionReach[];
  readonly requestBytes: number;
}

/** What one call would do, measured on the bound request and not on the definition. */
export interface CallReach extends ActionReach {
  readonly requestBytes: number;
  /** Null before any argument is known: what bounds them is asked once they are. */
  readonly input: JsonObject | null;
}

export function decideScope(scope: Scope, call: CallReach): "allow" | "action_not_permitted" {
  const granted = scope.actions.find(({ action }) => action === call.action);
  if (granted === undefined || !sameReach(granted, call)) return "action_not_permitted";
  const { input } = call;
  if (input !== null && granted.conditions?.some((one) => !holds(one, input)) === true) return "action_not_permitted";
  return call.requestBytes <= scope.requestBytes ? "allow" : "action_not_permitted";
}

/** What a person took away while approving, as a decision says it. */
export interface Keep {
  readonly actions: readonly string[] | null;
  readonly request_bytes: number | null;
  readonly where?: readonly ActionCondition[];
}

/** A person keeps a part of what was asked. A name that was not asked for cannot come in this way, nor does a condition go. */
export function narrowScope(scope: Scope, keep: Keep | null): Scope {
  if (keep === null) return scope;
  const { actions, request_bytes: requestBytes, where = [] } = keep;
  const kept = actions === null ? scope.actions : scope.actions.filter(({ action }) => actions.includes(action));
  return {
    actions: kept.map((reach) => {
      const more = where.filter(({ action }) => action === reach.action);
      return more.length === 0 ? reach : { ...reach, conditions: [...(reach.conditions ?? []), ...more] };
    }),
    requestBytes: requestBytes === null ? scope.requestBytes : Math.min(scope.requestBytes, requestBytes),
  };
}

/** The dimensions a person reads on the card, each listed once and in order. */
export const scopeSchema = object(
  {
    actions: list(text),
    hosts: list(text),
    credentials: list(text),
    methods: list(text),
    ssh_destinations: list(text),
    paths: list(text),
    request_bytes: count,
  },
  {
    /** What bounds the arguments of its actions, in words; absent where nothing does. */
    where: list(text),
  },
);

export type ScopeRecord = FromSchema<typeof scopeSchema>;

export function scopeRecord(scope: Scope): ScopeRecord {
  const http = scope.actions.filter(({ channel }) => channel === "http");
  const ssh = scope.actions.filter(({ channel }) => channel === "ssh");
  const where = scope.actions.flatMap(({ action, conditions = [] }) =>
    conditions.map((one) => `${action} ${conditionWords(one)}`),
  );
  return {
    actions: distinct(scope.actions.map(({ action }) => action)),
    hosts: distinct(http.map(({ destination }) => destination)),
    credentials: distinct(scope.actions.flatMap(({ credential }) => (credential === null ? [] : [credential]))),
    methods: distinct(http.map(({ method }) => method)),
    ssh_destinations: distinct(ssh.map(({ destination, hostKey }) => `${destination}, host key ${hostKey}`)),
    paths: distinct(scope.actions.map(({ method, path }) => `${method} ${path}`)),
    request_bytes: scope.requestBytes,
    ...(where.length === 0 ? {} : { where: distinct(where) }),
  };
}

function sameReach(granted: ActionReach, call: ActionReach): boolean {
  return (
    granted.channel === call.channel &&
    granted.hostKey === call.hostKey &&
    granted.destination === call.destination &&
    granted.credential === call.credential &&
    granted.method === call.method &&
    granted.path === call.path &&
    granted.effect === call.effect
  );
}

function distinct(values: readonly string[]): readonly string[] {
  return [...new Set(values)].sort();
}
