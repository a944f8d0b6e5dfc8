import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { codes } from "../../../src/kernel/codes.ts";
import {
  GOOD_JSON,
  type Hostile,
  JSON_TYPE,
  PROMOTE,
  sized,
  UPLOAD,
} from "../../../test/support/requests/hostile/entry.ts";
import { fieldEntries } from "../../../test/support/requests/hostile/fields.ts";
import { framingEntries } from "../../../test/support/requests/hostile/framing.ts";
import { jsonEntries } from "../../../test/support/requests/hostile/json.ts";
import { goodUpload, multipartEntries } from "../../../test/support/requests/hostile/multipart.ts";
import { goodSigned, signedEntries } from "../../../test/support/requests/hostile/signed.ts";
import {
  sendEndless,
  sendRaw,
  startFastifyServer,
  startNodeServer,
  type TestServer,
} from "../../../test/support/requests/servers.ts";

const corpus: readonly Hostile[] = [
  ...framingEntries,
  ...jsonEntries,
  ...fieldEntries,
  ...multipartEntries,
  ...signedEntries,
];

test("the hostile corpus holds at least 150 different requests", () => {
  assert.ok(corpus.length >= 150, `only ${corpus.length}`);
  assert.equal(new Set(corpus.map(({ name }) => name)).size, corpus.length);
  assert.equal(
    new Set(corpus.map(({ send }) => Buffer.concat(send.map((piece) => Buffer.from(piece))).toString("latin1"))).size,
    corpus.length,
  );
});

const chunk = `ffff\r\n${"a".repeat(0xffff)}\r\n`;
const part =
  '--XX\r\nContent-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: application/octet-stream\r\n\r\n';
const endless = [
  ["a JSON body", `${PROMOTE} HTTP/1.1\r\nHost: t\r\n${JSON_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n`, chunk],
  [
    "a file",
    `${UPLOAD} HTTP/1.1\r\nHost: t\r\nContent-Type: multipart/form-data; boundary=XX\r\nTransfer-Encoding: chunked\r\n\r\n${part.length.toString(16)}\r\n${part}\r\n`,
    chunk,
  ],
] as const;

for (const start of [startNodeServer, startFastifyServer]) {
  let server: TestServer;
  before(async () => {
    server = await start();
  });
  after(() => server.close());

  test(`each hostile request gets its documented status and code, and the server stays up (${start.name})`, async (t) => {
    for (const entry of corpus) {
      await t.test(entry.name, async () => {
        const recorded = server.records.length;
        const reply = await sendRaw(server.port, entry.send);
        assert.equal(reply.status, entry.status, reply.body);
        assert.equal(codes[entry.code].status, entry.status, "the table and the corpus disagree");
        if (entry.send[0]?.toString().startsWith("HEAD ")) return;
        assert.equal(reply.headers.get("content-type"), "application/problem+json", reply.body);
        const problem = JSON.parse(reply.body);
        assert.equal(problem.code, entry.code, reply.body);
        assert.match(problem.correlation_id, /^corr-/);
        if (entry.finding !== undefined) assert.equal(problem.errors[0]?.code, entry.finding);
        if (entry.path !== undefined) assert.equal(problem.errors[0]?.path, entry.path);
        if (entry.closes) assert.equal(reply.closed, true, "the connection stayed open");
        assert.ok(reply.body.length < 16_384, "the reply repeats too much of the request");
        for (const record of server.records.slice(recorded)) {
          assert.deepEqual(record.decision, { kind: "refused", code: entry.code });
          assert.equal(record.request_digest, null);
        }
      });
    }
    assert.deepEqual(server.faults, []);
    const good = await sendRaw(server.port, sized(PROMOTE, [JSON_TYPE], GOOD_JSON));
    assert.equal(good.status, 200, good.body);
    assert.equal((await sendRaw(server.port, goodUpload)).status, 200);
    assert.equal((await sendRaw(server.port, goodSigned)).status, 200);
  });

  for (const [what, head, filler] of endless) {
    test(`${what} without end is cut off at its limit (${start.name})`, async () => {
      const before = server.records.length;
      await sendEndless(server.port, head, filler);
      await server.recorded(before + 1);
      assert.deepEqual(server.records.at(-1)?.decision, { kind: "refused", code: "body_too_large" });
      assert.ok(server.mostRead() < 1_048_576, `the server read ${server.mostRead()} bytes`);
    });
  }

  test(`two hundred hostile connections at once leave the server answering (${start.name})`, async () => {
    const some = corpus.filter((_, index) => index % 2 === 0).slice(0, 200);
    const replies = await Promise.all(some.map((entry) => sendRaw(server.port, entry.send)));
    assert.deepEqual(
      replies.map(({ status }) => status),
      some.map(({ status }) => status),
    );
    assert.equal((await sendRaw(server.port, sized(PROMOTE, [JSON_TYPE], GOOD_JSON))).status, 200);
  });

  test(`a request that is cut off is recorded as refused and answers nobody (${start.name})`, async () => {
    const before = server.records.length;
    const socket = connect({ port: server.port, host: "127.0.0.1" });
    socket.write(`${PROMOTE} HTTP/1.1\r\nHost: t\r\n${JSON_TYPE}\r\nContent-Length: 40\r\n\r\n{"env`);
    await once(socket, "connect");
    socket.destroySoon();
    await server.recorded(before + 1);
    assert.deepEqual(server.records.at(-1)?.decision, { kind: "refused", code: "request_cut_off" });
  });

  test(`the record of an allowed, a denied and a failed request holds the safe fields alone (${start.name})`, async () => {
    const statuses: number[] = [];
    for (const release of ["r1", "forbidden", "explode"]) {
      const body = JSON.stringify({ environment: "staging", release, note: "private" });
      statuses.push((await sendRaw(server.port, sized(PROMOTE, [JSON_TYPE], body))).status);
    }
    assert.deepEqual(statuses, [200, 403, 500]);
    const [allowed, denied, failed] = server.records.slice(-3);
    assert.deepEqual(allowed?.decision, { kind: "allowed", by: "release policy" });
    assert.deepEqual(allowed?.result, { kind: "done", status: 200 });
    assert.deepEqual(denied?.decision, { kind: "denied", code: "action_not_permitted" });
    assert.deepEqual(denied?.result, { kind: "not_attempted" });
    assert.deepEqual(failed?.result, { kind: "failed", code: "internal_fault" });
    for (const record of [allowed, denied, failed]) {
      assert.deepEqual(record?.fields, { "/body/environment": "staging" });
      assert.match(record?.request_digest ?? "", /^sha256:[0-9a-f]{64}$/);
      assert.ok(!JSON.stringify(record).includes("private"));
    }
    assert.equal(server.faults.length, 1);
  });
}
