import assert from "node:assert/strict";
import { createHash, generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { rawPublicOf } from "../../audit/keys/raw.ts";
import type { HubConnection } from "../connect.ts";
import { type EnrolmentStatement, type HubStatement, type StateStatement, signHubWith } from "../statement.ts";
import { readTakings, readTerm } from "./adopt.ts";
import { addMark, emptySum, markOf, placeOf, type SealedRow, sumText } from "./rows.ts";

const operator = generateKeyPairSync("ed25519").privateKey;
const owned = generateKeyPairSync("ed25519").privateKey;
const about = { hub_id: "hub", gateway: "web2", vault_id: "vault" } as const;
const seal = {
  hide: (name: string) => createHash("sha256").update(name).digest("hex"),
  seal: (_about: string, plain: Buffer) => plain,
  open: (_about: string, sealed: Buffer) => sealed,
};
const by = {
  ...{ hubId: "hub", vaultId: "vault", gateway: "web1", identity: operator, seal },
  ...{ operators: () => [rawPublicOf("ed25519", operator)], isHome: () => false, requireReadable: () => undefined },
};

/** A term in which the gateway that somebody owns had nothing under way, and what it says of itself. */
function read(word: object, seen: object = {}, rows: readonly object[] = [], next: object = {}) {
  const enrolment: EnrolmentStatement = {
    ...{ format: "gw.hub-gateway/v1", ...about, identity_key: rawPublicOf("ed25519", owned).toString("base64url") },
    ...{ log_id: "log", operator: "ada", operator_key_id: "key", signed_at: "2026-01-01T00:00:00.000Z" },
  };
  const state: StateStatement = {
    ...{ format: "gw.hub-state/v1", ...about, term: 1, tick: 1, sum: sumText(seal, emptySum()) },
    written_at: "2026-01-01T00:00:00.000Z",
  };
  const joined = signHubWith(enrolment, operator);
  const said = signHubWith({ ...state, ...word } as HubStatement, owned);
  const head = {
    ...{ name: "web2", enrolment: joined.text, enrolment_signature: joined.signature, term: "1", tick: "1" },
    ...{ statement: said.text, signature: said.signature, seen_ms: Date.parse("2026-01-01T00:00:02.000Z"), now_ms: 5 },
    ...{ silent_ms: null, gone: false, ...seen },
  };
  let looks = 0;
  const ask = async (text: string) => {
    if (!text.includes("state_head")) return rows;
    return [looks++ === 0 ? head : { ...head, ...next }];
  };
  const taking = { gateway: "web2", term: 1, by: "web1", along: [] };
  return readTerm({ ask } as unknown as HubConnection, by, taking);
}

test("times come from another gateway by its own clock, and by none that is no clock's", async () => {
  assert.equal((await read({}))?.aheadMs, -2_000);
  for (const written_at of [null, 7, {}, ["2026-01-01"], "soon", "+275760-09-13T00:00:00.000Z"])
    await assert.rejects(read({ written_at }), { code: "hub_state_tampered" }, JSON.stringify(written_at));
});

/** A row of its own that it put there, signed for like any other. */
function readRow(plain: string, change: object = {}) {
  const place = placeOf(seal, { table: "notes", id: "claim x" });
  const row: SealedRow = { place, tick: 1, sealed: Buffer.from(plain) };
  const sum = emptySum();
  addMark(sum, markOf(seal, row));
  return read({ sum: sumText(seal, sum) }, {}, [{ ...row, tick: "1", ...change }]);
}

test("a row is read where it is one, and whatever else was sealed for its place is refused by its code", async () => {
  const row = { table: "notes", id: "claim x", run_id: "claim", state: "claim", body: {} };
  assert.equal((await readRow(JSON.stringify(row)))?.rows.length, 1);
  const others = ["", "{", "[]", "7", '"x"', "null", "[".repeat(100_000)];
  for (const name of Object.keys(row))
    for (const value of [null, 7, [], undefined]) others.push(JSON.stringify({ ...row, [name]: value }));
  others.push(JSON.stringify({ ...row, body: "x" }), `{"body":${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}}`);
  for (const plain of others) await assert.rejects(readRow(plain), { code: "hub_state_tampered" }, plain.slice(0, 100));
  for (const change of [{ place: null }, { sealed: null }, { tick: "x" }])
    await assert.rejects(readRow(JSON.stringify(row), change), { code: "hub_state_tampered" });
});

test("who says the next word before the rows of the last were read has tampered with nothing: it goes on", async () => {
  const { place, tick, sealed } = { place: "p", tick: "2", sealed: Buffer.from("of the next word") };
  const rows = [{ place, tick, sealed }];
  await assert.rejects(read({}, {}, rows), { code: "hub_state_tampered" });
  for (const next of [{ tick: "2" }, { term: null, tick: null }])
    await assert.rejects(read({}, {}, rows, next), { code: "hub_gateway_alive" });
});

test("terms and words are counted, and the database's clock is one", async () => {
  for (const [word, seen] of [
    [{ term: 0.5 }, { term: "0.5" }],
    [{ term: -1 }, { term: "-1" }],
    [{ tick: 2 ** 53 }, { tick: "9007199254740992" }],
    [{ tick: "1" }, {}],
    [{}, { now_ms: null }],
    [{}, { now_ms: Number.NaN }],
    [{}, { seen_ms: null }],
  ])
    await assert.rejects(read(word ?? {}, seen), { code: "hub_state_tampered" }, JSON.stringify([word, seen]));
});

test("a taking over names gateways and their terms, or it is none", async () => {
  const taking = { gateway: "web3", term: 2, tick: 1, by: "web2", along: [{ gateway: "web4", term: 1 }] };
  const takings = (change: object) => {
    const { hub_id, vault_id } = about;
    const word = { format: "gw.hub-adoption/v1", hub_id, vault_id, ...taking, ...change };
    const { text: statement, signature } = signHubWith(word as HubStatement, owned);
    const ask = async () => [{ statement, signature }];
    return readTakings({ ask } as unknown as HubConnection, by, "web2", rawPublicOf("ed25519", owned));
  };
  const { tick: _tick, ...told } = taking;
  assert.deepEqual(await takings({}), [told]);
  for (const change of [
    ...["2", 0, -1, 0.5, 2 ** 53, null, {}].map((term) => ({ term })),
    ...[7, null, ["web3"]].map((gateway) => ({ gateway })),
    ...[null, {}, "x", [null], ["web4"], [{ gateway: "web4" }], [{ gateway: 4, term: 1 }]].map((along) => ({ along })),
    { along: Array.from({ length: 17 }, (_, term) => ({ gateway: "web4", term: term + 1 })) },
  ])
    assert.deepEqual(await takings(change), [], JSON.stringify(change));
});
