import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { approveRun, contained, startContained } from "./support/box.ts";
import { asUser, type Gateway, Home, type Members, makeFolder, SECRET, until, within } from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** The pack of a model API as it is shipped, at a provider on loopback, and a download beside it. */
function modelPack(origin: string): string {
  const shipped = readFileSync(join(import.meta.dirname, "..", "packs", "anthropic.yaml"), "utf8");
  return `${shipped
    .replace("origin: https://api.anthropic.com", `origin: ${origin}\n  network: private`)
    .replace("credential: anthropic", "credential: demo-token")}
  file.get:
    effect: read
    request: { method: GET, path: "/files/{name}", accept: "*/*" }
    response: stream
    limits: { response_bytes: 12000000 }
    input:
      name: { in: path, type: string, maxLength: 64 }
  file.head:
    effect: read
    request: { method: HEAD, path: "/files/{name}", accept: "*/*" }
    response: stream
    input:
      name: { in: path, type: string, maxLength: 64 }
`;
}

let home: Home;
let gateway: Gateway;
let provider: TestProvider;
const skip = asUser;
const EVENTS = { "content-type": "text/event-stream" };
const FIRST = 'event: content_block_delta\ndata: {"text":"first \\n"}\n\n';
const LAST = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';
const ASK = '{"model":"claude-x","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"hi"}]}';
const curl = (more = ""): string =>
  `curl -sSN -H "x-api-key: $ANTHROPIC_API_KEY" -H "anthropic-version: 2023-06-01" -H "content-type: application/json" ${more} -d '${ASK}' ${provider.origin}/v1/messages`;
const spend = { extra: ["--spend", "1000", "--attempts", "100"] };

before(async () => {
  if ("skip" in skip) return;
  provider = await startProvider();
  home = await new Home(makeFolder()).init();
  await home.addCredential("demo-token", provider.origin, ["--kind", "header", "--header", "x-api-key"]);
  await home.trustPack("anthropic", modelPack(provider.origin));
  gateway = await home.up();
});
after(async () => {
  await gateway?.end("SIGTERM");
  await provider?.close();
});

/** What the log says of how the last call of an operation ended. */
async function finished(operation: string): Promise<Members | undefined> {
  const events = await home.events("action_finished");
  return events.filter(({ request }) => (request as Members)["normalized_operation"] === operation).at(-1);
}

/** Begins an answer, and goes on once somebody who has read the beginning asks for the list of models. */
function answerInTurns(onFirst: (response: ServerResponse) => void): void {
  let open: ServerResponse | null = null;
  provider.answer((request, response) => {
    if (request.method === "POST") {
      open = response;
      response.writeHead(200, EVENTS).write(FIRST);
    } else {
      if (request.url === "/files/endless") return endless(response);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
      if (open !== null) onFirst(open);
      open = null;
    }
  });
}

function endless(response: ServerResponse): void {
  response.writeHead(200, EVENTS);
  const more = (): void => {
    if (!response.destroyed) response.write(Buffer.alloc(1_000_000), more);
  };
  more();
}

test(
  "curl and Node in a box read an answer as it comes, with the gateway's credential and ours alone",
  skip,
  async () => {
    answerInTurns((response) => response.end(LAST));
    const script = `const ask = () => fetch("${provider.origin}/v1/messages", { method: "POST", body: '${ASK}', headers: {
    "x-api-key": process.env.ANTHROPIC_API_KEY, "anthropic-version": "2023-06-01", "content-type": "application/json", accept: "application/json" } });
  const answer = await ask(); let text = "";
  for await (const piece of answer.body) {
    text += Buffer.from(piece).toString();
    if (text.includes("first")) await fetch("${provider.origin}/v1/models?limit=1").then((one) => one.text());
  }
  console.log(JSON.stringify([answer.status, answer.headers.get("content-type"), text]));`;
    const run = startContained(
      home,
      [
        "sh",
        "-c",
        `${curl()} | while read -r line; do echo "$line"; case $line in *first*) curl -sS ${provider.origin}/v1/models?limit=2;; esac; done
${process.execPath} --input-type=module -e '${script.replaceAll("'", `'"'"'`)}'`,
      ],
      spend,
    );
    await approveRun(home, run);
    const { code, out, err } = await within(run.exited, 120_000, "it ends");
    assert.equal(code, 0, err);
    const lines = out.trim().split("\n");
    assert.deepEqual(JSON.parse(lines.at(-1) ?? ""), [200, "text/event-stream", FIRST + LAST]);
    assert.ok(out.includes('{"type":"message_stop"}'), out);
    const asked = provider.received.filter(({ method }) => method === "POST");
    assert.equal(asked.length, 2);
    for (const { headers, body } of asked) {
      assert.equal(headers["x-api-key"], SECRET);
      assert.deepEqual(JSON.parse(body), JSON.parse(ASK));
    }
    const end = await finished("POST /v1/messages");
    const digest = `sha256:${createHash("sha256")
      .update(FIRST + LAST)
      .digest("hex")}`;
    assert.deepEqual(
      [end?.["outcome"], end?.["response_digest"], end?.["streamed_bytes"]],
      ["succeeded", digest, (FIRST + LAST).length],
    );
    const log = await home.must(["audit", "export", "--log", join(home.folder, "audit")]);
    assert.equal(log.out.includes('"content":"hi"'), false, "the log has the conversation by digest");
  },
);

test(
  "a tool that asks for the head of a download hears its size from the provider, or nothing of one",
  skip,
  async () => {
    provider.answer(({ method, url }, response) => {
      if (method !== "HEAD") return void response.writeHead(404).end();
      const size = url === "/files/unsized" ? { "transfer-encoding": "chunked" } : { "content-length": 9_437_184 };
      response.writeHead(200, { "content-type": "application/zip", etag: '"1"', ...size }).end();
    });
    const asked = ["large", "unsized"].map((name) => `curl -sSI ${provider.origin}/files/${name}`).join(" && ");
    const { code, out, err } = await contained(home, asked, spend);
    assert.equal(code, 0, err);
    const [large = "", unsized = ""] = out.split(/(?=^HTTP\/)/m).map((head) => head.toLowerCase());
    assert.match(large, /^content-length: 9437184\r$/m);
    assert.match(large, /^etag: "1"\r$/m);
    assert.match(unsized, /^etag: "1"\r$/m);
    assert.doesNotMatch(unsized, /^content-length/m);
  },
);

test("a download that no memory would hold comes whole, and the log has its size and digest", skip, async () => {
  // Eight are held in memory.
  const size = 9 * 1024 * 1024;
  const bytes = Buffer.alloc(size, "0123456789abcdef-gw");
  provider.answer((_request, response) => response.writeHead(200, { "content-length": size }).end(bytes));
  const { code, out, err } = await contained(home, `curl -sS ${provider.origin}/files/large | sha256sum`, spend);
  assert.equal(code, 0, err);
  const digest = createHash("sha256").update(bytes).digest("hex");
  assert.equal(out.split(" ")[0], digest);
  const end = await finished("GET /files/{name}");
  assert.deepEqual([end?.["response_digest"], end?.["streamed_bytes"]], [`sha256:${digest}`, size]);
});

test("a provider that answers byte by byte, full of escapes, holds up nobody and comes to its end", skip, async () => {
  const text = "%\\x".repeat(40_000);
  const chunks = [...text].map((one) => `1\r\n${one}\r\n`).join("");
  provider.answer((_request, response) => {
    response.socket?.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
  });
  const { code, out, err } = await contained(home, `curl -sS ${provider.origin}/files/bytes | sha256sum`, spend);
  assert.equal(code, 0, err);
  assert.equal(out.split(" ")[0], createHash("sha256").update(text).digest("hex"), err);
  const end = await finished("GET /files/{name}");
  assert.deepEqual([end?.["outcome"], end?.["streamed_bytes"]], ["succeeded", text.length]);
});

test("a credential that comes back, in pieces too, and more than the bound end the answer there", skip, async () => {
  const half = SECRET.length / 2;
  answerInTurns((response) =>
    response.write(`data: ${SECRET.slice(0, half)}`, () =>
      setImmediate(() => response.end(`${SECRET.slice(half)}\n\n${LAST}`)),
    ),
  );
  const script = `(${curl()}; echo "curl $?") | while read -r line; do echo "$line"; case $line in *first*) curl -sS ${provider.origin}/v1/models; echo;; esac; done
curl -sS ${provider.origin}/v1/models?limit=3; echo; curl -sS ${provider.origin}/files/endless -o /tmp/x; echo "curl $?"; test $(stat -c %s /tmp/x) -le 12000000 && echo bounded`;
  const { code, out, err } = await contained(home, script, spend);
  assert.equal(code, 0, err);
  assert.ok(out.includes("first"), "what came before it was passed on");
  assert.equal(out.includes(SECRET.slice(0, 8)), false, "and nothing of it");
  assert.deepEqual(
    out.match(/curl \d+|^bounded$/gm),
    ["curl 18", "curl 18", "bounded"],
    "curl was not told that it has everything",
  );
  assert.match(err, /broken off/);
  const reasons = (await home.events("action_finished")).map(({ reason }) => reason);
  assert.ok(reasons.includes("credential_echoed") && reasons.includes("response_too_large"), JSON.stringify(reasons));
});

test(
  "a tool that hangs up ends the answer at the provider, and the log says so; it costs what it may have cost",
  skip,
  async () => {
    let left = false;
    provider.answer((_request, response) => {
      response.writeHead(200, EVENTS).write(FIRST);
      response.once("close", () => {
        left = true;
      });
    });
    const script = `(${curl()} & echo $! > /tmp/pid; wait) | while read -r line; do kill $(cat /tmp/pid); break; done; echo done`;
    const { code, err } = await contained(home, script, spend);
    assert.equal(code, 0, err);
    await until("the provider was left", () => left);
    await until("its end is on record", async () => (await finished("POST /v1/messages"))?.["reason"] === "aborted");
    const end = await finished("POST /v1/messages");
    assert.deepEqual([end?.["outcome"], end?.["streamed_bytes"]], ["failed", FIRST.length]);
    const settled = (await home.events("budget_settled")).at(-1);
    assert.equal(settled?.["charge_basis"], "assumed");
  },
);

test("a gateway that dies in mid-answer leaves a tool that knows, and an outcome that nobody knows", skip, async () => {
  provider.answer((_request, response) => void response.writeHead(200, EVENTS).write(FIRST));
  const run = startContained(home, ["sh", "-c", `${curl()}; echo "curl $?"`], spend);
  await approveRun(home, run);
  await until("the tool has the beginning", () => run.out().includes("first"));
  await gateway.end("SIGKILL");
  const { out } = await within(run.exited, 120_000, "it ends");
  assert.match(out, /^curl 18$/m);
  gateway = await home.up();
  const started = (await home.events("intent_accepted")).at(-1);
  const recovered = await home.events("outcome_unobserved");
  assert.ok(
    recovered.some(({ attempt_id }) => attempt_id === started?.["event_id"]),
    "the start made it unknown",
  );
});
