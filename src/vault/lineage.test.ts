import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { test } from "node:test";
import { keyIdOf, rawPublicOf } from "./keys.ts";
import { foldLineage, type LineageRecord, lineageBytes, lineageHead, type Unsigned, vaultIdOf } from "./lineage.ts";
import { refuses } from "./testing/fixture.ts";

interface Person {
  readonly name: string;
  readonly key: KeyObject;
  readonly raw: Buffer;
}

const at = "2026-10-01T12:00:00.000Z";
const [ada, bob, eve] = ["ada", "bob", "eve"].map((name): Person => {
  const key = generateKeyPairSync("ed25519").privateKey;
  return { name, key, raw: rawPublicOf(key) };
}) as [Person, Person, Person];
const vaultId = vaultIdOf(ada.raw);

function signed(by: Person, record: Unsigned<LineageRecord>): LineageRecord {
  return { ...record, signature: sign(null, lineageBytes(vaultId, record), by.key) };
}

function admit(who: Person, by: Person, after: readonly LineageRecord[], name = who.name): LineageRecord[] {
  const box = Buffer.alloc(32, 9);
  const record = {
    change: "admit",
    name,
    keyId: keyIdOf(who.raw),
    approverKey: who.raw,
    readingKey: box,
    wrappingKey: box,
    by: keyIdOf(by.raw),
    at,
    previous: headOf(after),
  } as const;
  return [...after, signed(by, record)];
}

function remove(who: Person, by: Person, after: readonly LineageRecord[]): LineageRecord[] {
  return [
    ...after,
    signed(by, { change: "remove", keyId: keyIdOf(who.raw), by: keyIdOf(by.raw), at, previous: headOf(after) }),
  ];
}

function headOf(records: readonly LineageRecord[]) {
  const last = records.at(-1);
  return last === undefined ? null : lineageHead(last);
}

const founded = admit(ada, ada, []);
const both = admit(bob, ada, founded);

test("the founder is an operator, and whoever an operator admits", () => {
  assert.deepEqual(
    foldLineage(vaultId, founded).map(({ name }) => name),
    ["ada"],
  );
  assert.deepEqual(
    foldLineage(vaultId, both).map(({ name }) => name),
    ["ada", "bob"],
  );
});

test("a removed operator is none, and the vault keeps its name when the founder goes", () => {
  assert.deepEqual(
    foldLineage(vaultId, remove(ada, bob, both)).map(({ name }) => name),
    ["bob"],
  );
});

const forged: Readonly<Record<string, readonly LineageRecord[]>> = {
  "nobody founded": [],
  "another person founded": admit(eve, eve, []),
  "a stranger admitted themselves to": admit(eve, eve, founded),
  "a stranger signed for an operator in": [...founded, { ...signed(eve, both[1] as LineageRecord) }],
  "a removed operator admitted someone to": admit(eve, bob, remove(bob, ada, both)),
  "the last operator was removed from": remove(ada, ada, founded),
  "someone was removed twice from": remove(bob, ada, remove(bob, ada, both)),
  "a removed key came back to": admit(bob, ada, remove(bob, ada, both)),
  "one name was given twice in": admit(eve, ada, both, "bob"),
  "a name holds odd signs in": admit(eve, ada, both, "e\u200bve"),
  "a record was dropped from": [founded[0] as LineageRecord, ...remove(bob, ada, both).slice(2)],
  "two records were swapped in": [...both].reverse(),
  "a record was doubled in": [...both, both[1] as LineageRecord],
};
for (const [what, records] of Object.entries(forged)) {
  test(`a list of operators that ${what} does not hold`, () => {
    refuses(() => foldLineage(vaultId, records), "vault_tampered");
  });
}

test("no field of a record can change after it was signed", () => {
  const [first, second] = both as [LineageRecord, LineageRecord];
  const changes: readonly Partial<LineageRecord>[] = [
    { at: "2027-10-01T12:00:00.000Z" },
    { readingKey: Buffer.alloc(32, 1) } as Partial<LineageRecord>,
    { wrappingKey: Buffer.alloc(32, 1) } as Partial<LineageRecord>,
    { name: "mallory" } as Partial<LineageRecord>,
    { approverKey: eve.raw } as Partial<LineageRecord>,
    { keyId: keyIdOf(eve.raw) },
    { signature: Buffer.alloc(64) },
  ];
  for (const change of changes) {
    refuses(() => foldLineage(vaultId, [first, { ...second, ...change } as LineageRecord]), "vault_tampered");
  }
});

test("a lineage signed for one vault does not hold in another", () => {
  refuses(() => foldLineage(vaultIdOf(eve.raw), both), "vault_tampered");
});
