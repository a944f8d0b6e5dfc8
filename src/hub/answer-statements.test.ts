import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { rawPublicOf } from "../audit/keys/raw.ts";
import { Denied } from "../kernel/failure.ts";
import { answerStatements } from "./answer-statements.ts";
import type { HubConnection } from "./connect.ts";
import { type AnswerStatement, readHubStatement } from "./statement.ts";

const { privateKey: key } = generateKeyPairSync("ed25519");

test("a statement that meets a fault of the gateway is answered as one, and keeps none after it waiting", async () => {
  const answers = new Map<string, string | null>();
  const connection = {
    async ask(text: string, [, id, answer, signature]: readonly unknown[]) {
      if (text.startsWith("select")) return ["broken", "denied", "fine"].map((body, at) => ({ id: `hst_${at}`, body }));
      const signed = { text: String(answer), signature: signature as Buffer };
      const said = readHubStatement<AnswerStatement>(signed, "gw.hub-answer/v1", rawPublicOf("ed25519", key));
      answers.set(String(id), said?.code === undefined ? "not signed" : said.code);
      return [];
    },
  } as unknown as HubConnection;
  const refused: (readonly [string, string])[] = [];
  const answering = {
    ...{ hubId: "hub_1", gateway: "web1", key, unsaid: new Map() },
    async refuse(kind: string, body: string, error: unknown) {
      refused.push([kind, body]);
      return error instanceof Denied ? error : new Denied("internal_fault", "a fault");
    },
  };
  await answerStatements(connection, answering, "unlock", async (body) => {
    if (body === "broken") throw new TypeError("of our own");
    if (body === "denied") throw new Denied("signature_invalid", "no");
    return "unlocked";
  });
  assert.deepEqual([...answers.values()], ["internal_fault", "signature_invalid", null]);
  assert.deepEqual(refused, [
    ["unlock", "broken"],
    ["unlock", "denied"],
  ]);
});
