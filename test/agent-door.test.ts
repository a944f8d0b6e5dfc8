import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { readPlainHead } from "../packages/request/src/plain-request.ts";
import type { LiveCaller } from "../src/gateway/ports.ts";
import { defaults } from "../src/kernel/defaults.ts";
import { listenForAgents } from "../src/programs/daemon/agent-listener.ts";
import type { AgentContext } from "../src/surfaces/agent/context.ts";
import { planeRoute } from "../src/surfaces/plane/route.ts";
import { JSON_TYPE } from "./support/requests/hostile/entry.ts";
import { messages } from "./support/requests/messages.ts";

const skip = process.platform === "linux" ? false : "these sockets are Linux's";
/** More than any kernel keeps for one that does not read, a few times over. */
const LARGE = 2_000_000;

/** Hands the connection to node:http, which has it from then on. */
const NOT_PLAIN = "GET /v1/things/first HTTP/1.1\r\nHost: gw\r\nX-Any: thing\r\n\r\n";
const WAYS = ["plain", "general"] as const;

const folder = mkdtempSync(join(tmpdir(), "gw-"));
const path = join(folder, "agent.sock");
const records: { record: unknown; correlationId: string; denied: string | null; body: unknown }[] = [];
const faults: unknown[] = [];
/** What the held requests wait for, oldest first. */
const held: (() => void)[] = [];
let gone = 0;
let large = 0;
let next = 0;
let listener: { close(): void };

const caller = {
  key: "caller",
  check: () => ({ kind: "same" }),
  onExit: () => undefined,
  close: () => undefined,
} as unknown as LiveCaller;

async function* noLines(): AsyncGenerator<never> {}

const about = { summary: "", answers: {} } as never;
const open = (): string => "everybody";
const id = { type: "object", required: ["id"], properties: { id: { type: "string" } } } as const;

const routes = [
  planeRoute<AgentContext, never>(
    { method: "GET", path: "/v1/things/{id}", params: id, body: { kind: "none" } } as never,
    about,
    (command: { params: { id: string } }, { waitMs, traceparent }) => {
      return { status: 200, body: { ...command.params, waitMs, traceparent } };
    },
    open,
  ),
  planeRoute<AgentContext, never>(
    {
      method: "POST",
      path: "/v1/things",
      body: { kind: "json", maxBytes: 4_096, schema: { type: "object", properties: { name: { type: "string" } } } },
    } as never,
    about,
    (command: { body: { name?: string } }) => ({ status: 201, body: { ...command.body } }),
    open,
  ),
  planeRoute<AgentContext, never>(
    { method: "GET", path: "/v1/unfit/{id}", params: id, body: { kind: "none" } } as never,
    about,
    ({ params }: { params: { id: string } }) => {
      const headers = { location: "/v1/things/1\r\nx-added: yes" };
      return { status: 200, body: params, headers, ...(params.id === "lines" ? { more: noLines() } : {}) };
    },
    open,
  ),
  planeRoute<AgentContext, never>(
    { method: "DELETE", path: "/v1/things/{id}", params: id, body: { kind: "none" } } as never,
    about,
    () => ({ status: 204 }),
    open,
  ),
  planeRoute<AgentContext, never>(
    { method: "GET", path: "/v1/large", body: { kind: "none" } } as never,
    about,
    () => {
      large++;
      return { status: 200, body: "x".repeat(LARGE) };
    },
    open,
  ),
  planeRoute<AgentContext, never>(
    { method: "GET", path: "/v1/held/{id}", params: id, body: { kind: "none" } } as never,
    about,
    async (command: { params: { id: string } }, { onGone }) => {
      onGone(() => gone++);
      await new Promise<void>((resolve) => held.push(resolve));
      return { status: 200, body: command.params };
    },
    open,
  ),
];

before(async () => {
  listener = await listenForAgents({
    socket: { path, group: null },
    callers: { identify: () => Promise.resolve(caller), close: () => undefined },
    routes,
    upgrade: async ({ socket }) => void socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
    standingOf: () => "approved",
    correlationId: () => `corr-${String(next++).padStart(8, "0")}`,
    onRecord: (record, { correlationId, denied, body }) => {
      records.push({ record, correlationId, denied: denied?.code ?? null, body: body() });
    },
    onFault: (error) => void faults.push(error),
    onRefused: () => undefined,
    connections: 64,
  });
});

after(() => {
  listener.close();
  rmSync(folder, { recursive: true });
});

class Client {
  text = "";
  closed = false;
  readonly socket: Socket;
  #news: () => void = () => undefined;
  constructor() {
    this.socket = connect({ path, allowHalfOpen: true });
    this.socket.on("error", () => undefined);
    this.socket.on("data", (bytes) => {
      this.text += bytes.toString("latin1");
      this.#news();
    });
    this.socket.on("end", () => this.socket.end());
    this.socket.on("close", () => {
      this.closed = true;
      this.#news();
    });
  }
  write(text: string): void {
    this.socket.write(Buffer.from(text, "latin1"));
  }
  async until(isThere: () => boolean): Promise<void> {
    while (!isThere() && !this.closed) await new Promise<void>((resolve) => (this.#news = resolve));
  }
  statuses(): readonly string[] {
    return this.text
      .split("HTTP/1.1 ")
      .slice(1)
      .map((answer) => answer.slice(0, 3));
  }
  answers(): number {
    return this.statuses().length;
  }
  /** The newest of so many answers, with its whole body. */
  isWhole(answers: number): boolean {
    const newest = this.text.slice(this.text.lastIndexOf("HTTP/1.1 "));
    const [head = "", body] = newest.split("\r\n\r\n");
    return this.answers() === answers && body?.length === Number(/^content-length: (\d+)/im.exec(head)?.[1]);
  }
}

async function visit(way: (typeof WAYS)[number]): Promise<Client> {
  const client = new Client();
  if (way === "plain") return client;
  client.write(NOT_PLAIN);
  await client.until(() => client.text.includes('"first"'));
  client.text = "";
  return client;
}

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: gw\r\n\r\n`;

/** When this is answered, whatever was written to the listener before it has been looked at. */
async function roundTrip(): Promise<void> {
  const other = new Client();
  other.write(get("/v1/things/barrier"));
  await other.until(() => other.answers() === 1);
  other.socket.destroy();
}

async function hold(client: Client): Promise<() => void> {
  const before = held.length;
  client.write(get("/v1/held/one"));
  while (held.length === before) await roundTrip();
  return held.pop() ?? assert.fail("nothing is held");
}

for (const way of WAYS) {
  test(`a reply that no field can hold is our mistake, and the next is answered as ever (${way})`, {
    skip,
  }, async () => {
    const client = await visit(way);
    const before = faults.length;
    for (const [at, target] of ["/v1/unfit/one", "/v1/unfit/lines", "/v1/things/next"].entries()) {
      client.write(get(target));
      await client.until(() => client.isWhole(at + 1));
    }
    assert.deepEqual(client.statuses(), ["500", "500", "200"]);
    assert.ok(!client.text.includes("x-added"));
    assert.equal(faults.splice(before).length, 2);
    client.socket.destroy();
  });

  test(`a reply without content has no length, and the next follows it (${way})`, { skip }, async () => {
    const client = await visit(way);
    client.write("DELETE /v1/things/1 HTTP/1.1\r\nHost: gw\r\n\r\n");
    await client.until(() => client.text.endsWith("\r\n\r\n"));
    assert.doesNotMatch(client.text, /content-length|transfer-encoding/i);
    client.write(get("/v1/things/next"));
    await client.until(() => client.isWhole(2));
    assert.deepEqual(client.statuses(), ["204", "200"]);
    client.socket.destroy();
  });

  test(`whoever does not read the answers is not served without end, and loses none (${way})`, { skip }, async () => {
    const client = await visit(way);
    const asked = 12;
    const before = large;
    client.socket.pause();
    for (let count = 0; count < asked; count++) {
      client.write(get("/v1/large"));
      await roundTrip();
    }
    assert.ok(large - before <= 9, `${large - before} answers were made`);
    client.socket.resume();
    await client.until(() => client.text.length > asked * LARGE);
    assert.deepEqual([client.answers(), large - before], [asked, asked]);
    client.socket.destroy();
  });

  test(`an interim answer does not overtake the answer before it (${way})`, { skip }, async () => {
    const client = await visit(way);
    const release = await hold(client);
    client.write(
      `POST /v1/things HTTP/1.1\r\nHost: gw\r\n${JSON_TYPE}\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`,
    );
    await roundTrip();
    assert.equal(client.text, "");
    release();
    await client.until(() => client.answers() === 2);
    client.write("{}");
    await client.until(() => client.answers() === 3);
    assert.deepEqual(client.statuses(), ["200", "100", "201"]);
    client.socket.destroy();
  });

  test(`what comes while the first waits is answered after it, in turn (${way})`, { skip }, async () => {
    const client = await visit(way);
    const release = await hold(client);
    client.write(get("/v1/things/two"));
    await roundTrip();
    client.write(get("/v1/nothing") + get("/v1/things/four"));
    await roundTrip();
    assert.equal(client.text, "");
    release();
    await client.until(() => client.answers() === 4);
    assert.deepEqual(client.statuses(), ["200", "200", "404", "200"]);
    client.socket.destroy();
  });

  test(`whoever sends without end behind a request that waits is let go (${way})`, { skip }, async () => {
    const client = await visit(way);
    const release = await hold(client);
    const before = records.length;
    client.write(get("/v1/things/two").repeat(defaults.planeUnanswered));
    await client.until(() => false);
    release();
    assert.equal(client.text, "");
    await roundTrip();
    const refused = records.slice(before).filter(({ denied }) => denied === "too_many_requests");
    assert.equal(refused.length, 1, JSON.stringify(records.slice(before)));
  });

  test(`whoever hangs up or half of it while a request waits is gone, whatever it wrote behind (${way})`, {
    skip,
  }, async () => {
    for (const behind of ["", get("/v1/things/two"), get("/v1/held/behind")]) {
      for (const leave of ["end", "destroy"] as const) {
        const client = await visit(way);
        const release = await hold(client);
        const before = gone;
        client.write(behind);
        await roundTrip();
        client.socket[leave]();
        while (gone === before) await roundTrip();
        const begun = held.length;
        release();
        await client.until(() => false);
        assert.equal(client.text, "", `${leave} after ${JSON.stringify(behind)}`);
        await roundTrip();
        assert.equal(held.length, begun, "nothing is begun that could not be answered");
      }
    }
  });
}

/** The last of every conversation: whatever came before it, the connection ends. */
const LAST = `GET /v1/things/last HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n\r\n${"\0".repeat(8_192)}`;

function isTaken(text: string): boolean {
  const head = readPlainHead(Buffer.from(text, "latin1"), defaults.agentHeaderBytes);
  return head !== null && head.headBytes + head.bodyBytes === text.length;
}

async function converse(way: (typeof WAYS)[number], messages: readonly string[]) {
  const client = await visit(way);
  const from = records.length;
  const plainly = messages.findIndex((text) => !isTaken(text));
  const alone = plainly < 0 ? messages : messages.slice(0, plainly);
  for (const [index, text] of alone.entries()) {
    client.write(text);
    await client.until(() => client.isWhole(index + 1));
  }
  client.write(messages.slice(alone.length).join("") + LAST);
  await client.until(() => false);
  await roundTrip();
  const told = records.slice(from, -1);
  for (const { correlationId, denied } of told.slice(0, alone.length))
    assert.ok(denied === null || client.text.includes(correlationId), client.text);
  return {
    answers: client.text
      .replace(/^[A-Za-z-]+:/gm, (name) => name.toLowerCase())
      .replace(/^date: .*\r\n/gm, "")
      .replace(/corr-\d{8}/g, "corr"),
    told: told.map(({ correlationId: _, ...rest }) => rest),
  };
}

test("a conversation has the same answers and the same records, read plainly or by node:http", { skip }, async () => {
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(messages, async (messages) => {
      if (messages.some(isTaken)) taken++;
      assert.deepEqual(await converse("plain", messages), await converse("general", messages));
    }),
    { numRuns: 150 },
  );
  assert.ok(taken > 20, `only ${taken} conversations had a plain request`);
  assert.deepEqual(faults, []);
});
