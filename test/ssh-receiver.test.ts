import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { bundle } from "../scripts/bundle.ts";
import { type Frame, readFrame } from "../src/conventions/ssh/frames.ts";
import { readManifest } from "../src/conventions/ssh/manifest.ts";
import { refusals } from "../src/conventions/ssh/refusal.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { ed25519, keySigner, publicLine, writeProgram } from "./ssh-stand.ts";
import { until } from "./support/home.ts";

/** The receiver as a host runs it: one file, on the Nodes that this machine has, spoken to over pipes. */
const root = dirname(import.meta.dirname);
const folder = mkdtempSync(join(tmpdir(), "gw-receiver-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const receiver = join(folder, "gw-receiver.mjs");
writeFileSync(receiver, bundle(join(root, "src/programs/gw-receiver.ts"), "test"), { mode: 0o755 });
const state = join(folder, "state");
mkdirSync(state, { mode: 0o700 });
const manifest = join(folder, "manifest.json");

writeManifest({
  release_status: {
    executable: writeProgram({ folder }, "release-status", `echo '{"release_id":"r1"}'`),
    arguments: ["--json"],
  },
  look_back: { executable: writeProgram({ folder }, "look-back", `cat ${join(state, "requests")}/*`) },
  wait: { executable: writeProgram({ folder }, "wait-long", `touch ${join(folder, "waiting")}; sleep 3`) },
  flood: {
    executable: writeProgram({ folder }, "flood", "head -c 1500000 /dev/zero; exit 4"),
    output_bytes: 1_200_000,
  },
});

function writeManifest(operations: object, more: object = {}): void {
  const text = JSON.stringify({ format: "gw.receiver-manifest/v1", state, operations, ...more });
  writeFileSync(manifest, text, { mode: 0o600 });
}

interface Talk {
  readonly child: ChildProcess;
  readonly done: Promise<Frame[]>;
}

interface TalkOptions {
  readonly node?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

function talk(input: string | Buffer | null, { node = process.execPath, env = {}, args }: TalkOptions = {}): Talk {
  const child = spawn(node, [receiver, ...(args ?? ["--manifest", manifest, "--trust-own-files"])], {
    stdio: ["pipe", "pipe", "ignore"],
    env,
  });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
  });
  child.stdin.on("error", () => {});
  if (input !== null) child.stdin.end(input);
  const done = new Promise<Frame[]>((resolve) => {
    child.on("close", () => {
      const lines = text.split("\n").slice(0, -1);
      resolve(lines.map((line) => readFrame(Buffer.from(line)) ?? assert.fail(line)));
    });
  });
  return { child, done };
}

let ids = 0;
const nextId = () => `call_receiver${String(++ids).padStart(4, "0")}`;
const request = (action: string, more: object = {}) => JSON.stringify({ action, request_id: nextId(), ...more });
const kinds = (frames: readonly Frame[]) => frames.map(({ kind }) => kind);
const codeOf = (frames: readonly Frame[]) => frames.find((frame) => frame.kind === "refused")?.code;

const nodes = [process.execPath, "/usr/bin/node", "/usr/local/bin/node"].filter(
  (node, at) =>
    existsSync(node) && (at === 0 || /^v(1[89]|2\d)\./.test(spawnSync(node, ["--version"]).stdout.toString())),
);
for (const node of nodes) {
  const version = spawnSync(node, ["--version"]).stdout.toString().trim();
  test(`the one file serves a request on Node ${version}`, async () => {
    const frames = await talk(request("release_status"), { node }).done;
    assert.deepEqual(kinds(frames), ["ready", "started", "output", "finished"]);
    const output = frames[2];
    assert.ok(output?.kind === "output");
    assert.equal(output.data.toString(), '{"release_id":"r1"}\n');
  });
}

test("the file needs nothing but Node, and nothing newer than version 18 has", () => {
  const text = readFileSync(receiver, "utf8");
  const imported = [...text.matchAll(/^import .* from "([^"]+)";$/gm)].map((found) => found[1] ?? "");
  assert.ok(imported.length > 0 && imported.every((name) => name.startsWith("node:")));
  for (const newer of [
    "isWellFormed",
    "toSorted",
    "Promise.withResolvers",
    "Symbol.dispose",
    "import.meta.dirname",
    "Object.groupBy",
  ]) {
    assert.equal(text.includes(newer), false, newer);
  }
});

test("where others can put another folder in the place of that for events, no request is taken, and none runs twice", async () => {
  const shared = join(folder, "shared");
  const other = join(folder, "other");
  for (const path of [shared, other, join(shared, "events")]) mkdirSync(path, { mode: 0o700 });
  const ran = join(folder, "ran");
  const executable = writeProgram({ folder }, "count", `echo x >> ${ran}`);
  const text = {
    format: "gw.receiver-manifest/v1",
    state: join(shared, "events"),
    operations: { count: { executable } },
  };
  const file = join(folder, "shared.json");
  writeFileSync(file, JSON.stringify(text), { mode: 0o600 });
  const args = ["--manifest", file, "--trust-own-files"];
  const once = request("count");
  assert.deepEqual(kinds(await talk(once, { args }).done), ["ready", "started", "finished"]);
  chmodSync(shared, 0o777);
  // What anybody can do there now.
  renameSync(join(shared, "events"), join(shared, "before"));
  symlinkSync(other, join(shared, "events"));
  assert.equal(codeOf(await talk(once, { args }).done), "state_unavailable");
  assert.equal(readFileSync(ran, "utf8"), "x\n");
});

test("what is not one strict request is refused, and nothing is recorded", async () => {
  const cases: readonly (readonly [string | Buffer, string])[] = [
    ["", "request_malformed"],
    ["not json", "request_malformed"],
    [`${request("release_status")}${request("release_status")}`, "request_malformed"],
    [Buffer.from([0x7b, 0xff, 0x7d]), "request_malformed"],
    ["x".repeat(20_000), "request_too_large"],
    ['{"action":"release_status"}', "request_id_invalid"],
    [request("reboot"), "action_unknown"],
    [request("release_status", { extra: "x" }), "field_unknown"],
    [request("release_status", { nonce: "AAAAAAAAAAAAAAAAAAAAAA" }), "nonce_mismatch"],
  ];
  for (const [input, code] of cases) {
    const frames = await talk(input).done;
    assert.deepEqual(kinds(frames), ["ready", "refused"]);
    assert.equal(codeOf(frames), code);
  }
  const recorded = readdirSync(join(state, "requests")).map((name) =>
    readFileSync(join(state, "requests", name), "utf8"),
  );
  assert.ok(recorded.every((text) => text.includes('"operation":"release_status"') && !text.includes("extra")));
});

test("a session that got more than it should is refused before anything is read", async () => {
  const cases: readonly (readonly [Record<string, string>, string])[] = [
    [{ SSH_ORIGINAL_COMMAND: "id" }, "command_not_allowed"],
    [{ SSH_ORIGINAL_COMMAND: "internal-sftp" }, "command_not_allowed"],
    [{ SSH_TTY: "/dev/pts/0" }, "terminal_not_allowed"],
    [{ SSH_AUTH_SOCK: "/tmp/agent" }, "forwarding_not_allowed"],
    [{ GW_ENVIRONMENT_PROBE: "1" }, "environment_not_allowed"],
  ];
  for (const [env, code] of cases) {
    const frames = await talk(request("release_status"), { env }).done;
    assert.deepEqual(kinds(frames), ["refused"]);
    assert.equal(codeOf(frames), code);
  }
});

test("a manifest that is absent, another's to change or not well formed serves nothing", async () => {
  const absent = ["--manifest", join(folder, "absent.json"), "--trust-own-files"];
  assert.equal(codeOf(await talk(request("release_status"), { args: absent }).done), "manifest_invalid");
  if (process.getuid?.() !== 0) {
    const strict = ["--manifest", manifest];
    assert.equal(codeOf(await talk(request("release_status"), { args: strict }).done), "manifest_invalid");
  }
  if (process.getuid?.() !== 0) {
    const sealed = join(folder, "sealed.json");
    writeFileSync(sealed, "{}", { mode: 0o000 });
    const unreadable = ["--manifest", sealed, "--trust-own-files"];
    assert.equal(codeOf(await talk(request("release_status"), { args: unreadable }).done), "manifest_invalid");
  }
  const loose = join(folder, "loose.json");
  writeFileSync(loose, "{}", { mode: 0o600 });
  const args = ["--manifest", loose, "--trust-own-files"];
  assert.equal(codeOf(await talk(request("release_status"), { args }).done), "manifest_invalid");
});

test("the start is on disk before the program runs, and the end after it", async () => {
  const id = nextId();
  const frames = await talk(JSON.stringify({ action: "look_back", request_id: id })).done;
  const seen = frames.flatMap((frame) => (frame.kind === "output" ? [frame.data.toString()] : [])).join("");
  const own = seen.split("\n").filter((line) => line.includes(id));
  assert.equal(own.length, 1, "what the program itself found");
  assert.match(own[0] ?? "", /"event":"action_started".*"operation":"look_back"/);
  const record = readFileSync(join(state, "requests", id), "utf8")
    .trimEnd()
    .split("\n");
  assert.match(record[1] ?? "", /"event":"action_finished".*"exit_status":0/);
});

test("a receiver that is killed leaves a start without an end, and the status says interrupted", async () => {
  const id = nextId();
  const { child, done } = talk(JSON.stringify({ action: "wait", request_id: id }));
  await appears(join(folder, "waiting"));
  child.kill("SIGKILL");
  assert.deepEqual(kinds(await done), ["ready", "started"]);
  assert.equal((await statusOf(id))["state"], "interrupted");
  assert.equal(codeOf(await talk(JSON.stringify({ action: "wait", request_id: id })).done), "request_repeated");
});

test("while it runs the status says running, and signals do not stop it before its end is written", async () => {
  rmSync(join(folder, "waiting"));
  const id = nextId();
  const { child, done } = talk(JSON.stringify({ action: "wait", request_id: id }));
  await appears(join(folder, "waiting"));
  for (const signal of ["SIGHUP", "SIGTERM", "SIGINT"] as const) child.kill(signal);
  assert.equal((await statusOf(id))["state"], "running");
  assert.deepEqual(kinds(await done), ["ready", "started", "finished"]);
  assert.equal((await statusOf(id))["state"], "finished");
});

test("a reader that goes away in the middle of a flood changes nothing about the recorded end", async () => {
  const id = nextId();
  const { child } = talk(JSON.stringify({ action: "flood", request_id: id }));
  const closed = new Promise((resolve) => child.on("exit", resolve));
  child.stdout?.once("data", () => child.stdout?.destroy());
  await closed;
  const record = await statusOf(id);
  assert.equal(record["state"], "finished");
  assert.equal(record["exit_status"], 4);
});

test("a pinned gateway key is asked for before the action is even looked at", async () => {
  const key = publicLine(keySigner(ed25519()));
  writeManifest({}, { gateway_key: key, host_key: key });
  assert.equal(codeOf(await talk(request("reboot")).done), "signature_missing");
});

test("docs/ssh.md lists the refusals as the code has them", () => {
  const text = readFileSync(join(root, "docs/ssh.md"), "utf8");
  for (const [code, means] of Object.entries(refusals)) assert.ok(text.includes(`| \`${code}\` | ${means} |`), code);
});

test("the manifest in docs/ssh.md is one that the receiver takes", () => {
  const text = readFileSync(join(root, "docs/ssh.md"), "utf8");
  const block = /```json\n([\s\S]*?)```/.exec(text)?.[1] ?? assert.fail("no manifest in the text");
  // The keys are shortened for the reader; any key stands in for them.
  const key = publicLine(keySigner(ed25519()));
  const sample = { ...(JSON.parse(block) as JsonObject), gateway_key: key, host_key: key };
  assert.equal(readManifest(Buffer.from(JSON.stringify(sample))).kind, "manifest");
});

async function statusOf(id: string): Promise<JsonObject> {
  const frames = await talk(request("request_status", { of: id })).done;
  const output = frames.find((frame) => frame.kind === "output");
  assert.ok(output?.kind === "output");
  return JSON.parse(output.data.toString()) as JsonObject;
}

async function appears(path: string): Promise<void> {
  await until(`${path} appears`, () => existsSync(path));
}
