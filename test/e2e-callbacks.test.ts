import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
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

const FOREIGN = `whsec_${Buffer.alloc(32, 3).toString("base64")}`;
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
    const reply = await call(agent, run, "reference.report.create", { account: "a1", range, format: "csv" });
    assert.equal(reply.status, 200, reply.text);
    return operation(String(reply.body["operation_id"]));
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
    const id = String(made["operation_id"]);
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
    const made = await create();
    const job = String(made["remote_job_id"]);
    const id = String(made["operation_id"]);
    const nowS = Math.floor(Date.now() / 1000);
    const body = JSON.stringify({ data: { job_id: job, state: "succeeded" } });
    const honest = headersOf("evt_honest", body);
    const answers = [
      await post("reference", body, headersOf("evt_a", body, FOREIGN)),
      await post("reference", body, headersOf("evt_b", body, secret, nowS - 3_600)),
      await post("reference", body, headersOf("evt_c", body, secret, nowS + 3_600)),
      await post("reference", body.replace("succeeded", "succeedeD"), honest),
      await post("reference", body, { ...honest, "webhook-id": "evt_other" }),
      await post("reference", body, {}),
      await post("unheard-of", body, honest),
      await post("demo", body, honest),
    ];
    const [first] = answers;
    assert.equal(first?.status, 404);
    for (const answer of answers) assert.deepEqual(answer, first);
    assert.equal((await post("reference", `${body}${" ".repeat(65_536)}`, honest)).status, 413);
    assert.equal((await post("reference", body, { ...honest, "content-type": "text/plain" })).status, 415);
    const now = await operation(id);
    assert.deepEqual([now["state"], now["checks"], now["remote_state"]], ["accepted", 0, null]);
    assert.ok(!(await home.events("callback_received")).some((event) => event["operation_id"] === id));

    // And a true signature over a lie is no more than a hint: the status says that the job still runs.
    assert.equal((await post("reference", body, honest)).status, 202);
    const looked = await until("the status was read", async () => {
      const seen = await operation(id);
      return seen["remote_state"] !== null && seen;
    });
    assert.equal(looked["state"], "observing");
    assert.equal(looked["checks"], 0, "beside the schedule");
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
    await until("a callback is taken again", async () => {
      const answer = await tell("none").catch(() => null);
      return answer?.status === 202;
    });
    for (const socket of slow) socket.destroy();
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
    run = await openRun(home, agent, ["reference.report.create"]);
    const made = await create();
    const job = String(made["remote_job_id"]);
    const forged = await post("reference", "{}", headersOf("evt_f", "{}", FOREIGN));
    await home.must(["lock"]);
    assert.deepEqual(await tell(job, "evt_locked"), forged);
    await home.must(["unlock"]);
    assert.equal((await tell(job, "evt_locked")).status, 202, "it was refused, so that its repeat counts");
    const id = String(made["operation_id"]);
    const done = await until("its end is known", async () => {
      const now = await operation(id);
      return now["state"] === "succeeded" && now;
    });
    assert.equal(done["observed_by"], "gateway");
    const over = await agent.ask("GET", `/v1/runs/${run}`);
    assert.ok(over.status === 404 || over.body["state"] === "ended", over.text);
    assert.equal(
      (await call(agent, run, "reference.report.create", { account: "b", range, format: "csv" })).status >= 400,
      true,
    );
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
