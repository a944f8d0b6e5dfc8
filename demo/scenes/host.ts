import type { JsonObject } from "../../src/kernel/json.ts";
import { checkHost } from "../../src/surfaces/cli/ssh.ts";
import { Skipped } from "../astray.ts";
import { filesWith } from "../host/find-key.ts";
import { type DemoHost, HOST } from "../host/host.ts";
import { type Actor, call, expect, type Narrator, openRun, type Reply, type Scene, startActor } from "../scene.ts";
import type { Stage } from "../stage.ts";

const ACTIONS = ["release.status", "worker.restart", "worker.drain"].map((name) => `${HOST}.${name}`);
const LOOKS = 200;
const LOOK_MS = 50;

export const host: Scene = {
  name: "host",
  title: "A host without a shell, and a key that never leaves the vault",
  async play(stage, tell) {
    const { host: place } = stage;
    if (typeof place === "string") throw new Skipped(place);
    await look(stage, place, tell);
    const actor = await startActor(stage);
    const run = await openRun(stage, tell, actor, "restart a worker, drain another", ACTIONS);
    await act(actor, run, place, tell);
    await loseTheEnd(stage, actor, run, place, tell);
    searchForKey(stage, place, tell);
    actor.player.stop();
    await actor.player.ended;
  },
};

/** Everything that the host must refuse, tried with the real key. */
async function look(stage: Stage, { server }: DemoHost, tell: Narrator): Promise<void> {
  const { port, user, hostKey } = server;
  const results = await stage.operator.checkHost({ host: "127.0.0.1", port, user, hostKey, credential: HOST });
  const answers = results.find(({ probe }) => probe === "run");
  if (answers?.verdict !== "permitted") throw new Skipped(`a server of this user lets nobody in: ${answers?.detail}`);
  const lines: string[] = [];
  const io = { out: (line: string) => void lines.push(line), err: (line: string) => void lines.push(line) };
  const exit = await checkHost({ host: "127.0.0.1", credential: HOST, probe: async () => results }, io);
  expect(exit === 0, "the host should allow nothing but its receiver", lines.join("; "));
  tell.say(
    `A private sshd on port ${port}, with gw-receiver as the forced command. gw ssh check tries, with the real key, what must not work:`,
  );
  tell.show(lines);
}

/** One operation that the host knows, and one field that it does not. */
async function act(actor: Actor, run: string, place: DemoHost, tell: Narrator): Promise<void> {
  const done = await call(actor, run, `${HOST}.worker.restart`, { worker: "web-1" });
  expect(done.body["outcome"] === "success" && bodyOf(done) === "restarted web-1\n", "it should be done", done.body);
  tell.say("The agent names an action and a worker; the receiver starts one fixed program with an array of arguments:");
  tell.show([bodyOf(done).trimEnd()]);
  const hostile = "web-1; reboot $(id)";
  const refused = await call(actor, run, `${HOST}.worker.restart`, { worker: hostile });
  const code = headersOf(refused)["code"];
  expect(code === "field_not_allowed", "the host should refuse the field", refused.body);
  expect(place.worked().length === 1, "nothing more should have run", place.worked());
  tell.say(`A worker called ${JSON.stringify(hostile)} is outside the host's own list of characters, so nothing runs:`);
  tell.show([`outcome: ${String(refused.body["outcome"])}, ${code}`]);
}

/** The connection breaks while the operation runs. */
async function loseTheEnd(stage: Stage, actor: Actor, run: string, place: DemoHost, tell: Narrator): Promise<void> {
  const body = { action: `${HOST}.worker.drain`, input: { worker: "web-2" } };
  actor.send({ method: "POST", path: `/v1/runs/${run}/calls`, body, wait: 60 });
  await until(stage, "the operation should have started", () => place.worked().includes("drain web-2"));
  place.server.cut();
  const lost = await actor.answer();
  const operation = String(lost.body["operation_id"]);
  expect(lost.body["outcome"] === "unknown" && operation.startsWith("op_"), "the end should be unknown", lost.body);
  tell.say("The connection breaks in the middle of the next one. Nobody here saw its end, and it is not sent again:");
  tell.show([`outcome: ${String(lost.body["outcome"])}`, String(lost.body["guidance"])]);
  place.letGo();
  let found: JsonObject = {};
  await until(stage, "the host's record should tell the end", async () => {
    const path = `/v1/operations/${operation}`;
    await actor.ask({ method: "POST", path: `${path}/reconcile` });
    found = (await actor.ask({ method: "GET", path })).body;
    return found["state"] === "succeeded";
  });
  const drained = place.worked().filter((line) => line === "drain web-2").length;
  expect(drained === 1, "it should have run once", place.worked());
  tell.say(
    `The receiver wrote down start and end on its own disk. Asked about that one request, it says: ${found["state"]}.`,
  );
}

/** In every form that it could have, in every file of the gateway and of the host. */
function searchForKey({ home }: Stage, place: DemoHost, tell: Narrator): void {
  const { searched, found } = place.useSeed((seed) => filesWith(seed, [home, place.folder]));
  expect(searched > 0 && found.length === 0, "the key should be in no file", found);
  tell.say(
    `All the while the private key was in the vault, sealed: ${searched} files of gateway and host hold it in no form.`,
  );
}

async function until(stage: Stage, told: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < LOOKS; turn++) {
    if (await holds()) return;
    await stage.sleep.sleep(LOOK_MS);
  }
  expect(false, told, "it did not");
}

function responseOf({ body }: Reply): JsonObject {
  return (body["response"] ?? {}) as JsonObject;
}

function bodyOf(reply: Reply): string {
  return String(responseOf(reply)["body"]);
}

function headersOf(reply: Reply): JsonObject {
  return (responseOf(reply)["headers"] ?? {}) as JsonObject;
}
