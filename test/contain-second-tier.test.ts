import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { approveRun, contained, deniedRights, lacksBubblewrap, startContained } from "./support/box.ts";
import {
  codeOf,
  demoPack,
  type Gateway,
  GW,
  Home,
  type Members,
  makeFolder,
  SECRET,
  start,
  within,
} from "./support/home.ts";
import type { TestProvider } from "./support/provider.ts";
import { startTlsProvider } from "./support/tls-provider.ts";

/** Where rights inside namespaces are denied bubblewrap makes the box, and tools find the way out by proxy variables. */
const skip = lacksBubblewrap();
const denied = { under: deniedRights };
let home: Home;
let gateway: Gateway;
let provider: TestProvider;

before(async () => {
  if ("skip" in skip) return;
  const folder = makeFolder();
  provider = await startTlsProvider(join(folder, "ca.pem"));
  home = await new Home(folder).init();
  await home.addCredential("demo-token", provider.origin);
  const private_ = `  network: private\n  ca: ${join(folder, "ca.pem")}\n  token_variables: [DEMO_TOKEN]\n`;
  await home.trustPack("demo", demoPack(provider.origin).replace("  network: private\n", private_));
  gateway = await home.up();
});
after(async () => {
  await gateway?.end("SIGTERM");
  await provider?.close();
});

const has = (...command: readonly [string, ...string[]]): boolean =>
  spawnSync(command[0], command.slice(1)).status === 0;

test("the card says which tier it is, and tools as they are read through the gateway", skip, async () => {
  const url = `${provider.origin}/v1/things/5`;
  const tools = [
    { here: true, script: `curl -sS ${url}` },
    { here: has("wget", "--version"), script: `wget -qO- ${url}` },
    { here: true, script: `${process.execPath} -e 'fetch("${url}").then(r => r.text()).then(console.log)'` },
    {
      here: has("/usr/bin/python3", "-c", "import requests"),
      script: `/usr/bin/python3 -c 'import requests; print(requests.get("${url}").text)'`,
    },
    {
      here: has("/usr/bin/python3", "--version"),
      script: `/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen("${url}").read().decode())'`,
    },
    {
      here: true,
      script: `${GW} call demo.thing.get id=5 --json > call.json && echo '{"ok":true,"url":"/v1/things/5"}'`,
    },
  ].filter(({ here }) => here);
  const lines = tools.map(({ script }) => `${script}; echo`).join("\n");
  const run = startContained(home, ["sh", "-c", `echo "token $DEMO_TOKEN" >&2\n${lines}`], {
    ...denied,
    extra: ["--attempts", "50"],
  });
  const card = await approveRun(home, run);
  assert.match(card, /the box is of the second tier, made by bubblewrap/);
  const { code, out, err } = await within(run.exited, 120_000, "it ends");
  assert.equal(code, 0, err);
  const answers = out.split("\n").filter((line) => line.trim() !== "");
  assert.deepEqual(
    answers.map((line): unknown => JSON.parse(line)),
    tools.map(() => ({ ok: true, url: "/v1/things/5" })),
    err,
  );
  assert.match(err, /token gw-placeholder-/);
  assert.equal(provider.received.at(-1)?.headers["authorization"], `Bearer ${SECRET}`);
  const [event] = await home.events("contained_request");
  assert.equal((event?.["process"] as Members | undefined)?.["executable"], "/usr/bin/curl");
});

test(
  "whatever ignores the proxy has no network, and what the proxy is asked for beside HTTP goes nowhere",
  skip,
  async () => {
    const before = provider.received.length;
    const { port } = new URL(provider.origin);
    const script = `curl -sS --noproxy '*' ${provider.origin}/v1/things/1 2>&1; echo "direct $?"
curl -sS --noproxy '*' https://192.0.2.1/ 2>&1; echo "address $?"
curl -sS -i https://paste.example/x 2>/dev/null | tr '\\r' ' ' | grep -a Refused
curl -ksS -i https://192.0.2.9:${port}/v1/things/1 2>/dev/null | tr '\\r' ' ' | grep -a Refused
printf 'SSH-2.0-x\\r\\n' | curl -sS -m 5 -p -x $http_proxy telnet://other.example:22 2>&1 | tr '\\r' ' ' | grep -ao 'Refused by gw - [a-z_]*'
curl -sS -i -H 'connection: upgrade' -H 'upgrade: websocket' ${provider.origin}/v1/things/1 2>/dev/null | tr '\\r' ' ' | grep -a Refused
true`;
    const { code, out, err } = await contained(home, script, denied);
    assert.equal(code, 0, err);
    assert.match(out, /^direct [1-9]/m);
    assert.match(out, /^address [1-9]/m);
    assert.deepEqual(
      out.match(/Refused by gw - \w+/g),
      [
        "Refused by gw - origin_not_in_packs",
        "Refused by gw - box_request_refused",
        "Refused by gw - box_request_refused",
        "Refused by gw - box_request_refused",
      ],
      out,
    );
    assert.equal(provider.received.length, before);
  },
);

test("gw doctor says which tier this machine gives, and what mends it", skip, async () => {
  const row = async (under: readonly string[]): Promise<Members | undefined> => {
    const run = start([...under, GW, "--home", home.folder, "doctor", "--json"], { env: home.environment() });
    const { out } = await within(run.exited, 120_000, "doctor");
    return (JSON.parse(out) as readonly Members[]).find(({ name }) => name === "contained runs");
  };
  const second = await row(deniedRights);
  assert.equal(second?.["state"], "warning");
  assert.match(String(second?.["detail"]), /second tier.*bubblewrap.*raise lo/);
  assert.match(String(second?.["mend"]), /sysctl|container/);
  const first = await row([]);
  assert.equal(first?.["state"], "ok");
  assert.match(String(first?.["detail"]), /first tier can be built, with(out)? Landlock/);
});

test("a stream from outside that leads out of every box is refused before anybody is asked", skip, async () => {
  for (const options of [{}, denied]) {
    const run = startContained(home, ["true"], { ...options, streams: "< /" });
    const done = await within(run.exited, 120_000, "it ends");
    assert.equal(codeOf(done), "contain_unavailable");
    assert.match(done.err, /standard input is a folder/);
  }
});

/** 0 where this kernel has none of it. */
const landlock = Number(
  "skip" in skip || !has("/usr/bin/python3", "--version")
    ? 0
    : execFileSync("/usr/bin/python3", ["-c", "import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))"]),
);

test(
  "what is open from outside to be read cannot be written by its other name, where the kernel has Landlock",
  landlock < 2 ? { skip: skip.skip ?? "this kernel has no Landlock, or python3 is not installed" } : skip,
  async () => {
    const outside = join(home.folder, "..", "outside");
    for (const options of [{}, denied]) {
      writeFileSync(outside, "as it was\n");
      writeFileSync(`${outside}.out`, "");
      // Older ones know nothing of it.
      const truncate =
        landlock < 3 ? "" : `/usr/bin/python3 -c 'import os; os.truncate("/proc/self/fd/0", 0)' && echo TRUNCATED; `;
      const script = `${truncate}cat; echo changed > /proc/self/fd/0 && echo WRITTEN; mkdir -p a b && touch a/f && mv a/f b/f && echo moved; echo plain >> /dev/stdout; echo x > /dev/null && echo null`;
      const { out, err } = await contained(home, script, { ...options, streams: `< ${outside} >> ${outside}.out` });
      assert.equal(out, "");
      assert.match(err, /Permission denied/);
      assert.equal(readFileSync(outside, "utf8"), "as it was\n");
      assert.match(readFileSync(`${outside}.out`, "utf8"), /^as it was\nmoved\nplain\nnull\n$/);
    }
  },
);
