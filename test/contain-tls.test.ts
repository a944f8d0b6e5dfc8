import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { approveRun, contained, startContained, workOf } from "./support/box.ts";
import { asUser, demoPack, type Gateway, GW, Home, makeFolder, SECRET, until, within } from "./support/home.ts";
import type { TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";
import { startTlsProvider } from "./support/tls-provider.ts";

/** Unchanged tools over TLS, in a box, through the real gateway to a provider on loopback. What is not installed is skipped by name. */
let home: Home;
let gateway: Gateway;
let provider: TestProvider;
let repository: string;
const skip = asUser;

before(async () => {
  if ("skip" in skip) return;
  const folder = makeFolder();
  provider = await startTlsProvider(join(folder, "ca.pem"));
  home = await new Home(folder).init();
  repository = join(folder, "repository.git");
  await home.addCredential("demo-token", provider.origin);
  const private_ = `  network: private\n  ca: ${join(folder, "ca.pem")}\n  token_variables: [DEMO_TOKEN]\n`;
  await home.trustPack("demo", demoPack(provider.origin, GIT).replace("  network: private\n", private_));
  gateway = await home.up();
});
after(async () => {
  await gateway?.end("SIGTERM");
  await provider?.close();
});

/** The files of a repository as git reads them from a plain web server. */
const GIT = `  refs.get:
    effect: read
    request: { method: GET, path: /repository.git/info/refs }
    input:
      service: { in: query, enum: [git-upload-pack], optional: true }
  head.get:
    effect: read
    request: { method: GET, path: /repository.git/HEAD }
    input: {}
  object.get:
    effect: read
    request: { method: GET, path: "/repository.git/objects/{part}/{name}" }
    input:
      part: { in: path, type: string, pattern: "^[a-z0-9]+$", maxLength: 8 }
      name: { in: path, type: string, pattern: "^[a-z0-9.-]+$", maxLength: 80 }
`;

function absent(command: string, ...args: readonly string[]): { readonly skip?: string } {
  if ("skip" in skip) return skip;
  return spawnSync(command, [...args]).status === 0
    ? {}
    : { skip: `${[command, ...args].join(" ")} does not work on this machine` };
}

/** Each prints the answer's body. */
const tools: readonly {
  readonly name: string;
  readonly check: readonly [string, ...string[]];
  readonly script: (url: string) => string;
}[] = [
  { name: "curl", check: ["curl", "--version"], script: (url) => `curl -sS ${url}` },
  { name: "curl that would like HTTP/2", check: ["curl", "--version"], script: (url) => `curl -sS --http2 ${url}` },
  { name: "wget", check: ["wget", "--version"], script: (url) => `wget -qO- ${url}` },
  {
    name: "Python urllib",
    check: ["/usr/bin/python3", "--version"],
    script: (url) => `/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen("${url}").read().decode())'`,
  },
  {
    name: "Python requests",
    check: ["/usr/bin/python3", "-c", "import requests"],
    script: (url) => `/usr/bin/python3 -c 'import requests; print(requests.get("${url}").text)'`,
  },
  {
    name: "Node fetch",
    check: [process.execPath, "--version"],
    script: (url) => `${process.execPath} -e 'fetch("${url}").then(r => r.text()).then(console.log)'`,
  },
  {
    name: "Node https",
    check: [process.execPath, "--version"],
    script: (url) => `${process.execPath} -e 'require("https").get("${url}", r => r.pipe(process.stdout))'`,
  },
  {
    name: "Perl HTTP::Tiny",
    check: ["perl", "-MHTTP::Tiny", "-MIO::Socket::SSL", "-e", "1"],
    script: (url) => `perl -MHTTP::Tiny -e 'print HTTP::Tiny->new(verify_SSL => 1)->get("${url}")->{content}'`,
  },
];

describe("unchanged tools trust the box, and read through the gateway", skip, () => {
  const all = tools.map((tool) => ({ ...tool, lacks: absent(...tool.check) }));
  const there = all.filter(({ lacks }) => lacks.skip === undefined);
  let answers: readonly string[];

  before(async () => {
    if ("skip" in skip) return;
    // One box for all of them, each with a path of its own.
    const lines = there.map(({ script }, at) => `${script(`${provider.origin}/v1/things/${at}`)}; echo "$?,"`);
    const { code, out, err } = await contained(home, lines.join("\n"), { extra: ["--attempts", "40"] });
    assert.equal(code, 0, err);
    answers = out.split(",\n");
  });

  for (const { name, lacks } of all) {
    test(name, lacks, () => {
      const at = there.findIndex((tool) => tool.name === name);
      const [, body = "", status] = /^(.*?)\s*(\d+)$/s.exec(answers[at] ?? "") ?? [];
      assert.equal(status, "0", answers[at]);
      assert.deepEqual(JSON.parse(body), { ok: true, url: `/v1/things/${at}` });
      const received = provider.received.filter(({ url }) => url === `/v1/things/${at}`);
      assert.deepEqual(
        received.map(({ headers }) => headers["authorization"]),
        [`Bearer ${SECRET}`],
      );
    });
  }
});

test("git clones through the gateway", absent("git", "--version"), async () => {
  const source = `${repository}-source`;
  mkdirSync(source);
  const git = (...args: readonly string[]): string =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", "-C", source, ...args], {
      encoding: "utf8",
    });
  git("init", "-q", "-b", "main");
  writeFileSync(join(source, "file"), "as it was\n");
  git("add", "file");
  git("commit", "-q", "-m", "first");
  git("clone", "-q", "--bare", source, repository);
  execFileSync("git", ["-C", repository, "update-server-info"]);
  provider.answer((request, response) => {
    const path = join(repository, (request.url.split("?")[0] ?? "").replace("/repository.git", ""));
    if (!existsSync(path) || !statSync(path).isFile()) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": "application/octet-stream" }).end(readFileSync(path));
  });
  const { code, err } = await contained(home, `git clone -q ${provider.origin}/repository.git copy`, {
    extra: ["--attempts", "100"],
  });
  assert.equal(code, 0, err);
  assert.equal(readFileSync(join(workOf(home), "copy", "file"), "utf8"), "as it was\n");
  provider.answer(
    (_request, response) => void response.writeHead(200, { "content-type": "application/json" }).end("{}"),
  );
});

test("gw call works inside, over the socket that leads to the gateway", skip, async () => {
  const { code, out, err } = await contained(home, `${GW} call demo.thing.get id=9 --json`);
  assert.equal(code, 0, err);
  assert.equal((JSON.parse(out) as { outcome?: string }).outcome, "success");
});

test("an MCP bridge inside acts in the run", skip, async () => {
  // In the folder that the box shows: a clone below /tmp is hidden there.
  const client = join(workOf(home), "mcp-client.mjs");
  mkdirSync(workOf(home), { recursive: true });
  copyFileSync(join(import.meta.dirname, "fixtures", "mcp-client.mjs"), client);
  const { code, out, err } = await contained(home, `${process.execPath} ${client} ${GW} demo__thing-get '{"id":"1"}'`);
  assert.equal(code, 0, err);
  assert.equal((JSON.parse(out) as { result: { outcome?: string } }).result.outcome, "success");
});

test("what is not plain HTTPS to a name is refused in words, and nothing is sent", skip, async () => {
  const before = provider.received.length;
  const { port } = new URL(provider.origin);
  const url = `${provider.origin}/v1/things/1`;
  const cases = [
    `curl -ksS -i https://192.0.2.9:${port}/v1/things/1`,
    `curl -sS -i -H 'host: other.example' ${url}`,
    `curl -sS -i -H 'connection: upgrade' -H 'upgrade: websocket' ${url}`,
    `curl -sS -i -H 'content-type: application/grpc' -X POST -d x ${url}`,
    `curl -sS -i --request-target ${url} ${url}`,
    `curl -sS -i -p -x http://proxy.example:80 http://other.example/x`,
    `curl -sS -i -H 'authorization: Bearer somebody-elses' ${url}`,
  ];
  const told = cases.map(
    (line) => `${line} 2>&1 | tr '\\r' ' ' | grep -ao 'Refused by gw - [a-z_]*\\|response 403' | head -1`,
  );
  const two =
    "printf 'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' | curl -sS telnet://other.example:80 | head -1 | tr '\\r' ' '";
  const sure = `openssl s_client -alpn h2 -connect localhost:${port} < /dev/null 2>&1 | grep -o "no application protocol"`;
  const { out, err } = await contained(home, [...told, two, sure].join("; echo ,; "));
  assert.deepEqual(
    out.split(",").map((line) => line.trim()),
    [
      ...Array.from({ length: 5 }, () => "Refused by gw - box_request_refused"),
      "response 403",
      "Refused by gw - credential_foreign",
      "HTTP/1.1 403 Refused by gw - box_request_refused",
      // Over TLS the greeting of what speaks HTTP/2 alone fails.
      "no application protocol",
    ],
    err,
  );
  assert.equal(provider.received.length, before);
  const reasons = (await home.events("call_denied")).map(({ reason }) => String(reason));
  for (const words of [
    /sent to an address/,
    /another name than the Host/,
    /WebSockets/,
    /gRPC/,
    /a whole URL/,
    /CONNECT/,
    /HTTP\/2 without asking/,
    /TLS greeting failed/,
  ])
    assert.ok(
      reasons.some((reason) => words.test(reason)),
      `${words} is not in the log: ${reasons.join("; ")}`,
    );
  const logged = JSON.stringify(await home.events("request_denied", "action_denied", "contained_request"));
  assert.ok(!logged.includes("somebody-elses"));
});

test("a tool that hangs up before its request was approved takes it back: nothing is sent", skip, async () => {
  const before = provider.received.length;
  const run = startContained(home, [
    "sh",
    "-c",
    `curl -sS -m 600 -X POST -H 'content-type: application/json' -d '{"name":"x"}' ${provider.origin}/v1/burnt & echo $! > pid; while [ ! -e stop ]; do sleep 0.1; done; kill $!; while [ ! -e done ]; do sleep 0.1; done`,
  ]);
  await approveRun(home, run);
  const [question] = await home.approvals();
  assert.ok(question !== undefined);
  writeFileSync(join(workOf(home), "stop"), "");
  await until(
    "the question is withdrawn",
    async () => Number((await home.status())["approvals_pending"]) === 0,
    60_000,
  );
  const late = await home.operator(["approve", idOf(question, "approval_id")]);
  assert.notEqual(late.code, 0);
  writeFileSync(join(workOf(home), "done"), "");
  const { code, err } = await within(run.exited, 120_000, "it ends");
  assert.equal(code, 0, err);
  assert.equal(provider.received.length, before);
});
