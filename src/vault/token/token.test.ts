import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { addCredential, rotateCredential } from "../credential.ts";
import { entryAad, openEntry } from "../entry.ts";
import { openService } from "../lend.ts";
import { serviceSubkey } from "../service-key.ts";
import { edited, founding, ORIGIN, ports, refuses, refusesLater, secret } from "../testing/fixture.ts";
import type { Vault } from "../vault.ts";
import { parseVault, vaultPage } from "../verify.ts";
import type { TokenExchange } from "./exchange.ts";

const ENDPOINT = "https://login.acme.example/token";
const REVOCATION = "https://login.acme.example/revoke";
const exchange: TokenExchange = {
  grant: "refresh_token",
  issuer: null,
  tokenEndpoint: ENDPOINT,
  revocationEndpoint: REVOCATION,
  authorizationEndpoint: null,
  deviceEndpoint: null,
  clientId: "acme",
  clientAuth: "client_secret_post",
  keyId: null,
  subject: null,
  scopes: ["b", "a", "b"],
  audience: null,
  resource: null,
  dpop: false,
  region: null,
  ca: null,
  network: "public",
};

async function add(
  change: Partial<TokenExchange>,
  text: string,
  kind: "oauth2" | "jwt-bearer" | "github-app" = "oauth2",
) {
  const { vault, operator } = await founding();
  const given = { label: "app", kind, boundTo: [ORIGIN], eachUse: false } as const;
  const whole = { ...exchange, ...change };
  return addCredential(vault, operator, { ...given, exchange: whole, secret: secret(text) }, ports);
}

const pemOf = (key: { export(options: { format: "pem"; type: "pkcs8" }): string | Buffer }): string =>
  key.export({ format: "pem", type: "pkcs8" }).toString();

async function open(vault: Vault) {
  return openService(vault, (await founding()).operator.serviceKey);
}

const ask = {
  errand: "token",
  refreshToken: null,
  atMs: Date.UTC(2026, 9, 1),
  assertionId: "evt_1",
  nonce: null,
  scopes: ["a"],
  toSign: null,
} as const;

test("what is exchanged goes to its endpoints and nowhere else, and its token to the origins alone", async () => {
  const service = await open(await add({}, "refresh-token-1\nclient-secret-1"));
  const loan = service.lendExchange("app", ENDPOINT, ask, null);
  assert.equal(loan.formField, "client_secret");
  assert.equal(loan.headerValue.use(String), "client-secret-1");
  assert.deepEqual(
    loan.form?.map(({ name, value }) => [name, value.use(String)]),
    [["refresh_token", "refresh-token-1"]],
  );
  loan.release();
  assert.throws(() => loan.headerValue.use(String));
  const told = { ...ask, errand: "revoke", refreshToken: secret("newest-one-2") } as const;
  const revoking = service.lendExchange("app", REVOCATION, told, null);
  assert.deepEqual(
    revoking.form?.map(({ name, value }) => [name, value.use(String)]),
    [["token", "newest-one-2"]],
  );
  refuses(() => service.lendExchange("app", "https://login.acme.example/other", ask, null), "credential_not_bound");
  refuses(() => service.lendHttp("app", ORIGIN), "credential_not_bound");
  refuses(() => service.lendToken("app", "https://evil.example", secret("token-12345")), "credential_not_bound");
  assert.equal(service.lendToken("app", ORIGIN, secret("token-12345")).headerValue.use(String), "Bearer token-12345");
});

test("where a token is got is sealed with the secret: nothing of it changes alone", async () => {
  const vault = await add({}, "refresh-token-1\nclient-secret-1");
  assert.deepEqual(parseVault(vaultPage(vault)).credentials[0]?.exchange?.scopes, ["a", "b"]);
  const moved = edited(vaultPage(vault), ({ credentials: [first] }) => {
    (first?.["exchange"] as Record<string, unknown>)["token_endpoint"] = "https://evil.example/token";
  });
  refuses(() => parseVault(moved), "vault_tampered");
  const [entry] = vault.credentials;
  assert.ok(entry !== undefined);
  const { operator } = await founding();
  const key = serviceSubkey(operator.serviceKey, vault.vaultId, "credentials");
  const elsewhere = { ...entry, exchange: { ...exchange, tokenEndpoint: "https://evil.example/token" } };
  refuses(
    () => openEntry({ key, operators: [], readingKey: operator.readingKey }, vault.vaultId, elsewhere),
    "vault_tampered",
  );
  assert.ok(!entryAad(vault.vaultId, { ...entry, exchange: null }).includes("exchange"), "older entries still open");
  const bare = edited(vaultPage(vault), ({ credentials: [first] }) => delete first?.["exchange"]);
  refuses(() => parseVault(bare), "vault_malformed");
});

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const small = generateKeyPairSync("rsa", { modulusLength: 1024 });
const curve = generateKeyPairSync("ec", { namedCurve: "secp256k1" });

const REFUSED: readonly (readonly [
  string,
  Partial<TokenExchange>,
  string,
  ("oauth2" | "jwt-bearer" | "github-app")?,
])[] = [
  ["a refresh token without the client's secret", {}, "refresh-token-1"],
  ["a client without a secret that brings one", { clientAuth: "none" }, "refresh-token-1\nclient-secret-1"],
  ["a refresh token with a blank", { clientAuth: "none" }, "refresh token 1"],
  ["a small RSA key", { grant: "client_credentials", clientAuth: "private_key_jwt" }, pemOf(small.privateKey)],
  ["a key of another curve", { grant: "client_credentials", clientAuth: "private_key_jwt" }, pemOf(curve.privateKey)],
  ["a client that proves nothing", { grant: "client_credentials", clientAuth: "none" }, "client-secret-1"],
  ["a grant of another kind", { grant: "jwt_bearer", clientAuth: "none" }, pemOf(rsa.privateKey)],
  ["an endpoint without TLS", { tokenEndpoint: "http://login.acme.example/token" }, "refresh-token-1\nclient-secret-1"],
  [
    "an endpoint with a password",
    { tokenEndpoint: "https://a:b@login.example/token" },
    "refresh-token-1\nclient-secret-1",
  ],
  ["a scope with a blank", { scopes: ["a b"] }, "refresh-token-1\nclient-secret-1"],
  ["a permission that is none", { grant: "github_app", clientAuth: "none" }, pemOf(rsa.privateKey), "github-app"],
];
for (const [words, change, text, kind] of REFUSED) {
  test(`${words} is refused at the door`, () => refusesLater(add(change, text, kind), "credential_invalid"));
}

test("a rotation keeps how the token is got, and what it brings must fit that", async () => {
  const vault = await add({}, "refresh-token-1\nclient-secret-1");
  const { operator } = await founding();
  const rotate = (text: string) => rotateCredential(vault, operator, { label: "app", secret: secret(text) }, ports);
  await refusesLater(rotate("refresh-token-2"), "credential_invalid");
  const service = await open(await rotate("refresh-token-2\nclient-secret-1"));
  assert.deepEqual(
    [service.exchangeOf("app")?.version.split(" ")[0], service.exchangeOf("app")?.exchange.tokenEndpoint],
    ["2", ENDPOINT],
  );
});
