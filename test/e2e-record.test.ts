import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { previewBody } from "./support/consequential.ts";
import {
  asUser,
  call,
  codeOf,
  demoPack,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  startAgent,
  until,
  within,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn, idOf } from "./support/reply.ts";

/** One request as raw bytes, and the problem that came back. */
function ask(path: string, bytes: string): Promise<Members> {
  const work = new Promise<Members>((resolve, reject) => {
    let text = "";
    const socket = connect(path, () => socket.write(bytes));
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    socket.on("error", reject).on("close", () => {
      const body = text.slice(text.indexOf("\r\n\r\n") + 4);
      resolve(JSON.parse(body.slice(body.indexOf("{"), body.lastIndexOf("}") + 1)) as Members);
    });
  });
  return within(work, 120_000, "an answer to raw bytes");
}

function post(path: string, body: string, type = "application/json"): string {
  const head = [`POST ${path} HTTP/1.1`, "Host: gw", `Content-Length: ${Buffer.byteLength(body)}`, "Connection: close"];
  return [...head, `Content-Type: ${type}`, "", body].join("\r\n");
}

/** What can be previewed, and what nobody gets an answer of. */
const MORE = `  role.plan:
    effect: preview
    request: { method: POST, path: /v1/roles/plan, body: application/json }
    input: { role: { in: body, type: string, maxLength: 64 } }
  role.apply:
    effect: write
    needs: { plan: role.plan }
    request: { method: POST, path: /v1/roles, body: application/json }
    plan: { id: { in: body, as: plan_id }, revision: { in: body, as: expected_revision } }
    confirm: role.get
  role.get:
    effect: read
    request: { method: GET, path: /v1/roles }
  thing.lose:
    effect: write
    retry: non_idempotent_write
    request: { method: POST, path: /v1/lost, body: application/json }
    input: { name: { in: body, type: string, maxLength: 64 } }
`;

const ACTIONS = ["thing.get", "thing.make", "thing.lose", "role.plan", "role.apply"].map((name) => `demo.${name}`);

const digestOf = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`;

describe("whatever a plane refuses or takes is in the log under the words of its reply", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let other: Plane;
  let run: string;
  /** The other agent's own: they exist, and are nobody else's. */
  let plan: string;
  let operation: string;

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    provider.answer(({ url }, response) => {
      if (url === "/v1/lost") return void response.destroy();
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(url === "/v1/roles/plan" ? previewBody() : { ok: true }));
    });
    await home.trustPack("demo", demoPack(provider.origin, MORE));
    gateway = await home.up();
    other = await startAgent(home);
    run = await openRun(home, other, ACTIONS);
    const wait = { prefer: "wait=30" };
    const asked = { action: "demo.role.apply", input: { role: "viewer" } };
    const planned = await other.ask("POST", `/v1/runs/${run}/plans`, asked, wait);
    plan = String((planned.body["plan"] as Members)["plan_id"]);
    const lost = await call(other, run, "demo.thing.lose", { name: "x" });
    operation = idIn(lost, "operation_id");
    assert.match(operation, /^op_/, lost.text);
  });

  after(async () => {
    other?.close();
    await gateway?.end();
    await provider?.close();
  });

  async function refusalOf(problem: Members): Promise<Members> {
    const ofProblem = ({ correlation_id }: Members): boolean => correlation_id === problem["correlation_id"];
    // Bytes that are no request are answered before they are written down.
    const found = await until("the refusal is in the log", async () => {
      const some = (await home.events("request_refused")).filter(ofProblem);
      return some.length > 0 && some;
    });
    assert.equal(found.length, 1, JSON.stringify(problem));
    return found[0] as Members;
  }

  for (const [what, code, bytes] of [
    ["a duplicate member", "json_duplicate_member", () => post("/v1/runs", '{"purpose":"a","purpose":"b"}')],
    ["an unknown member", "schema_violation", () => post("/v1/runs", '{"purpose":"a","actions":["demo.*"],"x":1}')],
    ["trailing data", "json_malformed", () => post("/v1/runs", '{"purpose":"a"} {}')],
    ["another media type", "media_type_unsupported", () => post("/v1/runs", "a=b", "text/plain")],
    ["a path that leads nowhere", "not_found", () => post("/v1/nowhere", "{}")],
    ["another's run", "not_found", () => post(`/v1/runs/${run}/calls`, '{"action":"demo.thing.get","input":{}}')],
    ["another's plan", "not_found", () => post(`/v1/plans/${plan}/execute`, '{"expected_revision":"r7"}')],
    ["another's operation", "not_found", () => post(`/v1/operations/${operation}/cancel`, '{"reason":"x"}')],
  ] as const) {
    test(`${what} is an event with caller, route, code, digest of the bytes and the ids of its problem body`, async () => {
      const sent = bytes();
      const problem = await ask(home.agentSocket, sent);
      assert.equal(problem["code"], code, JSON.stringify(problem));
      assert.equal(problem["run_id"], null);
      const event = await refusalOf(problem);
      assert.equal(event["code"], problem["code"]);
      assert.equal(event["run_id"] ?? null, problem["run_id"]);
      assert.equal(event["plane"], "agent");
      assert.match(String(event["principal"]), /pid \d+ uid \d+/);
      assert.match(String(event["endpoint"]), /^POST /);
      assert.equal(event["body_digest"], digestOf(sent.slice(sent.indexOf("\r\n\r\n") + 4)));
    });
  }

  test("bytes that are no request are told with what came", async () => {
    const bytes = "BREW /pot HTCPCP/1.0\r\n\r\n";
    const problem = await ask(home.agentSocket, bytes);
    const event = await refusalOf(problem);
    assert.deepEqual([event["code"], event["body_digest"]], [problem["code"], digestOf(bytes)]);
  });

  test("a refusal in a run of the caller's names the run, in the problem and in the log", async () => {
    const reply = await call(other, run, "demo.thing.burn", { name: "x" });
    assert.equal(reply.body["code"], "action_not_permitted");
    assert.equal(reply.body["run_id"], run);
    const event = await refusalOf(reply.body);
    const [denial] = (await home.events("call_denied")).filter(({ event_id }) => event_id === event["parent_event_id"]);
    assert.deepEqual([event["run_id"], denial?.["run_id"]], [run, run]);
    const shown = await home.must(["activity", "--run", run, "--outcome", "denied", "--json"]);
    assert.equal((JSON.parse(shown.out) as readonly Members[]).length, 1, "one refusal is told once");
  });

  test("an accepted request is kept with its canonical fields, on the agent's and the operator's plane", async () => {
    const reply = await call(other, run, "demo.thing.get", { id: "77" });
    assert.equal(reply.status, 200, reply.text);
    const accepted = await home.events("request_accepted");
    const [asked] = accepted.filter(({ endpoint }) => endpoint === "POST /v1/runs/{run_id}/calls");
    assert.deepEqual([asked?.["plane"], asked?.["run_id"], asked?.["status"]], ["agent", run, 200]);
    assert.match(String(asked?.["fields_digest"]), /^sha256:/);
    const { out } = await home.must(["audit", "export", "--log", join(home.folder, "audit")]);
    const frames = out
      .split("\n")
      .filter((line) => line.includes(idIn(reply, "call_id")))
      .map((line) => JSON.parse(line) as { readonly frame: number; readonly event: Members })
      .filter(({ event }) => ["action_finished", "request_accepted"].includes(String(event["event_type"])))
      .map(({ frame }) => frame);
    assert.deepEqual(frames, [frames[0], frames[0]], "the word about a plain read is written with its end");
    const decided = accepted.find(
      ({ plane, endpoint }) => plane === "operator" && String(endpoint).includes("decision"),
    );
    assert.ok(decided !== undefined, JSON.stringify(accepted));
    assert.ok(!JSON.stringify(accepted).includes("GET "), "reads are not written down");
  });

  test("the trace that an agent names is kept and shown as its claim; what is none is as if it were not there", async () => {
    const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const plane = openPlane(home.agentSocket);
    const own = await openRun(home, plane);
    const said = async (traceparent: string): Promise<readonly [string, unknown]> => {
      const asked = { action: "demo.thing.get", input: { id: "78" } };
      const headers = { prefer: "wait=30", traceparent };
      const reply = await plane.ask("POST", `/v1/runs/${own}/calls`, asked, headers);
      assert.equal(reply.status, 200, reply.text);
      const id = idIn(reply, "call_id");
      const [event] = (await home.events("request_accepted")).filter(({ call_id }) => call_id === id);
      assert.ok(event !== undefined);
      const intents = (await home.events("intent_accepted")).filter(({ call_id }) => call_id === id);
      assert.deepEqual(
        intents.map(({ traceparent_claimed }) => traceparent_claimed),
        [event["traceparent_claimed"]],
        "what is sent is part of the same trace",
      );
      return [id, event["traceparent_claimed"]];
    };
    const [id, kept] = await said(trace);
    assert.equal(kept, trace);
    const { out } = await home.must(["activity", "show", id]);
    assert.ok(out.includes(`traceparent claimed "${trace}"`) || out.includes(`traceparent claimed ${trace}`), out);
    assert.match(out, new RegExp(`^  trace +${trace}, as the agent said$`, "m"));
    assert.equal((await said(trace.toUpperCase()))[1], undefined);
    const nowhere = await plane.ask("POST", "/v1/nowhere", {}, { traceparent: trace });
    assert.equal((await refusalOf(nowhere.body))["traceparent_claimed"], trace);
    plane.close();
  });

  test("a refusal on the operator's plane is told as well", async () => {
    const problem = await ask(home.operatorSocket, post("/v1/lock", "{}"));
    const event = await refusalOf(problem);
    assert.deepEqual([event["plane"], event["code"]], ["operator", problem["code"]]);
  });

  test("gw activity show tells card, decision, request and outcome of a call, by call, event and question", async () => {
    const calling = home.start(["call", "demo.thing.burn", "name=sofa", "--json"]);
    const [approval] = await home.approvals();
    await home.approve(idOf(approval, "approval_id"), ["--attempts", "3"]);
    const done = await within(calling.exited, 120_000, "gw call ends");
    const result = JSON.parse(done.out) as Members;
    const id = idOf(result, "call_id");
    const record = JSON.parse((await home.must(["activity", "show", id, "--json"])).out) as {
      readonly approvals: readonly Members[];
      readonly attempts: readonly Members[];
    };
    const [shown = {}] = record.approvals;
    assert.deepEqual(shown["card"], approval?.["card"]);
    assert.equal(shown["card_check"], "matches");
    const decision = shown["decision"] as Members;
    assert.deepEqual([decision["kind"], decision["signature"]], ["approved", "verifies"]);
    assert.equal(((decision["narrow"] as Members)["budget"] as Members)["attempts"], 3, "what was taken away is told");
    const [attempt = {}] = record.attempts;
    assert.deepEqual((attempt["request"] as Members)["body"], { name: "sofa" });
    assert.deepEqual([attempt["url"], attempt["status"]], [`${provider.origin}/v1/burnt`, 200]);
    assert.deepEqual([attempt["request_check"], attempt["outcome"]], ["matches", "succeeded"]);
    const { out } = await home.must(["activity", "show", idOf(attempt, "attempt_id")]);
    assert.ok(out.includes('name = "sofa"'), out);
    assert.ok(out.includes("it matches"), out);
    assert.ok(out.includes("(the same)") && !out.includes("(ANOTHER)"), out);
    assert.ok(!/^\s*[{[]/m.test(out), "no line is raw JSON");
    const again = await home.must(["activity", "show", idOf(shown, "approval_id")]);
    assert.ok(again.out.includes('name = "sofa"'), again.out);
    const nothing = await home.operator(["activity", "show", "call_none"]);
    assert.deepEqual([nothing.code, codeOf(nothing)], [1, "not_found"]);
  });

  test("what is another's is its own owner's all the same", async () => {
    const mine = await other.ask("GET", `/v1/operations/${operation}`);
    assert.deepEqual([mine.status, mine.body["state"]], [200, "create_unknown"], mine.text);
    const wait = { prefer: "wait=30" };
    const done = await other.ask("POST", `/v1/plans/${plan}/execute`, { expected_revision: "r7" }, wait);
    assert.equal(done.body["outcome"], "success", done.text);
  });

  test("gw activity show tells of an operation too: the call that began it, and what became of it", async () => {
    const { out } = await home.must(["activity", "show", operation, "--json"]);
    const record = JSON.parse(out) as { readonly attempts: readonly Members[] };
    assert.deepEqual(
      record.attempts.map(({ url, outcome }) => [url, outcome]),
      [[`${provider.origin}/v1/lost`, "unknown"]],
    );
    const shown = await home.must(["activity", "show", operation]);
    assert.ok(shown.out.includes(operation) && shown.out.includes('name = "x"'), shown.out);
  });

  test("a flood of refusals is counted, and the log stays small", async () => {
    const plane = openPlane(home.agentSocket);
    try {
      // A crowd may be turned away before it has asked, too.
      await Promise.allSettled(Array.from({ length: 300 }, () => plane.ask("GET", "/v1/nowhere")));
    } finally {
      plane.close();
    }
    const counted = async (): Promise<number> =>
      (await home.events("denials_counted")).reduce((sum, { count }) => sum + Number(count), 0);
    await until("what was not told one by one was counted", async () => (await counted()) > 0, 120_000);
    const told = (await home.events("request_refused")).filter(({ endpoint }) =>
      String(endpoint).startsWith("GET (no"),
    );
    assert.ok(told.length < 300, `${told.length}`);
  });
});

test(
  "what gw run refuses because there is nothing to ask for is refused by the gateway, and in its log",
  asUser,
  async () => {
    const home = await new Home(makeFolder()).init();
    const gateway = await home.up();
    try {
      const done = await home.run(["run", "--home", home.folder, "--", "true"]);
      assert.deepEqual([done.code, codeOf(done)], [1, "action_not_permitted"]);
      const refused = (await home.events("request_refused")).filter(({ endpoint }) => endpoint === "POST /v1/runs");
      assert.deepEqual(
        refused.map(({ code }) => code),
        ["action_not_permitted"],
      );
    } finally {
      await gateway.end();
    }
  },
);
