import { createCipheriv, createDecipheriv, createSecretKey, generateKeyPairSync, randomBytes } from "node:crypto";
import { keyOf } from "../src/gateway/token/narrow.ts";
import { Secret } from "../src/kernel/secret.ts";
import { readAwsKeys } from "../src/vault/aws/keys.ts";
import { signForAws } from "../src/vault/aws/sign.ts";
import { createSigningKeys } from "../src/vault/aws/signing-keys.ts";
import { addCredential } from "../src/vault/credential.ts";
import { openService } from "../src/vault/lend.ts";
import { createVault } from "../src/vault/operator.ts";
import { signMessage } from "../src/vault/signature/sign.ts";
import type { TokenExchange } from "../src/vault/token/exchange.ts";
import { parseVault, vaultPage } from "../src/vault/verify.ts";
import { type Bench, rate } from "./bench.ts";

const ORIGIN = "https://api.acme.example";
const ports = {
  clock: { wallMs: () => 1_800_000_000_000 },
  random: { bytes: (length: number) => randomBytes(length) },
};

/** A loan is on the way of every call: it should cost little more than the one decryption it is. */
export const bench: Bench = {
  name: "vault",
  async run(emit) {
    const passphrase = Secret.fromText("amber-otter-velvet-quarry");
    const founded = await createVault({ operatorName: "ada", passphrase }, ports);
    let vault = founded.vault;
    for (let index = 0; index < 100; index++) {
      const secret = Secret.fromText(randomBytes(20).toString("hex"));
      const given = { label: `c${index}`, kind: "bearer", boundTo: [ORIGIN], eachUse: false, secret } as const;
      vault = await addCredential(vault, founded.operator, given, ports);
    }
    const service = openService(vault, founded.operator.serviceKey);
    const bare = rate(bareDecryption());
    const lent = rate(() => service.lendHttp("c50", ORIGIN).release());
    emit({
      case: "lend and release one of 100",
      value: lent,
      unit: "loans/s",
      beside: "one AES-256-GCM decryption",
      ratio: lent / bare,
    });
    const exchange: TokenExchange = {
      ...{ grant: "client_credentials", clientAuth: "client_secret_basic", clientId: "acme", scopes: ["issues:read"] },
      ...{
        tokenEndpoint: "https://login.acme.example/token",
        revocationEndpoint: null,
        authorizationEndpoint: null,
        deviceEndpoint: null,
        issuer: null,
        network: "public",
      },
      ...{ keyId: null, subject: null, audience: null, resource: null, dpop: false, region: null, ca: null },
    };
    const app = { label: "app", kind: "oauth2", boundTo: [ORIGIN], eachUse: false, exchange } as const;
    const pair = Secret.fromText("secret-of-the-client");
    const withApp = await addCredential(vault, founded.operator, { ...app, secret: pair }, ports);
    const tokens = openService(withApp, founded.operator.serviceKey);
    using token = Secret.fromText(randomBytes(20).toString("hex"));
    // As the gateway finds it: by what the call narrows it to.
    const narrowing = { scopes: ["issues:read"], repositories: [], resources: [] };
    const held = new Map([[keyOf("app", narrowing), token]]);
    const cached = rate(() => tokens.lendToken("app", ORIGIN, held.get(keyOf("app", narrowing)) ?? token).release());
    emit({ case: "lend a cached token", value: cached, unit: "loans/s", beside: "a bearer", ratio: cached / lent });
    const request = {
      ...{ method: "POST", url: `${ORIGIN}/things?a=1`, headers: { "content-type": "application/json" } },
      ...{ body: Buffer.alloc(1_024, "x"), atMs: 1_800_000_000_000 },
    };
    const keys = readAwsKeys(Buffer.from("AKIDEXAMPLEAKIDEXAMP:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"));
    if (keys === undefined) throw new Error("no AWS key");
    const scope = { region: "eu-west-1", service: "lambda", expiresS: null };
    // As the gateway does: the key of the day is derived once.
    const signing = createSigningKeys();
    const sigv4 = rate(() => signForAws({ ...request, scope }, keys, signing));
    emit({ case: "sign 1 KiB for AWS (SigV4)", value: 1e6 / sigv4, unit: "µs", beside: "a loan", ratio: lent / sigv4 });
    const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
    using key = Secret.fromText(pem.toString());
    const about = { ...request, scheme: "http-signature", nonce: "evt_1" } as const;
    const signed = rate(() => signMessage(about, "robot", key, about.nonce));
    emit({
      case: "sign 1 KiB by RFC 9421 (Ed25519)",
      value: 1e6 / signed,
      unit: "µs",
      beside: "a loan",
      ratio: lent / signed,
    });
    const page = vaultPage(vault);
    const parsed = rate(() => JSON.parse(page));
    const verified = rate(() => parseVault(page));
    emit({
      case: "parse and verify 100 credentials",
      value: verified,
      unit: "vaults/s",
      beside: "JSON.parse",
      ratio: verified / parsed,
    });
  },
};

function bareDecryption(): () => void {
  const key = createSecretKey(randomBytes(32));
  const [nonce, aad] = [Buffer.alloc(12), Buffer.alloc(200)];
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(aad);
  const sealed = Buffer.concat([cipher.update(randomBytes(40)), cipher.final()]);
  const tag = cipher.getAuthTag();
  return () => {
    const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: 16 });
    decipher.setAAD(aad);
    decipher.setAuthTag(tag);
    decipher.update(sealed);
    decipher.final();
  };
}
