import { isLoopbackHost, type Origin, originOf } from "./origin.ts";

export interface RedirectRules {
  /** The provider's own origin, and whether an address there is one that was approved with the action. */
  readonly own: Origin;
  readonly isOwnPath: (path: string, query: string) => boolean;
  /** What has a side effect is never sent on without a card of its own. */
  readonly sideEffect: boolean;
  /** Where a redirect may lead: the provider's own origin and those that the pack or a person approved. */
  readonly origins: readonly Origin[];
  /** Where the credential may travel; it is bound to these in the vault too. */
  readonly credentialOrigins: readonly Origin[];
  /** What happens at the edge of `origins`. */
  readonly others: "refuse" | "ask";
  /** What happens when an approved destination may not see the credential. */
  readonly credential: "strip" | "refuse";
  readonly max: number;
}

export interface RedirectAnswer {
  readonly status: number;
  readonly location: string | null;
  readonly method: string;
  readonly url: string;
  /** How many redirects this call has already followed. */
  readonly followed: number;
}

export interface RedirectTarget {
  readonly url: string;
  readonly origin: Origin;
  readonly method: string;
  readonly body: "keep" | "drop";
  readonly credential: "keep" | "strip";
}

export type RedirectRefusal =
  | "location_missing"
  | "location_malformed"
  | "scheme_refused"
  | "downgrade"
  | "origin_not_approved"
  | "path_not_approved"
  | "side_effect"
  | "method_ambiguous"
  | "credential_not_allowed"
  | "too_many";

export type RedirectDecision =
  | { readonly kind: "not_a_redirect" }
  | { readonly kind: "follow"; readonly target: RedirectTarget }
  | { readonly kind: "ask"; readonly target: RedirectTarget }
  | { readonly kind: "refuse"; readonly reason: RedirectRefusal };

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const PLAIN = /^[\x21-\x5b\x5d-\x7e]+$/;

/** Every redirect is a new request to the outside, so it is decided here and never by the transport. */
export function decideRedirect(answer: RedirectAnswer, rules: RedirectRules): RedirectDecision {
  if (!REDIRECTS.has(answer.status)) return { kind: "not_a_redirect" };
  if (answer.followed >= rules.max) return refuse("too_many");
  if (answer.location === null || answer.location === "") return refuse("location_missing");
  if (!PLAIN.test(answer.location) || !URL.canParse(answer.location, answer.url)) return refuse("location_malformed");
  const target = new URL(answer.location, answer.url);
  target.hash = "";
  if (target.username !== "" || target.password !== "") return refuse("location_malformed");
  if (target.protocol !== "https:" && target.protocol !== "http:") return refuse("scheme_refused");
  if (target.protocol === "http:") {
    if (new URL(answer.url).protocol === "https:") return refuse("downgrade");
    if (!isLoopbackHost(target.hostname)) return refuse("scheme_refused");
  }
  const changed = changeMethod(answer.status, answer.method);
  if (changed === null) return refuse("method_ambiguous");
  const origin = originOf(target);
  const listed = rules.origins.includes(origin);
  // A person may approve another destination, but a credential never goes where it is not bound.
  const travels = listed && rules.credentialOrigins.includes(origin);
  const credential = travels ? "keep" : "strip";
  const beyond = reasonBeyond(target, origin, listed, rules);
  if (beyond !== null) {
    if (rules.others === "refuse") return refuse(beyond);
    return { kind: "ask", target: { url: target.href, origin, ...changed, credential } };
  }
  if (!travels && rules.credential === "refuse") return refuse("credential_not_allowed");
  return { kind: "follow", target: { url: target.href, origin, ...changed, credential } };
}

/** Why nobody agreed to this yet: what the definition describes is what was approved, and no other write or read. */
function reasonBeyond(target: URL, origin: Origin, listed: boolean, rules: RedirectRules): RedirectRefusal | null {
  if (!listed) return "origin_not_approved";
  if (rules.sideEffect) return "side_effect";
  return origin === rules.own && !rules.isOwnPath(target.pathname, target.search) ? "path_not_approved" : null;
}

/**
 * 303 says "the answer is over there": GET, without the body. 307 and 308 repeat the request as it was. 301 and 302
 * are read both ways in practice; a write turned into a GET would pass for a success, so only GET and HEAD follow them.
 */
function changeMethod(status: number, method: string): Pick<RedirectTarget, "method" | "body"> | null {
  const safe = method === "GET" || method === "HEAD";
  if (status === 303) return { method: method === "HEAD" ? "HEAD" : "GET", body: "drop" };
  if (status === 307 || status === 308 || safe) return { method, body: "keep" };
  return null;
}

function refuse(reason: RedirectRefusal): RedirectDecision {
  return { kind: "refuse", reason };
}
