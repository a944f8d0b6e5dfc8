import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied } from "../../kernel/failure.ts";
import { describePush } from "./describe-push.ts";
import { type Push, type RefUpdate, readPush, writePush } from "./push.ts";

const malformed = (error: unknown) => error instanceof Denied && error.code === "git_push_malformed";
const [A, B, NONE] = ["a1".repeat(20), "b2".repeat(20), "0".repeat(40)];
const PACK = Buffer.from("PACK and more");
const line = (text: string): string => (Buffer.byteLength(text) + 4).toString(16).padStart(4, "0") + text;
const update = (change: Partial<RefUpdate> = {}): RefUpdate => ({ ref: "refs/heads/main", old: A, new: B, ...change });
const other = update({ ref: "refs/heads/other" });
const push = (change: Partial<Push> = {}): Push => ({
  ...{ shallow: [], updates: [update()], capabilities: ["report-status"], options: [], packfile: PACK },
  ...change,
});

test("a push is read as git writes it, and written again as the very same bytes", () => {
  const bytes = Buffer.from(`${line(`${A} ${B} refs/heads/main\0 report-status agent=git/2.39`)}0000PACK and more`);
  const read = readPush(bytes);
  assert.deepEqual(read, push({ capabilities: ["report-status", "agent=git/2.39"] }));
  assert.deepEqual(writePush(read), bytes);
});

test("several refs, options and a deletion without a packfile are read and written alike", () => {
  const updates = [
    update(),
    update({ ref: "refs/tags/größe", old: NONE }),
    update({ ref: "refs/heads/old", new: NONE }),
  ];
  const several = push({ updates, capabilities: ["push-options"], options: ["ci.skip", "größe"] });
  assert.deepEqual(readPush(writePush(several)), several);
  const none = push({ capabilities: ["push-options"] });
  assert.deepEqual(readPush(writePush(none)), none);
  const deletion = push({ updates: [update({ new: NONE })], packfile: Buffer.alloc(0) });
  assert.deepEqual(readPush(writePush(deletion)), deletion);
  const long = "c".repeat(64);
  const sha256 = push({ updates: [update({ old: long, new: "d".repeat(64) })] });
  assert.deepEqual(readPush(writePush(sha256)), sha256);
});

test("a push of a shallow clone says first where its history ends", () => {
  const ends = [A, "c".repeat(64)].map((commit) => line(`shallow ${commit}\n`));
  const bytes = Buffer.from(`${ends.join("")}${line(`${NONE} ${B} refs/heads/main\0 report-status`)}0000PACK and more`);
  const read = readPush(bytes);
  assert.deepEqual(read, push({ shallow: [A, "c".repeat(64)], updates: [update({ old: NONE })] }));
  assert.deepEqual(writePush(read), bytes);
  const [end] = ends;
  const main = line(`${A} ${B} refs/heads/main\0 x`);
  const bad = [`${end}0000`, `${end}${end}0000PACK`, `${main}${end}0000`, `${line("shallow main\n")}${main}0000`];
  for (const one of bad) assert.throws(() => readPush(Buffer.from(one)), malformed, one);
  for (const commit of ["", "main", A.toUpperCase(), `${A}\n`, `${A} ${B}`])
    assert.throws(() => writePush(push({ shallow: [commit] })), malformed, commit);
});

test("a final newline that some clients write is read over", () => {
  const bytes = Buffer.from(
    `${line(`${A} ${B} refs/heads/main\0 report-status\n`)}${line(`${NONE} ${B} refs/tags/v1\n`)}0000`,
  );
  const { updates, capabilities } = readPush(bytes);
  assert.deepEqual(updates, [update(), update({ ref: "refs/tags/v1", old: NONE })]);
  assert.deepEqual(capabilities, ["report-status"]);
});

test("bytes that are not whole lines, a flush and a packfile are no push", () => {
  const first = line(`${A} ${B} refs/heads/main\0 x`);
  const optioned = `${line(`${A} ${B} refs/heads/main\0 push-options`)}0000`;
  readPush(Buffer.from(`${optioned}0005a0000`));
  const bad: readonly (string | Buffer)[] = [
    ...["", "0000", "00", "zzzz", "0004", "0003", "000g0000"],
    ...[first, `${first}00`, first.slice(0, -1), `00FF${first.slice(4)}0000`],
    ...[`${line(`${A} ${B} refs/heads/main`)}0000`, `${first}0000KCAP`, `${first}0000PAC`],
    `${optioned}PACK`,
    `${optioned}00040000`,
    Buffer.concat([Buffer.from(`${optioned}0005`), Buffer.from([0xff]), Buffer.from("0000")]),
    Buffer.concat([Buffer.from(first), Buffer.from("0005"), Buffer.from([0xff]), Buffer.from("0000")]),
  ];
  for (const one of bad) assert.throws(() => readPush(Buffer.from(one as string)), malformed, JSON.stringify(one));
  readPush(Buffer.from(`${first}0000`));
});

test("a ref has a name that git takes and two commits of one length, when it is read and when it is written", () => {
  const names = [
    "main",
    "refs/",
    "refs/heads/a..b",
    "refs/heads//a",
    "refs/heads/",
    "refs/heads/a.",
    "refs/heads/a.lock",
  ];
  const marks = [" ", "~", "^", ":", "?", "*", "[", "\\", "\u007f", "\u0001"].map((mark) => `refs/heads/a${mark}b`);
  const changes = [
    ...[...names, ...marks].map((ref) => ({ ref })),
    ...[{ old: "c".repeat(64) }, { new: "A".repeat(40) }, { old: "a".repeat(39) }, { new: "" }],
  ];
  for (const change of changes) {
    const { old, new: next, ref } = update(change);
    assert.throws(() => writePush(push({ updates: [other, update(change)] })), malformed, ref);
    assert.throws(() => readPush(Buffer.from(`${line(`${old} ${next} ${ref}\0 x`)}0000`)), malformed, ref);
  }
});

test("a ref that goes from no commit to none is no push: git takes it for a deletion of whatever is there", () => {
  for (const none of [NONE, "0".repeat(64)]) {
    const nowhere = update({ old: none, new: none });
    assert.throws(() => readPush(Buffer.from(`${line(`${none} ${none} refs/heads/main\0 x`)}0000`)), malformed);
    assert.throws(() => writePush(push({ updates: [other, nowhere] })), malformed);
    assert.match(describePush({ updates: [nowhere] as never })[0] ?? "", /DELETES/);
  }
});

test("a push names a ref once: a host could move it by the one line and refuse it by the other", () => {
  const twice = [update(), other, update({ new: "c3".repeat(20) })];
  const [first = "", ...more] = twice.map((one) => `${one.old} ${one.new} ${one.ref}`);
  const bytes = Buffer.from(`${line(`${first}\0 report-status`)}${more.map(line).join("")}0000PACK`);
  assert.throws(() => readPush(bytes), malformed);
  assert.throws(() => writePush(push({ updates: twice })), malformed);
  writePush(push({ updates: twice.slice(0, 2) }));
});

test("what git could not read is not written", () => {
  const bad: readonly Partial<Push>[] = [
    { updates: [] },
    { capabilities: ["a b"] },
    { capabilities: [""] },
    { capabilities: ["x", "a\u0000"] },
    { options: ["ci.skip"] },
    { capabilities: ["push-options"], options: ["a".repeat(0xffff - 3)] },
  ];
  for (const change of bad) assert.throws(() => writePush(push(change)), malformed, Object.keys(change).join());
  writePush(push({ capabilities: ["push-options"], options: ["a".repeat(0xffff - 4)] }));
});

test("a card says of each ref whether it is made, moved or deleted", () => {
  const told = describePush({ updates: [update({ old: NONE }), update({ new: NONE }), update()] as never });
  assert.deepEqual(
    told.map((words) => /creates|DELETES|→/.exec(words)?.[0]),
    ["creates", "DELETES", "→"],
  );
  const [short, other] = [A.slice(0, 12), B.slice(0, 12)];
  assert.ok(
    told[0]?.includes(` ${other}`) && told[1]?.includes(` ${short}`) && told[2]?.includes(`${short} → ${other} `),
  );
  assert.deepEqual(describePush({}), []);
});
