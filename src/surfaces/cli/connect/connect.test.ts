import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { CliIo } from "../io.ts";
import { clients, findClient } from "./clients.ts";
import { type ConnectOptions, configurationOf, runConnect } from "./connect.ts";

const golden = join(import.meta.dirname, "golden");
const folder = mkdtempSync(join(tmpdir(), "gw-connect-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const entry = { name: "gw", command: "/opt/gw/bin/gw", args: ["mcp", "--home", "/home/ada/.gw"] };
const options: ConnectOptions = { home: "/home/ada/.gw", json: false, name: "gw" };
const random = { bytes: randomBytes };

function terminal(): CliIo & { readonly lines: string[]; readonly errors: string[] } {
  const lines: string[] = [];
  const errors: string[] = [];
  const never = (): never => assert.fail("nothing is asked");
  return {
    lines,
    errors,
    out: (line) => lines.push(line),
    err: (line) => errors.push(line),
    isTty: false,
    color: false,
    askSecret: never,
    ask: never,
    readSecret: never,
  };
}

function connect(id: string, given: Partial<ConnectOptions>, io = terminal()) {
  return runConnect(id, { ...options, ...given }, io, random, entry.command);
}

for (const client of clients) {
  const before = readFileSync(join(golden, `before.${client.format}.txt`), "utf8");

  test(`the configuration for ${client.title} is what it was when a person looked at it`, async () => {
    const io = terminal();
    assert.equal(await connect(client.id, {}, io), 0);
    assert.equal(`${io.lines.join("\n")}\n`, readFileSync(join(golden, `${client.id}.${client.format}.txt`), "utf8"));
  });

  test(`merging for ${client.title} changes one place of the file and is stable`, () => {
    const merged = configurationOf(client, entry, before, "file");
    assert.equal(merged, readFileSync(join(golden, `${client.id}-merged.${client.format}.txt`), "utf8"));
    assert.equal(configurationOf(client, entry, merged, "file"), merged);
    const moved = configurationOf(client, { ...entry, command: "/elsewhere/gw" }, merged, "file");
    assert.equal(moved.replaceAll("/elsewhere/gw", entry.command), merged);
  });

  test(`the command for ${client.title} is an absolute path, never npx and never a shell`, () => {
    const record = client.record(entry);
    assert.equal(record["command"], "/opt/gw/bin/gw");
    assert.deepEqual(record["args"], entry.args);
  });
}

test("a budget that is named goes into what the client starts", async () => {
  const io = terminal();
  await connect("json", { actions: "acme.*", attempts: 60, sideEffects: 0, minutes: 30, spend: 0 }, io);
  const { mcpServers } = JSON.parse(io.lines.join("\n")) as { mcpServers: { gw: { args: string[] } } };
  const budget = ["--attempts", "60", "--side-effects", "0", "--minutes", "30", "--spend", "0"];
  assert.deepEqual(mcpServers.gw.args, [...entry.args, "--actions", "acme.*", ...budget]);
});

test("the default command is the program of this very package", async () => {
  const io = terminal();
  await runConnect("json", options, io, random);
  const { mcpServers } = JSON.parse(io.lines.join("\n")) as { mcpServers: { gw: { command: string } } };
  assert.ok(statSync(mcpServers.gw.command).isFile());
  assert.match(mcpServers.gw.command, /^\/.*\/bin\/gw$/);
});

test("--write shows what changes, writes it, keeps the mode and a link, and says when nothing changes", async () => {
  const file = join(folder, "real.json");
  const link = join(folder, "link.json");
  writeFileSync(file, '{"mcpServers":{"a":{"command":"x"}}}');
  chmodSync(file, 0o640);
  symlinkSync(file, link);
  const io = terminal();
  assert.equal(await connect("cursor", { write: true, file: link }, io), 0);
  assert.ok(io.lines.some((line) => line.startsWith("+ ") && line.includes("/opt/gw/bin/gw")));
  assert.equal(statSync(file).mode & 0o777, 0o640);
  const written = JSON.parse(readFileSync(file, "utf8")) as { mcpServers: Record<string, { command: string }> };
  assert.deepEqual(Object.keys(written.mcpServers).sort(), ["a", "gw"]);
  assert.equal(readFileSync(link, "utf8"), readFileSync(file, "utf8"));
  const again = terminal();
  assert.equal(await connect("cursor", { write: true, file: link }, again), 0);
  assert.match(again.lines.join(), /already says so/);
});

test("--write makes the file and its folder where there is none, and says that it made one", async () => {
  const file = join(folder, "new", "deep", "config.toml");
  const io = terminal();
  assert.equal(await connect("codex", { write: true, file }, io), 0);
  assert.ok(io.errors.some((line) => line.includes(`Made the folder ${join(folder, "new", "deep")}`)));
  assert.equal(readFileSync(file, "utf8"), readFileSync(join(golden, "codex.toml.txt"), "utf8"));
});

test("a file that is not valid is left untouched, byte for byte, with nothing beside it", async () => {
  const broken: readonly (readonly [string, string | Buffer])[] = [
    ["cursor", '{"mcpServers": {'],
    ["vscode", '{\n  // a comment\n  "servers": {\n}'],
    ["gemini", '{"mcpServers":{},"mcpServers":{"a":{}}}'],
    ["claude-code", "[]"],
    ["claude-code", '{"mcpServers": 7}'],
    ["claude-code", Buffer.from([0x7b, 0xff, 0x7d])],
    ["codex", "model = "],
    ["codex", "[mcp_servers.gw\n"],
    ["codex", "a = 1\na = 2\n"],
    ["codex", 'mcp_servers = { gw = { command = "x" } }\n'],
    ["codex", '[mcp_servers]\ngw.command = "x"\n'],
    ["codex", '[[mcp_servers]]\nname = "gw"\n'],
  ];
  for (const [index, [id, text]] of broken.entries()) {
    const place = mkdtempSync(join(folder, "broken-"));
    const file = join(place, `config-${index}`);
    writeFileSync(file, text);
    const io = terminal();
    assert.equal(await connect(id, { write: true, file }, io), 1, String(text));
    assert.match(io.errors.join(), /^client_config_invalid: .*left untouched/, String(text));
    assert.deepEqual(readFileSync(file), Buffer.from(text));
    assert.deepEqual(readdirSync(place), [`config-${index}`]);
  }
});

test("an unknown client, a strange name and a client without a usual file are refused", async () => {
  const io = terminal();
  assert.equal(await connect("emacs", {}, io), 1);
  assert.match(io.errors.join(), /^client_unknown: .*claude-code, codex, cursor, vscode, gemini, json/);
  assert.equal(await connect("json", { name: "a b" }), 1);
  assert.equal(await connect("json", { write: true }), 1);
});

test("--json says where the configuration goes", async () => {
  const io = terminal();
  await connect("codex", { json: true }, io);
  const record = JSON.parse(io.lines.join("")) as Record<string, string>;
  assert.equal(record["client"], "codex");
  assert.match(String(record["file"]), /\.codex\/config\.toml$/);
  assert.match(String(record["configuration"]), /^\[mcp_servers\.gw\]/);
  assert.equal(findClient("codex")?.format, "toml");
});
