import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { asUser } from "./support/home.ts";
import { type Ran, runInStand, type StandEnd } from "./support/stand/run-stand.ts";
import { sampleOf } from "./support/whole.ts";

/** Of docs/contained.md: `gh COMMAND` and whether it works. A row that is not true fails here. */
const table = readFileSync(join(import.meta.dirname, "..", "docs", "contained.md"), "utf8")
  .split("\n")
  .flatMap((line) => {
    const [, command, says] = /^\| `(gh [^`]+)` \| (yes|no[^|]*) \|$/.exec(line) ?? [];
    return command === undefined || says === undefined ? [] : [{ command, works: says === "yes" }];
  });

const GET = "https://api.github.com/repos/octo-org/app";
const NPM = "--registry=https://registry.example --no-audit --no-fund --no-update-notifier --fetch-retries=0";
const PERSON = "-c user.name=ada -c user.email=ada@example.org";
const JAVA = `public class Get { public static void main(String[] a) throws Exception { System.out.println(new String(new java.net.URI("${GET}").toURL().openStream().readAllBytes())); } }`;

/** Programs that know nothing of gw. Each finds the authority in its own way, those that are dear to start some in every run. */
const programs: readonly { program: string; probe?: string; command: string; says: RegExp; dear?: true }[] = [
  { program: "curl", command: `curl -sSf ${GET}`, says: /octo-org/ },
  { program: "wget", command: `wget -qO- ${GET}`, says: /octo-org/ },
  { program: "node", command: `node -e 'fetch("${GET}").then((r) => r.text()).then(console.log)'`, says: /octo-org/ },
  {
    program: "python3 requests",
    probe: "/usr/bin/python3 -c 'import requests'",
    command: `/usr/bin/python3 -c 'import requests; print(requests.get("${GET}").json()["full_name"])'`,
    says: /octo-org\/app/,
  },
  {
    program: "python3 urllib",
    probe: "/usr/bin/python3 --version",
    command: `/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen("${GET}").read())'`,
    says: /octo-org/,
  },
  {
    program: "pip",
    dear: true,
    probe: "/usr/bin/python3 -m pip --version",
    command:
      "/usr/bin/python3 -m pip install -q --no-cache-dir --disable-pip-version-check --index-url https://wheels.example/simple --target /tmp/pip tiny && PYTHONPATH=/tmp/pip /usr/bin/python3 -c 'import tiny; print(tiny.ANSWER)'",
    says: /42/,
  },
  {
    program: "java",
    dear: true,
    command: `printf '%s' '${JAVA}' > /tmp/Get.java && java /tmp/Get.java`,
    says: /octo-org/,
  },
  {
    program: "npm",
    dear: true,
    command: `mkdir /tmp/p && cd /tmp/p && echo '{}' > package.json && npm install left-pad ${NPM} && node -p 'require("left-pad")'`,
    says: /42/,
  },
  {
    program: "npm publish",
    dear: true,
    probe: "npm --version",
    command: `mkdir /tmp/q && cd /tmp/q && echo '{"name":"mine","version":"2.0.0"}' > package.json && echo '//registry.example/:_authToken=\${NPM_TOKEN}' > .npmrc && npm publish ${NPM}`,
    says: /mine@2[.]0[.]0/,
  },
  {
    program: "npm publish of 9 MiB",
    dear: true,
    probe: "npm --version",
    command: `mkdir /tmp/r && cd /tmp/r && echo '{"name":"mine","version":"3.0.0"}' > package.json && head -c 9437184 /dev/urandom > data && echo '//registry.example/:_authToken=\${NPM_TOKEN}' > .npmrc && npm publish ${NPM}`,
    says: /mine@3[.]0[.]0/,
  },
  {
    program: "git",
    command: `git clone -q https://github.com/octo-org/app /tmp/app && cd /tmp/app && git ${PERSON} commit -q --allow-empty -m two && git push origin main`,
    says: /main -> main/,
  },
];

const present = (command: string): boolean => spawnSync("sh", ["-c", `${command} > /dev/null 2>&1`]).status === 0;
const hasGh = present("gh --version");
const tried = programs.map((one) => ({
  ...one,
  here: present(one.probe ?? `${one.program} --version || ${one.program} -version`),
}));
const there = tried.filter(({ here }) => here);
const dear = sampleOf(
  "programs that are dear to start",
  there.filter((one) => one.dear),
  2,
);
const played = there.filter((one) => one.dear === undefined || dear.includes(one));
const rows = hasGh ? sampleOf("everyday commands of gh", table, 20) : table;

describe("programs as they are, in one box on a machine of its own", asUser, () => {
  const ran = new Map<string, Ran>();
  let end: StandEnd | null = null;

  before(async () => {
    const commands = [...(hasGh ? rows : []), ...played].map(({ command }) => command);
    const done = await runInStand(commands);
    for (const one of done.ran) ran.set(one.command, one);
    end = done.end;
  });

  for (const one of tried) {
    const { program, command, says, here } = one;
    const skip = !here
      ? `${program} is not installed`
      : !played.includes(one) && "not of this run's sample: npm run soak -- suite plays all";
    test(`${program} works through the gateway`, { skip }, () => {
      const { code, out, err } = ran.get(command) ?? assert.fail();
      assert.equal(code, 0, `${err}${out}`);
      assert.match(out + err, says);
    });
  }

  test("the table of gh's everyday commands is a long one", () => assert.ok(table.length >= 42, String(table.length)));

  for (const { command, works } of rows) {
    test(`${command}: ${works ? "works" : "is refused in words"}`, {
      skip: hasGh ? false : "gh is not installed",
    }, () => {
      const { code, out, err } = ran.get(command) ?? assert.fail();
      assert.equal(code === 0, works, `${err}${out}`);
      if (!works) assert.match(err, /Refused by gw|gw: no action/);
    });
  }

  test("the providers were shown their credential and nothing else, and have what was published", () => {
    assert.equal(end?.foreign, false);
    const published = played.flatMap(({ says }) => /^mine@(\d)/.exec(says.source)?.[1] ?? []);
    assert.deepEqual(
      end?.published,
      published.map((major) => `${major}.0.0`),
    );
  });
});
