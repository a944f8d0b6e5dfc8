import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import { Denied } from "../../../src/kernel/failure.ts";
import { sendRaw } from "../../../test/support/requests/servers.ts";
import { createRequestListener } from "../src/node-http.ts";
import type { RequestRecord } from "../src/record.ts";
import { defineRoute } from "../src/route.ts";
import { bindRoute } from "../src/serve.ts";

const REQUEST = ["POST /v1/things HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n"];
const noted = () => new Denied("action_not_permitted", "not you");

/** As libraries that have promises of their own make them. */
function later<Value>(settle: (done: (value: Value) => void, fail: (error: unknown) => void) => void): Promise<Value> {
  const then = (done: (value: Value) => void, fail: (error: unknown) => void) => void setImmediate(settle, done, fail);
  return { then } as never;
}

/** One request to a route that anybody but `principalOf` and `authorize` would carry out. */
async function ask(authorize: (who: unknown) => unknown, principalOf: () => unknown = () => "ada") {
  const [records, faults, done] = [[] as RequestRecord[], [] as unknown[], [] as unknown[]];
  const route = bindRoute(defineRoute({ method: "POST", path: "/v1/things", body: { kind: "none" } }), {
    authorize: (_request, who: string) => authorize(who) as string,
    execute: (_request, who) => ({ status: 200, body: done.push(who) }),
  });
  const listener = createRequestListener<IncomingMessage>({
    ...{ routes: [route], principalOf: principalOf as () => string, correlationId: () => "corr-1" },
    onRecord: (record) => void records.push(record),
    onFault: (error) => void faults.push(error),
  });
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { status } = await sendRaw((server.address() as AddressInfo).port, REQUEST);
  server.close();
  server.closeAllConnections();
  return { status, done, faults: faults.length, decision: records[0]?.decision, principal: records[0]?.principal };
}

test("nothing is carried out before whoever decides has decided, whatever kind of promise that is", async () => {
  const refusals = [
    () => Promise.reject(noted()),
    () => later((_done, fail) => fail(noted())),
    () => runInNewContext("Promise.reject(error)", { error: noted() }),
    () =>
      Object.assign(
        () => undefined,
        later((_done, fail) => fail(noted())),
      ),
  ];
  for (const refuse of refusals) {
    const { status, done, decision } = await ask(refuse);
    assert.deepEqual([status, done, decision], [403, [], { kind: "denied", code: "action_not_permitted" }]);
    const unnamed = await ask(() => "anybody", refuse);
    assert.deepEqual([unnamed.status, unnamed.done, unnamed.principal], [403, [], "nobody"]);
  }
  for (const allow of [() => later((done) => done("rule 1")), () => runInNewContext("Promise.resolve('rule 1')")]) {
    const { status, done, decision } = await ask(allow, () => later((named) => named("eve")));
    assert.deepEqual([status, done, decision], [200, ["eve"], { kind: "allowed", by: "rule 1" }]);
  }
});

test("what names no rule allows nothing", async () => {
  for (const said of [undefined, null, false, true, "", 1, {}]) {
    for (const authorize of [() => said, () => Promise.resolve(said), () => later((done) => done(said))]) {
      const { status, done, faults, decision } = await ask(authorize);
      const seen = [status, done, faults, decision];
      assert.deepEqual(seen, [500, [], 1, { kind: "denied", code: "internal_fault" }], `${said}`);
    }
  }
});
