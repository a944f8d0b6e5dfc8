import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { PageShape } from "../shape.ts";

/** Kinds whose sealed secret is never lent to an API: it is exchanged for a short-lived token, which is. */
export const EXCHANGED_KINDS = ["oauth2", "jwt-bearer", "github-app", "aws-role"] as const;
export type ExchangedKind = (typeof EXCHANGED_KINDS)[number];

export const GRANTS = ["client_credentials", "refresh_token", "jwt_bearer", "github_app", "assume_role"] as const;
export const CLIENT_AUTHS = [
  "client_secret_basic",
  "client_secret_post",
  "private_key_jwt",
  "tls_client_auth",
  "none",
] as const;

/** How a token is got, pinned when the credential was added: signed, and sealed with the secret. Nothing of it is looked up later. */
export interface TokenExchange {
  readonly grant: (typeof GRANTS)[number];
  readonly issuer: string | null;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint: string | null;
  /** Where a person agrees in a browser, and where a code for another device is got: for `gw credential login`. */
  readonly authorizationEndpoint: string | null;
  readonly deviceEndpoint: string | null;
  /** Who asks: the client, the issuer of an assertion, or the app. */
  readonly clientId: string;
  readonly clientAuth: (typeof CLIENT_AUTHS)[number];
  /** Names the key among those that the provider knows of this client. */
  readonly keyId: string | null;
  /** On whose behalf an assertion speaks, the client's own where null; the role that is assumed. */
  readonly subject: string | null;
  readonly scopes: readonly string[];
  readonly audience: string | null;
  readonly resource: string | null;
  /** Whether tokens are bound to a key that is sealed beside the secret (RFC 9449). */
  readonly dpop: boolean;
  /** What a signature of the exchange itself is for; of aws-role alone. */
  readonly region: string | null;
  /** The PEM text of the authority to trust instead of the system's. */
  readonly ca: string | null;
  readonly network: "public" | "private";
}

export function isExchanged(kind: string): kind is ExchangedKind {
  return (EXCHANGED_KINDS as readonly string[]).includes(kind);
}

/** An app's token has all of the app's permissions where none are named. What other providers give then is theirs to say. */
export function takesAll({ grant, scopes }: Pick<TokenExchange, "grant" | "scopes">): boolean {
  return grant === "github_app" && scopes.length === 0;
}

/** Left out where there is none, so that an entry which was sealed before such kinds still opens. */
export function exchangeMember(exchange: TokenExchange | null): JsonObject {
  return exchange === null ? {} : { exchange: exchangePage(exchange) };
}

function exchangePage(exchange: TokenExchange): JsonObject {
  return {
    grant: exchange.grant,
    issuer: exchange.issuer,
    token_endpoint: exchange.tokenEndpoint,
    revocation_endpoint: exchange.revocationEndpoint,
    client_id: exchange.clientId,
    client_auth: exchange.clientAuth,
    key_id: exchange.keyId,
    subject: exchange.subject,
    scopes: exchange.scopes,
    audience: exchange.audience,
    resource: exchange.resource,
    ca: exchange.ca,
    network: exchange.network,
    // Left out where there is none, so that what was sealed before them still opens.
    ...(exchange.authorizationEndpoint === null ? {} : { authorization_endpoint: exchange.authorizationEndpoint }),
    ...(exchange.deviceEndpoint === null ? {} : { device_endpoint: exchange.deviceEndpoint }),
    ...(exchange.dpop ? { dpop: true } : {}),
    ...(exchange.region === null ? {} : { region: exchange.region }),
  };
}

const MEMBERS = [
  "grant",
  "issuer",
  "token_endpoint",
  "revocation_endpoint",
  "client_id",
  "client_auth",
  "key_id",
  "subject",
  "scopes",
  "audience",
  "resource",
  "ca",
  "network",
] as const;
const LATER_MEMBERS = ["authorization_endpoint", "device_endpoint", "dpop", "region"] as const;

const URL_LENGTH = 2_048;
const NAME_LENGTH = 512;

export function readExchangePage(shape: PageShape, value: JsonValue, where: string): TokenExchange {
  const page = shape.members(value, where, MEMBERS, LATER_MEMBERS);
  const text = (name: keyof typeof page, most: number): string => shape.text(page[name], `${where}/${name}`, most);
  const optional = (name: keyof typeof page, most: number): string | null =>
    (page[name] ?? null) === null ? null : text(name, most);
  return {
    grant: shape.oneOf(page.grant, `${where}/grant`, GRANTS),
    issuer: optional("issuer", URL_LENGTH),
    tokenEndpoint: text("token_endpoint", URL_LENGTH),
    revocationEndpoint: optional("revocation_endpoint", URL_LENGTH),
    clientId: text("client_id", NAME_LENGTH),
    clientAuth: shape.oneOf(page.client_auth, `${where}/client_auth`, CLIENT_AUTHS),
    keyId: optional("key_id", NAME_LENGTH),
    subject: optional("subject", NAME_LENGTH),
    scopes: shape.list(page.scopes, `${where}/scopes`, defaults.tokenScopes, (item, at) =>
      shape.text(item, at, NAME_LENGTH),
    ),
    audience: optional("audience", URL_LENGTH),
    resource: optional("resource", URL_LENGTH),
    ca: optional("ca", defaults.tokenAuthorityBytes),
    network: shape.oneOf(page.network, `${where}/network`, ["public", "private"]),
    authorizationEndpoint: optional("authorization_endpoint", URL_LENGTH),
    deviceEndpoint: optional("device_endpoint", URL_LENGTH),
    region: optional("region", 64),
    dpop: page.dpop === undefined ? false : shape.flag(page.dpop, `${where}/dpop`),
  };
}

const LOOPBACK = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;
/** RFC 6749, appendix A: visible ASCII, for a scope without quote and backslash. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
const PERMISSION = /^[a-z_]{1,64}:(read|write|admin)$/;
const VISIBLE = /^[\x21-\x7e]+$/;
const WORDS = /^[\x20-\x7e]+$/;

/** Checks what an operator, or a provider's metadata, says of an exchange before it is sealed. */
export function checkExchange(kind: ExchangedKind, exchange: TokenExchange): TokenExchange {
  const { grant, clientAuth } = exchange;
  const fits = {
    oauth2: ["client_credentials", "refresh_token"],
    "jwt-bearer": ["jwt_bearer"],
    "github-app": ["github_app"],
    "aws-role": ["assume_role"],
  };
  if (!fits[kind].includes(grant)) invalid(`The kind ${kind} takes --grant ${fits[kind].join(" or ")}.`);
  if (grant === "client_credentials" && clientAuth === "none")
    invalid(
      "Client credentials need a client that proves itself: --client-auth client_secret_basic, client_secret_post, private_key_jwt or tls_client_auth.",
    );
  if (kind === "aws-role") checkRole(exchange);
  else if (exchange.region !== null) invalid("--region is for aws-role.");
  if (exchange.dpop && (kind === "github-app" || kind === "aws-role")) invalid("--dpop is for oauth2 and jwt-bearer.");
  checkEndpoint("The token endpoint", exchange.tokenEndpoint);
  if (exchange.revocationEndpoint !== null) checkEndpoint("The revocation endpoint", exchange.revocationEndpoint);
  if (exchange.authorizationEndpoint !== null)
    checkEndpoint("The authorization endpoint", exchange.authorizationEndpoint);
  if (exchange.deviceEndpoint !== null) checkEndpoint("The device authorization endpoint", exchange.deviceEndpoint);
  if (exchange.issuer !== null) checkEndpoint("The issuer", exchange.issuer);
  checkText("A client identifier", exchange.clientId, WORDS, NAME_LENGTH);
  if (exchange.keyId !== null) checkText("A key identifier", exchange.keyId, WORDS, NAME_LENGTH);
  if (exchange.subject !== null) checkText("A subject", exchange.subject, WORDS, NAME_LENGTH);
  if (exchange.audience !== null) checkText("An audience", exchange.audience, VISIBLE, URL_LENGTH);
  if (exchange.resource !== null && !URL.canParse(exchange.resource))
    invalid("--resource is an absolute URI (RFC 8707).");
  if (exchange.scopes.length > defaults.tokenScopes)
    invalid(`A credential has at most ${defaults.tokenScopes} scopes.`);
  for (const scope of exchange.scopes) checkText("A scope", scope, SCOPE, NAME_LENGTH);
  if (grant === "github_app" && !exchange.scopes.every((scope) => PERMISSION.test(scope)))
    invalid("A permission of a GitHub App is NAME:read, NAME:write or NAME:admin, such as issues:write.");
  if (exchange.ca !== null && !exchange.ca.includes("-----BEGIN CERTIFICATE-----"))
    invalid("--ca names a file with certificates in PEM.");
  return { ...exchange, scopes: [...new Set(exchange.scopes)].sort() };
}

const ROLE = /^arn:aws[a-z-]{0,16}:iam::[0-9]{12}:role\/[!-.0-~/]{1,512}$/;
const AWS_ACTION = /^[a-z0-9-]{1,64}:[A-Za-z0-9]{1,128}$/;
const REGION = /^[a-z0-9-]{1,64}$/;
const SESSION_NAME = /^[A-Za-z0-9_+=,.@-]{2,64}$/;

/** Whoever is lent a key of the role can do what is pinned here and no more, so that something has to be. */
function checkRole({ subject, region, clientId, scopes }: TokenExchange): void {
  if (!ROLE.test(subject ?? "")) invalid("--role is the ARN of a role: arn:aws:iam::ACCOUNT:role/NAME.");
  if (!REGION.test(region ?? "")) invalid("--region is a region such as eu-west-1.");
  if (!SESSION_NAME.test(clientId)) invalid("--client-id names the session: 2 to 64 of letters, digits and _+=,.@-");
  if (scopes.length === 0 || !scopes.every((scope) => AWS_ACTION.test(scope)))
    invalid("--scope is an action of AWS such as s3:GetObject, without wildcards; at least one is needed.");
}

function checkEndpoint(what: string, text: string): void {
  const url = URL.parse(text);
  const guarded = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.test(url.hostname));
  const plain = url !== null && url.hash === "" && url.username === "" && url.password === "";
  if (!guarded || !plain || text.length > URL_LENGTH || (url?.href !== text && url?.href !== `${text}/`))
    invalid(`${what} is a plain https URL; http is for loopback alone.`);
}

function checkText(what: string, text: string, allowed: RegExp, most: number): void {
  if (text.length > most || !allowed.test(text)) invalid(`${what} is 1 to ${most} printable ASCII characters.`);
}

function invalid(message: string): never {
  throw new Denied("credential_invalid", message);
}
