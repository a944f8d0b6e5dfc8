import assert from "node:assert/strict";
import { test } from "node:test";
import type { Gateway } from "../../gateway/gateway.ts";
import type { LiveCaller } from "../../gateway/ports.ts";
import type { Run } from "../../gateway/run/run.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { createAccessDesk } from "./access.ts";
import type { RunDoor } from "./door.ts";

const MOST = defaults.mcpAccessRemembered;

/** A run that is being written down, and a session that a person is asked about. */
function stand() {
  const written = Promise.withResolvers<void>();
  const session = Promise.withResolvers<never>();
  session.promise.catch(() => undefined);
  let asked = 0;
  const run = { id: "run_1", admission: { approvalId: "apr_1", session: session.promise } } as never as Run;
  const gateway = {
    requestAccess: () => {
      asked++;
      return { approvalId: null, answer: new Promise(() => undefined) };
    },
  } as never as Gateway;
  const enter = (): Promise<Run> => written.promise.then(() => run);
  const door = { enter, definitions: () => [] } as never as RunDoor;
  const desk = createAccessDesk(gateway, { key: "c" } as LiveCaller, door);
  const waiting = {
    waitMs: 0,
    sleep: { sleep: () => Promise.resolve() },
    signal: new AbortController().signal,
    progress: null,
  };
  const request = (): Promise<unknown> =>
    desk.request({ actions: ["acme.thing.get"], reason: "x" }, { purpose: "p", traceparent: null, waiting });
  return { request, written, session, asked: () => asked };
}

const tooMany = (error: unknown): boolean => error instanceof Denied && error.code === "too_many_requests";

test("so many requests for access wait for their session, also of those that came while its run was written down", async () => {
  const { request, written, session, asked } = stand();
  const all = Array.from({ length: MOST + 20 }, request);
  written.resolve();
  const ended = await Promise.allSettled(all);
  const refused = ended.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  assert.deepEqual([refused.length, refused.every(tooMany)], [20, true]);
  session.resolve(undefined as never);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(asked(), MOST);
  await request();
});

test("a run that could not be begun leaves nothing counted", async () => {
  const { request, written } = stand();
  written.reject(new Denied("disk_low", "no room"));
  for (let round = 0; round <= MOST; round++) await assert.rejects(request(), { code: "disk_low" });
});
