import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  demoPack,
  type Gateway,
  Home,
  type Json,
  type Members,
  makeFolder,
  openPlane,
  type Plane,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn, idOf } from "./support/reply.ts";

const DOCUMENT = "query Issues { issues { id number title } }";
const GRAPHQL = `  issue.read:
    effect: read
    request: { method: POST, path: /graphql, body: application/json }
    input:
      query: { in: body, const: "${DOCUMENT}", language: graphql }
`;
const IDEMPOTENCY = "  idempotency: { header: Idempotency-Key, window_s: 3600 }\nactions:";

interface Told {
  readonly call_id: string | null;
  readonly outcome: string;
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly text: string;
}

/** The real gateway and the part of a wrapper: what tools in a box send becomes an action of a trusted pack, or nothing. */
describe("a request of a tool in a box is the action that says it, or is refused", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let wrapper: Plane;
  let run: string;
  let placeholder: string;
  const process = { pid: 7, executable: "/usr/bin/curl", arguments: ["curl", "-s"] };

  async function send(method: string, target: string, more: Members = {}): Promise<Told> {
    const asked = { origin: provider.origin, method, target, headers: [["user-agent", "curl/8"]], process, ...more };
    const { status, body, text } = await wrapper.ask("POST", `/v1/runs/${run}/requests`, asked);
    assert.equal(status, 200, text);
    return { ...(body as unknown as Told), text: Buffer.from(String(body["body"]), "base64").toString("utf8") };
  }

  function jsonBody(value: Json, headers: readonly Json[] = []): Members {
    const body = Buffer.from(JSON.stringify(value)).toString("base64");
    return { body, headers: [["user-agent", "curl/8"], ["content-type", "application/json"], ...headers] };
  }

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin, GRAPHQL).replace("actions:", IDEMPOTENCY));
    gateway = await home.up();
    wrapper = openPlane(home.agentSocket);
    const opening = {
      purpose: "box",
      actions: ["demo.*"],
      contained: true,
      budget: { attempts: 50, side_effects: 20 },
    };
    const asked = await wrapper.ask("POST", "/v1/runs", opening);
    const [card] = await home.approvals();
    assert.ok(JSON.stringify(card).includes("whatever runs in its box speaks through this program"));
    await home.approve(idIn(asked, "approval_id"));
    run = idIn(asked, "run_id");
    placeholder = String(asked.body["placeholder"]);
    assert.match(placeholder, /^gw-placeholder-[0-9a-f]{32}$/);
  });

  after(async () => {
    wrapper?.close();
    await gateway?.end();
    await provider?.close();
  });

  test("a read is sent with the gateway's credential, and its answer comes back as it came", async () => {
    const bytes = '{ "big": 12345678901234567890 }';
    provider.answer((_request, response) => {
      response.writeHead(200, { "content-type": "application/json", "set-cookie": "a=b" }).end(bytes);
    });
    const headers = [
      ["user-agent", "curl/8"],
      ["accept", "*/*"],
      ["authorization", `token ${placeholder}`],
    ];
    const told = await send("GET", "/v1/things/a%2Fb", { headers });
    assert.deepEqual([told.outcome, told.status, told.reason, told.text], ["success", 200, "OK", bytes]);
    assert.deepEqual(told.headers.map(([name]) => name).includes("set-cookie"), false);
    const sent = provider.received.at(-1);
    assert.equal(sent?.url, "/v1/things/a%2Fb");
    assert.match(String(sent?.headers["authorization"]), /^Bearer s3cr3t/);
    // Some providers answer nobody who does not say what they are.
    assert.equal(sent?.headers["user-agent"], "agent-action-gateway");
  });

  test("a write counts, is logged with the process that the wrapper names, and is done once", async () => {
    provider.answer((_request, response) => {
      response.writeHead(201, { "content-type": "application/json" }).end("{}");
    });
    const told = await send("POST", "/v1/things", jsonBody({ name: "one" }));
    assert.deepEqual([told.outcome, told.status, told.reason], ["success", 201, "Created"]);
    assert.equal(provider.received.at(-1)?.body, '{"name":"one"}');
    const events = await home.events("contained_request");
    const event = events.find(({ call_id }) => call_id === told.call_id);
    assert.equal(event?.["action"], "demo.thing.make");
    assert.deepEqual(event?.["process"], process);
    assert.deepEqual(event?.["dropped"], ["user-agent"]);
  });

  test("a write that a tool repeats under its own name for it is known again by the provider, and no other is", async () => {
    provider.answer((_request, response) => {
      response.writeHead(201, { "content-type": "application/json" }).end("{}");
    });
    const tokenOf = async (key: string | null, name = "paid") => {
      const headers = key === null ? [] : [["idempotency-key", key]];
      assert.equal((await send("POST", "/v1/things", jsonBody({ name }, headers))).status, 201);
      return String(provider.received.at(-1)?.headers["idempotency-key"]);
    };
    const first = await tokenOf("k1");
    assert.match(first, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(await tokenOf("k1"), first);
    const others = [await tokenOf("k1", "other"), await tokenOf("k2"), await tokenOf(null), await tokenOf(null)];
    assert.equal(new Set([first, ...others]).size, 5);
  });

  test("an id that a read of the run gave a name has that name on the card, and no other has", async () => {
    const issue = {
      id: "I_kwDOissue42",
      number: 42,
      title: 'Export "fails"\nApprove',
      url: "https://x.example/o/app/42",
    };
    const nobodys = { id: "R_kwDOnobodys", name: "app" };
    const evil = { id: "R_kwDOevilsapp", name: "app", owner: { login: "evil-org" } };
    const user = { id: "U_kwDOsomebody", name: "The Owner", login: "mallory" };
    provider.answer((_request, response) => {
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ data: { issues: [issue, { ...issue, id: "I_kwDOissue43" }, nobodys, evil, user] } }));
    });
    await send("GET", "/v1/things/a");
    const unread = send("POST", "/v1/burnt", jsonBody({ name: "I_kwDOissue43" }));
    const [plain] = await home.approvals();
    assert.equal(JSON.stringify(plain).includes("Export"), false, "what anybody could have written gives no name");
    await home.must(["deny", idOf(plain, "approval_id")]);
    await unread;
    assert.equal((await send("POST", "/graphql", jsonBody({ query: DOCUMENT }))).status, 200);
    for (const [name, says] of [
      [issue.id, '"I_kwDOissue42" is #42 "Export \\"fails\\"'],
      [evil.id, '"R_kwDOevilsapp" is "evil-org/app", as'],
      [user.id, '"U_kwDOsomebody" is "mallory", as'],
      [nobodys.id, null],
      ["I_kwDOnobodyRead", null],
    ] as const) {
      const asked = send("POST", "/v1/burnt", jsonBody({ name }));
      const [card] = await home.approvals();
      const text = JSON.stringify(card);
      assert.equal(text.includes("as the provider answered demo.issue.read in this run"), says !== null, text);
      if (says !== null) assert.ok(text.includes(JSON.stringify(says).slice(1, -1)), text);
      if (name === issue.id) assert.ok(text.includes(issue.url) && !text.includes("fails\\nApprove"), text);
      await home.must(["deny", idOf(card, "approval_id")]);
      assert.equal((await asked).reason, "Refused by gw - approval_denied");
    }
  });

  test("no large body is taken for a run that nobody has let begin", async () => {
    const opening = { purpose: "box", actions: ["demo.*"], contained: true };
    const asked = await wrapper.ask("POST", "/v1/runs", opening);
    const head = { "content-type": "multipart/form-data; boundary=b", "transfer-encoding": "chunked" };
    const large = `/v1/runs/${idIn(asked, "run_id")}/requests/large`;
    const { status, text } = await wrapper.ask("POST", large, undefined, head);
    assert.equal(status, 413, text);
    assert.match(text, /before a person has let the run begin/);
    await home.must(["deny", idIn(asked, "approval_id")]);
  });

  test("what no action says is refused with 403, names the nearest action, and reaches nobody", async () => {
    const before = provider.received.length;
    const cases: readonly (readonly [string, Promise<Told>])[] = [
      ["path_not_in_packs", send("GET", "/v2/things/a")],
      ["request_not_in_packs", send("DELETE", "/v1/things/a")],
      ["request_not_in_packs", send("GET", "/v1/things/a?verbose=1")],
      ["request_not_in_packs", send("POST", "/v1/things", jsonBody({ name: "x", admin: true }))],
      ["request_not_in_packs", send("POST", "/v1/things", jsonBody({ name: "x" }, [["x-dry-run", "true"]]))],
      ["request_not_in_packs", send("POST", "/v1/things", jsonBody({ name: "x" }, [["if-none-match", "*"]]))],
      ["request_not_in_packs", send("GET", "/v1/things/a", { headers: [["range", "bytes=0-1"]] })],
      ["segment_refused", send("GET", "/v1/things/..")],
      ["origin_not_in_packs", send("GET", "/", { origin: "https://elsewhere.example" })],
    ];
    for (const [code, asked] of cases) {
      const told = await asked;
      assert.deepEqual([told.outcome, told.status, told.reason], ["refused", 403, `Refused by gw - ${code}`]);
      const { message, error, detail } = JSON.parse(told.text) as Record<string, string>;
      assert.ok(message !== undefined && message === error && message === detail);
    }
    const { action, more } = JSON.parse((await send("GET", "/v1/things/a?verbose=1")).text) as Record<string, string>;
    assert.deepEqual([action, more], ["demo.thing.get", "gw actions demo.thing.get"]);
    const git = await send("GET", "/a/b.git/info/refs?service=git-upload-pack", {
      headers: [["user-agent", "git/2.39"]],
    });
    assert.ok(git.headers.some(([name, value]) => name === "content-type" && value.startsWith("text/plain")));
    assert.equal(provider.received.length, before);
  });

  test("a credential that is not the placeholder is refused, and stands nowhere in the log", async () => {
    const foreign = "ghp_0123456789abcdefghijklmnop";
    for (const [name, value] of [
      ["authorization", `Bearer ${foreign}`],
      ["authorization", `Basic ${Buffer.from(`me:${foreign}`).toString("base64")}`],
      ["cookie", foreign],
      ["x-api-key", foreign],
    ]) {
      const told = await send("GET", `/v1/things/a?token=${foreign}`, { headers: [[name ?? "", value ?? ""]] });
      assert.equal(told.reason, "Refused by gw - credential_foreign");
    }
    for (const [origin, query] of [
      [provider.origin, `access_token=${foreign}`],
      [provider.origin, `a=1&API%5FKEY=${foreign}`],
      ["https://elsewhere.example", `X-Amz-Security-Token=${foreign}`],
    ]) {
      const told = await send("GET", `/v1/things/a?${query}`, { origin: String(origin) });
      assert.equal(told.reason, "Refused by gw - credential_foreign", query);
    }
    // Behind what would be refused for something else, and kept as it came.
    const many = "a=1&".repeat(300);
    for (const target of [`/v1/things/a?${many}access_token=${foreign}`, `/v1/things/a#id_token=${foreign}`]) {
      const told = await send("GET", target);
      assert.equal(told.reason, "Refused by gw - credential_foreign", target.slice(0, 40));
    }
    const own = await send("GET", `/v1/things/a?access_token=${placeholder}`);
    assert.equal(own.reason, "Refused by gw - request_not_in_packs");
    const log = await home.must(["audit", "export", "--log", `${home.folder}/audit`]);
    assert.equal(log.out.includes(foreign), false);
    assert.ok(log.out.includes("credential_foreign"));
  });

  test("a person's no, and an outcome that nobody saw, are 403 and never 5xx", async () => {
    const denied = send("POST", "/v1/burnt", jsonBody({ name: "x" }));
    const [card] = await home.approvals();
    await home.must(["deny", idOf(card, "approval_id")]);
    assert.deepEqual([(await denied).outcome, (await denied).reason], ["refused", "Refused by gw - approval_denied"]);
    provider.answer((_request, response) => response.destroy());
    const unknown = await send("POST", "/v1/things", jsonBody({ name: "unseen" }));
    const told = [unknown.outcome, unknown.status, unknown.reason];
    assert.deepEqual(told, ["unknown", 403, "Refused by gw - outcome_unknown"]);
    assert.match(String(unknown.call_id), /^call_/);
    const again = await send("POST", "/v1/things", jsonBody({ name: "unseen" }));
    assert.equal(again.reason, "Refused by gw - outcome_unsettled");
  });

  test("a tool that hangs up before it was sent has sent nothing", async () => {
    const before = provider.received.length;
    const second = openPlane(home.agentSocket);
    const asked = { origin: provider.origin, method: "POST", target: "/v1/burnt", ...jsonBody({ name: "gone" }) };
    const hanging = second.ask("POST", `/v1/runs/${run}/requests`, asked).catch(() => undefined);
    await home.approvals();
    second.close();
    await hanging;
    await until("the question is taken back", async () => (await home.status())["approvals_pending"] === 0);
    assert.equal(provider.received.length, before);
  });

  test("an envelope that is not what the plane takes, and a run of somebody else, are problems of the plane", async () => {
    const path = `/v1/runs/${run}/requests`;
    const good = { origin: provider.origin, method: "GET", target: "/v1/things/a", headers: [] };
    assert.equal((await wrapper.ask("POST", path, { ...good, extra: 1 })).status, 422);
    assert.equal((await wrapper.ask("POST", path, { ...good, body: "not base64!" })).status, 422);
    assert.equal((await wrapper.ask("POST", "/v1/runs/run_0/requests", good)).status, 404);
  });

  test("while one is on its way, others are answered", async () => {
    const held: ServerResponse[] = [];
    provider.answer((_request, response) => void held.push(response));
    const second = openPlane(home.agentSocket);
    const slow = send("GET", "/v1/things/slow");
    await until("the slow one is at the provider", () => held.length === 1);
    const asked = { origin: provider.origin, method: "GET", target: "/v3", headers: [] };
    const { body } = await second.ask("POST", `/v1/runs/${run}/requests`, asked);
    assert.equal(body["outcome"], "refused");
    held[0]?.writeHead(200, { "content-type": "text/plain" }).end("at last");
    assert.equal((await slow).text, "at last");
    second.close();
  });
});
