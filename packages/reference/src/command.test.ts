import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Secret } from "../../../src/kernel/secret.ts";
import type { CliIo } from "../../../src/surfaces/cli/io.ts";
import { type ReferenceCliPorts, runReference } from "./command.ts";

function terminal(): { readonly io: CliIo; readonly out: string[]; readonly err: string[] } {
  const [out, err]: [string[], string[]] = [[], []];
  const nothing = async () => Secret.fromText("");
  const io: CliIo = {
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    ...{ isTty: false, color: false, askSecret: nothing, readSecret: nothing, ask: async () => "" },
  };
  return { io, out, err };
}

function portsOf(log: string[], start?: ReferenceCliPorts["start"]): ReferenceCliPorts {
  const running = {
    ...{ origin: "http://127.0.0.1:1", webhookSecret: "whsec_x" },
    issueToken: async ({ scopes }: { readonly scopes: readonly string[] }) => `token for ${scopes.join(" ")}`,
    close: async () => void log.push("closed"),
  };
  return { start: start ?? (async () => running), scopes: ["a"], stopped: Promise.resolve() };
}

const options = { port: 0, file: "reference.db", faults: false, json: true };

test("the provider runs until it is told to stop, and says where it is and with which token", async () => {
  const { io, out } = terminal();
  const log: string[] = [];
  assert.equal(await runReference(options, io, portsOf(log)), 0);
  assert.deepEqual(JSON.parse(out[0] ?? ""), {
    ...{ origin: "http://127.0.0.1:1", token: "token for a", token_file: null, webhook_secret: "whsec_x" },
  });
  assert.deepEqual(log, ["closed"]);
});

test("the token may control faults only where faults are on", async () => {
  const { io, out } = terminal();
  await runReference({ ...options, faults: true }, io, portsOf([]));
  assert.equal(JSON.parse(out[0] ?? "").token, "token for a control");
});

test("a token file is new and private, and then the token is not printed", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const tokenFile = join(folder, "token");
  const { io, out } = terminal();
  await runReference({ ...options, json: false, tokenFile }, io, portsOf([]));
  assert.equal(readFileSync(tokenFile, "utf8"), "token for a\n");
  assert.equal(statSync(tokenFile).mode & 0o777, 0o600);
  assert.ok(!out.join("\n").includes("token for a"));
  await assert.rejects(runReference({ ...options, tokenFile }, io, portsOf([])), { code: "EEXIST" });
});

test("a port that is taken is said in words", async () => {
  const { io, err } = terminal();
  const taken = Object.assign(new Error("taken"), { code: "EADDRINUSE" });
  const exit = await runReference(
    options,
    io,
    portsOf([], async () => Promise.reject(taken)),
  );
  assert.deepEqual([exit, err.length], [1, 1]);
});
