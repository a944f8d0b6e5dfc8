import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { inspect } from "node:util";
import fc from "fast-check";
import { addCredential, rotateCredential, switchCredential } from "./credential.ts";
import { openService } from "./lend.ts";
import { suspendCredential } from "./notes.ts";
import { bearer, founding, ORIGIN, ports, refuses, secret, withTokens } from "./testing/fixture.ts";
import { parseVault, vaultPage } from "./verify.ts";

const start = await founding();
const { operator } = start;
const vault = await addCredential(
  await addCredential(
    await addCredential(
      await withTokens(start, { acme: "token-of-acme-1" }),
      operator,
      { label: "basic", kind: "basic", boundTo: [ORIGIN], eachUse: true, secret: secret("adalovelace:engine-no-1") },
      ports,
    ),
    operator,
    {
      label: "head",
      kind: "header",
      headerName: "x-api-key",
      boundTo: [ORIGIN],
      eachUse: false,
      secret: secret("key of head"),
    },
    ports,
  ),
  operator,
  {
    label: "hook",
    kind: "hmac",
    boundTo: ["acme"],
    eachUse: false,
    secret: secret(`whsec_${Buffer.alloc(24, 5).toString("base64")}`),
  },
  ports,
);
const open = () => openService(vault, operator.serviceKey);

test("a bearer token is lent as an Authorization header, with the bare token to look for", () => {
  const loan = open().lendHttp("acme", ORIGIN);
  assert.equal(loan.headerName, "authorization");
  assert.equal(loan.headerValue.use(String), "Bearer token-of-acme-1");
  assert.deepEqual(
    loan.secrets.map((one) => one.use(String)),
    ["token-of-acme-1"],
  );
});

test("sends under way share one loan, the last wipes it, and each is held to where the entry is bound", () => {
  const service = open();
  const one = service.lendHttp("acme", ORIGIN);
  const other = service.lendHttp("acme", ORIGIN);
  assert.equal(one.headerValue, other.headerValue);
  refuses(() => service.lendHttp("acme", "https://elsewhere.example"), "credential_not_bound");
  one.release();
  one.release();
  assert.equal(other.headerValue.use(String), "Bearer token-of-acme-1");
  other.release();
  assert.throws(() => other.headerValue.use(String));
  const next = service.lendHttp("acme", ORIGIN);
  assert.notEqual(next.headerValue, other.headerValue);
  service.wipe();
  refuses(() => service.lendHttp("acme", ORIGIN), "vault_locked");
});

test("while sends share a loan, whatever changes about the entry counts for the next send", async () => {
  const service = open();
  const old = service.lendHttp("acme", ORIGIN);
  const rotated = await rotateCredential(vault, operator, { label: "acme", secret: secret("token-of-acme-2") }, ports);
  service.reload(rotated);
  const next = service.lendHttp("acme", ORIGIN);
  assert.equal(next.headerValue.use(String), "Bearer token-of-acme-2");
  assert.notEqual(next.secrets, old.secrets, "what is looked for in answers goes with it");
  old.release();
  assert.throws(() => old.headerValue.use(String));
  assert.equal(next.headerValue.use(String), "Bearer token-of-acme-2");
  service.suspend("acme", "credential_echoed", 1_800_000_000_000);
  refuses(() => service.lendHttp("acme", ORIGIN), "credential_disabled");
  service.wipe();
  refuses(() => service.lendHttp("acme", ORIGIN), "credential_disabled");
  next.release();
  assert.throws(() => next.headerValue.use(String));
});

test("a basic credential is lent encoded, with the pair and both halves to look for", () => {
  const loan = open().lendHttp("basic", ORIGIN);
  const pair = "adalovelace:engine-no-1";
  assert.equal(loan.headerValue.use(String), `Basic ${Buffer.from(pair).toString("base64")}`);
  assert.deepEqual(
    loan.secrets.map((one) => one.use(String)),
    [pair, "adalovelace", "engine-no-1"],
  );
});

test("the encoding of every basic credential is the one everybody expects", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ minLength: 1, maxLength: 30 }),
      fc.string({ minLength: 8, maxLength: 9 }),
      async (user, password) => {
        const pair = `${user}:${password}`;
        fc.pre(pair.isWellFormed() && !/\p{Cc}/u.test(pair));
        const given = { label: "b", kind: "basic", boundTo: [ORIGIN], eachUse: false, secret: secret(pair) } as const;
        const loan = openService(
          await addCredential(start.vault, operator, given, ports),
          operator.serviceKey,
        ).lendHttp("b", ORIGIN);
        assert.equal(loan.headerValue.use(String), `Basic ${Buffer.from(pair).toString("base64")}`);
      },
    ),
    { numRuns: 40 },
  );
});

test("a header credential is lent in its own header", () => {
  const loan = open().lendHttp("head", ORIGIN);
  assert.equal(loan.headerName, "x-api-key");
  assert.equal(loan.headerValue.use(String), "key of head");
});

test("a callback secret makes MACs for its pack and is never handed out", () => {
  const loan = open().lendHmac("hook", "acme", "standard_webhooks");
  const expected = createHmac("sha256", Buffer.alloc(24, 5)).update("body").digest();
  assert.ok(loan.mac("sha256", Buffer.from("body")).equals(expected));
  loan.release();
  assert.throws(() => loan.mac("sha256", Buffer.from("body")));
  refuses(() => open().lendHmac("hook", "other", "standard_webhooks"), "credential_not_bound");
});

test("a callback secret is the key itself where the scheme takes it as text", () => {
  const loan = open().lendHmac("hook", "acme", "text");
  const key = `whsec_${Buffer.alloc(24, 5).toString("base64")}`;
  assert.ok(loan.mac("sha256", Buffer.from("body")).equals(createHmac("sha256", key).update("body").digest()));
  loan.release();
});

const elsewhere = [
  "https://evil.example",
  "http://api.acme.example",
  "https://api.acme.example:8443",
  "https://api.acme.example/",
  "https://API.acme.example",
  "https://api.acme.example.evil.example",
  "https://evil.example/https://api.acme.example",
  "",
];
for (const origin of elsewhere) {
  test(`a credential is not lent to ${JSON.stringify(origin)}`, () => {
    refuses(() => open().lendHttp("acme", origin), "credential_not_bound");
  });
}

test("a credential is used in the way of its kind alone", () => {
  refuses(() => open().lendHttp("hook", "acme"), "credential_not_bound");
  refuses(() => open().lendSshSigner("acme", ORIGIN), "credential_not_bound");
  refuses(() => open().lendHmac("acme", ORIGIN, "text"), "credential_not_bound");
  refuses(() => open().lendHttp("nobody", ORIGIN), "credential_unknown");
});

test("a released loan holds nothing any more", () => {
  const loan = open().lendHttp("basic", ORIGIN);
  loan.release();
  assert.throws(() => loan.headerValue.use(() => 0));
  for (const one of loan.secrets) assert.throws(() => one.use(() => 0));
});

test("the end of one loan does not touch the next one", () => {
  const service = open();
  const [first, second] = [service.lendHttp("head", ORIGIN), service.lendHttp("head", ORIGIN)];
  first.release();
  assert.equal(second.headerValue.use(String), "key of head");
});

test("lists and inspections show no secret", () => {
  const service = open();
  const loan = service.lendHttp("basic", ORIGIN);
  const shown =
    JSON.stringify(service.list()) +
    inspect(service, { depth: 6, showHidden: true }) +
    inspect(loan, { depth: 6 }) +
    JSON.stringify(loan);
  for (const text of ["token-of-acme", "engine-no-1", "key of head"]) {
    assert.ok(!shown.includes(text) && !shown.includes(Buffer.from(text).toString("hex")));
  }
  assert.deepEqual(
    service.list().map(({ label, kind, eachUse, state }) => [label, kind, eachUse, state]),
    [
      ["acme", "bearer", false, "enabled"],
      ["basic", "basic", true, "enabled"],
      ["head", "header", false, "enabled"],
      ["hook", "hmac", false, "enabled"],
    ],
  );
});

test("the gateway may suspend a credential, and only an operator lifts that", () => {
  const service = open();
  const saved = parseVault(vaultPage(service.suspend("acme", "credential_echoed", 1_800_000_000_000)));
  refuses(() => service.lendHttp("acme", ORIGIN), "credential_disabled");
  assert.equal(service.find("acme")?.disabled, true);
  const restarted = openService(saved, operator.serviceKey);
  refuses(() => restarted.lendHttp("acme", ORIGIN), "credential_disabled");
  assert.equal(restarted.list().find(({ label }) => label === "acme")?.state, "suspended");
  assert.equal(saved.manifestHash, vault.manifestHash);
  const lifted = switchCredential(saved, operator, "acme", false, ports);
  assert.equal(openService(lifted, operator.serviceKey).find("acme")?.disabled, false);
  assert.ok(lifted.notes.serial > saved.notes.serial);
});

test("a rotated credential is not the one that was suspended", async () => {
  const saved = suspendCredential(vault, operator.serviceKey, "acme", "echoed", 1_800_000_000_000);
  const rotated = await rotateCredential(saved, operator, { label: "acme", secret: secret("token-of-acme-2") }, ports);
  assert.equal(openService(rotated, operator.serviceKey).find("acme")?.disabled, false);
});

test("suspending twice is suspending once", () => {
  const once = suspendCredential(vault, operator.serviceKey, "acme", "echoed", 1_800_000_000_000);
  assert.equal(suspendCredential(once, operator.serviceKey, "acme", "again", 1_800_000_000_001), once);
});

test("a reload takes a newer vault and keeps the old one when the other is older or foreign", async () => {
  const service = open();
  const newer = await rotateCredential(vault, operator, { label: "acme", secret: secret("token-of-acme-2") }, ports);
  service.lendHttp("acme", ORIGIN).release();
  service.reload(newer);
  assert.equal(service.generation, newer.generation);
  assert.equal(service.lendHttp("acme", ORIGIN).headerValue.use(String), "Bearer token-of-acme-2");
  refuses(() => service.reload(vault), "vault_rolled_back");
  assert.equal(service.lendHttp("acme", ORIGIN).headerValue.use(String), "Bearer token-of-acme-2");
});

test("a wrong service key opens no compartment, not even an empty one", () => {
  refuses(() => openService(start.vault, secret("x".repeat(32))), "service_key_wrong");
});

test("a wiped service vault lends nothing and derives nothing", () => {
  const service = open();
  service.lendHttp("acme", ORIGIN).release();
  service.wipe();
  refuses(() => service.lendHttp("acme", ORIGIN), "vault_locked");
  assert.throws(() => service.deriveStateKey("rows"));
  assert.doesNotThrow(() => operator.serviceKey.use(() => 0));
});

test("state keys differ by purpose and stay the same over changes of the vault", async () => {
  const service = open();
  assert.ok(service.deriveStateKey("rows").equals(open().deriveStateKey("rows")));
  assert.ok(!service.deriveStateKey("rows").equals(service.deriveStateKey("columns")));
  const later = await addCredential(vault, operator, bearer("later", "token-of-later"), ports);
  assert.ok(openService(later, operator.serviceKey).deriveStateKey("rows").equals(service.deriveStateKey("rows")));
});
