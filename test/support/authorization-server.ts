import { generateKeyPairSync, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";
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
  /** Takes an access token back. */
  takeBack(token: string): Promise<void>;
  close(): Promise<void>;
}

export const AS_SECRET = "secret-of-the-basic-client-0123456789";

export async function startAuthorizationServer(caFile: string): Promise<AuthorizationServer> {
  const authority = createAuthority({ wallMs: () => Date.now() }, { bytes: (length) => randomBytes(length) });
  writeFileSync(caFile, authority.certificate);
  const clientKeys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const own = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const asked = new Map<string, number>();
  let serve: Parameters<typeof createServer>[1];
  const server = createServer(
    { key: authority.leafKey, cert: authority.chainFor("localhost") },
    (request, response) => {
      const path = request.url?.split("?")[0] ?? "";
      asked.set(path, (asked.get(path) ?? 0) + 1);
      serve?.(request, response);
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
    redirect_uris: ["http://127.0.0.1/cb"],
    response_types: ["code"],
    grant_types: ["authorization_code", "refresh_token"],
    scope: "openid offline_access api:read",
  };
  const provider = new Provider(issuer, {
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
    ],
    jwks: { keys: [{ ...own.privateKey.export({ format: "jwk" }), kid: "as", use: "sig", alg: "RS256" }] },
    scopes: ["openid", "offline_access", "api:read", "api:write"],
    features: {
      clientCredentials: { enabled: true },
      revocation: { enabled: true },
      introspection: { enabled: true },
      devInteractions: { enabled: false },
    },
    rotateRefreshToken: () => true,
    ttl: { AccessToken: 600, ClientCredentials: 600, RefreshToken: 86_400, Grant: 86_400 },
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
  });
  serve = provider.callback();
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
    knows: async (token) => (await find(token)) !== undefined,
    takeBack: async (token) => (await find(token))?.destroy(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
