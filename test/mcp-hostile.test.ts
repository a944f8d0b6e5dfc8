import assert from "node:assert/strict";
import { duplexPair } from "node:stream";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { defaults } from "../src/kernel/defaults.ts";
import { openWire, serveBridge, soon } from "./mcp-stand.ts";
import { type Bench, startBench } from "./support/gateway.ts";

let bench: Bench;
const faults: unknown[] = [];

before(async () => {
  bench = await startBench(`
format: gw.pack/v1
pack: acme
provider:
  origin: http://127.0.0.1:9
  network: private
actions:
  thing.get:
    effect: read
    request: { method: GET, path: "/v1/things/{id}" }
    input:
      id: { in: path, type: string, maxLength: 8 }
`);
});
after(() => bench.close());

/** Sends raw bytes and gives every line that comes back, once the connection is quiet or over. */
async function talk(bytes: Buffer): Promise<{ readonly lines: readonly string[]; readonly over: boolean }> {
  const [socket, peer] = duplexPair();
  let out = "";
  let over = false;
  peer.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  peer.once("end", () => {
    over = true;
  });
  serveBridge(bench, socket, (error) => faults.push(error));
  peer.write(bytes);
  for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve));
  peer.end();
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  return { lines: out.split("\n").slice(0, -1), over };
}

const name = fc.constantFrom(
  "gw_wait",
  "gw_budget",
  "gw_request_access",
  "acme__thing-get",
  "acme__nothing",
  "__proto__",
  "constructor",
  "",
);
const method = fc.constantFrom(
  "initialize",
  "ping",
  "tools/list",
  "tools/call",
  "server/discover",
  "subscriptions/listen",
  "resources/read",
  "notifications/cancelled",
  "notifications/initialized",
  "tasks/get",
  "__proto__",
  "",
);
const meta = fc.constantFrom(
  undefined,
  {},
  { progressToken: 1 },
  { progressToken: {} },
  { "io.modelcontextprotocol/protocolVersion": "2026-07-28" },
  {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "x", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  },
);
/** Never a call that could open a run: the one action needs an argument that is left out or wrong. */
const params = fc.record(
  {
    name: fc.oneof(name, fc.jsonValue({ maxDepth: 1 })),
    arguments: fc.oneof(
      fc.constantFrom({}, { id: 7 }, { id: "much too long" }, { id: ".." }),
      fc.jsonValue({ maxDepth: 2 }),
    ),
    _meta: meta,
    protocolVersion: fc.constantFrom("2025-11-25", "1999-01-01", 7),
    capabilities: fc.constantFrom({}, null),
    clientInfo: fc.constantFrom({ name: "x", version: "1" }, {}, null),
    requestId: fc.oneof(fc.nat(5), fc.string()),
  },
  { requiredKeys: [] },
);
const message = fc.record(
  {
    jsonrpc: fc.constantFrom("2.0", "1.0", 2),
    id: fc.oneof(fc.nat(5), fc.string({ maxLength: 3 }), fc.constant(null), fc.double()),
    method: fc.oneof(method, fc.jsonValue({ maxDepth: 0 })),
    params: fc.oneof(params, fc.jsonValue({ maxDepth: 1 })),
    result: fc.constantFrom({}, null),
    error: fc.constantFrom({ code: 1, message: "x" }, null),
  },
  { requiredKeys: [] },
);
const line = fc.oneof(
  { weight: 6, arbitrary: message.map((one) => JSON.stringify(one)) },
  { weight: 1, arbitrary: fc.string({ maxLength: 40 }).map((text) => text.replaceAll("\n", " ")) },
  { weight: 1, arbitrary: fc.constantFrom("[]", "{}", '{"a":1,"a":2}', "\u0000", "{".repeat(50), '"\\ud800"') },
);

test("whatever a client sends, it gets JSON-RPC or the end, nobody is asked, and nothing is a fault", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 12 }), async (lines) => {
      const { lines: answers } = await talk(Buffer.from(`${lines.join("\n")}\n`, "utf8"));
      for (const answer of answers) {
        const { jsonrpc } = JSON.parse(answer) as { jsonrpc: unknown };
        assert.equal(jsonrpc, "2.0", answer);
      }
      assert.deepEqual(faults, []);
      assert.deepEqual(bench.gateway.desk.list(), []);
      assert.equal(bench.sent.length, 0);
    }),
    { numRuns: 150 },
  );
});

test("random bytes are answered or end the connection", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 2_000 }), async (bytes) => {
      for (const answer of (await talk(Buffer.from(bytes))).lines) JSON.parse(answer);
      assert.deepEqual(faults, []);
    }),
    { numRuns: 60 },
  );
});

test("a megabyte without an end of line is refused, and the next connection is served", async () => {
  const { lines, over } = await talk(Buffer.alloc(defaults.mcpLineBytes + 1, 0x78));
  assert.equal(over, true);
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /body_too_large/);
  const wire = await openWire(bench);
  assert.ok("result" in (await wire.request("ping")));
});

test("a client that never reads its answers is not read either, and costs no more than its open requests", async () => {
  const [socket, peer] = duplexPair({ highWaterMark: 4_096 });
  serveBridge(bench, socket, (error) => faults.push(error));
  const clientInfo = { name: "deaf", version: "1" };
  const first = {
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
  };
  peer.write(`${JSON.stringify({ jsonrpc: "2.0", ...first })}\n`);
  let taken = 0;
  for (let id = 1; id <= 2_000; id++) {
    peer.write(`${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/list" })}\n`, () => {
      taken++;
    });
    if (id % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(taken < 1_000, `${taken} requests were taken from a client that reads nothing`);
  assert.ok(socket.writableLength < 2_097_152, `${socket.writableLength} bytes wait for it`);
  peer.resume();
  peer.end();
  await soon("the end of the connection", () => socket.destroyed);
  assert.deepEqual(faults, []);
});
