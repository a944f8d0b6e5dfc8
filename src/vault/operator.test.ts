import assert from "node:assert/strict";
import { createPublicKey, diffieHellman, generateKeyPairSync, verify } from "node:crypto";
import { test } from "node:test";
import { inspect } from "node:util";
import { Denied } from "../kernel/failure.ts";
import { addCredential } from "./credential.ts";
import { publicKeyOf, rawPublicOf } from "./keys.ts";
import { openService } from "./lend.ts";
import { createVault, unlockOperator } from "./operator.ts";
import { addOperator, changePassphrase, removeOperator, setPin } from "./operator-change.ts";
import { checkPin } from "./passphrase/pin.ts";
import {
  bearer,
  founding,
  ORIGIN,
  PASSPHRASE,
  ports,
  refuses,
  refusesLater,
  secret,
  withTokens,
} from "./testing/fixture.ts";
import { parseVault, vaultPage } from "./verify.ts";

const start = await founding();
const bobPhrase = "bobs-own-passphrase-1";
const withToken = await withTokens(start, { acme: "token-of-acme-1" });
const withBob = await addOperator(
  withToken,
  start.operator,
  { operatorName: "bob", passphrase: secret(bobPhrase) },
  ports,
);

test("a passphrase opens the approver key, the reading key and the service key", async () => {
  const operator = await unlockOperator(parseVault(vaultPage(withToken)), undefined, secret(PASSPHRASE));
  const bytes = Buffer.from("a card");
  assert.ok(verify(null, bytes, publicKeyOf("ed25519", operator.approver.publicKey), operator.approver.sign(bytes)));
  assert.ok(operator.serviceKey.equals(start.operator.serviceKey));
  const keys = withToken.operators[0];
  assert.ok(keys !== undefined && rawPublicOf(operator.readingKey).equals(keys.readingKey));
  const other = generateKeyPairSync("x25519");
  const theirs = diffieHellman({ privateKey: other.privateKey, publicKey: createPublicKey(operator.readingKey) });
  assert.ok(diffieHellman({ privateKey: operator.readingKey, publicKey: other.publicKey }).equals(theirs));
});

test("a wrong passphrase opens nothing and says whose it is not", async () => {
  await assert.rejects(unlockOperator(withToken, "ada", secret("amber-otter-velvet-quarrz")), (error) => {
    assert.ok(error instanceof Denied);
    assert.equal(error.code, "passphrase_wrong");
    assert.deepEqual(error.extra, { operator: "ada" });
    assert.ok(!inspect(error).includes("quarrz"));
    return true;
  });
});

test("with several operators one has to be named, and an unknown name is refused", async () => {
  await refusesLater(unlockOperator(withBob, undefined, secret(PASSPHRASE)), "operator_unknown");
  await refusesLater(unlockOperator(withBob, "eve", secret(PASSPHRASE)), "operator_unknown");
});

test("a second operator has keys and a passphrase of their own, and the same service key", async () => {
  const bob = await unlockOperator(withBob, "bob", secret(bobPhrase));
  assert.notEqual(bob.keyId, start.operator.keyId);
  assert.ok(bob.serviceKey.equals(start.operator.serviceKey));
  await refusesLater(unlockOperator(withBob, "bob", secret(PASSPHRASE)), "passphrase_wrong");
  const signedByBob = await addCredential(withBob, bob, bearer("from-bob", "token-from-bob"), ports);
  assert.equal(signedByBob.signedBy, bob.keyId);
});

test("nobody is added without an operator of this vault, under a taken name, an odd name or a weak passphrase", async () => {
  const stranger = await createVault({ operatorName: "eve", passphrase: secret("eves-passphrase-1234") }, ports);
  const add = (operatorName: string, passphrase = bobPhrase, by = start.operator) =>
    addOperator(withBob, by, { operatorName, passphrase: secret(passphrase) }, ports);
  await refusesLater(add("carol", bobPhrase, stranger.operator), "operator_unknown");
  await refusesLater(add("bob"), "operator_exists");
  for (const name of ["", "Bob", "a b", "-x", "é", "x".repeat(33)])
    await refusesLater(add(name), "operator_name_invalid");
  for (const phrase of ["short", "aaaaaaaaaaaaaaaa", "with\u0007control-sign"]) {
    await refusesLater(add("carol", phrase), "passphrase_weak");
  }
});

test("removing an operator replaces the service key and keeps every credential and state key", async () => {
  const { vault, operator } = await removeOperator(withBob, start.operator, "bob", ports);
  assert.deepEqual(
    vault.operators.map(({ name }) => name),
    ["ada"],
  );
  assert.ok(!operator.serviceKey.equals(start.operator.serviceKey));
  refuses(() => openService(vault, start.operator.serviceKey), "service_key_wrong");
  const service = openService(parseVault(vaultPage(vault)), operator.serviceKey);
  assert.equal(service.lendHttp("acme", ORIGIN).headerValue.use(String), "Bearer token-of-acme-1");
  const before = openService(withBob, start.operator.serviceKey).deriveStateKey("rows");
  assert.ok(service.deriveStateKey("rows").equals(before));
  const again = await unlockOperator(vault, "ada", secret(PASSPHRASE));
  assert.ok(again.serviceKey.equals(operator.serviceKey));
});

test("an operator from before a change of the service key cannot seal into the vault after it", async () => {
  const { vault } = await removeOperator(withBob, start.operator, "bob", ports);
  await refusesLater(
    addCredential(vault, start.operator, bearer("late", "token-too-late"), ports),
    "service_key_wrong",
  );
});

test("the last operator stays, and nobody removes themselves", async () => {
  await refusesLater(removeOperator(withToken, start.operator, "ada", ports), "operator_last");
  await refusesLater(removeOperator(withBob, start.operator, "ada", ports), "operator_self");
  await refusesLater(removeOperator(withBob, start.operator, "carol", ports), "operator_unknown");
});

test("a changed passphrase keeps the keys, and the old one opens nothing any more", async () => {
  const fresh = secret("a-fresh-passphrase-1");
  const changed = await changePassphrase(withToken, start.operator, secret(PASSPHRASE), fresh, ports);
  await refusesLater(unlockOperator(changed, "ada", secret(PASSPHRASE)), "passphrase_wrong");
  assert.equal((await unlockOperator(changed, "ada", fresh)).keyId, start.operator.keyId);
  assert.equal(changed.generation, withToken.generation + 1);
});

test("a passphrase is changed only by who knows the old one, and not to a weak one", async () => {
  const change = (old: string, fresh: string) =>
    (async () => await changePassphrase(withToken, start.operator, secret(old), secret(fresh), ports))();
  await refusesLater(change("not-the-old-passphrase", "a-fresh-passphrase-1"), "passphrase_wrong");
  await refusesLater(change(PASSPHRASE, "short"), "passphrase_weak");
});

test("a PIN is kept in the operator's compartment and verified by Argon2id", async () => {
  const withPin = await setPin(withToken, start.operator, secret(PASSPHRASE), secret("482913"), ports);
  const { pin } = await unlockOperator(withPin, "ada", secret(PASSPHRASE));
  assert.ok(pin !== null);
  assert.equal(await checkPin(pin, secret("482913")), true);
  assert.equal(await checkPin(pin, secret("482914")), false);
  const without = await setPin(withPin, start.operator, secret(PASSPHRASE), null, ports);
  assert.equal((await unlockOperator(without, "ada", secret(PASSPHRASE))).pin, null);
});

test("an operator who was wiped signs nothing and hands out no service key", async () => {
  const operator = await unlockOperator(withToken, "ada", secret(PASSPHRASE));
  operator.wipe();
  assert.throws(() => operator.approver.sign(Buffer.from("x")));
  assert.throws(() => operator.readingKey);
  assert.throws(() => operator.serviceKey.use(() => 0));
});

test("no inspection of an open operator shows a key", () => {
  const shown = inspect(start.operator, { depth: 5, showHidden: true });
  start.operator.serviceKey.use((bytes) => assert.ok(!shown.includes(bytes.toString("hex"))));
  assert.ok(shown.includes("[secret]"));
});
