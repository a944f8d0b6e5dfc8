import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  demoPack,
  type Gateway,
  Home,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn, idOf } from "./support/reply.ts";
import { whole } from "./support/whole.ts";

/** Twice as much as there is room for, and more. */
const CALLERS = whole ? 32 : 18;
const RECORD = { name: "a thing", note: "a line of ordinary text, as records have them", tags: ["one", "two"] };
const LARGE = Buffer.from(JSON.stringify(Array.from({ length: 73_000 }, (_, id) => ({ id, ...RECORD }))));
/** Read as JSON it would take more than ten times as much. */
const COSTLY = Buffer.from(`[${"{},".repeat(2_700_000)}{}]`);
/** Half of the room is for one caller. */
const ROOM_OF_ONE = 67_108_864;
/** What one caller's answers may take at once, with all that is made of them on their way, and what the program has without any. */
const BOUND_MIB = 640;
/** The largest that a box sends in memory, and more of them than there is memory for. */
const UPLOAD = "A".repeat(11_000_000);
const UPLOADS = 56;
const UPLOADS_OF_ONE = 8;
/** A large request for the plane, and a small one for the room. */
const NOTE = "n".repeat(300_000);
const HELD = /^gw_answers_bytes ([0-9.e+]+)$/m;

describe("large answers under way share one room", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;
  let run: string;
  const seen = Promise.withResolvers<void>();
  const noted = Promise.withResolvers<void>();
  const connections = new Agent({ keepAlive: true, maxSockets: CALLERS });

  before(async () => {
    provider = await startProvider();
    provider.answer((asked, response) => {
      const large = asked.url.includes("large");
      const body = asked.url.endsWith("costly") ? COSTLY : large ? LARGE : Buffer.from("{}");
      response.writeHead(200, { "content-type": "application/json", "content-length": body.byteLength });
      // The last byte comes when the test has seen what waits meanwhile.
      response.write(body.subarray(0, -1));
      const waits = large ? seen.promise : asked.url.endsWith("notes") ? noted.promise : Promise.resolve();
      void waits.then(() => response.end(body.subarray(-1)));
    });
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack(
      "demo",
      demoPack(
        provider.origin,
        `  thing.all:
    effect: read
    request: { method: GET, path: "/v1/large/{id}" }
    limits: { timeout_s: 600 }
    input:
      id: { in: path, type: string, maxLength: 64 }
  thing.note:
    effect: write
    request: { method: POST, path: /v1/notes, body: application/json }
    limits: { timeout_s: 600 }
    input:
      note: { in: body, type: string, maxLength: 400000, opaque: true }
      number: { in: body, type: integer }
`,
      ),
    );
    gateway = await home.up();
    agent = openPlane(home.agentSocket, 8);
    run = await openRun(home, agent, ["demo.thing.get", "demo.thing.all"], { attempts: 500 });
  });

  after(async () => {
    connections.destroy();
    agent?.close();
    await gateway?.end();
    await provider?.close();
  });

  test("many large answers at once do not take the gateway's memory, all of them come, and small ones pass", async () => {
    assert.ok(LARGE.byteLength > 7_500_000 && LARGE.byteLength < 8_388_608);
    const asked = Array.from({ length: CALLERS }, (_, index) => takeLarge(String(index)));
    const metrics = await until("there is no room for more", async () => {
      const { out } = await home.run(["metrics"]);
      const waits = Number(/^gw_answers_waiting (\d+)$/m.exec(out)?.[1]) > 0;
      return waits && Number(HELD.exec(out)?.[1]) > ROOM_OF_ONE - LARGE.byteLength && out;
    });
    assert.ok(Number(HELD.exec(metrics)?.[1]) <= ROOM_OF_ONE, metrics);
    await until("all have been asked for", () => provider.received.length >= CALLERS);
    assert.match((await home.run(["status"])).out, /MEMORY +\d+ large answers/);
    assert.equal((await call(agent, run, "demo.thing.get", { id: "small" })).body["outcome"], "success");
    seen.resolve();
    const taken = await Promise.all(asked);
    assert.ok(
      taken.every((bytes) => bytes > LARGE.byteLength),
      String(taken),
    );
    assert.ok(peakMiB() < BOUND_MIB, `${peakMiB()} MiB`);
  });

  test("many large requests of a box at once do not take it either: so many of a caller are read, and the others wait", async () => {
    const asked = { purpose: "to fill", actions: ["demo.*"], budget: {}, contained: true };
    const opened = await agent.ask("POST", "/v1/runs", asked);
    await home.approve(idIn(opened, "approval_id"));
    const path = `/v1/runs/${idIn(opened, "run_id")}/requests`;
    const sent = { origin: provider.origin, method: "PUT", target: "/v1/none", headers: [], body: UPLOAD };
    const body = Buffer.from(JSON.stringify(sent));
    const head = `POST ${path} HTTP/1.1\r\nHost: gw\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const sockets = Array.from({ length: UPLOADS }, () => connect(home.agentSocket));
    try {
      for (const socket of sockets) {
        socket.on("error", () => undefined);
        socket.write(head);
        // All but the last byte: nobody is answered, and nobody gives a place back.
        socket.write(body.subarray(0, -1));
      }
      const read = (): number => sockets.filter(({ writableLength }) => writableLength === 0).length;
      await until("as many are read as one caller may have", () => read() >= UPLOADS_OF_ONE);
      for (let look = 0; look < 20; look++) assert.equal((await agent.ask("GET", "/v1/actions")).status, 200);
      assert.equal(read(), UPLOADS_OF_ONE);
      assert.ok(peakMiB() < BOUND_MIB, `${peakMiB()} MiB`);
      // One that is answered makes room for one that waits, and so does one that is gone.
      for (const socket of sockets.filter(({ writableLength }) => writableLength === 0).slice(0, 2)) {
        const answered = once(socket, "data");
        socket.write(body.subarray(-1));
        assert.match(String((await answered)[0]), /^HTTP\/1\.1 200 /);
        socket.destroy();
      }
      await until("two more are read", () => read() === UPLOADS_OF_ONE + 2);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    await until("all places are free", async () => (await agent.ask("POST", path, sent)).status === 200);
  });

  test("large requests of a box that wait for a provider hold no more of the room than they are", async () => {
    const asked = { purpose: "to wait", actions: ["demo.*"], budget: { side_effects: 20 }, contained: true };
    const opened = await agent.ask("POST", "/v1/runs", asked);
    await home.approve(idIn(opened, "approval_id"));
    const path = `/v1/runs/${idIn(opened, "run_id")}/requests`;
    const before = provider.received.length;
    const many = openPlane(home.agentSocket, UPLOADS_OF_ONE + 4);
    try {
      const notes = Array.from({ length: UPLOADS_OF_ONE + 2 }, (_, number) => {
        const body = Buffer.from(JSON.stringify({ note: NOTE, number })).toString("base64");
        const headers = [["content-type", "application/json"]];
        return many.ask("POST", path, { origin: provider.origin, method: "POST", target: "/v1/notes", headers, body });
      });
      await until("all wait for the provider", () => provider.received.length === before + notes.length);
      const none = { origin: provider.origin, method: "PUT", target: "/v1/none", headers: [], body: UPLOAD };
      assert.equal((await many.ask("POST", path, none)).status, 200);
      noted.resolve();
      assert.ok((await Promise.all(notes)).every(({ status }) => status === 200));
    } finally {
      noted.resolve();
      many.close();
    }
  });

  test("an answer made of millions of empty objects is handed on as text, and not read", async () => {
    const { body } = await call(agent, run, "demo.thing.all", { id: "costly" });
    const { body_kind, body: text } = body["response"] as { body_kind: string; body: string };
    assert.deepEqual([body_kind, text === COSTLY.toString()], ["text", true]);
    assert.ok(peakMiB() < BOUND_MIB, `${peakMiB()} MiB`);
  });

  test("whoever asks for several on one connection and hangs up before the first was read leaves no place behind", async () => {
    const { body } = await call(agent, run, "demo.thing.all", { id: "kept" });
    await until("nothing is held", async () => (await heldBytes()) === 0);
    const socket = connect(home.agentSocket);
    await once(socket, "connect");
    socket.on("error", () => undefined);
    const path = `/v1/calls/${idOf(body, "call_id")}`;
    socket.write(`GET ${path} HTTP/1.1\r\nhost: gw\r\n\r\n`.repeat(3));
    await until("all three have a place", async () => (await heldBytes()) > 3 * LARGE.byteLength);
    socket.destroy();
    await until("they are given back", async () => (await heldBytes()) === 0);
  });

  async function heldBytes(): Promise<number> {
    return Number(HELD.exec((await home.run(["metrics"])).out)?.[1]);
  }

  /**
   * Asks, and comes back until there is an answer; how long that was. On a slow machine it may come while nobody waits, and give way to
   * others (410): then it is asked for again, as a client would.
   */
  async function takeLarge(id: string): Promise<number> {
    const body = JSON.stringify({ action: "demo.thing.all", input: { id } });
    let answer = await ask("POST", `/v1/runs/${run}/calls`, body);
    const left = answer.status === 202;
    while (answer.status === 202) answer = await ask("GET", answer.location, null);
    if (left && answer.status === 410) return takeLarge(id);
    assert.equal(answer.status, 200);
    return answer.bytes;
  }

  function ask(
    method: string,
    path: string,
    body: string | null,
  ): Promise<{ status: number; location: string; bytes: number }> {
    return new Promise((resolve, reject) => {
      const headers = {
        prefer: "wait=60",
        ...(body === null ? {} : { "content-type": "application/json", "content-length": body.length }),
      };
      const sent = request(
        { socketPath: home.agentSocket, agent: connections, method, path, headers },
        (response: IncomingMessage) => {
          let bytes = 0;
          response.on("data", (chunk: Buffer) => {
            bytes += chunk.byteLength;
          });
          response.on("error", reject);
          response.on("end", () =>
            resolve({ status: response.statusCode ?? 0, location: String(response.headers.location), bytes }),
          );
        },
      );
      sent.on("error", reject);
      sent.end(body ?? undefined);
    });
  }

  function peakMiB(): number {
    return Math.round(
      Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8"))?.[1]) / 1024,
    );
  }
});
