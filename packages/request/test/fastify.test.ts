import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import Fastify, { type FastifyRequest } from "fastify";
import { Denied } from "../../../src/kernel/failure.ts";
import type { JsonValue } from "../../../src/kernel/json.ts";
import { refuseNotFound, strictRequests, strictServerOptions } from "../src/fastify.ts";
import { createRequestListener } from "../src/node-http.ts";
import type { RequestRecord } from "../src/record.ts";
import { defineRoute } from "../src/route.ts";
import { bindRoute } from "../src/serve.ts";

const text = { type: "string", maxLength: 400 } as const;
const named = { type: "object", required: ["name"], properties: { name: text } } as const;
const numbered = { type: "object", required: ["number"], properties: { number: text } } as const;
const none = { kind: "none" } as const;

async function* rest(fails: boolean): AsyncGenerator<JsonValue> {
  yield { line: 2 };
  if (fails) throw new Error("there is no third line");
  yield { line: 3 };
}

const lines = (path: string, fails: boolean) =>
  bindRoute(defineRoute({ method: "GET", path, body: none }), {
    authorize: () => "anybody may",
    execute: () => ({ status: 200, body: { line: 1 }, more: rest(fails) }),
  });

const routes = () => [
  lines("/v1/lines", false),
  lines("/v1/broken", true),
  bindRoute(defineRoute({ method: "GET", path: "/v1/things/{name}", params: named, body: none }), {
    authorize: () => "anybody may",
    execute: ({ command }) => ({ status: 200, body: { ...command.params } }),
  }),
  bindRoute(defineRoute({ method: "DELETE", path: "/v1/things/{number}", params: numbered, body: none }), {
    authorize: () => "anybody may",
    execute: ({ command }) => ({ status: 200, body: { ...command.params } }),
  }),
  bindRoute(defineRoute({ method: "GET", path: "/v1/files/{name+}", params: named, body: none }), {
    authorize: () => "anybody may",
    execute: ({ command }) => ({ status: 200, body: { ...command.params } }),
  }),
];

const principalOf = (request: IncomingMessage | FastifyRequest): string => {
  if (request.headers["x-nobody"] !== undefined) throw new Denied("token_missing", "say who you are");
  return "ada";
};

interface Skin {
  readonly origin: string;
  readonly records: RequestRecord[];
}

const shared = (records: RequestRecord[]) => ({
  routes: routes(),
  principalOf,
  onRecord: (record: RequestRecord) => void records.push(record),
  onFault: () => undefined,
});

async function startSkins(t: TestContext): Promise<readonly [Skin, Skin]> {
  const [plain, plugged]: [RequestRecord[], RequestRecord[]] = [[], []];
  const correlationId = () => "c";
  const server = createServer(createRequestListener<IncomingMessage>({ ...shared(plain), correlationId }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const app = Fastify({ ...strictServerOptions(correlationId), forceCloseConnections: true });
  t.after(async () => {
    server.close();
    server.closeAllConnections();
    await app.close();
  });
  app.setNotFoundHandler(refuseNotFound);
  await app.register(strictRequests, shared(plugged));
  const origin = await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = server.address() as AddressInfo;
  return [
    { origin: `http://127.0.0.1:${port}`, records: plain },
    { origin, records: plugged },
  ];
}

async function ask({ origin }: Skin, method: string, path: string, headers: Readonly<Record<string, string>> = {}) {
  const reply = await fetch(origin + path, { method, headers });
  const { status } = reply;
  const [allow, type] = ["allow", "content-type"].map((name) => reply.headers.get(name));
  return { status, allow, type, text: await reply.text().catch(() => "broken off") };
}

test("the plugin answers and records what node:http answers and records for the same routes", async (t) => {
  const [plain, plugged] = await startSkins(t);
  for (const [method, path, headers, status] of [
    ["GET", "/v1/lines", {}, 200],
    ["GET", `/v1/things/${"n".repeat(300)}`, {}, 200],
    ["GET", `/v1/things/${"n".repeat(401)}`, {}, 422],
    ["DELETE", "/v1/things/7", {}, 200],
    ["GET", "/v1/files/a/b/c", {}, 200],
    ["POST", "/v1/things/7", {}, 405],
    ["GET", "/v1/things/7?x=1", {}, 422],
    ["GET", "/v1/things/7", { "x-nobody": "1" }, 401],
    ["GET", "/v1/things/7?x=1", { "x-nobody": "1" }, 401],
    ["POST", "/v1/things/7", { "x-nobody": "1" }, 401],
  ] as const) {
    const expected = await ask(plain, method, path, headers);
    assert.equal(expected.status, status, `${method} ${path}`);
    assert.deepEqual(await ask(plugged, method, path, headers), expected);
    assert.equal(plain.records.length, 1);
    assert.deepEqual(plugged.records.splice(0), plain.records.splice(0), `${method} ${path}`);
  }
});

test("the plugin breaks off an answer whose lines do not all come", async (t) => {
  const [, plugged] = await startSkins(t);
  assert.equal((await ask(plugged, "GET", "/v1/broken")).text, "broken off");
});
