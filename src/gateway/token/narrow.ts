import { fillResource } from "../../conventions/token/resource.ts";
import { canonicalJson } from "../../kernel/canonical-json.ts";
import { counted } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import type { TokenExchange } from "../../vault/token/exchange.ts";
import type { Outbound } from "../outbound/outbound.ts";

/** What one token is good for: the least that the action needs, within what the credential is pinned to. */
export interface Narrowing {
  readonly scopes: readonly string[];
  /** Where the provider's tokens can be narrowed so; empty where they cannot, or the action says nothing. */
  readonly repositories: readonly string[];
  /** Names of what it is for; empty stands for all that the credential reaches. */
  readonly resources: readonly string[];
}

/** The action says it, or the pack for all of its actions; what neither says is all that the credential is pinned to. */
export function narrowFor(
  { definition: { pack, action }, input }: Outbound,
  label: string,
  exchange: TokenExchange,
): Narrowing {
  const auth = pack.provider?.auth ?? null;
  const declared = action.token?.scopes ?? (auth?.scheme === "oauth2" && auth.scopes.length > 0 ? auth.scopes : null);
  const scopes = [...(declared ?? exchange.scopes)].sort();
  const missing = scopes.filter((scope) => !exchange.scopes.includes(scope));
  if (missing.length > 0)
    throw new Denied(
      "token_scope_missing",
      `${action.qualifiedName} needs ${missing.join(" ")}, which ${label} is not pinned to. Nothing was sent.`,
    );
  const named = action.token?.repository ?? null;
  const repository = named === null || exchange.grant !== "github_app" ? undefined : input[named];
  const resources = exchange.grant !== "assume_role" ? [] : (action.token?.resources ?? []);
  return {
    scopes,
    repositories: typeof repository === "string" ? [repository] : [],
    resources: resources.map((text) => fillResource(text, input)),
  };
}

export function keyOf(label: string, { scopes, repositories, resources }: Narrowing): string {
  return `${label} ${canonicalJson({ scopes, repositories, resources })}`;
}

/** As a card says it. Of an app of GitHub's it is known what stands there where nothing narrows it. */
export function sayNarrowed(
  label: string,
  { grant }: Pick<TokenExchange, "grant">,
  { scopes, repositories, resources }: Narrowing,
  lifeMs: number | null,
): string {
  const all = grant === "github_app";
  const whole = all ? ", with every permission of the app" : "";
  const to = scopes.length === 0 ? whole : `, narrowed to ${scopes.join(" ")}`;
  const places = [...repositories, ...resources];
  const on = places.length > 0 ? ` on ${places.join(" ")}` : all ? " on every repository of the installation" : "";
  const life = lifeMs === null ? "" : `, ${counted(Math.max(1, Math.round(lifeMs / 60_000)), "minute")}`;
  return `it goes with a token of ${label}${to}${on}${life}`;
}
