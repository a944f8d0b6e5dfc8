import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
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

const start = async (port: number): Promise<void> => {
  reference = await startReference({
    port,
    file: join(folder, "reference.db"),
    clock: createClock(),
    random: systemRandom,
    sleep: systemSleep,
    signerKey: publicKey.export({ type: "spki", format: "pem" }).toString(),
  });
};

before(() => start(0));

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
  /** Fields as they are signed, and as they arrive. */
  readonly signed?: Fields;
  readonly arrives?: Fields;
}

type Fields = Readonly<Record<string, string>>;

function sign(url: string, headers: Readonly<Record<string, string>>, body: string, change: Change = {}) {
  using key = Secret.fromText(privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  const nonce = change.nonce ?? `nonce-${++nonces}`;
  const atMs = change.atMs ?? Date.now();
  const scheme = "http-signature";
  const about = { method: "POST", url, headers, body: Buffer.from(body), atMs, scheme, nonce } as const;
  return signMessage(about, change.keyId ?? "robot", key, nonce).map(
    ({ name, value }) => [name, value.use(String)] as const,
  );
}

/** As whoever stands in between would send it: with these fields, and without a length if they say none. */
async function pass(path: string, headers: Readonly<Record<string, string>>, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(reference.origin + path, { method: "POST", headers, agent: false }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", reject);
    sent.write(body);
    sent.end();
  });
}

/** Signs one request and sends another that differs as said. */
async function ask(change: Change = {}): Promise<number> {
  const url = `${reference.origin}/v1/reports`;
  const body = JSON.stringify({ account: "acme", range: { start: "2026-01-01", end: "2026-01-31" }, format: "csv" });
  const token = { "idempotency-key": `key-of-the-test-${++nonces}` };
  const headers = { "content-type": "application/json", ...(change.signed ?? token) };
  const signed = sign(url, headers, body, change);
  const sent = Object.entries({ ...headers, ...change.arrives, ...Object.fromEntries(signed) });
  const response = await fetch(`${reference.origin}${change.path ?? "/v1/reports"}`, {
    method: "POST",
    headers: Object.fromEntries(sent.filter(([name]) => name !== change.drop)),
    body: change.body ?? body,
  });
  await response.arrayBuffer();
  return response.status;
}

test("a signed request is taken; one that differs from what was signed, is old, or came before is refused", async () => {
  assert.equal(await ask({ nonce: "once" }), 202);
  const token = { "idempotency-key": "key-beside-other-fields" };
  assert.equal(
    await ask({ signed: { ...token, "x-api-version": "2026-04-01", "x-trace-id": "t", accept: "*/*" } }),
    202,
  );
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
    ["another idempotency token", { arrives: { "idempotency-key": "another-key-of-the-test" } }],
    ["no idempotency token", { drop: "idempotency-key" }],
    ["an idempotency token that nobody signed", { signed: {}, arrives: { "idempotency-key": "key-that-was-put-in" } }],
    ["a condition that nobody signed", { arrives: { "if-match": '"a"' } }],
    ["no condition any more", { signed: { "if-match": '"a"' }, drop: "if-match" }],
    ["another version of the API", { arrives: { "x-api-version": "2026-10-01" } }],
    ["another name for the job", { arrives: { "x-correlation-id": "c" } }],
    ["another trace", { arrives: { "x-trace-id": "t" } }],
    ["another media type", { arrives: { "content-type": "application/json; charset=utf-8" } }],
  ];
  for (const [why, change] of rows) assert.equal(await ask(change), 401, why);
});

const report = (end: string): string =>
  JSON.stringify({ account: "acme", range: { start: "2026-01-01", end }, format: "csv" });

test("a body is the one that was signed, however it is framed", async () => {
  const headers = { "content-type": "application/json", "idempotency-key": "key-of-a-framed-body" };
  const signed = () =>
    Object.fromEntries(sign(`${reference.origin}/v1/reports`, headers, report("2026-01-31"))) as Record<string, string>;
  assert.equal(await pass("/v1/reports", { ...headers, ...signed() }, report("2026-01-30")), 401);
  assert.equal(await pass("/v1/reports", { ...headers, ...signed() }, report("2026-01-31")), 202);
});

test("a file is the one that was signed", async () => {
  const url = `${reference.origin}/v1/artifacts`;
  const headers = { "content-type": "multipart/form-data; boundary=b" };
  const form = (content: string): string =>
    [
      ...["--b", 'Content-Disposition: form-data; name="file"; filename="a"', "", content],
      ...["--b", 'Content-Disposition: form-data; name="manifest"', "", '{"name":"a"}', "--b--", ""],
    ].join("\r\n");
  const send = async (content: string): Promise<number> => {
    const signed = Object.fromEntries(sign(url, headers, form("as signed")));
    const response = await fetch(url, { method: "POST", headers: { ...headers, ...signed }, body: form(content) });
    await response.arrayBuffer();
    return response.status;
  };
  assert.equal(await send("put in its place"), 401);
  assert.equal(await send("as signed"), 201);
});

test("what was signed for another provider is not taken, although it is sent with the name of that one", async () => {
  const headers = { "content-type": "application/json", "idempotency-key": "key-of-another-one" };
  const elsewhere = sign("http://other.example/v1/reports", headers, report("2026-01-31"));
  const sent = { ...headers, ...Object.fromEntries(elsewhere), host: "other.example" };
  assert.equal(await pass("/v1/reports", sent, report("2026-01-31")), 401);
});

test("a signature that was taken before a restart is not taken after it", async () => {
  const headers = { "content-type": "application/json", "idempotency-key": "key-before-a-restart" };
  const body = report("2026-01-31");
  const once = Object.fromEntries(sign(`${reference.origin}/v1/reports`, headers, body)) as Record<string, string>;
  assert.equal(await pass("/v1/reports", { ...headers, ...once }, body), 202);
  const port = Number(new URL(reference.origin).port);
  await reference.close();
  await start(port);
  // The very same one: by its idempotency token alone it would be answered as before.
  assert.equal(await pass("/v1/reports", { ...headers, ...once }, body), 401);
});
