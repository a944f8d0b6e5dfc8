import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { createAnswerRoom } from "../src/gateway/answer-room.ts";
import type { Sleep } from "../src/kernel/clock.ts";
import { defaults } from "../src/kernel/defaults.ts";
import { expectAnswered } from "./ssh-expect.ts";
import { beginSshFile } from "./ssh-file.ts";
import { allowKeyFile, makeKeyFile, makeSshHome, sshMember } from "./ssh-home.ts";
import { ed25519, realSleep, type Stand, startStand } from "./ssh-stand.ts";
import { call, openPlane, openRun, until } from "./support/home.ts";

/** Large output of hosts shares the room of all large answers: with a real sshd, client, receiver, and gateway. */
const { missing, program, real, removeScripts, scripts } = beginSshFile(import.meta.filename);

const LARGE = 1_000_000;
const MOST = 4_194_304;
const seen = join(scripts, "seen");
let stand: Stand;

before(async () => {
  if (missing !== null) return;
  const print = `yes | head -c ${LARGE}`;
  const large = program("large", print);
  // It ends when the test has seen what is held meanwhile.
  const held = program("held", `${print}; while [ ! -e ${seen} ]; do sleep 0.1; done`);
  stand = await startStand({
    operations: {
      large: { executable: large, output_bytes: MOST },
      held: { executable: held, output_bytes: MOST, timeout_s: 120 },
    },
  });
});

after(async () => {
  if (missing === null) await stand.stop();
  removeScripts();
});

const others = { callerKey: "others" };
const own = { callerKey: "own" };

/** A room that others have nearly all of. */
function fullRoom() {
  const room = createAnswerRoom(MOST);
  assert.ok(room.take(others, MOST, () => undefined));
  return room;
}

function sendLarge(room: ReturnType<typeof createAnswerRoom>, sleep: Sleep) {
  const limits = { responseBytes: 2 * MOST, room, holder: own };
  return stand.send(stand.allow(ed25519(), stand.receiverCommand), { action: "large" }, { limits, options: { sleep } });
}

real("output that finds room while it waits comes whole, and its place is as large as the answer", async () => {
  const room = fullRoom();
  const sending = sendLarge(room, {
    async sleep(ms, signal) {
      if (ms === defaults.sshRoomWaitMs) room.leave(others);
      return realSleep.sleep(ms, signal);
    },
  });
  const { text, headers } = expectAnswered(await sending, 0);
  assert.deepEqual([text.length, headers["truncated"]], [LARGE, undefined]);
  assert.deepEqual(room.status(), { heldBytes: LARGE, waiting: 0 });
});

real("output that finds no room in time is cut, and how the operation ended is known", async () => {
  const room = fullRoom();
  const sleep: Sleep = {
    sleep: (ms, signal) => realSleep.sleep(ms === defaults.sshRoomWaitMs ? 0 : ms, signal),
  };
  const { text, headers } = expectAnswered(await sendLarge(room, sleep), 0);
  assert.equal(headers["truncated"], "true");
  assert.ok(text.length > defaults.smallAnswerBytes && text.length < LARGE, String(text.length));
  assert.deepEqual(room.status(), { heldBytes: MOST, waiting: 0 });
});

real("a gateway counts what a host sends among the large answers, until it was read", async () => {
  const keyFile = makeKeyFile(scripts, "id");
  allowKeyFile(stand, keyFile);
  const home = await makeSshHome(keyFile, [stand.hostKey]);
  await home.trustPack(
    "ops",
    `format: gw.pack/v1
pack: ops
actions:
  log.read:
    effect: read
    ssh: ${sshMember(stand, "held")}
`,
  );
  const gateway = await home.up();
  const agent = openPlane(home.agentSocket);
  const heldBytes = async () =>
    Number(/^gw_answers_bytes ([0-9.e+]+)$/m.exec((await home.run(["metrics"])).out)?.[1] ?? "none");
  try {
    const run = await openRun(home, agent, ["ops.log.read"]);
    const calling = call(agent, run, "ops.log.read", {});
    await until("it has a place", async () => (await heldBytes()) >= MOST);
    writeFileSync(seen, "");
    const { body, text } = await calling;
    assert.equal(body["outcome"], "success", text.slice(0, 1_000));
    assert.equal((body["response"] as { body: string }).body.length, LARGE);
    await until("it is given back", async () => (await heldBytes()) === 0);
  } finally {
    agent.close();
    await gateway.end();
  }
});
