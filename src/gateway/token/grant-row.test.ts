import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { SecretVersion } from "../../vault/entry.ts";
import { grantRow, isElsewhere, type KeptGrant, leftOfTurn, readGrant } from "./grant-row.ts";
import type { TokenNeeds } from "./needs.ts";

const VERSION = "12 of abc" as SecretVersion;
const NOW = 1_000_000;
const core = {
  worker: "this",
  ports: { clock: { bootMs: () => NOW, bootId: () => "boot", wallMs: () => 0 } },
} as unknown as Pick<TokenNeeds, "ports" | "worker">;

const FRESH: KeptGrant = { label: "acme", version: VERSION, refreshToken: null, turn: null, pending: null };
const elsewhere = { worker: "other", bootId: "boot", bootMs: NOW };
const read = (body: JsonObject | null, version = VERSION): KeptGrant => {
  const find = (table: string, id: string) => {
    assert.deepEqual([table, id], ["notes", "token acme"]);
    return body === null ? null : { table: "notes", id, runId: "", state: "token", body };
  };
  return readGrant({ ledger: { find } } as never, "acme", version);
};

test("what is kept of a credential is read as it was written, for the secret that it was written for", () => {
  assert.deepEqual(read(null), FRESH);
  for (const kept of [
    FRESH,
    { ...FRESH, refreshToken: "r-1", turn: 7, pending: elsewhere },
    { ...FRESH, refreshToken: "r-1" },
    { ...FRESH, turn: 0 },
  ]) {
    const { body, ...place } = grantRow(core, kept);
    const { table, id, runId, state, unordered } = place;
    assert.deepEqual([table, id, runId, state, unordered], ["notes", "token acme", "", "token", true]);
    assert.deepEqual(read(body), kept);
    const members = ["pending", ...(kept.refreshToken === null ? [] : ["refresh_token"]), "secret"];
    assert.deepEqual(Object.keys(body).sort(), [...members, ...(kept.turn === null ? [] : ["turn"]), "version"]);
    assert.equal(body["version"], 12);
    const other = "13 of abc" as SecretVersion;
    assert.deepEqual(read(body, other), { ...FRESH, version: other }, "an operator gave another secret since");
  }
});

test("a row of an earlier gw has the number of the secret alone, and what is no member is none", () => {
  assert.equal(read({ version: 12, refresh_token: "r-1" }).refreshToken, "r-1");
  assert.equal(read({ version: 13, refresh_token: "r-1" }).refreshToken, null);
  const odd = { secret: VERSION, refresh_token: 7, turn: "7", pending: "yes" };
  assert.deepEqual(read(odd), FRESH);
  const pending = { worker: "other", boot_id: "boot", boot_ms: NOW };
  assert.deepEqual(read({ secret: VERSION, pending }).pending, elsewhere);
  for (const member of Object.keys(pending))
    assert.equal(read({ secret: VERSION, pending: { ...pending, [member]: null } }).pending, null, member);
});

test("a row that does not authenticate is refused", () => {
  const find = () => ({ tampered: "token acme" });
  assert.throws(
    () => readGrant({ ledger: { find } } as never, "acme", VERSION),
    (error) => error instanceof Denied && error.code === "state_tampered",
  );
});

test("of an earlier turn on the hub is left what was kept of that very turn", () => {
  const row = grantRow(core, { ...FRESH, refreshToken: "r-1", turn: 7, pending: elsewhere });
  assert.deepEqual(leftOfTurn(row, "acme", VERSION, 7), { refreshToken: "r-1", maybeUsed: true });
  assert.deepEqual(leftOfTurn(row, "acme", VERSION, 8), { refreshToken: null, maybeUsed: false });
  const over = grantRow(core, { ...FRESH, refreshToken: "r-2", turn: 7 });
  assert.deepEqual(leftOfTurn(over, "acme", VERSION, 7), { refreshToken: "r-2", maybeUsed: false });
});

test("nobody writes over an exchange that another gateway of this boot may still be in the middle of", () => {
  const most = 2 * defaults.tokenExchangeMs;
  const rows: readonly (readonly [KeptGrant["pending"], boolean])[] = [
    [null, false],
    [elsewhere, true],
    [{ ...elsewhere, bootMs: NOW - most + 1 }, true],
    [{ ...elsewhere, bootMs: NOW - most }, false],
    [{ ...elsewhere, worker: "this" }, false],
    [{ ...elsewhere, bootId: "before" }, false],
  ];
  const { onlyIf = () => assert.fail("it is always written") } = grantRow(core, FRESH);
  assert.equal(onlyIf(null), true);
  for (const [pending, is] of rows) {
    assert.equal(isElsewhere(core, pending), is, JSON.stringify(pending));
    assert.equal(onlyIf(grantRow(core, { ...FRESH, pending })), !is, JSON.stringify(pending));
  }
});
