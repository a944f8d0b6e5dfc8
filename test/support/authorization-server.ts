import { generateKeyPairSync, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import Provider, { errors } from "oidc-provider";
import { createAuthority } from "../../src/conventions/box/authority.ts";

/** A real authorization server (`oidc-provider`, certified) on loopback with TLS; its authority is written to `caFile`. */
export interface AuthorizationServer {
  readonly issuer: string;
  /** How often each path was asked for. */
  readonly asked: ReadonlyMap<string, number>;
  /** The private key, in PEM, of the client `key-client`. */
  readonly clientKey: string;
  /** A refresh token of the client, as if a person had agreed. */
  agree(client: string, scope: string): Promise<{ readonly refreshToken: string; withdraw(): Promise<void> }>;
  /** Whether a token is one that it handed out and has not taken back. */
  knows(token: string): Promise<boolean>;
  /** How often it took everything back, as when a refresh token comes a second time. */
  readonly revoked: number;
  /** The next answer of the token endpoint is ready when `reached` resolves, and leaves with `release`. */
  hold(): { readonly reached: Promise<void>; release(): void };
  /** Every refresh token that it handed out to a person who agreed. */
  readonly refreshTokens: readonly string[];
  /** Everybody who agreed takes that back. */
  withdrawAll(): Promise<void>;
  /** The thumbprint of the key that a token is bound to (RFC 9449). */
  boundTo(token: string): Promise<string | undefined>;
  /** Takes an access token back. */
  takeBack(token: string): Promise<void>;
  close(): Promise<void>;
}

interface Held {
  reached(): void;
  readonly released: Promise<void>;
}

/** Of the certificate that the client `certificate-client` shows. */
export const AS_CLIENT_SUBJECT = "CN=gw test client";
/** The one resource that it knows (RFC 8707). */
export const AS_RESOURCE = "https://api.acme.example/v1";
export const AS_SECRET = "secret-of-the-basic-client-0123456789";

/** With `clientCa`, in PEM, it knows clients by the certificates that this signed. */
export async function startAuthorizationServer(caFile: string, clientCa?: string): Promise<AuthorizationServer> {
  const authority = createAuthority({ wallMs: () => Date.now() }, { bytes: (length) => randomBytes(length) });
  writeFileSync(caFile, authority.certificate);
  const clientKeys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const own = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const asked = new Map<string, number>();
  let revoked = 0;
  let held: Held | null = null;
  const holdBack = (response: ServerResponse, by: Held): void => {
    held = null;
    const end = response.end.bind(response) as (...what: readonly unknown[]) => ServerResponse;
    response.end = ((...what: readonly unknown[]) => {
      by.reached();
      void by.released.then(() => end(...what));
      return response;
    }) as ServerResponse["end"];
  };
  let serve: Parameters<typeof createServer>[1];
  const server = createServer(
    {
      ...{ key: authority.leafKey, cert: authority.chainFor("localhost") },
      ...(clientCa === undefined ? {} : { requestCert: true, rejectUnauthorized: false, ca: [clientCa] }),
    },
    (request, response) => {
      const path = request.url?.split("?")[0] ?? "";
      asked.set(path, (asked.get(path) ?? 0) + 1);
      if (path === "/token" && held !== null) holdBack(response, held);
      if (path.startsWith("/interaction/")) void agreeTo(request, response);
      else serve?.(request, response);
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const issuer = `https://localhost:${(server.address() as AddressInfo).port}`;
  const machine = {
    redirect_uris: [],
    response_types: [],
    grant_types: ["client_credentials"],
    scope: "api:read api:write",
  };
  const person = {
    redirect_uris: ["http://127.0.0.1/callback"],
    response_types: ["code"],
    grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
    scope: "openid offline_access api:read",
  };
  const socketOf = (context: unknown): TLSSocket => (context as { readonly socket: TLSSocket }).socket;
  const knownByCertificate = {
    ...{ enabled: true, tlsClientAuth: true, certificateBoundAccessTokens: true },
    getCertificate: (context: unknown) => socketOf(context).getPeerX509Certificate(),
    certificateAuthorized: (context: unknown) => socketOf(context).authorized,
    certificateSubjectMatches: (context: unknown, _property: string, expected: string) =>
      socketOf(context).getPeerX509Certificate()?.subject === expected,
  };
  const provider = new Provider(issuer, {
    clientAuthMethods: [
      ...["client_secret_basic", "client_secret_post", "private_key_jwt", "none"],
      ...(clientCa === undefined ? [] : ["tls_client_auth"]),
    ],
    clients: [
      {
        client_id: "basic-client",
        client_secret: AS_SECRET,
        token_endpoint_auth_method: "client_secret_basic",
        ...machine,
      },
      {
        client_id: "post-client",
        client_secret: AS_SECRET,
        token_endpoint_auth_method: "client_secret_post",
        ...machine,
      },
      {
        ...{ client_id: "key-client", token_endpoint_auth_method: "private_key_jwt", ...machine },
        token_endpoint_auth_signing_alg: "ES256",
        jwks: { keys: [{ ...clientKeys.publicKey.export({ format: "jwk" }), kid: "k1" }] },
      },
      { client_id: "person-client", token_endpoint_auth_method: "none", application_type: "native", ...person },
      {
        ...{ client_id: "person-with-secret", client_secret: AS_SECRET, application_type: "native", ...person },
        token_endpoint_auth_method: "client_secret_basic",
      },
      ...(clientCa === undefined
        ? []
        : [
            {
              ...{ client_id: "certificate-client", token_endpoint_auth_method: "tls_client_auth", ...machine },
              ...{ tls_client_auth_subject_dn: AS_CLIENT_SUBJECT, tls_client_certificate_bound_access_tokens: true },
            },
          ]),
    ],
    jwks: { keys: [{ ...own.privateKey.export({ format: "jwk" }), kid: "as", use: "sig", alg: "RS256" }] },
    scopes: ["openid", "offline_access", "api:read", "api:write"],
    features: {
      clientCredentials: { enabled: true },
      revocation: { enabled: true },
      introspection: { enabled: true },
      devInteractions: { enabled: false },
      deviceFlow: { enabled: true },
      dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => true },
      ...(clientCa === undefined ? {} : { mTLS: knownByCertificate }),
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context: unknown, resource: string) => {
          if (resource !== AS_RESOURCE) throw new errors.InvalidTarget();
          return { scope: "api:read", audience: resource, accessTokenFormat: "opaque" };
        },
      },
    },
    interactions: { url: (_context: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
    rotateRefreshToken: () => true,
    ttl: { AccessToken: 600, ClientCredentials: 600, RefreshToken: 86_400, Grant: 86_400 },
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
  });
  serve = provider.callback();
  const grants: { destroy(): Promise<void> }[] = [];
  const refreshTokens: string[] = [];
  provider.on("grant.revoked", () => {
    revoked += 1;
  });
  provider.on("refresh_token.saved", (token) => refreshTokens.push((token as { readonly jti: string }).jti));

  /** A person who agrees to whatever they are asked. */
  async function agreeTo(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, params, grantId } = await provider.interactionDetails(request, response);
    if (prompt.name === "login") {
      await provider.interactionFinished(request, response, { login: { accountId: "ada" } });
      return;
    }
    const known = grantId === undefined ? undefined : await provider.Grant.find(grantId);
    const grant = known ?? new provider.Grant({ accountId: "ada", clientId: params["client_id"] });
    grant.addOIDCScope(params["scope"] ?? "");
    if (params["resource"] !== undefined) grant.addResourceScope(params["resource"], "api:read");
    grants.push(grant);
    await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
  }

  const find = async (token: string) =>
    (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
  return {
    issuer,
    asked,
    clientKey: clientKeys.privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
    async agree(clientId, scope) {
      const client = await provider.Client.find(clientId);
      const grant = new provider.Grant({ accountId: "ada", clientId });
      grant.addOIDCScope(scope);
      const grantId = await grant.save();
      const about = { accountId: "ada", client, grantId, scope, gty: "authorization_code" };
      const refreshToken = await new provider.RefreshToken(about).save();
      return { refreshToken, withdraw: () => grant.destroy() };
    },
    get revoked() {
      return revoked;
    },
    hold() {
      const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      held = { reached: reached.resolve, released: released.promise };
      return { reached: reached.promise, release: released.resolve };
    },
    refreshTokens,
    async withdrawAll() {
      for (const grant of grants.splice(0)) await grant.destroy();
    },
    knows: async (token) => (await find(token)) !== undefined,
    boundTo: async (token) => (await find(token))?.jkt,
    takeBack: async (token) => (await find(token))?.destroy(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
