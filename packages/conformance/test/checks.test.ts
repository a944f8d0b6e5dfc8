import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createClock, systemRandom, systemSleep } from "../../../src/adapters/platform/system.ts";
import { Denied } from "../../../src/kernel/failure.ts";
import { Secret } from "../../../src/kernel/secret.ts";
import type { CliIo } from "../../../src/surfaces/cli/io.ts";
import { sampleOf } from "../../../test/support/whole.ts";
import { allScopes, type Reference, startReference } from "../../reference/src/start.ts";
import { checks } from "../src/checks/checks.ts";
import { runConformance } from "../src/command.ts";
import { readProfile, referenceProfile } from "../src/profile.ts";
import { type CheckResult, runChecks } from "../src/run.ts";
import { startVariant, variants } from "./variants.ts";

let folder: string;
let reference: Reference;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "gw-conformance-"));
  const ports = { clock: createClock(), random: systemRandom, sleep: systemSleep };
  reference = await startReference({ port: 0, file: join(folder, "reference.db"), ...ports });
});

after(async () => {
  await reference.close();
  rmSync(folder, { recursive: true, force: true });
});

const freshToken = () => reference.issueToken({ actor: "robot", tenant: "acme", scopes: allScopes });

async function run(origin: string, only?: readonly string[]): Promise<readonly CheckResult[]> {
  const options = { origin, profile: referenceProfile, token: await freshToken(), random: systemRandom };
  return runChecks(only === undefined ? options : { ...options, only });
}

function failed(results: readonly CheckResult[]): readonly string[] {
  return results.filter(({ verdict }) => verdict !== "passed").map(({ check, why }) => `${check}: ${why}`);
}

test("the reference provider passes every check", async () => {
  const results = await run(reference.origin);
  assert.deepEqual(failed(results), []);
  assert.equal(results.length, checks.length);
});

test("every check has its own name, cites a rule, and has a variant that breaks it", () => {
  const names = checks.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  assert.deepEqual([...names].sort(), Object.keys(variants).sort());
  for (const { name, rule } of checks) assert.match(rule, /^[A-Z].+: .+/, name);
});

// That it fails no other check is asked of some in each run: it takes all the checks for each of them.
const exactly = new Set(sampleOf("providers asked every check", Object.keys(variants), 3));
for (const [name, make] of Object.entries(variants)) {
  test(`a provider that breaks ${name} fails exactly that check`, async (t) => {
    const variant = await startVariant(reference.origin, make);
    t.after(() => variant.close());
    const results = await run(variant.origin, exactly.has(name) ? undefined : [name]);
    assert.deepEqual(
      results.filter(({ verdict }) => verdict !== "passed").map(({ check }) => check),
      [name],
      failed(results).join("\n"),
    );
  });
}

test("no probe goes out on a connection that has rested: one that is closed then would fail a check that is not about it", async (t) => {
  const asked = new Map<Socket, number>();
  const server = createServer((request, response) => {
    asked.set(request.socket, (asked.get(request.socket) ?? 0) + 1);
    request.resume().once("end", () => response.end("{}"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, ["json"]);
  assert.ok(asked.size > 3, `${asked.size} connections`);
  assert.deepEqual(new Set(asked.values()), new Set([1]));
});

test("a check can be run alone, and so can a group", async () => {
  assert.deepEqual(
    (await run(reference.origin, ["json.nan"])).map(({ check }) => check),
    ["json.nan"],
  );
  const group = await run(reference.origin, ["upload"]);
  assert.ok(group.length === 5 && group.every(({ check }) => check.startsWith("upload.")));
});

test("what a profile does not describe is skipped and said to be", async () => {
  const token = await freshToken();
  const profile = { access: { target: "/v1/projects?limit=1" } };
  const results = await runChecks({ origin: reference.origin, profile, token, random: systemRandom });
  const passed = results.filter(({ verdict }) => verdict === "passed").map(({ check }) => check);
  assert.deepEqual(passed, ["access.token_missing", "access.token_altered"]);
  assert.ok(results.every(({ verdict, why }) => verdict === "passed" || (verdict === "skipped" && why !== "")));
});

test("a profile is strict JSON with known members", () => {
  const text = JSON.stringify(referenceProfile);
  assert.equal(JSON.stringify(readProfile(Buffer.from(text))), text);
  for (const wrong of [
    '{"acess":{"target":"/"}}',
    '{"access":{}}',
    '{"access":{"target":7}}',
    "[]",
    '{"access":1,"access":2}',
  ]) {
    assert.throws(() => readProfile(Buffer.from(wrong)), Denied, wrong);
  }
});

test("a provider that does not answer fails its checks, and the kit goes on", async () => {
  const results = await runChecks({
    origin: "http://127.0.0.1:9",
    profile: referenceProfile,
    token: null,
    random: systemRandom,
  });
  assert.equal(results.length, checks.length);
  assert.ok(results.every(({ verdict }) => verdict === "failed"));
});

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

test("the command exits 0 when all hold, 1 when one fails, and shows rule and exchange without the credential", async (t) => {
  const token = await freshToken();
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });
  const good = terminal();
  const options = { url: reference.origin, tokenFile, only: ["json"], json: true };
  assert.equal(await runConformance(options, good.io, systemRandom), 0);
  assert.equal(
    good.out.map((line) => JSON.parse(line).verdict).every((verdict) => verdict === "passed"),
    true,
  );

  const variant = await startVariant(reference.origin, variants["json.nan"] ?? (() => ({})));
  t.after(() => variant.close());
  const bad = terminal();
  assert.equal(await runConformance({ ...options, url: variant.origin, json: false }, bad.io, systemRandom), 1);
  const text = bad.out.join("\n");
  assert.match(text, /FAIL json\.nan/);
  assert.match(text, /rule {6}Request handling 5: NaN is rejected/);
  assert.match(text, /sent {6}POST \/v1\/projects\/atlas/);
  assert.match(text, /answered {2}200/);
  assert.ok(!text.includes(token) && !JSON.stringify(good.out).includes(token));
});

test("the command says what is wrong with how it was called", async () => {
  for (const url of ["nonsense", "ftp://a", "http://a/path", "http://user@a", "http://a/?q=1"]) {
    assert.equal(await runConformance({ url, json: false }, terminal().io, systemRandom), 2, url);
  }
  const unknown = { url: reference.origin, only: ["json.nothing"], json: false };
  assert.equal(await runConformance(unknown, terminal().io, systemRandom), 2);
});
