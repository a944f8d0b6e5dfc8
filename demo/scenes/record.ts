import { join } from "node:path";
import { openReader } from "../../src/audit/read/reader.ts";
import { runActivityShow } from "../../src/surfaces/cli/audit/show.ts";
import { exits } from "../../src/surfaces/cli/io.ts";
import { approveNext, call, expect, type Narrator, openRun, type Scene, startActor } from "../scene.ts";
import type { Ground, Stage } from "../stage.ts";

/** Before the first scene, under the gateway of a year ago: one call, approved on its own. */
export async function longAgo(ground: Ground, tell: Narrator): Promise<void> {
  tell.say("First a year ago: a gateway that the demo starts with its clock set back, and a call approved on its own.");
  const actor = await startActor(ground);
  const run = await openRun(ground, quiet, actor, "to look at Borealis, a year ago", ["guarded.project.get"]);
  const called = call(actor, run, "guarded.project.get", { project_id: "borealis" });
  await approveNext(ground, tell);
  const { body } = await called;
  expect(body["outcome"] === "success", "the call of a year ago should be done", body);
  actor.player.stop();
  await actor.player.ended;
}

const DAY_MS = 86_400_000;
const quiet: Narrator = { say: () => undefined, show: () => undefined };

/** After the gateway has stopped: the log and a reading key are all that is left. */
export const record: Scene = {
  name: "record",
  title: "An approval is a year old, and its card is asked for",
  async play(stage, tell) {
    const { id: callId, at } = firstGuarded(stage) ?? { id: "", at: "" };
    expect(callId !== "", "the log should have the call that was approved on its own", callId);
    const days = Math.round((stage.clock.wallMs() - Date.parse(at)) / DAY_MS);
    expect(days === 365, "the approval should be a year old by the log's own date", at);
    tell.say(`The gateway is gone and nobody remembers what was approved ${days} days ago, on ${at.slice(0, 10)}.`);
    tell.say("The log and an operator's key show what was signed, sent and answered: gw activity show CALL");
    const lines: string[] = [];
    const io = { out: (line: string) => void lines.push(line), err: (line: string) => void lines.push(line) };
    const own = join(stage.home, "audit");
    const options = { log: own, own, recording: false, json: false };
    const exit = runActivityShow(callId, options, stage.reading, io as never);
    const told = lines.join("\n");
    expect(exit === exits.done && told.includes("it matches"), "the card should be the one that was signed", told);
    expect(told.includes(at.slice(0, 10)), "what is shown should carry the date of that day", told);
    expect(told.includes("signature over the statement verifies"), "the signature should verify", told);
    tell.show(lines);
  },
};

function firstGuarded({ home, reading }: Stage): { readonly id: string; readonly at: string } | null {
  const reader = openReader(join(home, "audit"), reading.readingKey);
  try {
    for (let items = reader.next(); items !== undefined; items = reader.next()) {
      for (const item of items) {
        if (item.kind !== "record" || item.event.event_type !== "intent_accepted") continue;
        const { action, call_id: id, authorization, occurred_at: at } = item.event;
        if (action?.startsWith("guarded.") === true && authorization.startsWith("each_use:") && id) return { id, at };
      }
    }
    return null;
  } finally {
    reader.close();
  }
}
