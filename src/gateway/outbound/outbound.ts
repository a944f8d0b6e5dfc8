import type { BoundAction } from "../../conventions/action/bind.ts";
import { type ActionDefinition, hasSideEffect, type Pack } from "../../conventions/action/pack.ts";
import { type ReasonToAsk, reasonOf } from "../../conventions/approval/reason.ts";
import type { ActionReach } from "../../conventions/scope/scope.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { readSshPublicLine, sshFingerprint } from "../../kernel/ssh-key.ts";

/** A trusted definition together with the pack that speaks for its provider. */
export interface Definition {
  readonly pack: Pack;
  readonly action: ActionDefinition;
}

/** The packs an operator trusts, by the names agents use. */
export interface PackBook {
  find(action: string): Definition | null;
  all(): readonly Definition[];
}

/** A bound call as the gateway carries it from admission to settlement. It holds no secret. */
export interface Outbound {
  readonly definition: Definition;
  readonly bound: BoundAction;
  /** The arguments as they were bound. */
  readonly input: JsonObject;
  readonly action: string;
  readonly channel: BoundAction["kind"];
  readonly sideEffect: boolean;
  readonly method: string;
  readonly credential: string | null;
  readonly reach: ActionReach;
  readonly requestDigest: string;
  readonly requestBytes: number;
  readonly shownArguments: JsonObject;
  readonly versionSelector: string | null;
  /** Where it executes one: the provider's plan, as it goes out. Its arguments are those of the preview. */
  readonly plan?: PlanFill | null;
  /** The log has the text of the request: a retry names it by its digest. */
  textKept?: true;
}

export type PlanFill = { readonly planId: string; readonly planRevision: string };

/** What a definition reaches, before any argument is known. */
export function reachOf({ pack, action }: Definition): ActionReach {
  const base = { action: action.qualifiedName, effect: action.effect } as const;
  switch (action.kind) {
    case "http":
      return {
        ...base,
        channel: "http",
        destination: pack.provider?.origin ?? "",
        hostKey: null,
        credential: pack.provider?.credential ?? null,
        method: action.method,
        path: action.template.text,
      };
    case "url":
      return {
        ...base,
        channel: "http",
        destination: [...new Set(action.allow.map(({ origin }) => origin))].join(" "),
        hostKey: null,
        credential: action.credential,
        method: action.method,
        path: action.allow.map(({ pathPrefix }) => `${pathPrefix}…`).join(" "),
      };
    case "ssh":
      return {
        ...base,
        channel: "ssh",
        destination: `${action.user}@${action.host}:${action.port}`,
        hostKey: fingerprintOf(action.hostKey),
        credential: action.credential,
        method: "ssh",
        path: action.action,
      };
  }
}

export function sideEffectOf(action: ActionDefinition): boolean {
  return hasSideEffect(action.effect);
}

/** Why this very call needs a person, where `standing` says that one approved the session; empty when the session's approval is enough. */
export function reasonsToAsk(action: ActionDefinition, eachUse: boolean, standing: boolean): readonly ReasonToAsk[] {
  const reasons: ReasonToAsk[] = [];
  const add = (kind: Parameters<typeof reasonOf>[0]): void => void reasons.push(reasonOf(kind));
  if (eachUse) add("each_use_credential");
  if (action.needs.approval === "each_use") add("each_use_action");
  if (action.previewless === true) add("previewless");
  if (action.effect === "purchase") add("purchase");
  else if (action.asksEachCall) add("uncapped_cost");
  else if ((action.maxCostCents ?? 0) > 0 && !standing) add("unapproved_spend");
  return reasons;
}

/** Where it goes, as a card shows it: the whole URL, or the host, its user and the fingerprint of its key. */
export function targetOf({ bound }: Outbound): string {
  switch (bound.kind) {
    case "http":
      return bound.kept.url;
    case "ssh":
      return `${bound.user}@${bound.host}:${bound.port} ${bound.operation}, host key ${fingerprintOf(bound.hostKey)}`;
  }
}

function fingerprintOf(hostKey: string): string {
  const key = readSshPublicLine(hostKey);
  return key === undefined ? hostKey : sshFingerprint(key.blob);
}
