import {
  type Api,
  type ApiOperation,
  describeRequirement,
  describeSecurity,
  type Requirement,
  type Scheme,
} from "../model/api.ts";
import { sortText } from "../model/order.ts";
import type { Change, Draft } from "./difference.ts";
import type { Match } from "./match-operations.ts";

const SURFACE = "credential_acceptance";

/** Schemes that kept what they are under another name; requirements are compared through this. */
export function findRenamedSchemes(before: Api, after: Api): ReadonlyMap<string, string> {
  const gone = [...before.schemes.values()].filter(({ name }) => !after.schemes.has(name));
  const come = [...after.schemes.values()].filter(({ name }) => !before.schemes.has(name));
  const renamed = new Map<string, string>();
  for (const old of gone) {
    const same = come.filter((scheme) => scheme.kind === old.kind && sameText(scheme.endpoints, old.endpoints));
    if (same.length === 1 && same[0] !== undefined) renamed.set(old.name, same[0].name);
  }
  return renamed;
}

export function compareSchemes(
  before: Api,
  after: Api,
  renamed: ReadonlyMap<string, string>,
  add: (draft: Draft) => void,
): void {
  const newNames = new Set(renamed.values());
  for (const old of before.schemes.values()) {
    const name = renamed.get(old.name) ?? old.name;
    const next = after.schemes.get(name);
    const subject = `scheme ${old.name}`;
    if (next === undefined) {
      add({
        surface: SURFACE,
        kind: "scheme_removed",
        change: "narrows",
        subject,
        at: "",
        says: `The security scheme ${old.name} is gone.`,
        before: describeScheme(old),
        after: null,
      });
      continue;
    }
    if (next.name !== old.name) {
      add({
        surface: SURFACE,
        kind: "scheme_renamed",
        change: "shifts",
        subject,
        at: "",
        says: `The security scheme ${old.name} is now called ${next.name}; it takes the same credential.`,
        before: old.name,
        after: next.name,
      });
    }
    compareScheme(subject, old, next, add);
  }
  for (const scheme of after.schemes.values()) {
    if (before.schemes.has(scheme.name) || newNames.has(scheme.name)) continue;
    add({
      surface: SURFACE,
      kind: "scheme_added",
      change: "widens",
      subject: `scheme ${scheme.name}`,
      at: "",
      says: `A new way to authenticate exists: ${describeScheme(scheme)}.`,
      before: null,
      after: describeScheme(scheme),
    });
  }
}

function compareScheme(subject: string, old: Scheme, next: Scheme, add: (draft: Draft) => void): void {
  if (old.kind !== next.kind) {
    add({
      surface: SURFACE,
      kind: "scheme_changed",
      change: "shifts",
      subject,
      at: "kind",
      says: "The scheme takes another kind of credential, or takes it in another place.",
      before: old.kind,
      after: next.kind,
    });
  }
  if (!sameText(old.endpoints, next.endpoints)) {
    add({
      surface: SURFACE,
      kind: "token_endpoint_changed",
      change: "shifts",
      subject,
      at: "endpoints",
      says: "Tokens are asked for at another address, which will see the grant.",
      before: old.endpoints.join("\n") || "none",
      after: next.endpoints.join("\n") || "none",
    });
  }
  if (old.bearerFormat !== next.bearerFormat || old.rest !== next.rest) {
    add({
      surface: SURFACE,
      kind: "token_form_changed",
      change: "shifts",
      subject,
      at: "bearerFormat",
      says: "The document describes tokens of another form.",
      before: `${old.bearerFormat ?? "not said"}${old.rest}`,
      after: `${next.bearerFormat ?? "not said"}${next.rest}`,
    });
  }
  const gone = old.scopes.filter((scope) => !next.scopes.includes(scope));
  const come = next.scopes.filter((scope) => !old.scopes.includes(scope));
  if (gone.length === 1 && come.length === 1) {
    add({
      surface: SURFACE,
      kind: "scope_renamed",
      change: "shifts",
      subject,
      at: "scopes",
      says: `The scope ${gone[0]} is gone and ${come[0]} came: a rename, or another permission under a new name.`,
      before: gone[0] ?? null,
      after: come[0] ?? null,
    });
    return;
  }
  for (const scope of gone) {
    add({
      surface: SURFACE,
      kind: "scope_removed",
      change: "shifts",
      subject,
      at: `scope ${scope}`,
      says: `The scope ${scope} is no longer offered: what it guarded is now guarded by something else, or by nothing.`,
      before: scope,
      after: null,
    });
  }
  for (const scope of come) {
    add({
      surface: SURFACE,
      kind: "scope_added",
      change: "widens",
      subject,
      at: `scope ${scope}`,
      says: `The scope ${scope} can now be granted.`,
      before: null,
      after: scope,
    });
  }
}

/** What an operation asks of a caller, compared as sets of ways in. */
export function compareRequirements(
  match: Match,
  renamed: ReadonlyMap<string, string>,
  add: (draft: Draft) => void,
): void {
  const old = match.before.security.map((requirement) => rename(requirement, renamed));
  const before = describeSecurity({ ...match.before, security: old });
  const after = describeSecurity(match.after);
  if (before !== after) {
    const { kind, change, says } = judgeDeclared(match, old) ?? judge(old, match.after.security);
    add({ surface: SURFACE, kind, change, subject: match.after.key, at: "security", says, before, after });
  }
  compareRoles(match.before, match.after, add);
}

/** Saying nothing is not the same as saying that no credential is needed. */
function judgeDeclared({ before, after }: Match, old: readonly Requirement[]): Judgement | null {
  if (before.securityDeclared && after.securityDeclared) return null;
  if (before.securityDeclared) {
    const says = isOpen(old)
      ? "The document said that no credential is needed, and says nothing now."
      : "The document no longer declares what it asks for: probe whether it still asks.";
    return { kind: "security_undeclared", change: isOpen(old) ? "shifts" : "widens", says };
  }
  if (isOpen(after.security)) {
    const says = "The document now says that anyone who reaches the host can call it; it said nothing before.";
    return { kind: "security_removed", change: "widens", says };
  }
  const says = "The document now declares what it asks for; it said nothing before.";
  return { kind: "security_declared", change: "narrows", says };
}

interface Judgement {
  readonly kind: string;
  readonly change: Change;
  readonly says: string;
}

function judge(before: readonly Requirement[], after: readonly Requirement[]): Judgement {
  if (isOpen(before) && isOpen(after)) {
    return {
      kind: "security_changed",
      change: "shifts",
      says: "A credential was never needed, and still is not; the ones it takes differ.",
    };
  }
  if (isOpen(after)) {
    return {
      kind: "security_removed",
      change: "widens",
      says: "It no longer asks for a credential: anyone who reaches the host can call it.",
    };
  }
  if (isOpen(before))
    return { kind: "security_gained", change: "narrows", says: "It now asks for a credential; it did not before." };
  // A way in is at least as easy when some old way asked for all that it asks for, and more.
  const easier = after.filter((way) => !before.some((old) => covers(way, old)));
  const lost = before.filter((way) => !after.some((next) => covers(way, next)));
  if (easier.length > 0 && lost.length > 0) {
    return {
      kind: "security_changed",
      change: "shifts",
      says: `It asks for something else: now ${easier.map(describeRequirement).join(" or ")}.`,
    };
  }
  if (easier.length > 0) {
    return {
      kind: "security_weakened",
      change: "widens",
      says: `It can be called with less than before: ${easier.map(describeRequirement).join(" or ")} is enough.`,
    };
  }
  return {
    kind: "security_strengthened",
    change: "narrows",
    says: "It asks for more than before; a credential that worked may be refused.",
  };
}

/** True when whoever meets `way` also met `old`. */
function covers(way: Requirement, old: Requirement): boolean {
  return old.every(({ scheme, scopes }) =>
    way.some((part) => part.scheme === scheme && scopes.every((scope) => part.scopes.includes(scope))),
  );
}

function isOpen(security: readonly Requirement[]): boolean {
  return security.length === 0 || security.some((requirement) => requirement.length === 0);
}

function rename(requirement: Requirement, renamed: ReadonlyMap<string, string>): Requirement {
  return requirement
    .map(({ scheme, scopes }) => ({ scheme: renamed.get(scheme) ?? scheme, scopes }))
    .sort((a, b) => (a.scheme < b.scheme ? -1 : 1));
}

function compareRoles(before: ApiOperation, after: ApiOperation, add: (draft: Draft) => void): void {
  if (sameText(before.roles, after.roles)) return;
  const gone = before.roles.filter((role) => !after.roles.includes(role));
  const change: Change =
    after.roles.length === 0 || (before.roles.length > 0 && gone.length === 0) ? "widens" : "shifts";
  add({
    surface: SURFACE,
    kind: "role_condition_changed",
    change,
    subject: after.key,
    at: "described roles",
    says: "The text names other roles or permissions for this call than before.",
    before: before.roles.join("\n") || "none named",
    after: after.roles.join("\n") || "none named",
    notes: ["Read from prose: no scheme in the document states it."],
  });
}

function describeScheme(scheme: Scheme): string {
  const scopes = scheme.scopes.length === 0 ? "" : ` with scopes ${scheme.scopes.join(", ")}`;
  return `${scheme.name}, ${scheme.kind}${scopes}`;
}

function sameText(a: readonly string[], b: readonly string[]): boolean {
  return sortText(a).join("\n") === sortText(b).join("\n");
}
