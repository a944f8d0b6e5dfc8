import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { Agent, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { bundleProgram } from "../../../test/support/bundle.ts";
import { dumpFile, type Reply, send } from "./stand.ts";

interface Place {
  readonly file: string;
  readonly children: ChildProcess[];
}

interface Provider {
  readonly child: ChildProcess;
  ask(method: string, path: string, body?: unknown): Promise<Reply>;
}

const program = bundleProgram(join(import.meta.dirname, "serve.ts"));

/** A folder for a database, and the providers that use it, which are gone before it goes. */
function placeFor(t: TestContext): Place {
  const folder = mkdtempSync(join(tmpdir(), "gw-reference-"));
  const place: Place = { file: join(folder, "reference.db"), children: [] };
  t.after(async () => {
    for (const child of place.children) await stop(child);
    rmSync(folder, { recursive: true, force: true });
  });
  return place;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

async function start({ file, children }: Place, dieAt = "", webhookUrl = ""): Promise<Provider> {
  const child = fork(await program, [file, dieAt, webhookUrl], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  children.push(child);
  const [{ origin, token }] = (await once(child, "message")) as [{ origin: string; token: string }];
  const agent = new Agent({ keepAlive: false });
  return {
    child,
    ask: (method, path, body) =>
      send(agent, origin, method, path, { token, key: null, ...(body === undefined ? {} : { body }) }),
  };
}

async function receiver(t: TestContext) {
  const got: string[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      got.push(JSON.parse(text).type);
      response.writeHead(204).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { got, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

const plan = { subject_id: "everyone", role: "editor", if_match: "r1" };
const rows = (dump: Readonly<Record<string, string>>, table: string): number => JSON.parse(dump[table] ?? "[]").length;

test("a crash inside the execution of a plan leaves none of it, and the plan token still works afterwards", async (t) => {
  const place = placeFor(t);
  const { file } = place;
  const { got, server, url } = await receiver(t);
  const dying = await start(place, "execute_applied", url);
  const preview = await dying.ask("POST", "/v1/projects/atlas/memberships/plan", plan);
  const before = dumpFile(file);
  const exit = once(dying.child, "exit");
  const body = { plan_token: preview.body.plan_token, expected_revision: "r1" };
  await assert.rejects(dying.ask("POST", "/memberships", body));
  assert.deepEqual(await exit, [null, "SIGKILL"]);

  const back = await start(place, "", url);
  assert.deepEqual(dumpFile(file), before, "not one row of the plan is there");
  const byId = await back.ask("POST", "/memberships", { plan_id: preview.body.plan_id, expected_revision: "r1" });
  assert.equal(byId.status, 404, "a stored preview is gone with the process; a new one is needed");
  const told = once(server, "request");
  const done = await back.ask("POST", "/memberships", body);
  assert.equal(done.status, 200, done.text);
  const after = dumpFile(file);
  assert.deepEqual(
    [rows(after, "effective_access"), rows(after, "plan_executions"), rows(after, "memberships")],
    [1200, 1, 1],
  );
  await told;
  await settled(() => got.length === 1);
});

test("a crash right after the commit leaves all of it, and the outbox delivers once the provider is back", async (t) => {
  const place = placeFor(t);
  const { file } = place;
  const { got, url } = await receiver(t);
  const dying = await start(place, "execute_committed", url);
  const preview = await dying.ask("POST", "/v1/projects/atlas/memberships/plan", plan);
  const exit = once(dying.child, "exit");
  const body = { plan_token: preview.body.plan_token, expected_revision: "r1" };
  await assert.rejects(dying.ask("POST", "/memberships", body));
  assert.deepEqual(await exit, [null, "SIGKILL"]);
  const left = dumpFile(file);
  assert.deepEqual([rows(left, "effective_access"), rows(left, "plan_executions"), rows(left, "outbox")], [1200, 1, 2]);
  assert.deepEqual(got, [], "nothing was told before the crash");

  const back = await start(place, "", url);
  await settled(() => got.length === 1 && mails(file).length === 1);
  assert.deepEqual(got, ["membership.changed"]);
  await settled(() => rows(dumpFile(file), "outbox") === 0);
  const twice = await back.ask("POST", "/memberships", body);
  assert.deepEqual([twice.status, twice.body.code], [409, "plan_used"]);
  const byId = await back.ask("POST", "/memberships", { plan_id: preview.body.plan_id, expected_revision: "r1" });
  assert.deepEqual([byId.status, byId.body.code], [409, "plan_used"]);
});

test("killed at any moment under load, every plan is there whole or not at all", async (t) => {
  const place = placeFor(t);
  const { file } = place;
  for (let round = 0; round < 3; round++) {
    const { child, ask } = await start(place);
    const exit = once(child, "exit");
    const projects = Array.from(
      { length: 20 },
      (_, index) => `project-${String(round * 20 + index + 1).padStart(3, "0")}`,
    );
    const work = projects.map(async (project) => {
      const preview = await ask("POST", `/v1/projects/${project}/memberships/plan`, plan);
      const done = await ask("POST", "/memberships", { plan_id: preview.body.plan_id, expected_revision: "r1" });
      assert.equal(done.status, 200);
      if (project.endsWith(String(round * 20 + 7))) child.kill("SIGKILL");
    });
    const results = await Promise.allSettled(work);
    child.kill("SIGKILL");
    await exit;
    const dump = dumpFile(file);
    const memberships = rows(dump, "memberships");
    assert.equal(rows(dump, "effective_access"), memberships * 1200);
    assert.equal(rows(dump, "plan_executions"), memberships);
    const acknowledged = results.filter(({ status }) => status === "fulfilled").length;
    assert.ok(memberships >= acknowledged, "what was acknowledged is there");
    const raised = JSON.parse(dump["projects"] ?? "[]").filter(({ revision }: { revision: number }) => revision === 2);
    assert.equal(raised.length, memberships);
  }
});

function mails(file: string): readonly string[] {
  try {
    return readdirSync(`${file}.mail`).filter((name) => name.endsWith(".json"));
  } catch {
    return [];
  }
}

/** The other side is a real process: look again until it has had its turn. */
async function settled(done: () => boolean): Promise<void> {
  for (const giveUpAt = Date.now() + 120_000; Date.now() < giveUpAt; ) {
    if (done()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail("what was waited for did not happen");
}
