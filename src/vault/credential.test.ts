import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../kernel/defaults.ts";
import { Secret } from "../kernel/secret.ts";
import {
  addCredential,
  type NewCredential,
  rebindCredential,
  removeCredential,
  rotateCredential,
  switchCredential,
} from "./credential.ts";
import { httpLoan } from "./http-loan.ts";
import { openService } from "./lend.ts";
import { summariesOf } from "./summary.ts";
import {
  bearer,
  founding,
  HOST_KEY,
  ORIGIN,
  ports,
  refuses,
  refusesLater,
  secret,
  withTokens,
} from "./testing/fixture.ts";
import type { Vault } from "./vault.ts";

const start = await founding();
const { operator } = start;
const vault = await withTokens(start, { acme: "token-of-acme-1" });

const add = (given: Partial<NewCredential>) =>
  addCredential(vault, operator, { ...bearer("other", "token-of-other"), ...given }, ports);
const entryOf = (one: Vault, label = "acme") => {
  const entry = one.credentials.find((credential) => credential.label === label);
  assert.ok(entry);
  return entry;
};
const lentValue = (one: Vault) =>
  openService(one, operator.serviceKey).lendHttp("acme", ORIGIN).headerValue.use(String);

test("a credential is added once under its label, and every change is a new generation", async () => {
  assert.equal(vault.generation, start.vault.generation + 1);
  await refusesLater(add({ label: "acme" }), "credential_exists");
});

test("a loan that cannot be made wipes what was handed to it", () => {
  const given = Secret.fromText("token-of-acme-1");
  const request = { method: "GET", url: `${ORIGIN}/`, headers: {}, body: null, atMs: 0 } as const;
  const toSign = { scheme: "dpop", ...request, proofId: "p", nonce: null } as const;
  refuses(() => httpLoan(entryOf(vault), given, toSign), "credential_not_bound");
  assert.throws(() => given.use(String));
});

const badLabels = ["", "Acme", "a b", "-a", "a/b", "é", "x".repeat(65)];
test("a label is short, lower case and plain", async () => {
  for (const label of badLabels) await refusesLater(add({ label }), "credential_invalid");
});

const badOrigins = [
  "http://api.acme.example",
  "https://api.acme.example/v1",
  "https://user@api.acme.example",
  "https://api.acme.example?x",
  "https://API.acme.example",
  "https://api.acme.example:443",
  "ftp://api.acme.example",
  "http://127.0.0.1.evil.example",
  "https://api.acme.example\n",
  "//api.acme.example",
  "*",
  "",
];
for (const origin of badOrigins) {
  test(`a credential cannot be bound to ${JSON.stringify(origin)}`, async () => {
    await refusesLater(add({ boundTo: [origin] }), "credential_invalid");
  });
}

test("a credential is bound somewhere, but not everywhere", async () => {
  await refusesLater(add({ boundTo: [] }), "credential_invalid");
  const many = Array.from({ length: defaults.vaultBindings + 1 }, (_, index) => `https://h${index}.example`);
  await refusesLater(add({ boundTo: many }), "credential_invalid");
});

test("loopback may be plain http, and origins are kept sorted and once", async () => {
  const made = await add({
    boundTo: ["http://localhost:8080", "https://b.example/", "https://b.example", "http://[::1]:1"],
  });
  assert.deepEqual(entryOf(made, "other").boundTo, ["http://[::1]:1", "http://localhost:8080", "https://b.example"]);
});

const badSecrets: readonly [NewCredential["kind"], string, string][] = [
  ["bearer", "too short to be found again", "tiny7"],
  ["bearer", "a space", "token with space"],
  ["bearer", "a line break", "token-line\r\nx-evil: 1"],
  ["bearer", "a byte beyond ASCII", "tokén-of-acme"],
  ["header", "a line break", "value\r\nx: y-1234"],
  ["header", "spaces around it", " value-1234 "],
  ["basic", "no colon", "user-and-password"],
  ["basic", "a control sign", "user:pass\u0000word"],
  ["bearer", "too many bytes", "x".repeat(defaults.secretBytes + 1)],
  ["hmac", "a key that is no base64", "whsec_!!!!"],
];
for (const [kind, what, text] of badSecrets) {
  test(`a ${kind} secret with ${what} is refused, and the refusal does not repeat it`, async () => {
    const boundTo = kind === "hmac" ? ["acme"] : [ORIGIN];
    const given = { kind, boundTo, secret: secret(text), ...(kind === "header" ? { headerName: "x-api-key" } : {}) };
    await assert.rejects(add(given), (error: Error & { code?: string }) => {
      assert.equal(error.code, "credential_invalid");
      assert.ok(!error.message.includes(text));
      return true;
    });
  });
}

test("a custom header is one that carries credentials, for the kind header alone", async () => {
  const header = { kind: "header", secret: secret("value-of-head") } as const;
  for (const headerName of ["host", "Content-Length", "transfer-encoding", "x y", "", "x\r\ny", "é"]) {
    await refusesLater(add({ ...header, headerName }), "credential_invalid");
  }
  await refusesLater(add(header), "credential_invalid");
  await refusesLater(add({ headerName: "x-api-key" }), "credential_invalid");
  assert.equal(entryOf(await add({ ...header, headerName: "X-Api-Key" }), "other").headerName, "x-api-key");
});

test("rotation keeps binding and label, raises the version and keeps a digest, not the secret", async () => {
  const rotated = await rotateCredential(vault, operator, { label: "acme", secret: secret("token-of-acme-2") }, ports);
  const entry = entryOf(rotated);
  assert.equal(entry.version, 2);
  assert.deepEqual(entry.boundTo, entryOf(vault).boundTo);
  assert.deepEqual(
    entry.retired.map(({ version }) => version),
    [1],
  );
  assert.equal(entry.retired[0]?.digest.length, 32);
  assert.equal(lentValue(rotated), "Bearer token-of-acme-2");
  assert.ok(entry.rotatedAt > entry.createdAt);
});

test("a secret that was used before is known again", async () => {
  const rotate = (one: Vault, text: string) =>
    rotateCredential(one, operator, { label: "acme", secret: secret(text) }, ports);
  await refusesLater(rotate(vault, "token-of-acme-1"), "credential_reused");
  const third = await rotate(await rotate(vault, "token-of-acme-2"), "token-of-acme-3");
  await refusesLater(rotate(third, "token-of-acme-1"), "credential_reused");
  await refusesLater(rotate(third, "token-of-acme-2"), "credential_reused");
});

test("the memory of old secrets is bounded", async () => {
  let rotated = vault;
  for (let index = 0; index < defaults.vaultRetired + 2; index++) {
    rotated = await rotateCredential(
      rotated,
      operator,
      { label: "acme", secret: secret(`token-number-${index}`) },
      ports,
    );
  }
  assert.equal(entryOf(rotated).retired.length, defaults.vaultRetired);
});

test("a digest of one credential says nothing about the same secret in another", async () => {
  const both = await withTokens(start, { acme: "one-token-for-both", zeta: "one-token-for-both" });
  const one = await rotateCredential(both, operator, { label: "acme", secret: secret("next-of-acme") }, ports);
  const two = await rotateCredential(one, operator, { label: "zeta", secret: secret("next-of-zeta") }, ports);
  assert.ok(!entryOf(two).retired[0]?.digest.equals(entryOf(two, "zeta").retired[0]?.digest ?? Buffer.alloc(0)));
});

test("an operator may bind anew or set the each-use mark, and the secret moves with it", () => {
  const rebound = rebindCredential(vault, operator, "acme", { boundTo: ["https://new.example"], eachUse: true }, ports);
  const service = openService(rebound, operator.serviceKey);
  refuses(() => service.lendHttp("acme", ORIGIN), "credential_not_bound");
  assert.equal(service.lendHttp("acme", "https://new.example").headerValue.use(String), "Bearer token-of-acme-1");
  assert.equal(service.find("acme")?.eachUse, true);
  refuses(() => rebindCredential(vault, operator, "acme", { boundTo: ["nowhere"] }, ports), "credential_invalid");
});

test("a disabled credential is lent to nobody until it is enabled again", () => {
  const disabled = switchCredential(vault, operator, "acme", true, ports);
  refuses(() => openService(disabled, operator.serviceKey).lendHttp("acme", ORIGIN), "credential_disabled");
  assert.equal(lentValue(switchCredential(disabled, operator, "acme", false, ports)), "Bearer token-of-acme-1");
});

test("a removed credential is gone from the list and from the file", () => {
  const removed = removeCredential(vault, operator, "acme", ports);
  assert.deepEqual(summariesOf(removed), []);
  refuses(() => removeCredential(removed, operator, "acme", ports), "credential_unknown");
});

test("an ssh credential is bound to host keys and to nothing else", async () => {
  for (const place of [ORIGIN, `app-1 ${HOST_KEY}`, "ssh-ed25519 AAAA", "ssh-dss AAAAB3NzaC1kc3M="]) {
    await refusesLater(add({ kind: "ssh", boundTo: [place] }), "credential_invalid");
  }
});
