import assert from "node:assert/strict";
import { generateKeyPairSync, hash, sign } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { after, before, describe, test } from "node:test";
import canonicalize from "canonicalize";
import {
  asUser,
  call,
  codeOf,
  demoPack,
  type Gateway,
  Home,
  type Json,
  type Members,
  makeFolder,
  openPlane,
  type Plane,
  type Reply,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn, idOf } from "./support/reply.ts";

describe("only a person's signature over the exact card decides", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;
  let operator: Plane;

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
    operator = openPlane(home.operatorSocket);
  });

  after(async () => {
    agent?.close();
    operator?.close();
    await gateway?.end();
    await provider?.close();
  });

  test("no route of the operator plane can be reached on the agent plane", async () => {
    for (const { method, path } of await routesOf(operator)) {
      if (path === "/v1/openapi.json") continue;
      const reply = await agent.ask(method, fill(path), method === "POST" ? {} : undefined);
      assert.deepEqual([reply.status, reply.body["code"]], [404, "not_found"], `${method} ${path}`);
    }
    assert.equal((await agent.ask("GET", "/v1/events")).status, 404);
  });

  test("being able to open the operator socket is not enough: every route that shows or decides asks for a login", async () => {
    const open = [
      "GET /v1/status",
      "POST /v1/login/challenge",
      "POST /v1/login",
      "POST /v1/unlock/failed",
      // Signed or sealed files, which an operator of another user needs before there is a login.
      "GET /v1/home",
      "GET /v1/log/files",
      "POST /v1/log/files/read",
      // These carry an operator's signature over exactly what they order.
      "POST /v1/lock/order",
      "POST /v1/sessions/{session_id}/revoke",
    ];
    const asked = (await routesOf(operator)).filter(
      ({ method, path }) => !open.includes(`${method} ${path}`) && path !== "/v1/openapi.json",
    );
    assert.ok(asked.length >= 9, JSON.stringify(asked));
    for (const { method, path, body } of [...asked, { method: "GET", path: "/v1/events", body: undefined }]) {
      for (const authorization of ["", "Bearer ", `Bearer ${Buffer.alloc(32).toString("base64url")}`]) {
        const reply = await operator.ask(method, fill(path), body, authorization === "" ? {} : { authorization });
        assert.deepEqual([reply.status, reply.body["code"]], [401, "operator_not_logged_in"], `${method} ${path}`);
      }
    }
  });

  test("a login needs the approver key: a made-up key and an old challenge are refused", async () => {
    const { body } = await operator.ask("POST", "/v1/login/challenge");
    const statement = {
      format: "gw.login/v1",
      vault_id: body["vault_id"] ?? "",
      challenge: body["challenge"] ?? "",
      operator: "ada",
      operator_key_id: "key_made_up",
    };
    const forged = await operator.ask("POST", "/v1/login", { statement, signature: signWithOwnKey(statement) });
    assert.deepEqual([forged.status, forged.body["code"]], [403, "signature_invalid"]);
    const caught = await signedBy(home, "approvals", []);
    const replayed = await operator.ask("POST", "/v1/login", caught.login);
    assert.deepEqual([replayed.status, replayed.body["code"]], [403, "signature_invalid"], "a login is answered once");
  });

  test("a decision without, with a wrong, a foreign or a replayed signature changes nothing", async () => {
    const asked = await askForRun(agent);
    const path = `/v1/approvals/${asked.approval}/decision`;
    const caught = await signedBy(home, "approve", [asked.approval]);
    assert.ok(caught.decision !== null, "it was signed");
    const { statement, signature } = caught.decision;
    const send = (body: Json, to = path): Promise<Reply> =>
      operator.ask("POST", to, body, { authorization: caught.authorization });

    assert.equal((await send({ statement })).status, 422, "no signature at all");
    assert.equal((await send({ statement, signature: "" })).status, 422, "an empty signature");
    const refused: readonly (readonly [string, Json])[] = [
      ["a signature of zeros", { statement, signature: Buffer.alloc(64).toString("base64") }],
      ["another key's signature", { statement, signature: signWithOwnKey(statement) }],
      ["a bit turned over", { statement, signature: turnBit(signature) }],
      ["more budget than was signed", { statement: { ...statement, narrow: widest }, signature }],
      ["another decision", { statement: { ...statement, decision: "deny" }, signature }],
      ["another name", { statement: { ...statement, operator: "eve" }, signature }],
      ["another vault", { statement: { ...statement, vault_id: "vlt_00000000000000000000000000" }, signature }],
      ["another card", { statement: { ...statement, card_digest: `sha256:${"0".repeat(64)}` }, signature }],
    ];
    for (const [what, body] of refused) {
      const reply = await send(body);
      assert.deepEqual([reply.status, reply.body["code"]], [403, "signature_invalid"], what);
    }
    assert.equal((await agent.ask("GET", `/v1/runs/${asked.run}`)).body["state"], "pending");

    const elsewhere = await send(caught.decision, "/v1/approvals/apr_00000000000000000000000000/decision");
    assert.equal(elsewhere.body["code"], "card_mismatch");
    assert.equal((await send(caught.decision)).status, 200, "the decision that was really signed holds");
    assert.equal((await agent.ask("GET", `/v1/runs/${asked.run}`)).body["state"], "open");

    const again = await send(caught.decision);
    assert.deepEqual([again.status, again.body["code"]], [409, "approval_not_pending"]);
    const next = await askForRun(agent);
    const behind = await askForRun(agent);
    const unseen = await home.operator(["approve", behind.approval]);
    assert.deepEqual([unseen.code, codeOf(unseen)], [1, "approval_not_pending"], "no card, nothing to sign");
    const crossed = await send(caught.decision, `/v1/approvals/${next.approval}/decision`);
    assert.equal(crossed.body["code"], "card_mismatch", "one yes is for one card");
    const moved = { ...caught.decision, statement: { ...statement, approval_id: next.approval } };
    assert.equal((await send(moved, `/v1/approvals/${next.approval}/decision`)).body["code"], "signature_invalid");
    await home.must(["deny", next.approval, "--reason", "it was a test"]);
    await home.must(["deny", behind.approval]);
    assert.equal(provider.received.length, 0);
  });

  test("a decision that comes late changes nothing", async () => {
    const { asked, caught } = await catchInTime(home, agent);
    await until("nobody decided in time", async () => {
      const { body } = await agent.ask("GET", `/v1/runs/${asked.run}`);
      return body["state"] === "ended";
    });
    const path = `/v1/approvals/${asked.approval}/decision`;
    const late = await operator.ask("POST", path, caught.decision, { authorization: caught.authorization });
    assert.deepEqual([late.status, late.body["code"]], [409, "approval_not_pending"]);
    const tried = await call(agent, asked.run, "demo.thing.get", { id: "1" });
    assert.equal(tried.status, 403, "a late yes never revives the run");
    assert.equal(provider.received.length, 0);
  });

  test("a card that was changed on its way to the person is not signed", async () => {
    const asked = await askForRun(agent);
    const friendly = (card: Members): Members => ({ ...card, authority: "Signed by somebody you trust" });
    const shown = await throughProxy(home, ["approve", asked.approval], (path, text) => {
      if (path !== `/v1/approvals/${asked.approval}`) return text;
      const approval = JSON.parse(text) as Members;
      return JSON.stringify({ ...approval, card: friendly(approval["card"] as Members) });
    });
    assert.deepEqual([shown.exit.code, codeOf(shown.exit)], [1, "card_mismatch"]);
    assert.ok(!shown.asked.some(({ path }) => path.endsWith("/decision")), "nothing was signed");

    const consistent = await throughProxy(home, ["approve", asked.approval], (path, text) => {
      if (path !== `/v1/approvals/${asked.approval}`) return text;
      const approval = JSON.parse(text) as Members;
      const card = friendly(approval["card"] as Members);
      return JSON.stringify({ ...approval, card, card_digest: digest(card) });
    });
    assert.deepEqual([consistent.exit.code, codeOf(consistent.exit)], [1, "card_mismatch"]);
    assert.equal((await agent.ask("GET", `/v1/runs/${asked.run}`)).body["state"], "pending");
    await home.must(["deny", asked.approval]);
  });

  test("what the card says is what is sent, to the byte", async () => {
    const asked = await agent.ask("POST", "/v1/runs", { purpose: "burn", actions: ["demo.thing.burn"] });
    const name = "naïve “quotes” \\ / \u0001 and 1e3";
    const pending = call(agent, idIn(asked, "run_id"), "demo.thing.burn", { name });
    const [approval] = await until("the card asks about the call too", async () => {
      const waiting = await home.approvals();
      return waiting[0]?.["mode"] === "session" && waiting[0]["call_id"] !== null ? waiting : undefined;
    });
    const card = approval?.["card"] as { readonly asks: string; readonly call: Members };
    assert.equal(card.asks, "session_and_call", "one card serves both");
    assert.equal(approval?.["card_digest"], digest(card as unknown as Members));
    assert.deepEqual(card.call["arguments"], { name });
    await home.approve(idOf(approval, "approval_id"));
    assert.equal((await pending).body["outcome"], "success");
    const sent = provider.received.at(-1);
    assert.equal(`${sent?.method} ${provider.origin}${sent?.url}`, `${card.call["method"]} ${card.call["target"]}`);
    assert.deepEqual(JSON.parse(sent?.body ?? ""), card.call["arguments"]);
    const again = call(agent, idIn(asked, "run_id"), "demo.thing.burn", { name }, 0);
    assert.equal((await again).status, 202, "the next use asks again");
    await home.must(["deny", String((await again).body["approval_id"])]);
    assert.equal(provider.received.length, 1);
  });

  test("every refused decision is in the log, and the log verifies", async (t) => {
    if (!(await home.knows("audit"))) return t.skip("gw audit is not there yet");
    const refused = new Set((await home.events("decision_refused")).map(({ code }) => code));
    assert.deepEqual([...refused].sort(), ["approval_not_pending", "card_mismatch", "signature_invalid"]);
    assert.equal((await home.verify()).code, 0);
  });
});

interface Caught {
  readonly authorization: string;
  readonly login: Json;
  readonly decision: { readonly statement: Members; readonly signature: string } | null;
}

interface Asked {
  readonly path: string;
  readonly text: string;
  readonly authorization: string;
}

const widest = {
  actions: null,
  request_bytes: null,
  budget: { attempts: 9_999, side_effects: 999, duration_seconds: 80_000, spend_cents: 10_000 },
};

const questions = [
  ["get"],
  ["get", "make"],
  ["get", "burn"],
  ["get", "make", "burn"],
  ["make"],
  ["make", "burn"],
  ["burn"],
];
let turn = 0;

async function askForRun(agent: Plane, budget: Members = {}): Promise<{ run: string; approval: string }> {
  // What was denied is not asked again for a while, whatever its budget: each question is about another set of actions.
  const actions = (questions[turn++ % questions.length] ?? []).map((name) => `demo.thing.${name}`);
  const body = { purpose: "to be decided", actions, budget };
  const asked = await agent.ask("POST", "/v1/runs", body);
  assert.equal(asked.status, 202, asked.text);
  return { run: idIn(asked, "run_id"), approval: idIn(asked, "approval_id") };
}

interface PlaneRoute {
  readonly method: string;
  readonly path: string;
  /** The request is read before it is decided who may send it, so each route gets a body that it understands. */
  readonly body: Json | undefined;
}

async function routesOf(plane: Plane): Promise<readonly PlaneRoute[]> {
  const { body } = await plane.ask("GET", "/v1/openapi.json");
  return Object.entries(body["paths"] as Members).flatMap(([path, item]) =>
    Object.entries(item as Members)
      .filter(([name]) => ["get", "post", "put", "delete", "patch"].includes(name))
      .map(([name, operation]) => ({ method: name.toUpperCase(), path, body: sampleBody(operation as Members) })),
  );
}

function sampleBody(operation: Members): Json | undefined {
  const request = operation["requestBody"] as { content: { "application/json": { schema: Members } } } | undefined;
  return request === undefined ? undefined : sample(request.content["application/json"].schema);
}

/** The smallest value that a schema admits. */
function sample(schema: Members): Json {
  if (schema["const"] !== undefined) return schema["const"] as Json;
  if (Array.isArray(schema["enum"])) return schema["enum"][0] as Json;
  const type = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
  switch (type) {
    case "object": {
      const members = (schema["properties"] ?? {}) as Record<string, Members>;
      const required = (schema["required"] ?? []) as readonly string[];
      return Object.fromEntries(required.map((name) => [name, sample(members[name] ?? {})]));
    }
    case "array":
      return Array.from({ length: Number(schema["minItems"] ?? 0) }, () => sample(schema["items"] as Members));
    case "integer":
      return Number(schema["minimum"] ?? 0);
    case "boolean":
      return false;
    case "null":
      return null;
    default:
      // The only patterns on this plane are those of a digest.
      return schema["pattern"] === undefined
        ? "x".repeat(Math.max(1, Number(schema["minLength"] ?? 1)))
        : `${String(schema["pattern"]).includes("sha256:") ? "sha256:" : ""}${"0".repeat(64)}`;
  }
}

function fill(path: string): string {
  return path
    .replace("{approval_id}", "apr_00000000000000000000000000")
    .replace("{session_id}", "ses_00000000000000000000000000")
    .replace("{operation_id}", "op_00000000000000000000000000")
    .replace("{run_id}", "run_00000000000000000000000000");
}

/** A decision that was signed while its question was open. A slow machine gets more time for that. */
async function catchInTime(home: Home, agent: Plane) {
  for (const duration_seconds of [6, 15, 60]) {
    const asked = await askForRun(agent, { duration_seconds });
    const caught = await signedBy(home, "approve", [asked.approval]);
    if (caught.decision !== null) return { asked, caught: { ...caught, decision: caught.decision } };
  }
  return assert.fail("nothing was signed in time");
}

/** Runs an operator's command and catches what it signs; the decision itself is held back. */
async function signedBy(home: Home, verb: string, args: readonly string[]): Promise<Caught> {
  const { asked } = await throughProxy(home, [verb, ...args], (path, text) =>
    path.endsWith("/decision") ? null : text,
  );
  const decision = asked.find(({ path }) => path.endsWith("/decision"));
  const login = asked.find(({ path }) => path === "/v1/login");
  assert.ok(login !== undefined);
  return {
    authorization: asked.at(-1)?.authorization ?? "",
    login: JSON.parse(login.text) as Json,
    decision: JSON.parse(decision?.text ?? "null") as Caught["decision"],
  };
}

/**
 * What a program of the same user could do: stand between the operator's command and the gateway. `change` sees each
 * path before it is forwarded and each answer after; null instead of an answer keeps the request from the gateway.
 */
async function throughProxy(
  home: Home,
  args: readonly string[],
  change: (path: string, answer: string) => string | null,
): Promise<{ readonly exit: Awaited<ReturnType<Home["operator"]>>; readonly asked: readonly Asked[] }> {
  const twin = new Home(makeFolder()).carryFrom(home);
  const behind = openPlane(home.operatorSocket);
  const asked: Asked[] = [];
  const forward = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    const { authorization = "" } = incoming.headers;
    const path = incoming.url ?? "";
    asked.push({ path, text, authorization });
    if (change(path, "{}") === null) {
      response.destroy();
      return;
    }
    const body = text === "" ? undefined : (JSON.parse(text) as Json);
    const reply = await behind.ask(incoming.method ?? "", path, body, authorization === "" ? {} : { authorization });
    response.writeHead(reply.status, { "content-type": reply.headers["content-type"] ?? "application/json" });
    response.end(reply.status === 200 ? change(path, reply.text) : reply.text);
  };
  const server = createServer((incoming, response) => void forward(incoming, response));
  await new Promise<void>((resolve) => server.listen(twin.operatorSocket, resolve));
  try {
    return { exit: await twin.operator(args), asked };
  } finally {
    server.closeAllConnections();
    server.close();
    behind.close();
  }
}

function digest(value: Members): string {
  return `sha256:${hash("sha256", canonicalize(value) ?? "", "hex")}`;
}

const own = generateKeyPairSync("ed25519");

function signWithOwnKey(statement: Members): string {
  return sign(null, Buffer.from(canonicalize(statement) ?? ""), own.privateKey).toString("base64");
}

function turnBit(signature: string): string {
  const bytes = Buffer.from(signature, "base64");
  bytes.writeUInt8(bytes.readUInt8(5) ^ 1, 5);
  return bytes.toString("base64");
}
