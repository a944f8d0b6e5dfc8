import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { addCredential } from "./credential.ts";
import { founding, ORIGIN, ports, secret, withTokens } from "./testing/fixture.ts";
import { vaultPage } from "./verify.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(folder, { recursive: true }));
const start = await founding();
const token = `tok-${randomBytes(16).toString("hex")}`;
const pair = `user-${randomBytes(8).toString("hex")}:${randomBytes(12).toString("hex")}`;
const withToken = await withTokens(start, { acme: token });
const basic = { label: "basic", kind: "basic", boundTo: [ORIGIN], eachUse: false, secret: secret(pair) } as const;
const vault = await addCredential(withToken, start.operator, basic, ports);
const vaultPath = join(folder, "vault.json");
const keyPath = join(folder, "key");
writeFileSync(vaultPath, vaultPage(vault), { mode: 0o600 });
start.operator.serviceKey.use((bytes) => writeFileSync(keyPath, bytes, { mode: 0o600 }));

const serviceKey = start.operator.serviceKey.use((bytes) => Buffer.from(bytes));
const needles: Readonly<Record<string, Buffer>> = {
  token: Buffer.from(token),
  "token as UTF-16": Buffer.from(token, "utf16le"),
  pair: Buffer.from(pair),
  "pair in base64": Buffer.from(Buffer.from(pair).toString("base64")),
  "service key": serviceKey,
};

/** How often each needle stands in the memory of a process that borrowed both secrets two hundred times. */
async function findIn(end: "release" | "hold" | "lock"): Promise<Record<string, number>> {
  const script = join(import.meta.dirname, "testing/borrow.ts");
  const child = spawn(process.execPath, [script, vaultPath, keyPath, ORIGIN, end], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const found = Object.fromEntries(Object.keys(needles).map((name) => [name, 0]));
  const overlap = Math.max(...Object.values(needles).map((needle) => needle.length)) - 1;
  let rest = Buffer.alloc(0);
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    const window = Buffer.concat([rest, chunk]);
    for (const [name, needle] of Object.entries(needles)) {
      for (let at = window.indexOf(needle); at >= 0; at = window.indexOf(needle, at + 1)) {
        if (at + needle.length > rest.length) found[name] = (found[name] ?? 0) + 1;
      }
    }
    rest = Buffer.from(window.subarray(Math.max(0, window.length - overlap)));
  }
  assert.deepEqual(await exited, [0, null]);
  return found;
}

const skip = existsSync("/proc/self/mem") ? false : "this system shows no process memory";

test("a held loan is in memory: the search finds what is there", { skip }, async () => {
  const found = await findIn("hold");
  assert.ok((found["token"] ?? 0) > 0 && (found["pair in base64"] ?? 0) > 0);
});

test("after release no plaintext of a lent secret remains in the memory of the process", { skip }, async () => {
  const { "service key": _kept, ...left } = await findIn("release");
  assert.deepEqual(left, { token: 0, "token as UTF-16": 0, pair: 0, "pair in base64": 0 });
});

test("after locking the service key is gone as well", { skip }, async () => {
  const found = await findIn("lock");
  assert.deepEqual(found, { token: 0, "token as UTF-16": 0, pair: 0, "pair in base64": 0, "service key": 0 });
});
