import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { test } from "node:test";
import { rawPublicOf } from "../../../audit/keys/raw.ts";
import { sealCard } from "../../../hub/card.ts";
import { SESSIONS } from "../../../hub/schema.ts";
import { signHubWith } from "../../../hub/statement.ts";
import { digestText } from "../../../kernel/canonical-json.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import type { CliDeps } from "../commands/deps.ts";
import { sessionOf } from "../watch/testing/session.ts";
import { revokeOnHub } from "./revoke.ts";

const [hubId, vaultId] = ["hub_1", "vlt_1"];
const own = generateKeyPairSync("ed25519").privateKey;
const reading = generateKeyPairSync("x25519");
const operator = {
  ...{ name: "ada", keyId: "ada", vaultId, readingKey: reading.privateKey },
  approver: { keyId: "ada", sign: (bytes: Buffer) => sign(null, bytes, own) },
};
const readers = [{ keyId: "ada", readingKey: rawPublicOf("x25519", reading.publicKey) }];
const random = { bytes: randomBytes };

interface Host {
  readonly name: string;
  /** Whether its signed list names the session. */
  readonly shows?: boolean;
  /** Whether the database heard of it a moment ago. */
  readonly lives?: boolean;
  /** What it answers: null for done, undefined for nothing at all. */
  readonly code?: string | null;
}

/** What the operator is told, where the gateways of the vault are and answer like this. */
async function revoke(...hosts: readonly Host[]): Promise<string | null> {
  const known = hosts.map((host) => {
    const identity = generateKeyPairSync("ed25519").privateKey;
    const speaker = {
      ...{ hubId, vaultId, gateway: host.name, logId: "", joinedAt: "" },
      identityKey: rawPublicOf("ed25519", identity),
    };
    return { ...host, identity, speaker };
  });
  const said = new Map<string, { readonly gateway: string; readonly body: string }>();
  const answers: Readonly<Record<string, (values: readonly unknown[]) => readonly object[]>> = {
    cards: () =>
      known
        .filter(({ shows }) => shows === true)
        .map(({ name, identity }) => {
          const place = { hub_id: hubId, gateway: name, approval_id: SESSIONS, vault_id: vaultId };
          const content = { sessions: [sessionOf("ses_1")], live: 1 } as unknown as JsonObject;
          const { sealed, signed } = sealCard(place, content, readers, identity, random);
          const told = { sealed, statement: signed.text, signature: signed.signature, unread: null };
          return { gateway: name, approval_id: SESSIONS, ...told };
        }),
    log_head: () => known.filter(({ lives }) => lives !== false).map(({ name }) => ({ gateway: name })),
    statements: (values) => {
      if (values.length > 1) {
        const [id, gateway, body] = values.map(String);
        said.set(String(id), { gateway: String(gateway), body: String(body) });
        return [];
      }
      return [...said].flatMap(([id, { gateway, body }]) => {
        const host = known.find(({ name }) => name === gateway);
        if (host?.code === undefined) return [];
        const place = {
          format: "gw.hub-answer/v1",
          hub_id: hubId,
          gateway,
          id,
          body_digest: digestText(body),
        } as const;
        const { text, signature } = signHubWith({ ...place, code: host.code, message: "ended" }, host.identity);
        return [{ id, answer: text, answer_signature: signature }];
      });
    },
  };
  const connection = {
    hubId,
    ask: async (text: string, values: readonly unknown[] = []) => {
      const [, table = ""] = /gw_hub\.(\w+)/.exec(text) ?? [];
      return answers[table]?.(values) ?? assert.fail(text);
    },
    listen: async () => () => undefined,
  };
  let nowMs = 0;
  const clock = { bootMs: () => nowMs, wallMs: () => 0 };
  const sleep = {
    sleep: async (ms: number) => {
      nowMs += ms;
    },
  };
  const hub = { connection, operator, speakers: known.map(({ speaker }) => speaker) };
  return await revokeOnHub(hub as unknown as Parameters<typeof revokeOnHub>[0], "ses_1", null, {
    clock,
    random,
    sleep,
  } as unknown as CliDeps);
}

const not = "not_found";
const refused = (code: string) => (error: unknown) => error instanceof Denied && error.code === code;

test("an owned gateway does not claim to have ended what another has", async () => {
  const owned = { name: "a", code: null };
  assert.equal(await revoke(owned, { name: "b", shows: true }), null, "the one that shows it says nothing");
  assert.equal(await revoke(owned, { name: "b", shows: true, lives: false }), null, "and its log stands still too");
  assert.equal(await revoke({ ...owned, shows: true }, { name: "b", shows: true }), null, "shown by both");
  assert.equal(await revoke({ ...owned, shows: true }, { name: "b" }), null, "not among the newest of the other");
  assert.equal(await revoke(owned, { name: "b" }), null, "shown by nobody");
  await assert.rejects(
    revoke(owned, { name: "b", shows: true, code: "operator_unknown" }),
    refused("operator_unknown"),
  );
  await assert.rejects(revoke(owned, { name: "b", shows: true, code: not }), refused(not));
});

test("a session has ended when its gateway says so, and nobody waits for one that died", async () => {
  const own = { name: "b", shows: true, code: null };
  assert.equal(await revoke({ name: "a", code: not }, own), "ended");
  assert.equal(await revoke({ name: "a", code: not }, { ...own, shows: false }), "ended", "not among its newest");
  assert.equal(await revoke({ name: "a", lives: false }, own), "ended");
  assert.equal(
    await revoke({ name: "a", code: "operator_unknown" }, own),
    "ended",
    "another's refusal is not about it",
  );
  await assert.rejects(
    revoke({ name: "a", code: not }, { name: "b", code: not }),
    (error: Error) => refused(not)(error) && error.message.includes("gw sessions --hub"),
  );
  assert.equal(await revoke({ name: "a", code: not }, { name: "b", lives: false }), null, "whoever had it may be back");
});
