import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import { defaults } from "../src/kernel/defaults.ts";
import { scriptedCaller } from "./support/caller.ts";
import { type Bench, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** An action that makes a new secret at the provider: it goes to rows under the vault's key, never to the agent or the log. */
const SECRET = "minted-0123456789-abcdefghij";
let provider: TestProvider;
let bench: Bench;
let caller: ReturnType<typeof scriptedCaller>;

beforeEach(async () => {
  provider = await startProvider();
  bench = await startBench(packWith("/token/secret"));
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  caller = scriptedCaller();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

function packWith(mints: string): string {
  return `format: gw.pack/v1
pack: acme
provider:
  origin: ${provider.origin}
  credential: acme-token
  auth: { scheme: bearer }
actions:
  token.create:
    effect: create
    retry: non_idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: /v1/tokens, body: application/json }
    input: { name: { in: body, type: string } }
    mints: [${mints}]
`;
}

async function create(): Promise<CallResult> {
  const run = await bench.openApproved(caller, ["acme.token.create"]);
  return bench.gateway.startCall(caller, run.id, { action: "acme.token.create", input: { name: "ci" } }).done;
}

function answer(type: string, body: string): void {
  provider.answer((_request, response) => void response.writeHead(201, { "content-type": type }).end(body));
}

test("a new secret in an answer is kept under a name, and neither the agent nor the log sees it", async () => {
  answer("application/json", JSON.stringify({ id: 7, token: { secret: SECRET, scope: "read" } }));
  const result = await create();
  assert.equal(result.outcome, "success");
  assert.ok(!JSON.stringify(result).includes(SECRET));
  const minted = bench.events().find(({ event_type }) => event_type === "secret_minted");
  assert.ok(minted?.event_type === "secret_minted");
  assert.deepEqual(result.response?.body, {
    id: 7,
    token: { secret: `minted secret ${minted.minted_id}`, scope: "read" },
  });
  assert.ok(!JSON.stringify(bench.events()).includes(SECRET));
  const kept = bench.rows("notes", "minted");
  assert.deepEqual(
    kept.map(({ secret, minted_id, action, credential }) => [secret, minted_id, action, credential]),
    [[SECRET, minted.minted_id, "acme.token.create", "acme-token"]],
  );
  assert.equal(minted.minted_id, `${minted.attempt_id}.1`);
});

test("an answer in which the secret cannot be told from the rest is withheld as a whole", async () => {
  answer("text/plain", `your token is ${SECRET}`);
  const result = await create();
  assert.ok(!JSON.stringify(result).includes(SECRET));
  assert.equal(result.response?.body_kind, "withheld");
  assert.deepEqual(bench.rows("notes", "minted"), []);
});

test("a success that lacks the named member is withheld: the secret may stand elsewhere in it", async () => {
  for (const status of [200, 201, 299]) {
    provider.answer((_request, response) => {
      const body = JSON.stringify({ token: { value: SECRET } });
      response.writeHead(status, { "content-type": "application/json" }).end(body);
    });
    const result = await create();
    assert.deepEqual([result.outcome, result.response?.body_kind], ["success", "withheld"]);
    assert.equal(result.transport_observation.reason, "mint_missing");
    assert.ok(!JSON.stringify([result, bench.events()]).includes(SECRET));
  }
});

test("where one of two secrets is missing, the fields are searched for the other all the same", async () => {
  await bench.close();
  bench = await startBench(packWith("/token/secret, /token/refresh"));
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  provider.answer((_request, response) => {
    const location = `/v1/tokens/7?secret=${SECRET}`;
    response
      .writeHead(201, { "content-type": "application/json", location })
      .end(JSON.stringify({ token: { secret: SECRET } }));
  });
  const result = await create();
  assert.equal(result.transport_observation.reason, "mint_missing");
  assert.equal(result.response?.headers["location"], "/v1/tokens/7?secret=[credential]");
  assert.ok(!JSON.stringify([result, bench.events()]).includes(SECRET));
});

test("a new secret that stands in the answer a second time, in a field too, is taken out there as well", async () => {
  provider.answer((_request, response) => {
    const links = {
      use: `https://acme.example/hook?key=${SECRET}`,
      basic: Buffer.from(`ci:${SECRET}`).toString("base64"),
    };
    const location = `/v1/tokens/7?secret=${SECRET}`;
    response
      .writeHead(201, { "content-type": "application/json", location })
      .end(JSON.stringify({ id: 7, token: { secret: SECRET }, links }));
  });
  const result = await create();
  assert.deepEqual([result.outcome, result.response?.body_kind], ["success", "json"]);
  const { id, links } = (result.response ?? assert.fail()).body as {
    readonly id: number;
    readonly links: Record<string, string>;
  };
  assert.deepEqual([id, links["use"]], [7, "https://acme.example/hook?key=[credential]"]);
  assert.equal(result.response?.headers["location"], "/v1/tokens/7?secret=[credential]");
  const all = JSON.stringify([result, bench.events()]);
  assert.ok(!all.includes(SECRET) && !all.includes(Buffer.from(`ci:${SECRET}`).toString("base64")));
  assert.equal(bench.rows("notes", "minted").length, 1);
});

/** What the agent and the log saw of an answer with a secret that is an object, beside these members. */
async function createdWith(secret: unknown, around: Readonly<Record<string, unknown>>) {
  provider.answer((_request, response) => {
    const location = `/v1/tokens/7?secret=${SECRET}`;
    response
      .writeHead(201, { "content-type": "application/json", location })
      .end(JSON.stringify({ id: 7, token: { secret }, ...around }));
  });
  const result = await create();
  return { result, all: JSON.stringify([result, bench.events()]) };
}

test("of a new secret that is an object or a list, no text stays in the rest of the answer either", async () => {
  for (const secret of [{ kind: "key", parts: [SECRET] }, ["key", { value: SECRET }]]) {
    const { result, all } = await createdWith(secret, { use: `https://acme.example/hook?key=${SECRET}` });
    assert.deepEqual([result.outcome, result.response?.body_kind], ["success", "json"]);
    const body = (result.response ?? assert.fail()).body as { readonly use: string };
    assert.equal(body.use, "https://acme.example/hook?key=[credential]");
    assert.equal(result.response?.headers["location"], "/v1/tokens/7?secret=[credential]");
    assert.ok(!all.includes(SECRET));
  }
});

test("a new secret of more texts than are looked for, or larger than the vault takes, withholds the answer", async () => {
  const many = Array.from({ length: 32 }, (_, index) => `${SECRET}-${index}`);
  for (const secret of [many, { value: SECRET, rest: "x".repeat(16_384) }]) {
    const { result, all } = await createdWith(secret, { use: `https://acme.example/hook?key=${SECRET}` });
    assert.deepEqual([result.outcome, result.response?.body_kind], ["success", "withheld"]);
    assert.equal(result.transport_observation.reason, "mint_too_large");
    assert.deepEqual(result.response?.headers, {});
    assert.ok(!all.includes(SECRET));
  }
  assert.equal(bench.rows("notes", "minted").length, 2);
});

test("an answer that says its new secret a second time as a number is withheld", async () => {
  answer("application/json", '{"id":7,"token":{"secret":"4111222233334444"},"serial":4111222233334444}');
  const result = await create();
  assert.deepEqual([result.outcome, result.response?.body_kind], ["success", "withheld"]);
  assert.equal(result.transport_observation.reason, "mint_repeated");
  assert.equal(bench.rows("notes", "minted").length, 1);
});

test("a refusal without the member is handed on as it is", async () => {
  provider.answer((_request, response) => {
    response.writeHead(422, { "content-type": "application/json" }).end(JSON.stringify({ error: "quota" }));
  });
  const result = await create();
  assert.deepEqual(result.response?.body, { error: "quota" });
  provider.answer((_request, response) => void response.writeHead(422).end());
  assert.equal((await create()).response?.body_kind, "none", "and so is one that says nothing");
});

test("a new secret as large as the vault takes is kept, and one that is larger is not shown either", async () => {
  for (const [more, kind] of [
    [0, "json"],
    [1, "withheld"],
  ] as const) {
    answer("application/json", JSON.stringify({ token: { secret: "x".repeat(defaults.secretBytes + more) } }));
    assert.equal((await create()).response?.body_kind, kind);
  }
});
