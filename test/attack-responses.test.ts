import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  demoPack,
  type Gateway,
  Home,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  SECRET,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

const bytes = Buffer.from(SECRET);

/** What a provider could send back of the credential, by accident, and how. */
const echoes: readonly (readonly [string, (secret: string) => string])[] = [
  ["plain", (secret) => `you sent ${secret}, thank you`],
  ["with its scheme", (secret) => `{"headers":{"authorization":"Bearer ${secret}"}}`],
  ["with a JSON escape", (secret) => `{"token":"${secret.replaceAll("/", "\\/").replace("s", "\\u0073")}"}`],
  ["as base64", () => bytes.toString("base64")],
  ["as base64 at the second offset", () => Buffer.concat([Buffer.from("x"), bytes]).toString("base64")],
  ["as base64 at the third offset", () => Buffer.concat([Buffer.from("xy"), bytes]).toString("base64")],
  ["as base64 for URLs", () => bytes.toString("base64url")],
  ["as hex", () => bytes.toString("hex")],
  ["as hex in capitals", () => bytes.toString("hex").toUpperCase()],
  ["percent-encoded", (secret) => encodeURIComponent(secret)],
  [
    "percent-encoded in small letters",
    (secret) => encodeURIComponent(secret).toLowerCase().replace("token", "Token").replace("provider", "Provider"),
  ],
];

describe("what a provider may send back", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let elsewhere: TestProvider;
  let gateway: Gateway;
  let agent: Plane;
  let run: string;

  before(async () => {
    provider = await startProvider();
    elsewhere = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    // A pack that an operator trusts, and that asks for the credential at an origin it is not bound to.
    const rogue = demoPack(elsewhere.origin).replace("pack: demo", "pack: rogue");
    await home.trustPack("rogue", rogue);
    const open = demoPack(provider.origin)
      .replace("pack: demo", "pack: open")
      .replace(
        "  network: private",
        `  network: private\n  redirects: { origins: ["${elsewhere.origin}"], others: refuse }`,
      );
    gateway = await home.up();
    await home.trustBeside("open", open);
    agent = openPlane(home.agentSocket);
    const all = ["demo.thing.get", "demo.thing.make", "rogue.thing.get", "open.thing.get"];
    run = await openRun(home, agent, all, { attempts: 200, side_effects: 10 });
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    await provider?.close();
    await elsewhere?.close();
  });

  function assertHidden(text: string, what: string): void {
    const found = [...echoes.map(([, write]) => write(SECRET)), SECRET].find((form) => text.includes(form));
    assert.equal(found, undefined, what);
  }

  test("a response that holds the credential in any form is withheld", async () => {
    for (const [what, write] of echoes) {
      for (const type of ["application/json", "text/plain"]) {
        provider.answer((_request, response) => response.writeHead(200, { "content-type": type }).end(write(SECRET)));
        const reply = await call(agent, run, "demo.thing.get", { id: "echo" });
        assert.equal(reply.status, 200, reply.text);
        const { response, transport_observation } = reply.body as {
          response: { body: unknown; body_kind: string };
          transport_observation: { reason: string };
        };
        assert.deepEqual([response.body, response.body_kind], [null, "withheld"], `${what} ${type}: ${reply.text}`);
        assert.equal(transport_observation.reason, "credential_echoed", what);
        assertHidden(reply.text, what);
      }
    }
  });

  test("no number reaches an agent as another one, now or when it asks again", async () => {
    const lost = '{ "id": 12345678901234567890, "of": [1e999], "ok": 1 }';
    const kept =
      '{ "id": 9007199254740991, "name": "12345678901234567890", "__proto__": { "a": 1 }, "half": "\\ud800" }';
    const large = `{"id":9007199254740993,"more":"${"x".repeat(300_000)}"}`;
    for (const [text, kind] of [
      [lost, "text"],
      [kept, "json"],
      [large, "text"],
    ] as const) {
      provider.answer((_request, response) =>
        response.writeHead(200, { "content-type": "application/json" }).end(text),
      );
      const first = await call(agent, run, "demo.thing.get", { id: "numbers" });
      const { call_id, response } = first.body as { call_id: string; response: { body: unknown; body_kind: string } };
      assert.deepEqual([response.body, response.body_kind], [kind === "text" ? text : JSON.parse(text), kind]);
      const again = await agent.ask("GET", `/v1/calls/${call_id}`);
      assert.equal(again.text, first.text);
    }
  });

  test("headers come by allow-list, and one that holds the credential does not come at all", async () => {
    provider.answer((_request, response) => {
      response.writeHead(200, `OK ${SECRET}`, {
        "content-type": "text/plain",
        "x-request-id": SECRET,
        "x-echo": `Bearer ${SECRET}`,
        "set-cookie": "session=1",
        etag: `"${bytes.toString("base64")}"`,
      });
      response.end("ok");
    });
    const reply = await call(agent, run, "demo.thing.get", { id: "headers" });
    assertHidden(reply.text, "no header, and no reason phrase");
    assert.ok(!reply.text.includes("session=1"), "cookies are not the agent's");
  });

  test("an error answer is looked at like any other", async () => {
    provider.answer((_request, response) => response.writeHead(401).end(`bad token ${SECRET}`));
    const reply = await call(agent, run, "demo.thing.get", { id: "denied" });
    assert.equal(reply.body["outcome"], "error", reply.text);
    assertHidden(reply.text, "401");
  });

  test("a redirect to a host that the pack does not list is refused, and nothing goes there", async () => {
    for (const location of [
      `${elsewhere.origin}/v1/things/1`,
      `//127.0.0.1:${new URL(elsewhere.origin).port}/x`,
      "http://2130706433:1/",
    ]) {
      provider.answer((_request, response) => response.writeHead(302, { location }).end());
      const reply = await call(agent, run, "demo.thing.get", { id: "away" });
      assert.equal((reply.body["transport_observation"] as { reason: string }).reason, "redirect_refused", reply.text);
    }
    assert.equal(elsewhere.received.length, 0);
  });

  test("a redirect that the pack lists is followed without the credential, and counts", async () => {
    provider.answer((_request, response) => response.writeHead(302, { location: `${elsewhere.origin}/moved` }).end());
    const before = await attemptsUsed();
    const reply = await call(agent, run, "open.thing.get", { id: "listed" });
    assert.equal(reply.body["outcome"], "success", reply.text);
    assert.equal(elsewhere.received.length, 1);
    assert.equal(elsewhere.received[0]?.headers.authorization, undefined, "the credential stays where it is bound");
    assert.equal(await attemptsUsed(), before + 2);
  });

  test("the vault refuses a credential at an origin it is not bound to, whatever a trusted pack says", async () => {
    const before = elsewhere.received.length;
    const reply = await call(agent, run, "rogue.thing.get", { id: "steal" });
    const seen = reply.body["transport_observation"] as { kind: string; reason: string; detail: string };
    assert.deepEqual([seen.kind, seen.reason], ["never_sent", "credential_refused"], reply.text);
    assert.match(seen.detail, /credential_not_bound/);
    assert.equal(elsewhere.received.length, before);
  });

  test("an answer that never ends or is too large is bounded", async () => {
    provider.answer((_request, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const block = Buffer.alloc(1_048_576, "x");
      const more = (): void => void (response.destroyed || response.write(block, () => setImmediate(more)));
      more();
    });
    const reply = await call(agent, run, "demo.thing.make", { name: "endless" }, 60);
    assert.equal(reply.body["outcome"], "unknown", reply.text.slice(0, 300));
    assert.equal(reply.body["response"], null);
  });

  async function attemptsUsed(): Promise<number> {
    const { body } = await agent.ask("GET", `/v1/runs/${run}`);
    return Number((body["budget"] as { attempts_used: number }).attempts_used);
  }
});
