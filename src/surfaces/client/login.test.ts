import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Denied } from "../../kernel/failure.ts";
import { openConnection } from "./connection.ts";
import { logIn } from "./login.ts";

/** Whoever listens at the socket says this; what would have been signed is kept. */
async function logInTo(answer: string) {
  const folder = mkdtempSync(join(tmpdir(), "gw-login-"));
  const path = join(folder, "operator.sock");
  const server = createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(request.url === "/v1/login" ? '{"token":"t"}' : answer);
  });
  server.listen(path);
  await once(server, "listening");
  const connection = openConnection({ path, requireServer: () => undefined });
  after(() => {
    connection.close();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const signed: string[] = [];
  const signer = {
    vaultId: "vault",
    async signLogin(challenge: string) {
      signed.push(challenge);
      return { statement: {} as never, signature: "s" };
    },
  };
  const token = await logIn(connection, signer).catch((error: unknown) => error);
  return { token, signed };
}

test("a client signs the one challenge that the route declares", async () => {
  const { token, signed } = await logInTo('{"challenge":"c","vault_id":"vault"}');
  assert.deepEqual([token, signed], ["t", ["c"]]);
});

for (const [what, answer] of [
  ["says a member twice", '{"challenge":"c","vault_id":"vault","vault_id":"vault"}'],
  ["is no text", '{"challenge":["c"],"vault_id":"vault"}'],
  ["says more than it declares", '{"challenge":"c","vault_id":"vault","newer":true}'],
  ["lacks the challenge", '{"vault_id":"vault"}'],
  ["is larger than any challenge", JSON.stringify({ challenge: "c".repeat(10_000), vault_id: "vault" })],
  ["is not JSON", "challenge"],
] as const)
  test(`nothing is signed where the gateway's answer ${what}`, async () => {
    const { token, signed } = await logInTo(answer);
    assert.ok(token instanceof Denied && token.code === "answer_not_declared", String(token));
    assert.deepEqual(signed, []);
  });
