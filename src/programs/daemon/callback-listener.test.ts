import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { IncomingCallback } from "../../gateway/callback/receive.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { callbackRoutes } from "../../surfaces/callbacks/routes.ts";
import { isLoopbackAddress, readCallbackAddress, showAddress } from "./callback-address.ts";
import { createCallbackDoor } from "./callback-door.ts";
import { type CallbackListenerOptions, listenForCallbacks } from "./callback-listener.ts";
import { readSettings } from "./settings.ts";

const LOOPBACK = { host: "127.0.0.1", port: 0 };

/** The listener's own part: what a gateway behind it would take is gathered here. */
function optionsOf(taken: IncomingCallback[], limits?: CallbackListenerOptions["limits"]) {
  let nowMs = 0;
  const receive = async (callback: IncomingCallback): Promise<void> => void taken.push(callback);
  const options = {
    routes: callbackRoutes({ receive }),
    clock: { bootMs: () => nowMs },
    correlationId: () => "evt_test",
    onRecord: () => undefined,
    onFault: (error: unknown) => {
      throw error;
    },
    ...(limits === undefined ? {} : { limits }),
  };
  return { options, pass: (ms: number) => (nowMs += ms) };
}

async function listen(t: TestContext, limits?: CallbackListenerOptions["limits"]) {
  const taken: IncomingCallback[] = [];
  const { options, pass } = optionsOf(taken, limits);
  const listener = await listenForCallbacks({ ...options, address: LOOPBACK });
  t.after(() => listener.close());
  const { port } = listener.address;
  const ask = (method: string, path: string, headers: Record<string, string> = {}, body = ""): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request({ port, host: "127.0.0.1", method, path, headers, agent: false }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode ?? 0));
      });
      sent.on("error", reject);
      sent.end(body);
    });
  return { taken, pass, port, ask, listener };
}

const JSON_TYPE = { "content-type": "application/json" };

/** Everything that the other side says until it hangs up. */
async function dialogue(port: number, say: (socket: Socket) => void): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  socket.on("error", () => undefined);
  await once(socket, "connect");
  say(socket);
  // Not by events.once, which an error on the way ends: writing to a line that was closed is none here.
  await new Promise((resolve) => socket.once("close", resolve));
  return text;
}

test("a callback comes through with its exact bytes, its headers and the address it came from", async (t) => {
  const { taken, ask } = await listen(t);
  const body = '{ "a" : 1,\r\n"b":"\u00e9" }';
  assert.equal(await ask("POST", "/callbacks/acme", { ...JSON_TYPE, "X-Mac": "m" }, body), 202);
  assert.deepEqual([taken[0]?.pack, taken[0]?.peer, taken[0]?.body.toString()], ["acme", "127.0.0.1", body]);
  const names = taken[0]?.rawHeaders ?? [];
  assert.equal(names[names.indexOf("X-Mac") + 1], "m");
});

test("only one route and its document are there", async (t) => {
  const { taken, ask } = await listen(t);
  assert.equal(await ask("GET", "/callbacks/acme"), 405);
  assert.equal(await ask("GET", "/v1/openapi.json"), 200);
  for (const path of ["/", "/callbacks", "/callbacks/acme/x", "/v1/status", "/v1/actions", "/v1/approvals"]) {
    assert.equal(await ask("POST", path, JSON_TYPE, "{}"), 404, path);
  }
  assert.deepEqual(taken, []);
});

test("a body is bounded as it arrives, whatever length was announced", async (t) => {
  const { taken, ask, port } = await listen(t);
  const fits = "x".repeat(defaults.callbackBodyBytes);
  assert.equal(await ask("POST", "/callbacks/acme", JSON_TYPE, fits), 202);
  assert.equal(await ask("POST", "/callbacks/acme", JSON_TYPE, `${fits}x`), 413);
  const chunked = await dialogue(port, (socket) => {
    socket.write(
      "POST /callbacks/acme HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
    );
    const piece = Buffer.alloc(0x8000, 0x20);
    for (let n = 0; n < 4; n++) socket.write(Buffer.concat([Buffer.from("8000\r\n"), piece, Buffer.from("\r\n")]));
  });
  assert.match(chunked, /^HTTP\/1\.1 413 /);
  assert.equal(taken.length, 1);
});

test("whoever sends slowly is let go: in the head and in the body", async (t) => {
  const { taken, port } = await listen(t, { headMs: 150, requestMs: 300, lookMs: 50 });
  const head = await dialogue(port, (socket) => socket.write("POST /callbacks/acme HTTP/1.1\r\nhost: x\r\nx-slow: "));
  assert.match(head, /^HTTP\/1\.1 408 .*"code":"request_timed_out"/s);
  const body = await dialogue(port, (socket) => {
    socket.write(
      "POST /callbacks/acme HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n{",
    );
    const drip = setInterval(() => socket.write(" "), 60);
    socket.once("close", () => clearInterval(drip));
  });
  // A drop that comes when the line is being closed makes the kernel drop the answer too.
  assert.match(body, /^(HTTP\/1\.1 4(00|08) |$)/);
  assert.deepEqual(taken, []);
});

test("whoever neither speaks nor hangs up loses the connection too", async (t) => {
  const { port, ask } = await listen(t, { headMs: 150, requestMs: 300, lookMs: 50 });
  const silent = Array.from({ length: defaults.callbackConnectionsPerPeer }, () =>
    connect({ port, host: "127.0.0.1", allowHalfOpen: true }),
  );
  t.after(() => silent.forEach((socket) => void socket.destroy()));
  for (const [index, socket] of silent.entries()) {
    socket.on("error", () => undefined);
    // Half of them begin a request; none reads what it is told.
    if (index % 2 === 0) socket.write("POST /callbacks/acme HTTP/1.1\r\nhost: x\r\n");
  }
  for (let status = 0; status !== 200; ) status = await ask("GET", "/v1/openapi.json").catch(() => 0);
  for (const socket of silent) socket.resume();
  await Promise.all(silent.map((socket) => socket.readableEnded || once(socket, "end").catch(() => undefined)));
});

test("a head that is too large or malformed is refused", async (t) => {
  const { port } = await listen(t);
  const large = await dialogue(port, (socket) =>
    socket.write(`POST /callbacks/a HTTP/1.1\r\nhost: x\r\nx-l: ${"y".repeat(defaults.callbackHeaderBytes)}\r\n\r\n`),
  );
  assert.match(large, /^HTTP\/1\.1 431 /);
  const both = await dialogue(port, (socket) =>
    socket.write(
      "POST /callbacks/a HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
  );
  assert.match(both, /^HTTP\/1\.1 400 /);
});

test("one peer holds so many connections and no more", async (t) => {
  const { port, ask } = await listen(t);
  const sockets = Array.from({ length: defaults.callbackConnectionsPerPeer }, () => connect(port, "127.0.0.1"));
  t.after(() => sockets.forEach((socket) => void socket.destroy()));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  await assert.rejects(ask("GET", "/v1/openapi.json"));
  const [first] = sockets;
  first?.destroy();
  for (let status = 0; status !== 200; ) status = await ask("GET", "/v1/openapi.json").catch(() => 0);
});

test("one peer sends so many requests a second and no more", async (t) => {
  const { ask, pass, taken } = await listen(t);
  const statuses: number[] = [];
  for (let n = 0; n < defaults.callbacksBurstPerPeer + 5; n++) {
    statuses.push(await ask("POST", "/callbacks/acme", JSON_TYPE, "{}"));
  }
  assert.deepEqual([...new Set(statuses)], [202, 429]);
  assert.equal(taken.length, defaults.callbacksBurstPerPeer);
  pass(1_000);
  assert.equal(await ask("POST", "/callbacks/acme", JSON_TYPE, "{}"), 202);
});

test("one that sends without end behind a callback that is being written down is let go, and nothing of it waits", async (t) => {
  const taken: string[] = [];
  const refused: string[] = [];
  let begun = 0;
  const { options } = optionsOf([]);
  const listener = await listenForCallbacks({
    ...options,
    routes: callbackRoutes({ receive: ({ pack }) => new Promise<void>(() => taken.push(pack)) }),
    correlationId: () => `evt_${begun++}`,
    onRecord: (_record, { denied }) => void refused.push(denied?.code ?? ""),
    address: LOOPBACK,
  });
  t.after(() => listener.close());
  const one =
    "POST /callbacks/acme HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
  const heard = await dialogue(listener.address.port, (socket) => socket.write(one.repeat(5_000)));
  assert.equal(heard, "");
  assert.deepEqual([taken, refused], [["acme"], ["too_many_requests"]]);
  assert.equal(begun, defaults.planeUnanswered + 1, "each had a name, and so had the refusal");
});

test("an address is a number and a port, and loopback is told from the rest", () => {
  assert.deepEqual(readCallbackAddress("127.0.0.1:7412"), { host: "127.0.0.1", port: 7412 });
  assert.deepEqual(readCallbackAddress("[::1]:0"), { host: "::1", port: 0 });
  for (const text of [
    "",
    "localhost:1",
    "127.0.0.1",
    "127.0.0.1:65536",
    "::1:80",
    "[127.0.0.1]:1",
    "1.2.3:4",
    "0:1",
    " 127.0.0.1:1",
  ]) {
    assert.equal(readCallbackAddress(text), null, text);
  }
  const loopback = (text: string) => isLoopbackAddress(readCallbackAddress(text) ?? { host: "", port: 0 });
  assert.deepEqual(["127.0.0.1:1", "127.9.9.9:1", "[::1]:1"].map(loopback), [true, true, true]);
  assert.deepEqual(["0.0.0.0:1", "10.0.0.1:1", "[::]:1", "[::ffff:10.0.0.1]:1"].map(loopback), [
    false,
    false,
    false,
    false,
  ]);
  for (const text of ["127.0.0.1:7412", "[::1]:80"])
    assert.equal(showAddress(readCallbackAddress(text) ?? LOOPBACK), text);
});

test("the listener is open only where configuration names an address and signed policy allows it", async (t) => {
  const { options } = optionsOf([]);
  const door = createCallbackDoor(LOOPBACK, options);
  t.after(() => door.close());
  await door.adjust("off");
  assert.deepEqual([door.status()["listening"], door.status()["configured"]], [null, "127.0.0.1:0"]);
  assert.match(String(door.status()["why"]), /signed policy/);
  await door.adjust("loopback");
  const first = String(door.status()["listening"]);
  assert.match(first, /^127\.0\.0\.1:[1-9]\d+$/);
  await door.adjust("network");
  assert.equal(door.status()["listening"], first, "it stays where it is");
  await door.adjust("off");
  await assert.rejects(fetch(`http://${first}/v1/openapi.json`), "it is closed at once");

  const wide = createCallbackDoor({ host: "0.0.0.0", port: 0 }, options);
  t.after(() => wide.close());
  await wide.adjust("loopback");
  assert.equal(wide.status()["listening"], null);
  assert.match(String(wide.status()["why"]), /loopback address alone/);
  await wide.adjust("network");
  assert.match(String(wide.status()["listening"]), /^0\.0\.0\.0:/);

  const nowhere = createCallbackDoor(null, options);
  await nowhere.adjust("network");
  assert.deepEqual([nowhere.status()["listening"], nowhere.status()["configured"]], [null, null]);
});

test("a port that is taken is told and stops nothing", async (t) => {
  const taken = createServer().listen(0, "127.0.0.1");
  t.after(() => void taken.close());
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  const door = createCallbackDoor({ host: "127.0.0.1", port }, optionsOf([]).options);
  await door.adjust("loopback");
  assert.equal(door.status()["listening"], null);
  assert.match(
    String(door.status()["why"]),
    /something else listens on .*EADDRINUSE.*name another port in config\.yaml/,
  );
  taken.close();
  await once(taken, "close");
  await door.adjust("loopback");
  assert.equal(door.status()["listening"], `127.0.0.1:${port}`);
  door.close();
});

test("config.yaml names where callbacks are listened for, strictly", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "gw-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const read = async (text: string) => {
    writeFileSync(join(home, "config.yaml"), text);
    return (await readSettings(home)).callbackAddress;
  };
  assert.equal((await readSettings(home)).callbackAddress, null, "off without a file");
  assert.equal(await read("format: gw.config/v1\n"), null);
  assert.deepEqual(await read("callbacks: { listen: 127.0.0.1:7412 }\n"), { host: "127.0.0.1", port: 7412 });
  for (const text of [
    "callbacks: true",
    "callbacks: { listen: 7412 }",
    "callbacks: { listen: localhost:7412 }",
    "callbacks: { listen: 127.0.0.1:7412, policy: off }",
    "callbacks: []",
    "callback: { listen: 127.0.0.1:7412 }",
  ]) {
    await assert.rejects(
      () => read(text),
      (error) => error instanceof Denied && error.code === "config_invalid",
      text,
    );
  }
});
