import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { startGitHost } from "./support/git-host.ts";
import {
  asUser,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  SECRET,
  within,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { type Relay, startRelay } from "./support/relay.ts";
import { idOf } from "./support/reply.ts";

const folder = join(import.meta.dirname, "..", "packs");
const environment = {
  PATH: process.env["PATH"],
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a@example.org",
  GIT_COMMITTER_NAME: "a",
  GIT_COMMITTER_EMAIL: "a@example.org",
};

interface Ran {
  readonly code: number | null;
  readonly text: string;
}

function run(command: readonly string[], cwd: string): Promise<Ran> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, { cwd, env: environment });
  const texts: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => void texts.push(chunk));
  const ended = new Promise<Ran>((resolve) =>
    child.once("close", (code) => resolve({ code, text: Buffer.concat(texts).toString("utf8") })),
  );
  return within(ended, 120_000, command.join(" ")).finally(() => child.kill("SIGKILL"));
}

async function must(command: readonly string[], cwd: string): Promise<string> {
  const { code, text } = await run(command, cwd);
  assert.equal(code, 0, `${command.join(" ")}: ${text}`);
  return text;
}

const lacks = (program: string) =>
  spawnSync(program, ["--version"]).status === 0 ? false : `${program} is not installed`;

/** Programs that know nothing of gw, pointed at the part of a wrapper; the shipped packs, but for their origins. */
describe("git and npm work through the packs that come with gw", asUser, () => {
  const work = makeFolder();
  let home: Home;
  let gateway: Gateway;
  let wrapper: Plane;
  let host: Awaited<ReturnType<typeof startGitHost>>;
  let registry: TestProvider;
  let git: Relay;
  let npm: Relay;
  let current: string;

  before(async () => {
    mkdirSync(join(work, "repos", "octo"), { recursive: true });
    mkdirSync(join(work, "repos", "octo", "app.git"));
    spawnSync("git", ["init", "-q", "--bare", "-b", "main"], { cwd: join(work, "repos", "octo", "app.git") });
    host = await startGitHost(join(work, "repos"), SECRET);
    registry = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("github-git", host.origin);
    const shipped = (name: string, from: string, to: string) =>
      readFileSync(join(folder, `${name}.yaml`), "utf8")
        .replace(`origin: ${from}\n`, `origin: ${to}\n  network: private\n`)
        .replace("{ scheme: basic }", "{ scheme: bearer }");
    await home.trustPack("git", shipped("git", "https://github.com", host.origin));
    await home.trustPack("npm", shipped("npm", "https://registry.example", registry.origin));
    gateway = await home.up();
    wrapper = openPlane(home.agentSocket);
    current = await openRun(home, wrapper, ["git.*", "npm.*"], { attempts: 100, side_effects: 10 });
    git = await startRelay(wrapper, () => current, host.origin);
    npm = await startRelay(wrapper, () => current, registry.origin);
  });

  after(async () => {
    await git?.close();
    await npm?.close();
    wrapper?.close();
    await gateway?.end();
    await host?.close();
    await registry?.close();
  });

  test("git push is a card that names the ref and both commits; clone and fetch are reads", {
    skip: lacks("git"),
  }, async () => {
    const clone = join(work, "clone");
    await must(["git", "clone", "-q", `${git.origin}/octo/app.git`, clone], work);
    writeFileSync(join(clone, "a.txt"), "one\n");
    await must(["git", "checkout", "-q", "-b", "main"], clone).catch(() => undefined);
    await must(["git", "add", "."], clone);
    await must(["git", "commit", "-q", "-m", "one"], clone);
    const commit = (await must(["git", "rev-parse", "HEAD"], clone)).trim();
    const pushing = run(["git", "push", "-q", "origin", "HEAD:refs/heads/main"], clone);
    const [card] = await home.approvals();
    const shown = JSON.stringify(card);
    assert.ok(shown.includes(`push: creates refs/heads/main at ${commit.slice(0, 12)}`), shown);
    await home.approve(idOf(card, "approval_id"));
    assert.deepEqual(await pushing, { code: 0, text: "" });
    const again = join(work, "again");
    await must(["git", "clone", "-q", `${git.origin}/octo/app.git`, again], work);
    assert.equal(readFileSync(join(again, "a.txt"), "utf8"), "one\n");
  });

  test("a push that a person refuses moves nothing, and git prints why", { skip: lacks("git") }, async () => {
    const clone = join(work, "again");
    writeFileSync(join(clone, "a.txt"), "two\n");
    await must(["git", "commit", "-q", "-am", "two"], clone);
    const pushing = run(["git", "push", "-q", "origin", "main"], clone);
    const [card] = await home.approvals();
    assert.match(JSON.stringify(card), /push: refs\/heads\/main: [0-9a-f]{12} → [0-9a-f]{12}/);
    await home.must(["deny", idOf(card, "approval_id")]);
    const { code, text } = await pushing;
    assert.notEqual(code, 0);
    assert.ok(text.includes("403"), text);
    const foreign = await run(["git", "push", "-q", "origin", "main:refs/notes/x"], clone);
    assert.notEqual(foreign.code, 0, "a ref that the pack does not name");
    assert.equal(git.told.at(-1)?.["reason"], "Refused by gw - request_not_in_packs");
  });

  /** Commits a file of so many bytes and pushes it as a branch of its own; a person sees the card and agrees. */
  async function pushFile(clone: string, branch: string, bytes: number): Promise<void> {
    writeFileSync(join(clone, branch), randomBytes(bytes));
    await must(["git", "add", "."], clone);
    await must(["git", "commit", "-q", "-m", branch], clone);
    const pushing = run(["git", "push", "-q", "origin", `HEAD:refs/heads/${branch}`], clone);
    const refused = pushing.then(({ text }) => assert.fail(text));
    const [card] = await Promise.race([refused, home.approvals()]);
    assert.ok(JSON.stringify(card).includes(`push: creates refs/heads/${branch} at `));
    await home.approve(idOf(card, "approval_id"));
    assert.deepEqual(await pushing, { code: 0, text: "" });
  }

  test("a push that the host takes with 200 and carries out for no ref is an error, and git reads why", {
    skip: lacks("git"),
  }, async () => {
    const hook = join(work, "repos", "octo", "app.git", "hooks", "update");
    writeFileSync(hook, '#!/bin/sh\ncase "$1" in */kept*) exit 1;; esac\n', { mode: 0o755 });
    const clone = join(work, "again");
    for (const [refs, outcome] of [
      [["kept"], ["error", "failed"]],
      [
        ["kept", "other"],
        ["success", "succeeded"],
      ],
    ] as const) {
      const pushing = run(["git", "push", "-q", "origin", ...refs.map((ref) => `HEAD:refs/heads/${ref}`)], clone);
      const [card] = await home.approvals();
      await home.approve(idOf(card, "approval_id"));
      const { code, text } = await pushing;
      assert.notEqual(code, 0);
      assert.match(text, /remote rejected.*hook declined/);
      const told = git.told.at(-1);
      const logged = (await home.events("action_finished")).find(({ call_id }) => call_id === told?.["call_id"]);
      assert.deepEqual([told?.["status"], told?.["outcome"], logged?.["outcome"]], [200, ...outcome]);
    }
    rmSync(hook);
  });

  /** A push that no git would write: as the lines that they are, with a packfile of no objects. */
  async function pushLines(clone: string, lines: readonly string[], capabilities: string): Promise<Members> {
    const [first = "", ...others] = lines;
    const head = [`${first}\0 ${capabilities}`, ...others].map(
      (one) => (Buffer.byteLength(one) + 4).toString(16).padStart(4, "0") + one,
    );
    const { stdout } = spawnSync("git", ["pack-objects", "--stdout", "-q"], { cwd: clone, input: "" });
    const reply = await wrapper.ask("POST", `/v1/runs/${current}/requests`, {
      origin: host.origin,
      method: "POST",
      target: "/octo/app.git/git-receive-pack",
      headers: [
        ["content-type", "application/x-git-receive-pack-request"],
        ["accept", "application/x-git-receive-pack-result"],
      ],
      body: Buffer.concat([Buffer.from(`${head.join("")}0000`), stdout]).toString("base64"),
    });
    return reply.body;
  }

  test("a push that hides what became of its refs is not taken, or is called neither done nor refused", {
    skip: lacks("git"),
  }, async () => {
    const hook = join(work, "repos", "octo", "app.git", "hooks", "update");
    writeFileSync(hook, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    const clone = join(work, "again");
    const [none, before, now] = [
      "0".repeat(40),
      ...(await must(["git", "rev-parse", "HEAD~1", "HEAD"], clone)).split("\n"),
    ];
    const twice = [`${none} ${now} refs/heads/twice`, `${now} ${before} refs/heads/twice`];
    const refused = await pushLines(clone, twice, "report-status");
    assert.equal(refused["reason"], "Refused by gw - request_not_in_packs");
    const pushing = pushLines(clone, [`${none} ${now} refs/heads/silent`], "quiet");
    const [card] = await home.approvals();
    await home.approve(idOf(card, "approval_id"));
    const told = await pushing;
    const logged = (await home.events("action_finished")).find(({ call_id }) => call_id === told["call_id"]);
    assert.deepEqual([told["outcome"], logged?.["outcome"]], ["unknown", "unknown"]);
    rmSync(hook);
  });

  test("a clone without its history pushes like any other", { skip: lacks("git") }, async () => {
    const clone = join(work, "shallow");
    await must(["git", "clone", "-q", "--depth", "1", `${git.origin}/octo/app.git`, clone], work);
    await pushFile(clone, "small", 10);
  });

  test("a push that git asks about first, because it is large, is asked and then sent", {
    skip: lacks("git"),
  }, async () => {
    const clone = join(work, "large");
    await must(["git", "clone", "-q", `${git.origin}/octo/app.git`, clone], work);
    const before = host.seen.length;
    await must(["git", "config", "http.postBuffer", "65536"], clone);
    await pushFile(clone, "large", 200_000);
    assert.equal(host.seen.slice(before).filter((one) => one === "POST /octo/app.git/git-receive-pack").length, 2);
  });

  test("npm install reads a package and its files, byte by byte", { skip: lacks("npm") }, async () => {
    const pack = join(work, "package");
    mkdirSync(pack);
    writeFileSync(join(pack, "package.json"), JSON.stringify({ name: "left-pad", version: "1.0.0", main: "i.js" }));
    writeFileSync(join(pack, "i.js"), "module.exports = 42;\n");
    await must(["tar", "-czf", "left-pad-1.0.0.tgz", "package"], work);
    const bytes = readFileSync(join(work, "left-pad-1.0.0.tgz"));
    registry.answer(({ url }, response) => {
      if (url.endsWith(".tgz")) {
        return void response.writeHead(200, { "content-type": "application/octet-stream" }).end(bytes);
      }
      const tarball = `${npm.origin}/left-pad/-/left-pad-1.0.0.tgz`;
      const version = { name: "left-pad", version: "1.0.0", main: "i.js", dist: { tarball } };
      const document = { name: "left-pad", "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": version } };
      response.writeHead(200, { "content-type": "application/vnd.npm.install-v1+json" }).end(JSON.stringify(document));
    });
    const project = join(work, "project");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), "{}");
    const options = [`--registry=${npm.origin}`, `--cache=${join(work, "cache")}`, "--no-audit", "--no-fund"];
    await must(["npm", "install", "left-pad", ...options, "--fetch-retries=0", "--no-update-notifier"], project);
    assert.equal(readFileSync(join(project, "node_modules", "left-pad", "i.js"), "utf8"), "module.exports = 42;\n");
    const [first] = registry.received;
    assert.match(String(first?.headers["accept"]), /^application\/(vnd[.]npm[.]install-v1[+])?json$/);
    assert.equal(first?.headers["npm-command"], undefined);
    const missing = await run(["npm", "publish", ...options, `--//${npm.origin.slice(7)}/:_authToken=x`], project);
    assert.notEqual(missing.code, 0);
  });
});
