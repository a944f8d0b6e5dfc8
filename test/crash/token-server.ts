import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TokenExchange } from "../../src/vault/token/exchange.ts";

/** A token endpoint that replaces the refresh token with every use, and takes everything back when an old one comes again. */
export interface TokenServer {
  readonly origin: string;
  /** The first refresh token. */
  readonly first: string;
  /** How often a refresh token came that had been used before. */
  readonly reused: number;
  close(): Promise<void>;
}

/** Hands out the one access token that the API takes. */
export async function startTokenServer(accessToken: string): Promise<TokenServer> {
  let serial = 0;
  let reused = 0;
  const next = (): string => `refresh-token-${++serial}`;
  let current = next();
  const first = current;
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    const given = new URLSearchParams(Buffer.concat(parts).toString()).get("refresh_token");
    const fresh = request.url === "/agree" || given === current;
    if (fresh) current = next();
    else {
      reused++;
      current = "";
    }
    const answer = { access_token: accessToken, token_type: "bearer", expires_in: 600, refresh_token: current };
    response.writeHead(fresh ? 200 : 400, { "content-type": "application/json" });
    response.end(JSON.stringify(fresh ? answer : { error: "invalid_grant" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    first,
    get reused() {
      return reused;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function exchangeAt(origin: string): TokenExchange {
  return {
    grant: "refresh_token",
    issuer: null,
    tokenEndpoint: `${origin}/token`,
    revocationEndpoint: null,
    authorizationEndpoint: null,
    deviceEndpoint: null,
    clientId: "crash",
    clientAuth: "none",
    keyId: null,
    subject: null,
    scopes: [],
    audience: null,
    resource: null,
    dpop: false,
    region: null,
    ca: null,
    network: "private",
  };
}
