import type { JsonObject } from "../../kernel/json.ts";
import type { Send } from "../action/send.ts";

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
}

export interface Scope {
  readonly actions: readonly ActionReach[];
  readonly requestBytes: number;
}

/** What one call would do, measured on the bound request and not on the definition. */
export interface CallReach extends ActionReach {
  readonly requestBytes: number;
}

export function decideScope(scope: Scope, call: CallReach): "allow" | "action_not_permitted" {
  const granted = scope.actions.find(({ action }) => action === call.action);
  if (granted === undefined || !sameReach(granted, call)) return "action_not_permitted";
  return call.requestBytes <= scope.requestBytes ? "allow" : "action_not_permitted";
}

/** A person keeps a part of what was asked. A name that was not asked for cannot come in this way. */
export function narrowScope(
  scope: Scope,
  keep: { readonly actions: readonly string[] | null; readonly requestBytes: number | null },
): Scope {
  const { actions, requestBytes } = keep;
  return {
    actions: actions === null ? scope.actions : scope.actions.filter(({ action }) => actions.includes(action)),
    requestBytes: requestBytes === null ? scope.requestBytes : Math.min(scope.requestBytes, requestBytes),
  };
}

/** The dimensions a person reads on the card, each listed once and in order. */
export interface ScopeRecord extends JsonObject {
  readonly actions: readonly string[];
  readonly hosts: readonly string[];
  readonly credentials: readonly string[];
  readonly methods: readonly string[];
  readonly ssh_destinations: readonly string[];
  readonly paths: readonly string[];
  readonly request_bytes: number;
}

export function scopeRecord(scope: Scope): ScopeRecord {
  const http = scope.actions.filter(({ channel }) => channel === "http");
  const ssh = scope.actions.filter(({ channel }) => channel === "ssh");
  return {
    actions: distinct(scope.actions.map(({ action }) => action)),
    hosts: distinct(http.map(({ destination }) => destination)),
    credentials: distinct(scope.actions.flatMap(({ credential }) => (credential === null ? [] : [credential]))),
    methods: distinct(http.map(({ method }) => method)),
    ssh_destinations: distinct(ssh.map(({ destination, hostKey }) => `${destination}, host key ${hostKey}`)),
    paths: distinct(scope.actions.map(({ method, path }) => `${method} ${path}`)),
    request_bytes: scope.requestBytes,
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
