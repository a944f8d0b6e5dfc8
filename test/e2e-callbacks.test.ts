import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  codeOf,
  type Gateway,
  GW,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  type Started,
  start,
  until,
} from "./support/home.ts";
import { idIn, idOf } from "./support/reply.ts";

let accounts = 0;
/** Every report is one of its own: the same one is not started twice while it is open. */
const nextAccount = (): string => `a${++accounts}`;

const FOREIGN = `whsec_${Buffer.alloc(32, 3).toString("base64")}`;
const SLOW = `whsec_${Buffer.alloc(32, 4).toString("base64")}`;
const range = { start: "2026-01-01", end: "2026-01-31" };

interface Answer {
  readonly status: number;
  readonly text: string;
}

describe("callbacks with the real programs, a real credential and the real listener", asUser, () => {
  let home: Home;
  let reference: Started;
  let gateway: Gateway;
  let agent: Plane;
  let port: number;
  let secret: string;
  let run: string;
  let serial = 0;
  const slow = { server: createHttpServer(), state: "running", jobs: 0, reads: 0 };

  before(async () => {
    home = await new Home(makeFolder()).init();
    port = await freePort();
    writeFileSync(join(home.folder, "config.yaml"), `callbacks: { listen: 127.0.0.1:${port} }\n`, { mode: 0o600 });
    const file = join(dirname(home.folder), "reference.db");
    const to = `http://127.0.0.1:${port}/callbacks/reference`;
    reference = start([GW, "reference", "--port", "0", "--json", "--file", file, "--webhook-url", to]);
    const said = await until("the provider answers", async () => reference.out().includes("\n") && reference.out());
    const { origin, token, webhook_secret } = JSON.parse(String(said)) as Record<string, string>;
    secret = webhook_secret ?? "";
    await home.must(["credential", "add", "reference", "--kind", "bearer", "--origin", origin ?? ""], {
      input: token ?? "",
    });
    const pack = readFileSync(join(dirname(import.meta.dirname), "packs", "reference.yaml"), "utf8")
      .replace("http://127.0.0.1:7411", origin ?? "")
      // So slow that whatever is seen sooner was seen because of a callback.
      .replace("poll: { first_s: 2, cap_s: 30,", "poll: { first_s: 300, cap_s: 300,");
    assert.match(pack, /first_s: 300/);
    await home.trustPack("reference", pack);
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    await reference?.end();
    slow.server.close();
    slow.server.closeAllConnections();
  });

  /** What the provider signs, with whatever secret. */
  function headersOf(
    id: string,
    body: string,
    key = secret,
    atS = Math.floor(Date.now() / 1000),
  ): Record<string, string> {
    const bytes = Buffer.from(key.slice("whsec_".length), "base64");
    const mac = createHmac("sha256", bytes).update(`${id}.${atS}.${body}`).digest("base64");
    return { "webhook-id": id, "webhook-timestamp": String(atS), "webhook-signature": `v1,${mac}` };
  }

  function post(pack: string, body: string, headers: Record<string, string>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const path = `/callbacks/${pack}`;
      const fields = { "content-type": "application/json", "content-length": Buffer.byteLength(body), ...headers };
      const sent = request(
        { host: "127.0.0.1", port, method: "POST", path, headers: fields, agent: false },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text: bare(text) }));
        },
      );
      sent.on("error", reject);
      sent.end(body);
    });
  }

  const tell = (job: string, id = `evt_test_${++serial}`): Promise<Answer> => {
    const body = JSON.stringify({ data: { job_id: job, state: "succeeded" } });
    return post("reference", body, headersOf(id, body));
  };

  async function create(): Promise<Members> {
    const reply = await call(agent, run, "reference.report.create", { account: nextAccount(), range, format: "csv" });
    assert.equal(reply.status, 200, reply.text);
    return operation(idIn(reply, "operation_id"));
  }

  /** A provider whose job runs until the test says otherwise, whatever the machine is busy with. */
  async function startSlow(): Promise<void> {
    slow.server.on("request", (asked: IncomingMessage, response: ServerResponse) => {
      asked.resume();
      const creates = asked.method === "POST";
      if (creates) slow.jobs++;
      else slow.reads++;
      const state = creates ? "queued" : slow.state;
      const job_id = creates ? `job-${slow.jobs}` : String(asked.url?.split("/").at(-1));
      response.writeHead(creates ? 202 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify({ job_id, state }));
    });
    slow.server.listen(0, "127.0.0.1");
    await once(slow.server, "listening");
    const origin = `http://127.0.0.1:${(slow.server.address() as AddressInfo).port}`;
    await home.addCredential("slow-token", origin);
    await home.must(["credential", "add", "slow-hook", "--kind", "hmac", "--pack", "slow"], { input: SLOW });
    await home.trustPack("slow", slowPack(origin));
  }

  /** Starts a job there, in a run of its own. */
  async function begin(): Promise<{ readonly id: string; readonly job: string }> {
    run = await openRun(home, agent, ["slow.work.start"]);
    const reply = await call(agent, run, "slow.work.start", { name: `long ${++serial}` });
    assert.equal(reply.status, 200, reply.text);
    const id = idIn(reply, "operation_id");
    return { id, job: String((await operation(id))["remote_job_id"]) };
  }

  async function operation(id: string): Promise<Members> {
    const shown = await home.must(["operation", "show", id, "--json"]);
    return JSON.parse(shown.out) as Members;
  }

  const effectOf = async (id: string): Promise<unknown> =>
    (await home.events("callback_received")).find((event) => event["provider_event_id"] === id)?.["effect"];

  test("the listener is off until an operator signs it on, and gw status says where it listens", async () => {
    const off = (await home.status())["callbacks"] as Members;
    assert.deepEqual([off["listening"], off["configured"]], [null, `127.0.0.1:${port}`]);
    await assert.rejects(tell("job"));
    assert.equal(codeOf(await home.operator(["policy", "set", "callbacks", "everywhere"])), "value_not_allowed");
    assert.equal(codeOf(await home.operator(["policy", "set", "nothing", "on"])), "value_not_allowed");
    const set = await home.must(["policy", "set", "callbacks", "loopback"]);
    assert.match(set.err, /lowers a protection/);
    await until("it listens", async () => ((await home.status())["callbacks"] as Members)["listening"] !== null);
    const shown = await home.run(["status"]);
    assert.match(shown.out, new RegExp(`callbacks listening on 127\\.0\\.0\\.1:${port}`));
    assert.match(shown.out, /LOWERED +callbacks/);
    const listed = JSON.parse((await home.run(["policy", "show", "--json"])).out) as readonly Members[];
    assert.deepEqual(listed.find(({ setting }) => setting === "callbacks")?.["value"], "loopback");
  });

  test("without its secret in the vault, or with one bound to another pack, no callback verifies", async () => {
    const before = await tell("job");
    assert.equal(before.status, 404);
    const add = ["credential", "add", "reference-webhook", "--kind", "hmac"];
    assert.equal(
      codeOf(await home.operator([...add, "--origin", "https://x.example"], { input: secret })),
      "credential_invalid",
    );
    await home.must([...add, "--pack", "other"], { input: secret });
    assert.deepEqual(await tell("job"), before);
    await home.must(["credential", "remove", "reference-webhook"]);
    await home.must([...add, "--pack", "reference"], { input: secret });
    const codes = (await home.events("callback_refused")).map(({ code }) => code);
    assert.deepEqual(codes, ["credential_unknown", "credential_not_bound"]);
  });

  test("the provider's webhook makes the end of a job known, long before the schedule", async () => {
    run = await openRun(home, agent, ["reference.report.create"]);
    const made = await create();
    const id = idOf(made, "operation_id");
    const done = await until("the webhook led to the end", async () => {
      const now = await operation(id);
      return now["state"] === "succeeded" && now;
    });
    const path = (done["history"] as readonly Members[]).map(({ to }) => to);
    assert.deepEqual(path, ["accepted", "observing", "result_collecting", "succeeded"]);
    const [taken] = await home.events("callback_received");
    assert.deepEqual([taken?.["effect"], taken?.["operation_id"], taken?.["run_id"]], ["read_scheduled", id, run]);
    const reads = (await home.activity(run)).filter(({ action }) => action === "reference.report.status");
    assert.equal(reads.length, 1, "one status read, through the way of every attempt");
  });

  test("forged, replayed, changed and foreign callbacks are one refusal and read nothing", async () => {
    await startSlow();
    const { id, job } = await begin();
    const nowS = Math.floor(Date.now() / 1000);
    const body = JSON.stringify({ job, state: "succeeded" });
    const honest = headersOf("evt_honest", body, SLOW);
    const answers = [
      await post("slow", body, headersOf("evt_a", body, FOREIGN)),
      await post("slow", body, headersOf("evt_b", body, SLOW, nowS - 3_600)),
      await post("slow", body, headersOf("evt_c", body, SLOW, nowS + 3_600)),
      await post("slow", body.replace("succeeded", "succeedeD"), honest),
      await post("slow", body, { ...honest, "webhook-id": "evt_other" }),
      await post("slow", body, headersOf("evt_d", body, secret)),
      await post("slow", body, {}),
      await post("reference", body, honest),
      await post("unheard-of", body, honest),
    ];
    const [first] = answers;
    assert.equal(first?.status, 404);
    for (const answer of answers) assert.deepEqual(answer, first);
    assert.equal((await post("slow", `${body}${" ".repeat(65_536)}`, honest)).status, 413);
    assert.equal((await post("slow", body, { ...honest, "content-type": "text/plain" })).status, 415);
    const now = await operation(id);
    assert.deepEqual([now["state"], now["checks"], now["remote_state"]], ["accepted", 0, null]);
    assert.equal(slow.reads, 0);

    // And a true signature over a lie is no more than a hint: the status says that the job still runs.
    assert.equal((await post("slow", body, honest)).status, 202);
    const looked = await until("the status was read", async () => {
      const seen = await operation(id);
      return seen["remote_state"] !== null && seen;
    });
    assert.deepEqual([looked["state"], looked["remote_state"]], ["observing", "running"]);
    assert.deepEqual([looked["checks"], slow.reads], [0, 1], "one read, beside the schedule");
    assert.equal(await effectOf("evt_honest"), "read_scheduled");
  });

  test("the agent learns nothing of callbacks, and neither log nor vault file holds secret or body", async () => {
    const body = JSON.stringify({ data: { job_id: "none" }, note: "body-text-of-a-callback" });
    assert.equal((await post("reference", body, headersOf("evt_text", body))).status, 202);
    assert.equal(await effectOf("evt_text"), "job_unknown");
    const exported = await home.must(["audit", "export", "--log", join(home.folder, "audit")]);
    assert.ok(!exported.out.includes("body-text-of-a-callback"));
    const raw = secret.slice("whsec_".length);
    for (const text of [exported.out, readFileSync(join(home.folder, "vault.json"), "utf8")])
      assert.ok(!text.includes(raw));
    const listed = await home.run(["credential", "list", "--json"]);
    assert.ok(!listed.out.includes(raw));
    assert.match(listed.out, /"kind":"hmac"/);
    const actions = await agent.ask("GET", "/v1/actions");
    assert.ok(!actions.text.includes("reference-webhook"));
  });

  test("a slow connection and a flood of them do not keep others out for long", async () => {
    const slow = Array.from({ length: 40 }, () => connect(port, "127.0.0.1"));
    for (const socket of slow)
      socket.on("error", () => undefined).write("POST /callbacks/reference HTTP/1.1\r\nhost: x\r\n");
    const isTaken = async (): Promise<boolean> => (await tell("none").catch(() => null))?.status === 202;
    await until("a callback is taken again", isTaken);
    for (const socket of slow) socket.destroy();
    await until("those connections are gone", isTaken);
  });

  test("a repeat after the gateway was killed and started again is known", async () => {
    assert.equal((await tell("none", "evt_before_the_end")).status, 202);
    await gateway.end("SIGKILL");
    gateway = await home.up();
    agent.close();
    agent = openPlane(home.agentSocket);
    assert.equal((await tell("none", "evt_before_the_end")).status, 202);
    const effects = (await home.events("callback_received"))
      .filter((event) => event["provider_event_id"] === "evt_before_the_end")
      .map(({ effect }) => effect);
    assert.deepEqual(effects, ["job_unknown", "repeated"]);
  });

  test("a locked gateway refuses like a stranger's door; afterwards the run is over and stays over", async () => {
    const { id, job } = await begin();
    const body = JSON.stringify({ job });
    const forged = await post("slow", "{}", headersOf("evt_f", "{}", FOREIGN));
    await home.must(["lock"]);
    slow.state = "succeeded";
    assert.deepEqual(await post("slow", body, headersOf("evt_locked", body, SLOW)), forged);
    assert.equal(slow.reads, 1);
    await home.must(["unlock"]);
    const answer = await post("slow", body, headersOf("evt_locked", body, SLOW));
    assert.equal(answer.status, 202, "it was refused, so that its repeat counts");
    const done = await until("its end is known", async () => {
      const now = await operation(id);
      return now["state"] === "succeeded" && now;
    });
    assert.equal(done["observed_by"], "gateway");
    const over = await agent.ask("GET", `/v1/runs/${run}`);
    assert.ok(over.status === 404 || over.body["state"] === "ended", over.text);
    assert.ok((await call(agent, run, "slow.work.start", { name: "again" })).status >= 400);
  });

  test("signing it off closes it at once, and the log verifies with everything that was tried", async () => {
    await home.must(["policy", "set", "callbacks", "off"]);
    await until("it is closed", async () => ((await home.status())["callbacks"] as Members)["listening"] === null);
    await assert.rejects(tell("none"));
    await gateway.end("SIGTERM");
    const verified = await home.verify(["--allow-unattested"]);
    assert.equal(verified.code, 0, verified.out);
  });
});

/** Polls are five minutes apart. */
function slowPack(origin: string): string {
  return `format: gw.pack/v1
pack: slow
provider:
  origin: ${origin}
  credential: slow-token
  auth: { scheme: bearer }
  network: private
  idempotency: { header: Idempotency-Key, window_s: 86400 }
  callbacks: { verify: standard_webhooks, credential: slow-hook, job_id: job }
actions:
  work.start:
    effect: create
    retry: idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: /v1/work, body: application/json }
    input: { name: { in: body, type: string, maxLength: 64 } }
    job:
      { id: job_id, status: work.status, succeeded: [succeeded], failed: [failed], result_deadline_s: 3600,
        poll: { first_s: 300, cap_s: 300, max_checks: 10 } }
    unknown: { retry_allowed: true }
  work.status:
    effect: read
    request: { method: GET, path: "/v1/work/{job_id}" }
    input: { job_id: { in: path, type: string, maxLength: 64 } }
`;
}

/** An answer without the name that each has of its own. */
function bare(text: string): string {
  return text.replace(/"correlation_id":"[^"]*"/, "");
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
