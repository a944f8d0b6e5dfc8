import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { fetchDocument } from "./fetch-document.ts";

test("a document that cannot be read is told in words, with what to do next; one that is not there is none", async () => {
  const server = createServer(({ url }, response) => response.writeHead(url === "/gone" ? 404 : 503).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  assert.equal(await fetchDocument(`${origin}/gone`, null), undefined);
  const refused = (why: string) => ({
    code: "token_unavailable",
    message: `${origin}/it cannot be read: ${why}.`,
    next: /reaches it/,
  });
  await assert.rejects(fetchDocument(`${origin}/it`, null), refused("it answered 503"));
  await new Promise((resolve) => server.close(resolve));
  await assert.rejects(fetchDocument(`${origin}/it`, null), refused("nothing listens there (ECONNREFUSED)"));
});
