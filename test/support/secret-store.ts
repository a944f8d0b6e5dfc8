import { startProvider } from "./provider.ts";

/**
 * A secret store on loopback as the documentation of HashiCorp Vault's HTTP API describes it (AppRole login, KV version 2
 * read): no real one is at hand, so that what is proven is the wire contract.
 */
export interface SecretStore {
  readonly url: string;
  readonly logins: number;
  /** What stands at its one path. */
  secret: Readonly<Record<string, unknown>>;
  /** Answers nothing but 503 while it is sealed. */
  sealed: boolean;
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
  const store = {
    url: `${provider.origin}/v1/secret/data/acme/api`,
    get logins() {
      return logins;
    },
    secret: {} as SecretStore["secret"],
    sealed: false,
    revokeAll: () => tokens.clear(),
    close: provider.close,
  };
  provider.answer(({ method, url, headers, body }, response) => {
    const answer = (status: number, value: unknown): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    };
    if (store.sealed) return answer(503, { errors: ["Vault is sealed"] });
    if (method === "POST" && url === "/v1/auth/approle/login") {
      const { role_id: role, secret_id: id } = JSON.parse(body) as Record<string, string>;
      if (role !== STORE_ROLE || id !== STORE_SECRET_ID) return answer(400, { errors: ["invalid role or secret ID"] });
      const token = `hvs.token-${++logins}-0123456789`;
      tokens.add(token);
      return answer(200, {
        data: null,
        auth: { client_token: token, policies: ["default"], lease_duration: 1200, renewable: true },
      });
    }
    const token = headers["x-vault-token"];
    if (typeof token !== "string" || !tokens.has(token)) return answer(403, { errors: ["permission denied"] });
    if (method === "GET" && url === "/v1/secret/data/acme/api")
      return answer(200, {
        lease_duration: 0,
        data: { data: store.secret, metadata: { version: 3, destroyed: false, deletion_time: "" } },
      });
    return answer(404, { errors: [] });
  });
  return store;
}
