import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createClock, systemRandom, systemSleep } from "../../../src/adapters/platform/system.ts";
import { Secret } from "../../../src/kernel/secret.ts";
import { signMessage } from "../../../src/vault/signature/sign.ts";
import { type Reference, startReference } from "../src/start.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const folder = mkdtempSync(join(tmpdir(), "gw-signed-"));
let reference: Reference;
let nonces = 0;

before(async () => {
  reference = await startReference({
    port: 0,
    file: join(folder, "reference.db"),
    clock: createClock(),
    random: systemRandom,
    sleep: systemSleep,
    signerKey: publicKey.export({ type: "spki", format: "pem" }).toString(),
  });
});

after(async () => {
  await reference?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Change {
  readonly path?: string;
  readonly body?: string;
  readonly atMs?: number;
  readonly keyId?: string;
  readonly nonce?: string;
  readonly drop?: string;
}

/** Signs one request and sends another that differs as said. */
async function ask(change: Change = {}): Promise<number> {
  const url = `${reference.origin}/v1/reports`;
  const body = JSON.stringify({ account: "acme", range: { start: "2026-01-01", end: "2026-01-31" }, format: "csv" });
  const headers = { "content-type": "application/json", "idempotency-key": `key-of-the-test-${++nonces}` };
  using key = Secret.fromText(privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  const nonce = change.nonce ?? `nonce-${nonces}`;
  const atMs = change.atMs ?? Date.now();
  const about = {
    method: "POST",
    url,
    headers,
    body: Buffer.from(body),
    atMs,
    scheme: "http-signature",
    nonce,
  } as const;
  const signed = signMessage(about, change.keyId ?? "robot", key, nonce)
    .map(({ name, value }) => [name, value.use(String)] as const)
    .filter(([name]) => name !== change.drop);
  const response = await fetch(`${reference.origin}${change.path ?? "/v1/reports"}`, {
    method: "POST",
    headers: { ...headers, ...Object.fromEntries(signed) },
    body: change.body ?? body,
  });
  await response.arrayBuffer();
  return response.status;
}

test("a signed request is taken; one that differs from what was signed, is old, or came before is refused", async () => {
  assert.equal(await ask({ nonce: "once" }), 202);
  const rows: readonly (readonly [string, Change])[] = [
    ["came before", { nonce: "once" }],
    ["another address", { path: "/v1/reports?x=1" }],
    [
      "another body",
      { body: JSON.stringify({ account: "acme", range: { start: "2026-01-01", end: "2026-01-30" }, format: "csv" }) },
    ],
    ["too old", { atMs: Date.now() - 600_000 }],
    ["from the future", { atMs: Date.now() + 600_000 }],
    ["a key nobody knows", { keyId: "somebody" }],
    ["no digest of the body", { drop: "content-digest" }],
    ["no signature", { drop: "signature" }],
  ];
  for (const [why, change] of rows) assert.equal(await ask(change), 401, why);
});
