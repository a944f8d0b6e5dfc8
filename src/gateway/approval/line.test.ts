import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { ApprovalId } from "../../kernel/ids.ts";
import { createLine, type Entry } from "./line.ts";
import type { Question } from "./question.ts";

const denies = (code: string) => (error: unknown) => error instanceof Denied && error.code === code;

function stand() {
  let [bootMs, ids] = [1_000, 0];
  const line = createLine({ clock: { bootMs: () => bootMs }, ids: { next: () => `apr_${++ids}` } } as never);
  const ask = (callerKey: string, change: Partial<Question> = {}): Question =>
    ({
      ...{ callerKey, uid: 1000, runId: "run_1", callId: null, mode: "each_use", askDigest: "sha256:1", budget: null },
      deadlineBootMs: 10_000_000,
      ...change,
    }) as Question;
  const enter = (callerKey: string, change: Partial<Question> = {}): Entry => line.enter(ask(callerKey, change), []);
  const show = (entry: Entry): void => {
    entry.approval = { ...entry.approval, card: {} as never };
  };
  const passMs = (ms: number): void => {
    bootMs += ms;
  };
  return { line, ask, enter, show, passMs };
}

test("a question waits as long as people are given, and never longer than its run lasts", () => {
  const { enter } = stand();
  assert.equal(enter("a").approval.expiresBootMs, 1_000 + defaults.approvalWaitMs);
  assert.equal(enter("b", { deadlineBootMs: 1_500 }).approval.expiresBootMs, 1_500);
  const { approval } = enter("c", { approvalId: "apr_named" as ApprovalId });
  assert.deepEqual(
    [approval.approvalId, approval.state, approval.card, approval.given],
    ["apr_named", "pending", null, []],
  );
});

test("a caller has one card, a user a few, and the next in line is shown when one has left", () => {
  const { line, enter, show } = stand();
  const first = enter("a");
  const again = enter("a");
  const others = ["b", "c", "d"].map((key) => enter(key));
  const foreign = enter("z", { uid: 2000 });
  const shown = line.next();
  assert.deepEqual(shown, [first, others[0], others[1], foreign]);
  shown.forEach(show);
  assert.deepEqual(line.open(), shown);
  assert.deepEqual(line.next(), []);
  line.leave(first);
  assert.deepEqual(line.next(), [again]);
  assert.deepEqual([line.of(first.approval.approvalId), line.of(again.approval.approvalId)], [undefined, again]);
});

test("a user whose line is full is refused, and nobody else", () => {
  const { line, ask, enter, show } = stand();
  for (let at = 0; at < defaults.cardsOpenPerUid; at++) show(enter(`open${at}`));
  line.requireRoom(ask("next"));
  for (let at = 0; at < defaults.cardsWaitingPerUid; at++) {
    line.requireRoom(ask("next"));
    enter(`waits${at}`);
  }
  assert.throws(() => line.requireRoom(ask("next")), denies("approvals_full"));
  line.requireRoom(ask("next", { uid: 2000 }));
});

test("what was denied is not asked again until it has cooled down", () => {
  const { line, ask, passMs } = stand();
  line.requireNotCooling(ask("a"));
  line.coolDown(ask("a"));
  assert.throws(() => line.requireNotCooling(ask("b")), denies("approval_cooling_down"));
  line.requireNotCooling(ask("a", { uid: 2000 }));
  line.requireNotCooling(ask("a", { askDigest: "sha256:2" }));
  passMs(defaults.denialCoolDownMs - 1);
  assert.throws(() => line.requireNotCooling(ask("a")), denies("approval_cooling_down"));
  passMs(1);
  line.requireNotCooling(ask("a"));
});

test("what was decided is remembered for a while, the oldest not for ever", () => {
  const { line, enter } = stand();
  const entries = Array.from({ length: defaults.cardsRemembered + 1 }, () => enter("a"));
  for (const entry of entries) line.leave(entry);
  const known = entries.map(({ approval }) => line.find(approval.approvalId) === approval);
  assert.deepEqual([known[0], known.slice(1).every(Boolean)], [false, true]);
  const open = enter("a");
  assert.equal(line.find(open.approval.approvalId), open.approval);
  assert.deepEqual(line.all(), [open]);
});
