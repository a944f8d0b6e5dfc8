import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { rawPublicOf } from "../../audit/keys/raw.ts";
import type { HubConnection } from "../connect.ts";
import { type EnrolmentStatement, type HubStatement, type StateStatement, signHubWith } from "../statement.ts";
import { readTerm } from "./adopt.ts";
import { emptySum, sumText } from "./rows.ts";

const operator = generateKeyPairSync("ed25519").privateKey;
const owned = generateKeyPairSync("ed25519").privateKey;
const about = { hub_id: "hub", gateway: "web2", vault_id: "vault" } as const;
const seal = { hide: (name: string) => name, seal: (_about: string, plain: Buffer) => plain, open: () => undefined };
const by = {
  ...{ hubId: "hub", vaultId: "vault", gateway: "web1", identity: operator, seal },
  ...{ operators: () => [rawPublicOf("ed25519", operator)], isHome: () => false },
};

/** A term in which the gateway that somebody owns had nothing under way, and what it says of itself. */
function read(word: object) {
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
    ...{ silent_ms: null, gone: false },
  };
  const ask = async (text: string) => (text.includes("state_head") ? [head] : []);
  const taking = { gateway: "web2", term: 1, by: "web1", along: [] };
  return readTerm({ ask } as unknown as HubConnection, by, taking);
}

test("times come from another gateway by its own clock, and by none that is no clock's", async () => {
  assert.equal((await read({}))?.aheadMs, -2_000);
  for (const written_at of [null, 7, {}, ["2026-01-01"], "soon", "+275760-09-13T00:00:00.000Z"])
    await assert.rejects(read({ written_at }), { code: "hub_state_tampered" }, JSON.stringify(written_at));
});
