import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createAuthority } from "../../conventions/box/authority.ts";
import { createWays } from "./serve-requests.ts";

test("the answer to a HEAD says the size that its provider told, and that of a GET says its own", async () => {
  const sizes: readonly (readonly [string, string][])[] = [
    [["Content-Length", "1048576"]],
    [],
    [["content-length", "99"]],
  ];
  let asked = 0;
  const { plain } = createWays({
    authority: createAuthority({ wallMs: () => 1_790_000_000_000 }, { bytes: randomBytes }),
    carry: async ({ method }) =>
      ({
        ...{ status: 200, reason: "OK", headers: [["etag", '"1"'], ...(sizes[method === "HEAD" ? asked++ : 2] ?? [])] },
        body: method === "HEAD" ? "" : Buffer.from("{}").toString("base64"),
      }) as never,
    findHolder: () => null,
    refused: () => undefined,
    report: () => undefined,
  });
  plain.listen(0, "127.0.0.1");
  await once(plain, "listening");
  const url = `http://127.0.0.1:${(plain.address() as AddressInfo).port}/v1/things/7`;
  try {
    const told: (string | null)[] = [];
    for (const method of ["HEAD", "GET", "HEAD"]) {
      const answer = await fetch(url, { method });
      assert.equal(answer.headers.get("etag"), '"1"');
      assert.equal(await answer.text(), method === "GET" ? "{}" : "");
      assert.equal(answer.headers.get("transfer-encoding"), null);
      told.push(answer.headers.get("content-length"));
    }
    assert.deepEqual(told, ["1048576", "2", null]);
  } finally {
    plain.close();
    plain.closeAllConnections();
  }
});
