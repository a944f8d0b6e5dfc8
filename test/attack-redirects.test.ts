import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  type Reply,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";

const pack = (name: string, origin: string, others: string): string => `format: gw.pack/v1
pack: ${name}
provider:
  origin: ${origin}
  network: private
  credential: pay-token
  redirects: { others: ${others} }
actions:
  thing.pay:
    effect: write
    preview: none
    request: { method: POST, path: "/v1/things/{id}", body: application/json }
    input:
      id: { in: path, type: string, maxLength: 64 }
      note: { in: body, type: string, maxLength: 64 }
  thing.get:
    effect: read
    request: { method: GET, path: "/v1/things/{id}" }
    input:
      id: { in: path, type: string, maxLength: 64 }
`;

describe("what was approved is what is sent", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;
  let run: string;

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("pay-token", provider.origin);
    await home.trustPack("plain", pack("plain", provider.origin, "refuse"));
    await home.must(["credential", "mark", "pay-token"]);
    gateway = await home.up();
    await home.trustBeside("asks", pack("asks", provider.origin, "ask"));
    agent = openPlane(home.agentSocket);
    const all = ["plain.thing.pay", "plain.thing.get", "asks.thing.pay"];
    run = await openRun(home, agent, all, { attempts: 60, side_effects: 20 });
  });
  after(async () => {
    agent?.close();
    await gateway?.end();
    await provider?.close();
  });

  const sent = (): readonly string[] => provider.received.map(({ method, url }) => `${method} ${url}`);

  /** The next open card, by the address that it is for; then it is decided. */
  async function decide(what: "approve" | "deny"): Promise<Members> {
    const card = await until("a card", async () => (await home.approvals())[0]);
    const id = idOf(card, "approval_id");
    await home.must(what === "approve" ? ["approve", id] : ["deny", id, "--reason", "no"]);
    return card;
  }

  const targetOf = (card: Members): unknown => ((card["card"] as Members)["call"] as Members)["target"];

  test("a 307 of the same origin does not repeat an approved write at another path", async () => {
    provider.answer(({ url }, response) =>
      url === "/v1/things/r307"
        ? response.writeHead(307, { location: "/v1/admin" }).end()
        : response.writeHead(200).end(),
    );
    const paying = call(agent, run, "plain.thing.pay", { id: "r307", note: "owner" });
    await decide("approve");
    const reply: Reply = await paying;
    assert.equal(reply.body["outcome"], "unknown", reply.text);
    assert.deepEqual(sent(), ["POST /v1/things/r307"]);
  });

  test("where the pack says ask, the write goes on only under a card of its own, and denied it is not sent on", async () => {
    const before = sent().length;
    provider.answer(({ url }, response) =>
      url === "/v1/things/a307"
        ? response.writeHead(307, { location: "/v1/admin" }).end()
        : response.writeHead(200).end(),
    );
    const refused = call(agent, run, "asks.thing.pay", { id: "a307", note: "one" });
    await decide("approve");
    assert.equal(targetOf(await decide("deny")), `${provider.origin}/v1/admin`);
    assert.equal((await refused).body["outcome"], "unknown");
    assert.deepEqual(sent().slice(before), ["POST /v1/things/a307"]);
  });

  test("an each-use credential asks for every send, retries too", async () => {
    const before = sent().length;
    let tries = 0;
    provider.answer((_request, response) =>
      response.writeHead(++tries === 1 ? 503 : 200, { "retry-after": "1" }).end(),
    );
    const reading = call(agent, run, "plain.thing.get", { id: "busy" }, 60);
    const first = await decide("approve");
    const second = await decide("approve");
    assert.notEqual(first["approval_id"], second["approval_id"]);
    const reply = await reading;
    assert.equal(reply.body["outcome"], "success", reply.text);
    assert.equal(sent().length, before + 2);
    const granted = await home.events("authorization_granted");
    const ids = granted.map(({ approval_id }) => approval_id);
    for (const card of [first, second])
      assert.ok(ids.includes(card["approval_id"] ?? null), "each send rests on its own card");
  });
});
