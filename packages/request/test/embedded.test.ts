import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import Fastify from "fastify";
import { strictRequests } from "../src/fastify.ts";
import { createRequestListener, type ListenerOptions } from "../src/node-http.ts";
import { defineRoute } from "../src/route.ts";
import { bindRoute } from "../src/serve.ts";

const note = defineRoute({
  method: "POST",
  path: "/v1/notes",
  body: { kind: "json", schema: { type: "object", required: ["text"], properties: { text: { type: "string" } } } },
});

const steps = {
  authorize: () => "anybody may",
  execute: () => ({ status: 200, body: {} }),
};

const whole = {
  routes: [bindRoute(note, steps)],
  principalOf: () => "ada",
  correlationId: () => "c",
  onRecord: () => undefined,
  onFault: () => undefined,
};

test("a body that the application read before is its own fault, told to it by name, and not the sender's", async (t) => {
  const faults: string[] = [];
  const onFault = (error: unknown) => void faults.push(String(error));
  const listener = createRequestListener<IncomingMessage>({ ...whole, onFault });
  const server = createServer(async (request, response) => {
    if (request.headers["x-parsed"] !== undefined) await text(request);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const ask = async (headers: Readonly<Record<string, string>>) => {
    const reply = await fetch(`http://127.0.0.1:${port}/v1/notes`, {
      ...{ method: "POST", body: '{"text":"t"}', headers: { "content-type": "application/json", ...headers } },
      signal: AbortSignal.timeout(10_000),
    });
    const { code } = (await reply.json()) as { readonly code?: string };
    return [reply.status, code];
  };
  assert.deepEqual(await ask({ "x-parsed": "1" }), [500, "internal_fault"]);
  assert.match(faults.join(), /express\.json/);
  assert.deepEqual(await ask({}), [200, undefined]);
});

test("a function that is missing is told by name before anything is served", async () => {
  for (const name of ["principalOf", "correlationId", "onRecord", "onFault"]) {
    const options = { ...whole, [name]: undefined } as unknown as ListenerOptions<IncomingMessage>;
    assert.throws(() => createRequestListener(options), new RegExp(`createRequestListener needs the function ${name}`));
  }
  for (const name of ["principalOf", "onRecord", "onFault"]) {
    const registered = Fastify().register(strictRequests, { ...whole, [name]: undefined } as typeof whole);
    await assert.rejects(async () => await registered, new RegExp(`strictRequests needs the function ${name}`));
  }
  for (const name of ["authorize", "execute"]) {
    const given = { ...steps, [name]: undefined } as unknown as typeof steps;
    assert.throws(() => bindRoute(note, given), new RegExp(`bindRoute for POST /v1/notes needs the function ${name}`));
  }
});
