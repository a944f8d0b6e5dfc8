import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallerEnd, LiveCaller } from "../../conventions/caller/port.ts";
import { createHeldCallers } from "./held-callers.ts";

/** A process, and how many hold it. */
function processOf(key: string, uid: number, binding: LiveCaller["binding"] = "process") {
  const listeners = new Set<(end: CallerEnd) => void>();
  const seen = { holds: 0, end: () => void [...listeners].map((one) => one({ kind: "gone" })) };
  const lend = (): LiveCaller =>
    ({
      ...{ key, uid, binding, onExit: (one: (end: CallerEnd) => void) => void listeners.add(one) },
      retain: () => {
        seen.holds++;
        return lend();
      },
      close: () => void seen.holds--,
    }) as unknown as LiveCaller;
  return { ...lend(), seen } as LiveCaller & { readonly seen: typeof seen };
}

test("a process is held once, however often it is kept, and until it ends", () => {
  const callers = createHeldCallers({ perUid: 2, total: 3 });
  const one = processOf("one", 1);
  callers.keep(one);
  callers.keep(one);
  assert.equal(one.seen.holds, 1);
  one.seen.end();
  assert.equal(one.seen.holds, 0);
});

test("of a user, and of all, the one that was kept longest ago makes room", () => {
  const callers = createHeldCallers({ perUid: 2, total: 3 });
  const [a, b, c, d, e] = [
    processOf("a", 1),
    processOf("b", 1),
    processOf("c", 1),
    processOf("d", 2),
    processOf("e", 3),
  ] as const;
  const held = () => [a, b, c, d, e].map(({ seen }) => seen.holds).join("");
  for (const one of [a, b, a, c]) callers.keep(one);
  assert.equal(held(), "10100", "b is longer ago than a");
  for (const one of [d, e]) callers.keep(one);
  assert.equal(held(), "00111");
});

test("a caller that is known by its connection alone is not held beyond it", () => {
  const callers = createHeldCallers({ perUid: 2, total: 3 });
  const one = processOf("one", 1, "connection");
  callers.keep(one);
  assert.equal(one.seen.holds, 0);
});
