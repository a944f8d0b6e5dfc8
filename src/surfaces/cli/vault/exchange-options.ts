import { parseJsonValue } from "../../../../packages/request/src/json/parse.ts";
import { metadataUrls, type ProviderMetadata, readMetadata } from "../../../conventions/token/metadata.ts";
import { isPrivateHost } from "../../../conventions/url/origin.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { CLIENT_AUTHS, type ExchangedKind, GRANTS, type TokenExchange } from "../../../vault/token/exchange.ts";
import { readGivenFile } from "../read-given-file.ts";
import type { VaultCliPorts } from "./session.ts";

type FetchDocument = NonNullable<VaultCliPorts["fetchDocument"]>;

/** How a token is got, as an operator says it on the command line. */
export interface ExchangeOptions {
  readonly grant?: string;
  readonly issuer?: string;
  readonly tokenEndpoint?: string;
  readonly revocationEndpoint?: string;
  readonly authorizationEndpoint?: string;
  readonly deviceEndpoint?: string;
  readonly clientId?: string;
  readonly clientAuth?: string;
  readonly keyId?: string;
  readonly subject?: string;
  readonly scope?: readonly string[];
  readonly audience?: string;
  readonly resource?: string;
  readonly dpop?: boolean;
  /** For aws-role: the role, where it is asked for, and what its owner wants to hear. */
  readonly role?: string;
  readonly region?: string;
  readonly externalId?: string;
  readonly ca?: string;
  readonly privateNetwork?: boolean;
  readonly installation?: string;
  /** Google has no subject but where a person is spoken for. */
  readonly googleKey?: string;
  /** For a recipe that knows the endpoint by the API's own origin. */
  readonly origins?: readonly string[];
}

/** With an issuer the provider's own metadata is read, here and now: what it says is pinned and never looked up again. */
export async function readExchangeOptions(
  kind: ExchangedKind,
  options: ExchangeOptions,
  fetchDocument: FetchDocument,
): Promise<TokenExchange> {
  const ca =
    options.ca === undefined
      ? null
      : readGivenFile(options.ca, defaults.tokenAuthorityBytes, "credential_invalid").toString("utf8");
  const clientAuth = oneOf("--client-auth", CLIENT_AUTHS, options.clientAuth ?? standardAuth(kind));
  const found = options.issuer === undefined ? null : await discover(options.issuer, ca, fetchDocument);
  if (found !== null && clientAuth !== "none" && !takes(found, clientAuth))
    throw new Denied(
      "credential_invalid",
      `The provider does not take ${clientAuth}, but ${found.clientAuths.join(", ")}: say so with --client-auth.`,
    );
  const pinned = clientAuth === "tls_client_auth" ? (found?.certificateTokenEndpoint ?? undefined) : undefined;
  const tokenEndpoint = options.tokenEndpoint ?? pinned ?? found?.tokenEndpoint ?? ownEndpoint(kind, options);
  if (tokenEndpoint === undefined)
    throw new Denied(
      "credential_invalid",
      kind === "github-app"
        ? "The kind github-app needs --installation NUMBER, as the page of the installed app has it in its address."
        : kind === "aws-role"
          ? "The kind aws-role needs --region, such as eu-west-1."
          : `The kind ${kind} needs --issuer URL, or --token-endpoint URL.`,
    );
  const clientId = options.clientId ?? (kind === "aws-role" ? "gw" : undefined);
  if (clientId === undefined)
    throw new Denied("credential_invalid", `The kind ${kind} needs --client-id, as the provider knows the client.`);
  const host = URL.parse(tokenEndpoint)?.hostname ?? "";
  const grant = oneOf("--grant", GRANTS, options.grant ?? standardGrant(kind));
  // Only what a person agreed to is ever agreed to again.
  const agrees = grant === "refresh_token";
  return {
    grant,
    issuer: options.issuer ?? null,
    tokenEndpoint,
    revocationEndpoint: options.revocationEndpoint ?? found?.revocationEndpoint ?? null,
    authorizationEndpoint: options.authorizationEndpoint ?? (agrees ? (found?.authorizationEndpoint ?? null) : null),
    deviceEndpoint: options.deviceEndpoint ?? (agrees ? (found?.deviceEndpoint ?? null) : null),
    clientId,
    clientAuth,
    keyId: options.keyId ?? null,
    subject:
      options.role ?? options.subject ?? (kind === "jwt-bearer" && options.googleKey === undefined ? clientId : null),
    scopes: options.scope ?? [],
    audience: options.externalId ?? options.audience ?? null,
    region: options.region ?? null,
    resource: options.resource ?? null,
    dpop: options.dpop === true,
    ca,
    network: options.privateNetwork === true || isPrivateHost(host) ? "private" : "public",
  };
}

function takes({ clientAuths }: ProviderMetadata, clientAuth: string): boolean {
  return clientAuths.includes(clientAuth) || clientAuths.includes(`self_signed_${clientAuth}`);
}

/** GitHub's own, at the API that the token is for, or that of AWS in a region. */
function ownEndpoint(kind: ExchangedKind, { installation, region, origins = [] }: ExchangeOptions): string | undefined {
  if (kind === "aws-role") return region === undefined ? undefined : `https://sts.${region}.amazonaws.com/`;
  if (kind !== "github-app" || installation === undefined) return undefined;
  if (!/^[0-9]{1,18}$/.test(installation)) throw new Denied("credential_invalid", "--installation is a number.");
  return `${origins[0]}/app/installations/${installation}/access_tokens`;
}

/** None of these may stand beside a kind whose secret is lent as it is. */
export function refuseExchangeOptions(
  options: ExchangeOptions,
  why = "How a token is got is for --kind oauth2, jwt-bearer, github-app and aws-role alone.",
): void {
  const { scope = [], privateNetwork, grant, issuer, tokenEndpoint, clientId, clientAuth } = options;
  const { revocationEndpoint, keyId, subject, audience, resource, ca } = options;
  const texts = [
    options.installation,
    options.role,
    options.region,
    options.externalId,
    options.authorizationEndpoint,
    options.deviceEndpoint,
    grant,
    issuer,
    tokenEndpoint,
    revocationEndpoint,
    clientId,
    clientAuth,
    keyId,
    subject,
    audience,
  ];
  const flags = privateNetwork === true || options.dpop === true;
  if (scope.length === 0 && !flags && [...texts, resource, ca].every((one) => one === undefined)) return;
  throw new Denied("credential_invalid", why);
}

async function discover(issuer: string, ca: string | null, fetchDocument: FetchDocument): Promise<ProviderMetadata> {
  const url = URL.parse(issuer);
  if (
    url === null ||
    (url.protocol !== "https:" && !isPrivateHost(url.hostname)) ||
    url.search !== "" ||
    url.hash !== ""
  )
    throw new Denied("credential_invalid", "--issuer is an https URL without a query, as the provider writes it.");
  for (const place of metadataUrls(issuer)) {
    const document = await fetchDocument(place, ca);
    if (document === undefined) continue;
    const found = readMetadata(parsed(document, place), issuer);
    if (!("trouble" in found)) return found;
    throw new Denied("credential_invalid", `The metadata at ${place} cannot be relied on: ${found.trouble}.`);
  }
  throw new Denied(
    "credential_invalid",
    `${issuer} publishes no metadata (RFC 8414 or OpenID Connect): give --token-endpoint instead of --issuer.`,
  );
}

function parsed(document: Buffer, place: string) {
  try {
    return parseJsonValue(document);
  } catch {
    throw new Denied("credential_invalid", `The metadata at ${place} is no strict JSON.`);
  }
}

function standardGrant(kind: ExchangedKind): string {
  switch (kind) {
    case "oauth2":
      return "client_credentials";
    case "jwt-bearer":
      return "jwt_bearer";
    case "github-app":
      return "github_app";
    case "aws-role":
      return "assume_role";
  }
}

function standardAuth(kind: ExchangedKind): string {
  return kind === "oauth2" ? "client_secret_basic" : "none";
}

function oneOf<Word extends string>(option: string, words: readonly Word[], given: string): Word {
  const found = words.find((word) => word === given);
  if (found === undefined) throw new Denied("credential_invalid", `${option} is one of ${words.join(", ")}.`);
  return found;
}
