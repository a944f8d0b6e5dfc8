import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { createSystemResolver } from "./resolve.ts";
import { rehearse, TOKEN } from "./testing/rehearse.ts";
import { response, type ScriptedServer, startScriptedServer } from "./testing/scripted-server.ts";

const OK = response("200 OK", {}, "ok");

function at(server: ScriptedServer, host = "127.0.0.1"): string {
  return `http://${host}:${server.port}/`;
}

describe("connections", () => {
  test("calls one after another share a connection, and calls side by side do not wait for each other", async () => {
    await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK) });
    using transport = rehearse();
    for (let round = 0; round < 3; round++) await transport.send({ url: at(server) });
    assert.equal(server.accepted.length, 1);
    await Promise.all(Array.from({ length: 5 }, () => transport.send({ url: at(server) })));
    assert.equal(server.accepted.length, 5);
  });

  test("more calls than connections are all answered, each once", async () => {
    await using server = await startScriptedServer({
      onRequest: (socket, request) =>
        setImmediate(() => socket.write(response("200 OK", {}, request.head.slice(0, 12)))),
    });
    using transport = rehearse({ connectionsPerOrigin: 3 });
    const seen = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        transport.send({ url: `${at(server)}${String(index).padStart(6, "0")}` }),
      ),
    );
    seen.forEach((one, index) => {
      assert.ok(one.kind === "answered");
      assert.equal(one.body.toString(), `GET /${String(index).padStart(6, "0")} `);
    });
    assert.equal(server.accepted.length, 3);
    assert.equal(server.requests.length, 40);
  });

  test("the bound on all connections holds across origins, and idle ones make room", async () => {
    await using first = await startScriptedServer({ onRequest: (socket) => socket.write(OK) });
    await using second = await startScriptedServer({ onRequest: (socket) => socket.write(OK) });
    using transport = rehearse({ connections: 1 });
    for (const server of [first, second, first]) {
      assert.equal((await transport.send({ url: at(server) })).kind, "answered");
    }
    assert.deepEqual([first.accepted.length, second.accepted.length], [2, 1]);
  });

  test("a side effect does not use a connection that reads have left idle", async () => {
    await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK) });
    using transport = rehearse();
    await transport.send({ url: at(server) });
    await transport.send({ url: at(server), method: "POST", body: Buffer.from("{}") });
    assert.deepEqual(
      server.requests.map((request) => request.connection),
      [0, 1],
    );
  });

  test("a connection that the server closed while idle is replaced, and the request is sent once", async () => {
    await using server = await startScriptedServer({
      onRequest: (socket, _request, index) => {
        socket.write(OK);
        if (index === 0) socket.end();
      },
    });
    using transport = rehearse();
    await transport.send({ url: at(server) });
    await once(server.accepted[0] ?? assert.fail(), "close");
    const seen = await transport.send({ url: at(server) });
    assert.equal(seen.kind, "answered");
    assert.equal(server.requests.length, 2);
  });

  test("a connection that closes as the next request arrives is silent and is not tried again", async () => {
    for (const method of ["GET", "POST"]) {
      await using server = await startScriptedServer({
        onRequest: (socket, _request, index) => (index === 0 ? socket.write(OK) : socket.destroy()),
      });
      using transport = rehearse();
      await transport.send({ url: at(server), method });
      const seen = await transport.send({ url: at(server), method });
      assert.ok(seen.kind === "silent", inspect(seen));
      assert.equal(seen.reason, "connection_lost");
      assert.equal(server.requests.length, 2);
      assert.equal(server.accepted.length, 1);
    }
  });

  test("bytes that arrive on an idle connection are never the answer to the next request", async () => {
    const planted = response("200 OK", {}, "planted");
    await using server = await startScriptedServer({
      onRequest: (socket, request) => socket.write(request.connection === 0 ? OK + planted : OK),
    });
    using transport = rehearse();
    for (let round = 0; round < 3; round++) {
      const seen = await transport.send({ url: at(server) });
      if (seen.kind === "answered") assert.equal(seen.body.toString(), "ok");
    }
  });

  test("a connection that is left idle is closed by us", async () => {
    await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK) });
    using transport = rehearse({ idleMs: 20 });
    await transport.send({ url: at(server) });
    await once(server.accepted[0] ?? assert.fail(), "close");
  });
});

describe("names", () => {
  test("a name is resolved once a call, and the address it gave is the one connected to", async () => {
    await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK), host: "127.0.0.7" });
    const asked: string[] = [];
    using transport = rehearse({
      resolve: async (hostname) => {
        asked.push(hostname);
        return ["127.0.0.7"];
      },
    });
    const seen = await transport.send({ url: at(server, "api.acme.example"), token: TOKEN });
    assert.equal(seen.kind, "answered");
    assert.deepEqual(asked, ["api.acme.example"]);
    assert.match(server.requests[0]?.head ?? "", new RegExp(`^host: api\\.acme\\.example:${server.port}$`, "m"));
  });

  test("an answer that turns private is refused although a connection is open", async () => {
    await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK) });
    let answer = ["127.0.0.1"];
    using transport = rehearse({ resolve: async () => answer });
    assert.equal((await transport.send({ url: at(server, "api.acme.example") })).kind, "answered");
    for (const next of [["10.0.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"], ["fe80::1"], ["not an address"]]) {
      answer = next;
      const seen = await transport.send({ url: at(server, "api.acme.example"), token: TOKEN });
      assert.ok(seen.kind === "never_sent", next.join());
      assert.deepEqual([seen.reason, seen.connected], ["address_refused", false]);
    }
    assert.equal(server.accepted.length, 1);
  });

  test("an answer that moves makes a new connection and leaves the old one unused", async () => {
    await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK), host: "0.0.0.0" });
    let answer = ["127.0.0.1"];
    using transport = rehearse({ resolve: async () => answer });
    await transport.send({ url: at(server, "api.acme.example") });
    answer = ["127.0.0.2"];
    await transport.send({ url: at(server, "api.acme.example") });
    assert.deepEqual(server.accepted.map((socket) => socket.localAddress ?? "closed").slice(-1), ["127.0.0.2"]);
    assert.equal(server.accepted.length, 2);
  });

  test("a public origin is not reached at a private, loopback, link-local or disguised address", async () => {
    for (const address of [
      "10.1.2.3",
      "127.0.0.1",
      "169.254.169.254",
      "::1",
      "fd00::1",
      "::ffff:8.8.8.8",
      "2002:7f00:1::",
    ]) {
      using transport = rehearse({ resolve: async () => [address] });
      const seen = await transport.send({ url: "https://api.acme.example/", network: "public" });
      assert.ok(seen.kind === "never_sent", address);
      assert.deepEqual([seen.reason, seen.connected], ["address_refused", false], address);
    }
  });

  test("an origin that spells a private address is refused unless the pack names the private network", async () => {
    await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK) });
    using transport = rehearse();
    for (const host of ["127.0.0.1", "[::1]", "10.0.0.1", "[::ffff:7f00:1]", "[fd00::1]"]) {
      const seen = await transport.send({ url: `https://${host}:${server.port}/`, network: "public" });
      assert.ok(seen.kind === "never_sent", host);
      assert.equal(seen.reason, "address_refused", host);
    }
    assert.equal((await transport.send({ url: at(server), network: "private" })).kind, "answered");
  });

  test("plain http is for loopback alone", async () => {
    using transport = rehearse({ resolve: async () => ["10.0.0.1"] });
    for (const url of ["http://10.0.0.1/", "http://8.8.8.8/", "http://intranet.acme.example/"]) {
      const seen = await transport.send({ url, network: "private" });
      assert.ok(seen.kind === "never_sent", url);
      assert.deepEqual([seen.reason, seen.connected], ["address_refused", false], url);
    }
  });

  test("an IPv6 literal is connected to", async (context) => {
    const server = await startScriptedServer({ onRequest: (socket) => socket.write(OK), host: "::1" }).catch(
      () => null,
    );
    if (server === null) return context.skip("no IPv6 on this machine's loopback");
    using transport = rehearse();
    const seen = await transport.send({ url: at(server, "[::1]") });
    await server[Symbol.asyncDispose]();
    assert.equal(seen.kind, "answered");
    assert.match(server.requests[0]?.head ?? "", /^host: \[::1\]:\d+$/m);
  });

  test("the next address is tried when one refuses", async () => {
    await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK), host: "127.0.0.9" });
    using transport = rehearse({ resolve: async () => ["127.0.0.8", "10.0.0.1", "127.0.0.9"] });
    assert.equal((await transport.send({ url: at(server, "api.acme.example") })).kind, "answered");
  });

  test("a name without an address, or whose resolver fails or hangs, is never sent", async () => {
    const url = "https://api.acme.example/";
    for (const resolve of [async () => [], async () => Promise.reject(new Error("ENOTFOUND"))]) {
      using transport = rehearse({ resolve });
      const seen = await transport.send({ url });
      assert.ok(seen.kind === "never_sent");
      assert.deepEqual([seen.reason, seen.connected], ["name_not_resolved", false]);
    }
    using hanging = rehearse({ resolve: () => new Promise(() => {}) });
    const late = await hanging.send({ url, timeoutMs: 20 });
    assert.ok(late.kind === "never_sent");
    assert.equal(late.reason, "deadline");
    const controller = new AbortController();
    const pending = hanging.send({ url, signal: controller.signal });
    controller.abort();
    const aborted = await pending;
    assert.ok(aborted.kind === "never_sent");
    assert.equal(aborted.reason, "aborted");
  });

  test("the system resolver shares a lookup for a moment, then asks again, and keeps no failure", async () => {
    let time = 0;
    let asked = 0;
    const resolve = createSystemResolver(
      1_000,
      () => time,
      async (name) => {
        asked++;
        if (name === "absent.test") throw new Error("ENOTFOUND");
        return [`127.0.0.${asked}`];
      },
    );
    assert.deepEqual(await Promise.all([resolve("a.test"), resolve("a.test")]), [["127.0.0.1"], ["127.0.0.1"]]);
    time = 999;
    assert.deepEqual(await resolve("a.test"), ["127.0.0.1"]);
    time = 1_000;
    assert.deepEqual(await resolve("a.test"), ["127.0.0.2"]);
    await assert.rejects(resolve("absent.test"));
    await assert.rejects(resolve("absent.test"));
    assert.equal(asked, 4);
  });

  test("the system resolver knows the machine's own name", async () => {
    const addresses = await createSystemResolver(0, () => 0)("localhost");
    assert.ok(addresses.includes("127.0.0.1") || addresses.includes("::1"));
  });
});

describe("ambient settings", () => {
  test("no proxy variable and no global dispatcher comes between the transport and its address", async () => {
    await using proxy = await startScriptedServer({ onRequest: (socket) => socket.write(OK) });
    await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK) });
    const script = `
      const { setGlobalDispatcher, Agent } = await import("undici");
      const { rehearse } = await import(process.argv[1]);
      setGlobalDispatcher(new Agent({ connect: () => { throw new Error("global dispatcher used"); } }));
      const seen = await rehearse().send({ url: process.argv[2], token: "tok_0123456789" });
      process.stdout.write(seen.kind);
      process.exit(0);
    `;
    const address = `http://127.0.0.1:${proxy.port}`;
    const ambient = Object.fromEntries(
      ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"].map((name) => [
        name,
        address,
      ]),
    );
    const child = spawn(
      process.execPath,
      ["--input-type=module", "-e", script, join(import.meta.dirname, "testing/rehearse.ts"), at(server)],
      {
        cwd: import.meta.dirname,
        env: { ...process.env, ...ambient, NO_PROXY: "", NODE_USE_ENV_PROXY: "1" },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    let out = "";
    child.stdout.on("data", (chunk) => {
      out += String(chunk);
    });
    await once(child, "exit");
    assert.equal(out, "answered");
    assert.deepEqual([proxy.accepted.length, server.requests.length], [0, 1]);
  });
});
