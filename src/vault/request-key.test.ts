import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { readSshPublicLine, verifySsh } from "../kernel/ssh-key.ts";
import { openService } from "./lend.ts";
import { createVault } from "./operator.ts";
import { addOperator, removeOperator, replaceRequestKey } from "./operator-change.ts";
import { edited, founding, PASSPHRASE, ports, refuses, secret } from "./testing/fixture.ts";
import type { RequestKey, Vault } from "./vault.ts";
import { parseVault, signVault, vaultPage } from "./verify.ts";

const start = await founding();
const DATA = Buffer.from("a request");

function keyOf({ requestKey }: Vault): RequestKey {
  return requestKey ?? assert.fail("no request key");
}

/** Whether this public line verifies what the opened compartment signs now. */
function signs(service: ReturnType<typeof openService>, publicKey: string): boolean {
  const signer = service.lendRequestSigner() ?? assert.fail("no signer");
  const key = readSshPublicLine(publicKey) ?? assert.fail("not a public key");
  try {
    return verifySsh(key, DATA, signer.sign(DATA, 0));
  } finally {
    signer.release();
  }
}

test("every vault has a request key of its own, and whoever opens the compartment signs with the same one", async () => {
  const other = await createVault({ operatorName: "eve", passphrase: secret(PASSPHRASE) }, ports);
  assert.notEqual(keyOf(other.vault).publicKey, keyOf(start.vault).publicKey);
  for (const _node of ["one", "two"]) {
    const service = openService(parseVault(vaultPage(start.vault)), start.operator.serviceKey);
    assert.ok(signs(service, keyOf(start.vault).publicKey));
    assert.equal(signs(service, keyOf(other.vault).publicKey), false);
  }
});

test("the request key is no credential: no label lends it and no list shows it", () => {
  const service = openService(start.vault, start.operator.serviceKey);
  assert.deepEqual(service.list(), []);
  assert.equal(service.find("request key"), null);
  refuses(() => service.lendSshSigner("request key", keyOf(start.vault).publicKey), "credential_unknown");
});

test("the private half is in no page, no value and no description of the signer", () => {
  const service = openService(start.vault, start.operator.serviceKey);
  const signer = service.lendRequestSigner() ?? assert.fail("no signer");
  const shown = `${inspect(signer, { depth: 9, showHidden: true })}${JSON.stringify(signer)}${vaultPage(start.vault)}`;
  assert.doesNotMatch(shown, /PRIVATE|MC4CAQAwBQYDK2Vw|302e020100300506032b6570/i);
  signer.release();
  assert.throws(() => signer.sign(DATA, 0), /after its release/);
});

test("a wiped compartment lends no request signer", () => {
  const service = openService(start.vault, start.operator.serviceKey);
  service.wipe();
  refuses(() => service.lendRequestSigner(), "vault_locked");
});

test("removing an operator changes the service key and keeps the request key, so that hosts go on", async () => {
  const bob = { operatorName: "bob", passphrase: secret("bobs-own-passphrase-1") };
  const withBob = await addOperator(start.vault, start.operator, bob, ports);
  const { vault, operator } = await removeOperator(withBob, start.operator, "bob", ports);
  assert.equal(keyOf(vault).publicKey, keyOf(start.vault).publicKey);
  assert.notDeepEqual(keyOf(vault).sealed, keyOf(start.vault).sealed);
  assert.ok(signs(openService(vault, operator.serviceKey), keyOf(start.vault).publicKey));
});

test("an operator replaces the request key, and a running gateway signs with the new one after it reloads", () => {
  const service = openService(start.vault, start.operator.serviceKey);
  const next = parseVault(vaultPage(replaceRequestKey(start.vault, start.operator, ports)));
  assert.notEqual(keyOf(next).publicKey, keyOf(start.vault).publicKey);
  service.reload(next);
  assert.ok(signs(service, keyOf(next).publicKey));
  assert.equal(signs(service, keyOf(start.vault).publicKey), false);
});

test("only an operator's signature puts another request key into a vault", () => {
  const next = replaceRequestKey(start.vault, start.operator, ports);
  const planted = edited(vaultPage(start.vault), (value) => {
    value["request_key"] = (JSON.parse(vaultPage(next)) as Record<string, unknown>)["request_key"];
  });
  refuses(() => parseVault(planted), "vault_tampered");
  for (const key of [{ public_key: "ssh-rsa AAAA", sealed: "" }, { public_key: keyOf(start.vault).publicKey }, null]) {
    const malformed = edited(vaultPage(start.vault), (value) => {
      value["request_key"] = key;
    });
    refuses(() => parseVault(malformed), "vault_malformed");
  }
});

test("a public half that is not the sealed one opens nothing", () => {
  const next = replaceRequestKey(start.vault, start.operator, ports);
  const requestKey = { ...keyOf(start.vault), publicKey: keyOf(next).publicKey };
  const service = openService({ ...start.vault, requestKey } as Vault, start.operator.serviceKey);
  refuses(() => service.lendRequestSigner(), "vault_tampered");
});

test("a vault that is older than request keys opens, lends no signer, and gets a key when an operator draws one", async () => {
  const before = signVault(
    { ...start.vault, requestKey: null },
    start.vault,
    start.operator,
    start.vault.notes,
    ports.clock,
  );
  const page = vaultPage(before);
  assert.ok(!page.includes("request_key"));
  const older = parseVault(page);
  assert.equal(openService(older, start.operator.serviceKey).lendRequestSigner(), null);
  const bob = { operatorName: "bob", passphrase: secret("bobs-own-passphrase-1") };
  const withBob = await addOperator(older, start.operator, bob, ports);
  assert.equal((await removeOperator(withBob, start.operator, "bob", ports)).vault.requestKey, null);
  const drawn = parseVault(vaultPage(replaceRequestKey(older, start.operator, ports)));
  assert.ok(signs(openService(drawn, start.operator.serviceKey), keyOf(drawn).publicKey));
});

test("a key that is taken out of the file breaks its signature", () => {
  const without = edited(vaultPage(start.vault), (value) => {
    delete value["request_key"];
  });
  refuses(() => parseVault(without), "vault_tampered");
});
