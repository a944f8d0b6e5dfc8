import type { Api, ServerVariable } from "../model/api.ts";
import { sortText } from "../model/order.ts";
import { basePathOf, originOf } from "../model/read-servers.ts";
import type { Draft } from "./difference.ts";
import type { Match } from "./match-operations.ts";

/** A host decides who receives the credential; a base path only where requests go on the same host. */
export function compareServers(before: Api, after: Api, add: (draft: Draft) => void): void {
  const freed = compareVariables("API", before.serverVariables, after.serverVariables, add);
  compareLists("API", "servers", before.servers, after.servers, add, freed);
}

/** A variable without a list of values can be anything: who writes the value decides where the credential goes. */
function compareVariables(
  subject: string,
  before: readonly ServerVariable[],
  after: readonly ServerVariable[],
  add: (draft: Draft) => void,
): readonly RegExp[] {
  const freed: RegExp[] = [];
  for (const next of after) {
    const old = before.find(({ url, name }) => url === next.url && name === next.name);
    if (old === undefined) continue;
    const at = next.name === null ? `server ${next.url}` : `server ${next.url} {${next.name}}`;
    if ((old.values === null) !== (next.values === null)) {
      const opens = next.values === null;
      if (opens) freed.push(patternOf(next.url));
      add({
        surface: "credential_acceptance",
        kind: opens ? "server_variable_opened" : "server_variable_closed",
        change: opens ? "widens" : "narrows",
        subject,
        at,
        says: opens ? `${next.name} may now be anything.` : `${next.name} is now one of a list.`,
        before: old.values?.join(", ") ?? "any value",
        after: next.values?.join(", ") ?? "any value",
      });
    }
    if (old.fallback !== next.fallback || old.rest !== next.rest) {
      add({
        surface: "credential_acceptance",
        kind: "server_default_changed",
        change: "shifts",
        subject,
        at,
        says:
          next.name === null
            ? "The server is described in another way."
            : `Who does not choose ${next.name} now reaches another address.`,
        before: `${old.fallback ?? "none"}${old.rest}`,
        after: `${next.fallback ?? "none"}${next.rest}`,
      });
    }
  }
  return freed;
}

/** Addresses that an opened template still reaches are not gone. */
function patternOf(url: string): RegExp {
  const parts = originOf(url)
    .split(/\{[^{}]*\}/)
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^/]*")}$`);
}

/** Operations that name servers of their own, apart from the document's. */
export function compareOwnServers(match: Match, before: Api, after: Api, add: (draft: Draft) => void): void {
  const old = match.before.servers;
  const next = match.after.servers;
  const subject = match.after.key;
  const freed = compareVariables(subject, match.before.serverVariables, match.after.serverVariables, add);
  if (old.join() === before.servers.join() && next.join() === after.servers.join()) return;
  compareLists(subject, "servers", old, next, add, freed);
}

function compareLists(
  subject: string,
  at: string,
  old: readonly string[],
  next: readonly string[],
  add: (draft: Draft) => void,
  freed: readonly RegExp[] = [],
): void {
  const oldOrigins = sortText(old.map(originOf));
  const newOrigins = sortText(next.map(originOf));
  for (const origin of newOrigins.filter((one) => !oldOrigins.includes(one))) {
    const clear = origin.startsWith("http:") ? ["Not encrypted: whoever is on the way reads the credential."] : [];
    add({
      surface: "credential_acceptance",
      kind: "server_added",
      change: "widens",
      subject,
      at: `${at} ${origin || "relative"}`,
      says: `Requests, and the credential in them, may now go to ${origin || "wherever the document is served"}.`,
      before: oldOrigins.join("\n"),
      after: origin || "relative",
      notes: ["A credential stays bound to the origins it was sealed for, whatever the document says.", ...clear],
    });
  }
  for (const origin of oldOrigins.filter((one) => !newOrigins.includes(one) && !freed.some((open) => open.test(one)))) {
    add({
      surface: "credential_acceptance",
      kind: "server_removed",
      change: "narrows",
      subject,
      at: `${at} ${origin || "relative"}`,
      says: `${origin || "The relative address"} is no longer offered.`,
      before: origin || "relative",
      after: newOrigins.join("\n"),
    });
  }
  for (const origin of newOrigins.filter((one) => oldOrigins.includes(one))) {
    const oldPaths = sortText(old.filter((one) => originOf(one) === origin).map(basePathOf));
    const newPaths = sortText(next.filter((one) => originOf(one) === origin).map(basePathOf));
    if (oldPaths.join() === newPaths.join()) continue;
    add({
      surface: "request_compatibility",
      kind: "base_path_changed",
      change: "shifts",
      subject,
      at: `${at} ${origin || "relative"}`,
      says: "Every path now begins elsewhere on the same host.",
      before: oldPaths.map((path) => origin + path).join("\n"),
      after: newPaths.map((path) => origin + path).join("\n"),
    });
  }
}
