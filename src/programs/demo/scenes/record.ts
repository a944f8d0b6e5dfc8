import { join } from "node:path";
import { openReader } from "../../../audit/read/reader.ts";
import { runActivityShow } from "../../../surfaces/cli/audit/show.ts";
import { exits } from "../../../surfaces/cli/io.ts";
import { expect, type Scene } from "../scene.ts";
import type { Stage } from "../stage.ts";

/** After the gateway has stopped: the log and a reading key are all that is left, as they would be in a year. */
export const record: Scene = {
  name: "record",
  title: "An approval is old, and its card is asked for",
  async play(stage, tell) {
    tell.say("The gateway is gone and nobody remembers. A year on, the log and an operator's key still show what was");
    tell.say("signed for the first each-use call, what went out and what came back: gw activity show CALL");
    const call = firstGuarded(stage);
    expect(call !== null, "the log should have the call that was approved on its own", call);
    const lines: string[] = [];
    const io = { out: (line: string) => void lines.push(line), err: (line: string) => void lines.push(line) };
    const options = { log: join(stage.home, "audit"), recording: false, json: false };
    const exit = runActivityShow(call ?? "", options, stage.reading, io as never);
    const told = lines.join("\n");
    expect(exit === exits.done && told.includes("it matches"), "the card should be the one that was signed", told);
    expect(told.includes("signature over the statement verifies"), "the signature should verify", told);
    tell.show(lines);
  },
};

function firstGuarded({ home, reading }: Stage): string | null {
  const reader = openReader(join(home, "audit"), reading.readingKey);
  try {
    for (let items = reader.next(); items !== undefined; items = reader.next()) {
      for (const item of items) {
        if (item.kind !== "record" || item.event.event_type !== "intent_accepted") continue;
        const { action, call_id, authorization } = item.event;
        if (action?.startsWith("guarded.") === true && authorization.startsWith("each_use:")) return call_id ?? null;
      }
    }
    return null;
  } finally {
    reader.close();
  }
}
