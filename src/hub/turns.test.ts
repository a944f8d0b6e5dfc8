import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { test } from "node:test";
import { rawPublicOf } from "../audit/keys/raw.ts";
import { Denied } from "../kernel/failure.ts";
import type { HubConnection } from "./connect.ts";
import { type SecretName, signTurn, type TurnRow } from "./turn-rows.ts";
import { type SeenTurn, startTurns } from "./turns.ts";

const identity = generateKeyPairSync("ed25519").privateKey;
const publicKey = rawPublicOf("ed25519", identity);
const first: SecretName = { addedAt: "2026-01-01T00:00:00.000Z", version: 1 };

/** The one row of a credential, as the database moves it: by the number that it has, and by no other. */
function makeRow() {
  const held: { row: TurnRow | undefined } = { row: undefined };
  const answer = (text: string, [, , generation, , statement, signature, sealed, after]: readonly unknown[]) => {
    if (text.startsWith("select generation")) return held.row === undefined ? [] : [held.row];
    const moved = (held.row?.generation ?? "0") === after;
    if (moved) held.row = { generation: String(generation), statement, signature, sealed } as TurnRow;
    return [{ moved, told: "0" }];
  };
  const connection: HubConnection = {
    ask: async <Row extends object>(text: string, values: readonly unknown[] = []) =>
      answer(text, values) as unknown as readonly Row[],
    listen: async () => () => undefined,
    onLost: () => undefined,
    close: async () => undefined,
  };
  return { held, connection };
}

/** `gone` have lost the right to lend it. */
function gatewayOn(
  connection: HubConnection,
  gateway: string,
  before: SeenTurn | null = null,
  gone: ReadonlySet<string> = new Set(),
) {
  let seen = before;
  return startTurns({
    ...{ hubId: "hub", gateway, vaultId: "vault", identity, taken: new Set() },
    clock: { wallMs: () => 0, bootMs: () => 0, bootId: "boot" } as never,
    sleep: { sleep: (_ms, signal) => new Promise((resolve) => signal?.addEventListener("abort", () => resolve())) },
    random: { bytes: (length) => randomBytes(length) },
    connect: async () => connection,
    hide: (label) => label,
    seal: (_label, _about, plain) => Buffer.from(plain),
    open: (_label, _about, sealed) => Buffer.from(sealed),
    speakerOf: (_label, name) => (gone.has(name) ? null : publicKey),
    recall: () => seen,
    remember: async (_label, one) => {
      seen = one;
    },
    left: () => assert.fail("no earlier life"),
  });
}

test("whatever number somebody gives to the row, a new secret is begun with and goes from gateway to gateway", async () => {
  const { held, connection } = makeRow();
  const [web1, web2] = [gatewayOn(connection, "web1"), gatewayOn(connection, "web2")];
  const highest = ["88", "89", "90", "91", "92"].map((end) => `90071992547409${end}`);
  const numbers = ["-9223372036854775808", "-1", "0", "1", "7", ...highest, "9223372036854775807"];
  let of = first;
  await (await web1.take("person", { of, begins: true, own: null })).end("token 1");
  await (await web2.take("person", { of, begins: false, own: null })).end("token 2");
  // Rows of turns are nobody's own, and a gateway that somebody owns signs what they like.
  const spoiled = (generation: string): TurnRow => {
    return { generation, statement: "{}", signature: Buffer.alloc(64), sealed: Buffer.alloc(0) };
  };
  const signed = (generation: string): TurnRow => {
    const word = { gateway: "web3", state: "free", cut: false, of, sealed: Buffer.from("{}") } as const;
    const place = { hubId: "hub", vaultId: "vault", place: "person" };
    const { text, signature } = signTurn(place, { ...word, generation: Number(generation) }, identity);
    return { generation, statement: text, signature, sealed: word.sealed };
  };
  const rows = [...numbers.map((one) => () => spoiled(one)), ...highest.slice(0, 3).map((one) => () => signed(one))];
  for (const row of rows) {
    held.row = row();
    const { generation, statement } = held.row;
    if (statement === "{}")
      for (const each of [web1, web2])
        await assert.rejects(each.take("person", { of, begins: false, own: null }), { code: "hub_turn_tampered" });
    of = { ...of, version: of.version + 1 };
    await (await web1.take("person", { of, begins: true, own: null })).end(`${generation} 1`);
    for (const [index, each] of [web2, web1, web2].entries()) {
      const turn = await each.take("person", { of, begins: false, own: null });
      assert.equal(turn.refreshToken, `${generation} ${index + 1}`);
      await turn.end(`${generation} ${index + 2}`);
    }
  }
});

/** What web3 says of a secret that no operator gave. */
function sayOf(of: SecretName, { gateway, generation } = { gateway: "web3", generation: 9 }): TurnRow {
  const word = { gateway, state: "free", cut: false, sealed: Buffer.from('{"refresh_token":"x"}') } as const;
  const place = { hubId: "hub", vaultId: "vault", place: "person" };
  const { text, signature } = signTurn(place, { ...word, of, generation }, identity);
  return { generation: String(generation), statement: text, signature, sealed: word.sealed };
}

test("a secret of a time to come is nobody's word, and keeps no gateway from the one that an operator gives", async () => {
  const times = ["2999-01-01T00:00:00.000Z", "2026-01-01T00:02:00.001Z", "zzz", "2025-1-1", "", 7, null];
  const named = times.map((addedAt) => ({ addedAt, version: 1 }) as SecretName);
  named.push(...[0, 0.5, "2", 2 ** 53, null].map((version) => ({ ...first, version }) as SecretName));
  for (const of of named) {
    const { held, connection } = makeRow();
    const before = { generation: 9, digest: "sha256:x", of };
    const [web1, web2] = [gatewayOn(connection, "web1"), gatewayOn(connection, "web2", before)];
    await (await web1.take("person", { of: first, begins: true, own: null })).end("token 1");
    held.row = sayOf(of);
    const refused = { code: "hub_turn_tampered" };
    for (const each of [web1, web2])
      await assert.rejects(each.take("person", { of: first, begins: false, own: null }), refused, JSON.stringify(of));
    const next = { ...first, version: 2 };
    await (await web1.take("person", { of: next, begins: true, own: null })).end("token 2");
    assert.equal((await web2.take("person", { of: next, begins: false, own: null })).refreshToken, "token 2");
  }
});

test("what a gateway signed of a secret that the vault does not have is forgotten with its right to lend it", async () => {
  const { held, connection } = makeRow();
  const gone = new Set<string>();
  const [web1, web2] = [gatewayOn(connection, "web1", null, gone), gatewayOn(connection, "web2", null, gone)];
  await (await web1.take("person", { of: first, begins: true, own: null })).end("token 1");
  await (await web2.take("person", { of: first, begins: false, own: null })).end("token 2");
  for (const of of [
    { ...first, version: 1_000_000 },
    { addedAt: "2026-01-01T00:01:59.000Z", version: 1 },
  ]) {
    held.row = sayOf(of);
    const asked = { of: first, begins: false, own: null };
    for (const each of [web1, web2]) await assert.rejects(each.take("person", asked), { code: "gateway_behind" });
  }
  gone.add("web3");
  const next = { ...first, version: 2 };
  for (const each of [web1, web2])
    await assert.rejects(each.take("person", { of: next, begins: false, own: null }), { code: "hub_turn_tampered" });
  await (await web1.take("person", { of: next, begins: true, own: null })).end("token 3");
  assert.equal((await web2.take("person", { of: next, begins: false, own: null })).refreshToken, "token 3");
});

test("an end that came to be written after nobody waited for it any more is the gateway's own, and a copy's is not", async () => {
  const { held, connection } = makeRow();
  /** Of two ends the first gets no answer; it, or what a copy of this host says in its place, is there before the second. */
  const slow = (before: (firstEnd: () => Promise<unknown>) => unknown): HubConnection => {
    let firstEnd: (() => Promise<unknown>) | null = null;
    return {
      ...connection,
      async ask<Row extends object>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
        const isEnd = !text.startsWith("select generation") && String(values[4]).includes('"state":"free"');
        if (isEnd && firstEnd === null) {
          firstEnd = () => connection.ask(text, values);
          throw new Denied("hub_unreachable", "no answer in time");
        }
        if (isEnd) await before(firstEnd ?? assert.fail);
        return connection.ask<Row>(text, values);
      },
    };
  };
  const own = slow((firstEnd) => firstEnd());
  await (await gatewayOn(own, "web1").take("person", { of: first, begins: true, own: "token 1" })).end("token 2");
  const next = await gatewayOn(connection, "web2").take("person", { of: first, begins: false, own: null });
  assert.equal(next.refreshToken, "token 2");
  await next.end("token 3");
  const copied = slow(() => {
    held.row = sayOf(first, { gateway: "web1", generation: Number(held.row?.generation) + 1 });
  });
  const turn = await gatewayOn(copied, "web1").take("person", { of: first, begins: false, own: null });
  await assert.rejects(turn.end("token 4"), { code: "hub_forked" });
});
