import { type Api, type ApiOperation, describeRequirement, type Requirement } from "../model/api.ts";
import { sortText } from "../model/order.ts";

/** Whether a credential that exists today opens an operation of the new version. */
export interface CredentialReach {
  readonly kind: "open" | "undeclared" | "accepted" | "scopes_needed" | "other_scheme";
  readonly says: string;
  readonly labels: readonly string[];
}

/** What credentials of the old version hold, as far as the document and the pack can say. */
export interface Holdings {
  /** Scheme by what it is, not by its name: a renamed scheme still takes the same key. */
  readonly scopesByKind: ReadonlyMap<string, ReadonlySet<string>>;
  readonly labels: readonly string[];
}

export function readHoldings(old: Api, used: readonly ApiOperation[], labels: readonly string[]): Holdings {
  const held = new Map<string, Set<string>>();
  for (const operation of used) {
    for (const { scheme, scopes } of operation.security.flat()) {
      const kind = kindOf(old, scheme);
      const known = held.get(kind) ?? new Set();
      for (const scope of scopes) known.add(scope);
      held.set(kind, known);
    }
  }
  return { scopesByKind: held, labels: sortText(labels) };
}

export function reachOfCredential(next: Api, operation: ApiOperation, holdings: Holdings): CredentialReach {
  const labels = holdings.labels;
  if (!operation.securityDeclared) {
    const sent =
      labels.length === 0
        ? "Whether an existing credential reaches it must be probed."
        : `The pack's credential (${labels.join(", ")}) is presented to it and may well be taken.`;
    return { kind: "undeclared", says: `The document declares no security for it. ${sent}`, labels };
  }
  if (operation.security.length === 0 || operation.security.some((requirement) => requirement.length === 0)) {
    return { kind: "open", says: "It asks for no credential: anyone who reaches the host can call it.", labels: [] };
  }
  const missing = operation.security.map((requirement) => missingFor(next, requirement, holdings));
  const whole = missing.findIndex((gaps) => gaps.schemes.length === 0 && gaps.scopes.length === 0);
  if (whole >= 0) {
    const by = describeRequirement(operation.security[whole] ?? []);
    return { kind: "accepted", says: `An existing credential authenticates to it, by ${by}.`, labels };
  }
  const scoped = missing.find((gaps) => gaps.schemes.length === 0);
  if (scoped !== undefined) {
    const names = scoped.scopes.join(", ");
    return {
      kind: "scopes_needed",
      says: `An existing credential authenticates to it only if it was given ${names}, which no operation in use asked for before. Look at what the credential really holds.`,
      labels,
    };
  }
  return { kind: "other_scheme", says: "It takes another kind of credential than those in use.", labels: [] };
}

function missingFor(next: Api, requirement: Requirement, holdings: Holdings): { schemes: string[]; scopes: string[] } {
  const schemes: string[] = [];
  const scopes: string[] = [];
  for (const part of requirement) {
    const held = holdings.scopesByKind.get(kindOf(next, part.scheme));
    if (held === undefined) schemes.push(part.scheme);
    else scopes.push(...part.scopes.filter((scope) => !held.has(scope)));
  }
  return { schemes, scopes };
}

function kindOf(api: Api, scheme: string): string {
  return api.schemes.get(scheme)?.kind ?? scheme;
}
