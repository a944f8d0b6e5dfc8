import { startProvider } from "./provider.ts";

/**
 * A secret store on loopback as the documentation of HashiCorp Vault's HTTP API describes it (AppRole login, KV version 2
 * read, tokens that renew and revoke themselves): no real one is at hand, so that what is proven is the wire contract.
 */
export interface SecretStore {
  readonly url: string;
  readonly logins: number;
  /** How often a token was renewed, and how many it takes. */
  readonly renewals: number;
  readonly live: number;
  /** For how long a token is good, in seconds. */
  tokenS: number;
  /** What stands at its one path. */
  secret: Readonly<Record<string, unknown>>;
  /** Answers nothing but 503 while it is sealed. */
  sealed: boolean;
  /** A login is answered when this resolves. */
  held: Promise<void> | null;
  /** A token is gone at once, and whoever gives it back hears so when this resolves. */
  ending: Promise<void> | null;
  /** What its role logs in with. */
  readonly secretIds: Set<string>;
  /** What a token may do: not read what is kept, not be renewed. */
  denies: boolean;
  renews: boolean;
  /** Takes every token back that it gave. */
  revokeAll(): void;
  close(): Promise<void>;
}

export const STORE_ROLE = "role-of-the-gateway";
export const STORE_SECRET_ID = "secret-id-0123456789";

export async function startSecretStore(): Promise<SecretStore> {
  const provider = await startProvider();
  const tokens = new Set<string>();
  let logins = 0;
  let renewals = 0;
  const store = {
    url: `${provider.origin}/v1/secret/data/acme/api`,
    get logins() {
      return logins;
    },
    get renewals() {
      return renewals;
    },
    get live() {
      return tokens.size;
    },
    tokenS: 1200,
    secret: {} as SecretStore["secret"],
    sealed: false,
    held: null as Promise<void> | null,
    ending: null as Promise<void> | null,
    secretIds: new Set([STORE_SECRET_ID]),
    denies: false,
    renews: true,
    revokeAll: () => tokens.clear(),
    close: provider.close,
  };
  const grantOf = (token: string) => ({
    data: null,
    auth: { client_token: token, policies: ["default"], lease_duration: store.tokenS, renewable: true },
  });
  provider.answer(({ method, url, headers, body }, response) => {
    const answer = (status: number, value: unknown): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    };
    if (store.sealed) return answer(503, { errors: ["Vault is sealed"] });
    if (method === "POST" && url === "/v1/auth/approle/login") {
      const { role_id: role, secret_id: id } = JSON.parse(body) as Record<string, string>;
      if (role !== STORE_ROLE || !store.secretIds.has(id ?? ""))
        return answer(400, { errors: ["invalid role or secret ID"] });
      const token = `hvs.token-${++logins}-0123456789`;
      tokens.add(token);
      return void (store.held ?? Promise.resolve()).then(() => answer(200, grantOf(token)));
    }
    const token = headers["x-vault-token"];
    if (typeof token !== "string" || !tokens.has(token)) return answer(403, { errors: ["permission denied"] });
    if (method === "POST" && url === "/v1/auth/token/renew-self") {
      if (!store.renews) return answer(400, { errors: ["lease is not renewable"] });
      renewals += 1;
      return answer(200, grantOf(token));
    }
    if (method === "POST" && url === "/v1/auth/token/revoke-self") {
      tokens.delete(token);
      return void (store.ending ?? Promise.resolve()).then(() => response.writeHead(204).end());
    }
    if (store.denies) return answer(403, { errors: ["permission denied"] });
    if (method === "GET" && url === "/v1/secret/data/acme/api")
      return answer(200, {
        lease_duration: 0,
        data: { data: store.secret, metadata: { version: 3, destroyed: false, deletion_time: "" } },
      });
    return answer(404, { errors: [] });
  });
  return store;
}
