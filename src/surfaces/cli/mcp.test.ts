import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Duplex, PassThrough } from "node:stream";
import { after, test } from "node:test";
import fc from "fast-check";
import { bridgeRecord, type McpOptions, runMcp } from "./mcp.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-mcp-"));
after(() => rmSync(folder, { recursive: true, force: true }));
let serial = 0;

interface Stand {
  readonly home: string;
  readonly asked: IncomingMessage[];
  readonly server: Server;
}

async function stand(serve: (socket: Duplex, server: Server) => void): Promise<Stand> {
  const home = mkdtempSync(join(folder, `${serial++}-`));
  const asked: IncomingMessage[] = [];
  const server = createServer();
  server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
    asked.push(request);
    serve(socket, server);
  });
  await new Promise<void>((resolve) => server.listen(join(home, "agent.sock"), resolve));
  return { home, asked, server };
}

function bridge(home: string, options: Partial<McpOptions> = {}) {
  const errors: string[] = [];
  const input = new PassThrough();
  const output = new PassThrough();
  const chunks: Buffer[] = [];
  output.on("data", (chunk: Buffer) => chunks.push(chunk));
  const door = { path: join(home, "agent.sock"), requireServer: () => undefined };
  const place = { home, agent: door, operator: door, owner: null, machine: null };
  const exit = runMcp(
    { home, json: false, place, ...options },
    { err: (line) => errors.push(line) },
    { input, output },
  );
  return { errors, input, output, exit, said: () => Buffer.concat(chunks) };
}

const SWITCH = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: gw-mcp\r\n\r\n";

test("the bridge carries every byte in both directions as it is, and ends with its input", async () => {
  // It answers with what it got, and closes when the other side does.
  const echo = await stand((socket) => {
    socket.write(SWITCH);
    socket.pipe(socket);
  });
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 3_000 }), { maxLength: 6 }),
        async (pieces) => {
          const { input, exit, said } = bridge(echo.home);
          for (const piece of pieces) input.write(piece);
          input.end();
          assert.equal(await exit, 0);
          assert.deepEqual(said(), Buffer.concat(pieces));
        },
      ),
      { numRuns: 20 },
    );
  } finally {
    echo.server.close();
  }
});

test("bytes that come together with the answer are not lost", async () => {
  const eager = await stand((socket) => socket.end(`${SWITCH}early line\n`));
  const { exit, said } = bridge(eager.home);
  assert.equal(await exit, 3);
  assert.equal(said().toString(), "early line\n");
  eager.server.close();
});

test("the bridge ends when the gateway goes away, although its input is still open", async () => {
  const fickle = await stand((socket) => {
    socket.write(SWITCH);
    socket.once("data", () => socket.destroy());
  });
  const { input, exit } = bridge(fickle.home);
  input.write("hello\n");
  assert.equal(await exit, 3);
  assert.equal(input.destroyed, true);
  fickle.server.close();
});

test("it asks for the one path and protocol and says what its runs ask for", async () => {
  const seen = await stand((socket) => socket.end(SWITCH));
  await bridge(seen.home, { actions: ["acme.*"], wait: 5, attempts: 9 }).exit;
  const [request] = seen.asked;
  assert.deepEqual([request?.method, request?.url, request?.headers.upgrade], ["GET", "/mcp", "gw-mcp"]);
  assert.deepEqual(JSON.parse(String(request?.headers["gw-run"])), {
    actions: ["acme.*"],
    budget: { attempts: 9 },
    wait_seconds: 5,
  });
  seen.server.close();
});

test("what was not asked for is not said", () => {
  assert.deepEqual(bridgeRecord({ home: "/h", json: false }), {});
  assert.deepEqual(bridgeRecord({ home: "/h", json: false, sideEffects: 0, minutes: 1, spend: 0 }), {
    budget: { side_effects: 0, duration_seconds: 60, spend_cents: 0 },
  });
});

test("a refusal is told with its code and what to do, and escaped", async () => {
  const problem = JSON.stringify({ code: "too_many_requests", message: "no \u001b[31m more" });
  const strict = await stand((socket) =>
    socket.end(
      `HTTP/1.1 429 Refused\r\ncontent-length: ${Buffer.byteLength(problem)}\r\nconnection: close\r\n\r\n${problem}`,
    ),
  );
  const { exit, errors } = bridge(strict.home);
  assert.equal(await exit, 1);
  assert.match(errors.join(), /^too_many_requests: no \\u\{1b\}\[31m more Slow down/);
  strict.server.close();
  const strange = await stand((socket) => socket.end("HTTP/1.1 500 No\r\ncontent-length: 3\r\n\r\nxyz"));
  const other = bridge(strange.home);
  assert.equal(await other.exit, 1);
  assert.match(other.errors.join(), /^internal_fault: /);
  strange.server.close();
});

test("no gateway is told as such, with its own exit", async () => {
  const { exit, errors } = bridge(join(folder, "nowhere"));
  assert.equal(await exit, 3);
  assert.match(errors.join(), /^gateway_unreachable: .*gw up, or on a server: systemctl start gw$/);
});

test("who may not reach the gateway's socket is told that, and not that no gateway runs", {
  ...(process.getuid?.() === 0 ? { skip: "nothing is closed to root" } : {}),
}, async () => {
  const closed = await stand((socket) => socket.destroy());
  chmodSync(join(closed.home, "agent.sock"), 0o000);
  const { exit, errors } = bridge(closed.home);
  assert.equal(await exit, 3);
  assert.match(errors.join(), /^gateway_unreachable: This user may not open .*usermod -aG/);
  closed.server.close();
});
