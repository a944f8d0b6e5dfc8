import { createHash } from "node:crypto";
import { Denied, Fault } from "../../../../kernel/failure.ts";
import { Secret } from "../../../../kernel/secret.ts";
import { thumbprintOf } from "../../../../vault/token/dpop.ts";
import { agreedToken, askToken, type Login } from "./ask-endpoint.ts";

/** Authorization code with PKCE (RFC 7636) and a browser that comes back to loopback (RFC 8252). */
export async function agreeInBrowser(login: Login, endpoint: string, port: number): Promise<string> {
  const { exchange, io, ports } = login;
  if (ports.awaitBrowser === undefined) throw new Fault("nothing here can wait for a browser");
  const draw = (): string => ports.random.bytes(32).toString("base64url");
  const state = draw();
  using verifier = Secret.fromText(draw());
  const browser = await ports.awaitBrowser(port, state);
  try {
    const challenge = createHash("sha256").update(verifier.use(String)).digest("base64url");
    const url = new URL(endpoint);
    for (const [name, value] of [
      ["response_type", "code"],
      ["client_id", exchange.clientId],
      ["redirect_uri", browser.redirectUri],
      ["state", state],
      ["code_challenge", challenge],
      ["code_challenge_method", "S256"],
      ...(exchange.scopes.length === 0 ? [] : [["scope", exchange.scopes.join(" ")]]),
      ...(exchange.resource === null ? [] : [["resource", exchange.resource]]),
      ...(exchange.audience === null ? [] : [["audience", exchange.audience]]),
      ...(login.dpopKey === null ? [] : [["dpop_jkt", thumbprintOf(login.dpopKey)]]),
      ...lasting(exchange.scopes, url),
    ] as const)
      url.searchParams.set(name ?? "", value ?? "");
    io.err(`Open this address in a browser on this machine, and agree there:\n\n  ${url.href}\n`);
    const came = await browser.came;
    using code = Secret.fromText(readCode(came, exchange.issuer));
    const grant = [
      ["grant_type", "authorization_code"],
      ["redirect_uri", browser.redirectUri],
    ] as const;
    const secret = [
      { name: "code", value: code },
      { name: "code_verifier", value: verifier },
    ];
    return agreedToken(login, await askToken(login, grant, secret));
  } finally {
    browser.close();
  }
}

/** How a provider is asked for something that outlasts the sitting: OpenID Connect by a scope, Google by a word of its own. */
function lasting(scopes: readonly string[], { origin }: URL): readonly (readonly [string, string])[] {
  if (origin === "https://accounts.google.com")
    return [
      ["access_type", "offline"],
      ["prompt", "consent"],
    ];
  return scopes.includes("offline_access") ? [["prompt", "consent"]] : [];
}

const CODE = /^[\x21-\x7e]{1,4096}$/;
const ERROR = /^[a-z0-9_.-]{1,64}$/;

function readCode(came: URLSearchParams, issuer: string | null): string {
  // RFC 9207: an answer of another server than the one that was asked.
  const iss = came.get("iss");
  if (iss !== null && issuer !== null && iss !== issuer)
    throw new Denied("token_refused", "The answer came from another issuer than the one that was asked.");
  const error = came.get("error");
  if (error !== null)
    throw new Denied("token_refused", `The provider says ${ERROR.test(error) ? error : "no"}. Nothing was changed.`);
  const code = came.get("code") ?? "";
  if (came.getAll("code").length !== 1 || !CODE.test(code))
    throw new Denied("token_refused", "The browser came back without a code. Nothing was changed.");
  return code;
}
