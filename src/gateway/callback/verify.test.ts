import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import type { CallbackRule } from "../../conventions/callback/callback.ts";
import { signWebhook } from "../../conventions/callback/standard-webhooks.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CallbackNeeds } from "./needs.ts";
import { verify } from "./verify.ts";

const KEY = Buffer.alloc(32, 7);
const NOW_S = 1_790_000_000;
const BODY = JSON.stringify({ job_id: "job-1" });
const denies = (code: string) => (error: unknown) => error instanceof Denied && error.code === code;

/** One pack with this rule, and what was lent for it. */
function stand(scheme: CallbackRule["scheme"], eventId: CallbackRule["eventId"]) {
  const lent: string[] = [];
  const rule: CallbackRule = { scheme, credential: "hook", eventId, jobId: "/job_id" };
  const pack = { name: "acme", provider: { callbacks: rule } };
  const core = {
    ports: { clock: { wallMs: () => NOW_S * 1_000 } },
    packs: () => ({ all: () => [{ pack }] }),
    credentials: () => ({
      lendHmac(label: string, forPack: string, notation: string) {
        lent.push(`${label} ${forPack} ${notation}`);
        const mac = (hash: string, data: Buffer) => createHmac(hash, KEY).update(data).digest();
        return { label, mac, release: () => void lent.push("released") };
      },
    }),
  } as unknown as CallbackNeeds;
  return { core, lent };
}

test("the secret is lent as its scheme writes it, for one check, however that ends", () => {
  const standard = stand({ kind: "standard_webhooks" }, { kind: "scheme" });
  const { id, timestamp, signature } = signWebhook(KEY, "evt-1", NOW_S, BODY);
  const fields = ["webhook-id", id, "webhook-timestamp", timestamp, "webhook-signature", signature];
  const honest = { rawHeaders: fields, body: Buffer.from(BODY) };
  assert.equal(verify(standard.core, "acme", honest).notice.jobId, "job-1");
  const forged = { ...honest, body: Buffer.from(`${BODY} `) };
  assert.throws(() => verify(standard.core, "acme", forged), denies("callback_signature_invalid"));
  const once = ["hook acme standard_webhooks", "released"];
  assert.deepEqual(standard.lent, [...once, ...once]);

  const hub = stand(
    { kind: "hmac_sha256", header: "x-sig", prefix: "sha256=", encoding: "hex" },
    { kind: "header", name: "x-id" },
  );
  const mac = createHmac("sha256", KEY).update(BODY).digest("hex");
  const signed = { rawHeaders: ["x-sig", `sha256=${mac}`, "x-id", "1"], body: Buffer.from(BODY) };
  assert.equal(verify(hub.core, "acme", signed).notice.jobId, "job-1");
  assert.deepEqual(hub.lent, ["hook acme text", "released"]);
  assert.throws(() => verify(hub.core, "other", signed), denies("callback_pack_unknown"));
  assert.equal(hub.lent.length, 2, "nothing is lent to a stranger");
});
