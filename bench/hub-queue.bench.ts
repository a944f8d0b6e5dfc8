import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { systemSleep } from "../src/adapters/platform/system.ts";
import { rawPublicOf } from "../src/audit/keys/raw.ts";
import { type RevocationStatement, signStatement, verifyStatement } from "../src/conventions/approval/decision.ts";
import { readHubAddress } from "../src/hub/address.ts";
import { openCard } from "../src/hub/card.ts";
import { connectHub, type HubConnection } from "../src/hub/connect.ts";
import { startQueue, type WaitingCard } from "../src/hub/queue.ts";
import { HUB_CHANNEL, hubSchema } from "../src/hub/schema.ts";
import { type AnswerStatement, readHubStatement } from "../src/hub/statement.ts";
import { findPostgres, makeCluster } from "../test/support/postgres.ts";
import { type Bench, median } from "./bench.ts";

const HUB_ID = "hub_bench";
const VAULT_ID = "vlt_bench";
const ROUNDS = 15;
/** As long as a gateway that has looked waits before it looks again: nobody decides faster than that. */
const READ_MS = 400;

const random = { bytes: (length: number) => randomBytes(length) };
const operator = { signing: generateKeyPairSync("ed25519"), reading: generateKeyPairSync("x25519") };
const keyId = "0".repeat(32);
const operatorKeys = [{ name: "ada", keyId, publicKey: operator.signing.publicKey }];

/** The product's own queue on a connection of its own; only its questions and what a statement does are made up. */
function standIn(name: string, connect: () => Promise<HubConnection>) {
  const { privateKey: identity } = generateKeyPairSync("ed25519");
  let cards: readonly WaitingCard[] = [];
  const queue = startQueue({
    ...{ hubId: HUB_ID, gateway: name, vaultId: VAULT_ID, identity, random, sleep: systemSleep, connect },
    waiting: () => cards,
    readers: () => [{ keyId, readingKey: rawPublicOf("x25519", operator.reading.publicKey) }],
    follow: () => Promise.resolve(),
    takePolicy: () => Promise.reject(new Error("nobody signs a policy here")),
    refuse: (_kind, _body, error) => Promise.reject(error),
    isKnown: () => true,
    take(body) {
      verifyStatement(JSON.parse(body) as never, VAULT_ID, operatorKeys);
      return Promise.resolve("ended");
    },
  });
  return {
    name,
    identityKey: rawPublicOf("ed25519", identity),
    ask(approvalId: string) {
      // About as much as a real card holds.
      const content = () => ({ approval: { approval_id: approvalId, text: "x".repeat(4_000) }, log: {} });
      cards = [{ approvalId, version: approvalId, content }];
      queue.wake();
    },
    close: () => queue.close(),
  };
}

/** What an operator's command does: a signed word for each, and their signed answers. */
async function order(connection: HubConnection, to: readonly ReturnType<typeof standIn>[], woken: () => Promise<void>) {
  const statement: RevocationStatement = {
    format: "gw.revocation/v1",
    vault_id: VAULT_ID,
    session_id: `ses_${randomBytes(8).toString("hex")}`,
    reason: null,
    operator: "ada",
    operator_key_id: keyId,
    decided_at: new Date().toISOString(),
  };
  const approver = { sign: (bytes: Buffer) => sign(null, bytes, operator.signing.privateKey) };
  const body = JSON.stringify(signStatement(statement, approver));
  const asked = to.map(({ name, identityKey }) => ({ id: randomBytes(8).toString("hex"), name, identityKey }));
  await connection.ask(
    `with put as (insert into gw_hub.statements (id, gateway, body) select id, gateway, $3 from unnest($1::text[], $2::text[]) as one (id, gateway)) select pg_notify('${HUB_CHANNEL}', 'statement ' || gateway) from unnest($2::text[]) as each (gateway)`,
    [asked.map(({ id }) => id), asked.map(({ name }) => name), body],
  );
  for (;;) {
    const told = woken();
    const rows = await connection.ask<{ id: string; answer: string; answer_signature: Buffer }>(
      "select id, answer, answer_signature from gw_hub.statements where id = any($1) and answer is not null",
      [asked.map(({ id }) => id)],
    );
    if (rows.length === asked.length) {
      for (const { id, answer: text, answer_signature: signature } of rows) {
        const key = asked.find((one) => one.id === id)?.identityKey ?? Buffer.alloc(0);
        if (readHubStatement<AnswerStatement>({ text, signature }, "gw.hub-answer/v1", key) === undefined)
          throw new TypeError("an answer that nobody signed");
      }
      return;
    }
    await told;
  }
}

async function measure(emit: Parameters<Bench["run"]>[0], programs: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  chmodSync(folder, 0o755);
  const server = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
  const cluster = await makeCluster(programs, folder, server, { connections: 120 });
  const names = Array.from({ length: 50 }, (_, index) => `gw${index}`);
  const close: (() => unknown)[] = [];
  try {
    await cluster.sql(hubSchema.replace("$HUB_ID$", `'${HUB_ID}'`));
    for (const name of names)
      await cluster.sql(
        `create role ${name} login in role gw_gateway; insert into gw_hub.gateways values ('${name}', '${name}', '', '')`,
      );
    await cluster.sql("create role ada login in role gw_operator");
    const connectAs = (user: string) =>
      connectHub({ address: readHubAddress(cluster.url(user)), password: null, authority: null }, HUB_ID);
    const connection = await connectAs("ada");
    close.push(() => connection.close());
    let told = (): void => undefined;
    await connection.listen(() => told());
    const woken = (): Promise<void> =>
      new Promise((resolve) => {
        told = resolve;
      });
    const gateways = names.map((name) => standIn(name, () => connectAs(name)));
    close.push(...gateways.map((one) => one.close));
    await order(connection, gateways, woken);

    const trip: number[] = [];
    for (let round = 0; round < 100; round++) {
      const began = performance.now();
      await connection.ask("select 1");
      trip.push(performance.now() - began);
    }
    const tripMs = median(trip);
    const [first] = gateways;
    if (first === undefined) return;
    const shown: number[] = [];
    const decided: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await pause(READ_MS);
      const id = `apr_${round}`;
      const asked = performance.now();
      first.ask(id);
      await seeCard(connection, first, id, woken);
      shown.push(performance.now() - asked);
      await pause(READ_MS);
      const began = performance.now();
      await order(connection, [first], woken);
      decided.push(performance.now() - began);
    }
    const both = median(shown) + median(decided);
    const beside = "one round trip to that database";
    const unit = "ms";
    emit({
      case: "card sealed, shown and opened, p50",
      value: median(shown),
      unit,
      beside,
      ratio: median(shown) / tripMs,
    });
    emit({
      case: "signed word, verified and answered, p50",
      value: median(decided),
      unit,
      beside,
      ratio: median(decided) / tripMs,
    });
    emit({ case: "question to decision without the person, p50", value: both, unit, beside, ratio: both / tripMs });
    for (const count of [1, 10, 50]) {
      const times: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        await pause(READ_MS);
        const began = performance.now();
        await order(connection, gateways.slice(0, count), woken);
        times.push(performance.now() - began);
      }
      const value = median(times);
      emit({ case: `revocation taken by ${count} of 50 gateways, p50`, value, unit, beside, ratio: value / tripMs });
    }
  } finally {
    for (const one of close) await one();
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function seeCard(
  connection: HubConnection,
  { name, identityKey }: ReturnType<typeof standIn>,
  id: string,
  woken: () => Promise<void>,
): Promise<void> {
  for (;;) {
    const told = woken();
    const [row] = await connection.ask<{ sealed: Buffer; statement: string; signature: Buffer }>(
      "select sealed, statement, signature from gw_hub.cards where gateway = $1 and approval_id = $2",
      [name, id],
    );
    if (row !== undefined) {
      const speaker = { hubId: HUB_ID, gateway: name, vaultId: VAULT_ID, logId: "", identityKey, joinedAt: "" };
      const card = { sealed: row.sealed, signed: { text: row.statement, signature: row.signature } };
      if (openCard(card, speaker, id, { keyId, readingKey: operator.reading.privateKey }) === undefined)
        throw new TypeError("a card that does not open");
      return;
    }
    await told;
  }
}

export const bench: Bench = {
  name: "hub-queue",
  async run(emit) {
    const programs = findPostgres();
    if (programs === null) {
      console.error("hub-queue: Debian's postgresql is not installed; nothing was measured");
      return;
    }
    await measure(emit, programs);
  },
};
