import { isJsonObject, type JsonValue } from "../../kernel/json.ts";

/** What a provider says of itself (RFC 8414, or OpenID Connect Discovery): read once, by the operator who adds a credential. */
export interface ProviderMetadata {
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint: string | null;
  readonly authorizationEndpoint: string | null;
  readonly deviceEndpoint: string | null;
  /** For clients that prove themselves by certificate (RFC 8705), where that is another place. */
  readonly certificateTokenEndpoint: string | null;
  readonly clientAuths: readonly string[];
}

/** Where it stands: RFC 8414 puts the well-known part before the issuer's path, OpenID Connect after it. */
export function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.endsWith("/") ? pathname.slice(0, -1) : pathname;
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
}

/** The metadata, or why it cannot be relied on. */
export function readMetadata(value: JsonValue, issuer: string): ProviderMetadata | { readonly trouble: string } {
  if (!isJsonObject(value)) return { trouble: "it is no JSON object" };
  if (value["issuer"] !== issuer)
    return { trouble: `it speaks for another issuer than ${issuer}, which must be the very same text` };
  const tokenEndpoint = value["token_endpoint"];
  if (typeof tokenEndpoint !== "string") return { trouble: "it names no token_endpoint" };
  const place = (name: string): string | null => {
    const url = value[name];
    return typeof url === "string" ? url : null;
  };
  const auths = value["token_endpoint_auth_methods_supported"];
  const aliases = value["mtls_endpoint_aliases"];
  const alias = isJsonObject(aliases) ? aliases["token_endpoint"] : null;
  return {
    issuer,
    tokenEndpoint,
    certificateTokenEndpoint: typeof alias === "string" ? alias : null,
    revocationEndpoint: place("revocation_endpoint"),
    authorizationEndpoint: place("authorization_endpoint"),
    deviceEndpoint: place("device_authorization_endpoint"),
    // RFC 8414: what holds where nothing is said.
    clientAuths: Array.isArray(auths) ? auths.filter((one) => typeof one === "string") : ["client_secret_basic"],
  };
}
