import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TestContext } from "node:test";
import { systemRandom } from "../../../src/adapters/platform/system.ts";
import { type ManualTime, manualTime } from "../../../test/support/clock.ts";
import { allScopes, type Reference, type ReferenceOptions, startReference } from "../src/start.ts";
import type { TokenRequest } from "../src/tokens/keys.ts";

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever came back
  readonly body: any;
  readonly text: string;
}

export interface Asked {
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Sent as it is; objects become JSON with their type. */
  readonly body?: unknown;
  readonly key?: string | null;
  readonly signal?: AbortSignal;
}

export interface Stand {
  readonly reference: Reference;
  readonly time: ManualTime;
  readonly file: string;
  readonly token: string;
  ask(method: string, path: string, asked?: Asked): Promise<Reply>;
  tokenFor(request?: Partial<TokenRequest>): Promise<string>;
  arm(fault: string, more?: object): Promise<void>;
  /** Every row of every table, as it stands in the file. */
  dump(): Readonly<Record<string, string>>;
}

/** A provider of its own for a test, on time that the test moves by hand. */
export async function startStand(t: TestContext, options: Partial<ReferenceOptions> = {}): Promise<Stand> {
  const folder = mkdtempSync(join(tmpdir(), "gw-reference-"));
  const time = manualTime();
  const file = options.file ?? join(folder, "reference.db");
  if (!existsSync(file)) await writeSeeded(file);
  const reference = await startReference({
    ...{ port: 0, file, clock: time.clock, sleep: time.sleep, random: systemRandom, faults: true },
    onFault: (error) => {
      throw error;
    },
    ...options,
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 128 });
  t.after(async () => {
    agent.destroy();
    await reference.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const scopes = [...allScopes, "control"];
  const tokenFor = (wanted: Partial<TokenRequest> = {}) =>
    reference.issueToken({ actor: "robot", tenant: "acme", scopes, ...wanted });
  const token = await tokenFor();
  const ask = (method: string, path: string, asked: Asked = {}) =>
    send(agent, reference.origin, method, path, { token, ...asked });
  return {
    ...{ reference, time, file, token, ask, tokenFor },
    async arm(fault, more = {}) {
      const reply = await ask("POST", "/control/faults", { body: { fault, ...more } });
      if (reply.status !== 200) throw new Error(`could not arm ${fault}: ${reply.text}`);
    },
    dump: () => dumpFile(file),
  };
}

let seeded: Promise<Buffer> | undefined;

/** The database of a provider that was never started: its tenants take longer to make than most tests. Its keys are made at its start. */
export async function writeSeeded(file: string): Promise<void> {
  seeded ??= makeSeeded();
  writeFileSync(file, await seeded, { mode: 0o600 });
}

async function makeSeeded(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), "gw-reference-"));
  const file = join(folder, "reference.db");
  const { clock, sleep } = manualTime();
  await (await startReference({ port: 0, file, clock, sleep, random: systemRandom })).close();
  const db = new DatabaseSync(file);
  db.exec("delete from settings where name in ('token_key', 'webhook_key')");
  db.close();
  const bytes = readFileSync(file);
  rmSync(folder, { recursive: true });
  return bytes;
}

export function send(agent: Agent, origin: string, method: string, path: string, asked: Asked): Promise<Reply> {
  const { token, body, key, headers = {}, signal } = asked;
  const isJson = typeof body === "object" && body !== null && !Buffer.isBuffer(body);
  const bytes = body === undefined ? undefined : isJson ? JSON.stringify(body) : (body as string | Buffer);
  const all: Record<string, string | string[]> = {
    ...(token == null ? {} : { authorization: `Bearer ${token}` }),
    ...(isJson ? { "content-type": "application/json" } : {}),
    ...(key === null || method === "GET" ? {} : { "idempotency-key": key ?? randomUUID() }),
    ...(bytes === undefined ? {} : { "content-length": String(Buffer.byteLength(bytes)) }),
    ...(headers as Record<string, string | string[]>),
  };
  return new Promise((resolve, reject) => {
    const sent = request(origin + path, { method, agent, headers: all, ...(signal ? { signal } : {}) }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body: readJson(text) });
      });
    });
    sent.on("error", reject);
    sent.end(bytes);
  });
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Tables by a pattern of their names. */
export function dumpFile(file: string, which = "*"): Readonly<Record<string, string>> {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const tables = db
      .prepare("select name from sqlite_master where type = 'table' and name glob ? order by name")
      .all(which);
    return Object.fromEntries(
      tables.map(({ name }) => [String(name), JSON.stringify(db.prepare(`select * from "${String(name)}"`).all())]),
    );
  } finally {
    db.close();
  }
}

/** How many replies had each status. */
export function countStatuses(replies: readonly Reply[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
