import assert from "node:assert/strict";
import {
  chmodSync,
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { defaults } from "../../../../kernel/defaults.ts";
import { Denied } from "../../../../kernel/failure.ts";
import { createImageInspector, type ImageSettings } from "./inspect.ts";
import type { ImageAnswer, ImageRead } from "./inspect-worker.ts";
import type { Mapped } from "./mount.ts";

const skip = process.platform === "linux" ? false : "images are looked at on Linux";
const O_PATH = 0o10000000;
const folder = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const nothing: ImageSettings = { sigstore: null, imaKeys: [] };

function readOf(answer: ImageAnswer): ImageRead {
  return answer.kind === "read" ? answer : assert.fail(answer.why);
}

/** As a process that runs code from this file would have it in its maps. */
function mappingOf(path: string): Mapped {
  const { dev, ino } = statSync(path);
  const hex = (number: number): string => number.toString(16).padStart(2, "0");
  return { device: `${hex(dev >> 8)}:${hex(dev & 0xff)}`, inode: String(ino), path };
}

test("an image that the gateway may not read is refused, and so is its caller alone", { skip }, async (context) => {
  if (process.getuid?.() === 0) return context.skip("root reads everything");
  const path = join(folder, "closed");
  writeFileSync(path, "image", { mode: 0o711 });
  const fd = openSync(path, O_PATH);
  chmodSync(path, 0o111);
  const look = createImageInspector(() => nothing).inspect({ fd, directory: null, path, mappings: [] });
  await assert.rejects(look, (error) => error instanceof Denied && error.code === "caller_unreadable");
  closeSync(fd);
});

test("an image that is too large is refused before it is read", { skip }, () => {
  const fd = openSync(join(folder, "huge"), "w+");
  ftruncateSync(fd, defaults.callerImageBytes + 1);
  const inspector = createImageInspector(() => nothing);
  assert.throws(
    () => inspector.inspect({ fd, directory: null, path: "/huge", mappings: [] }),
    (error) => error instanceof Denied && error.code === "caller_unreadable",
  );
  closeSync(fd);
});

test("an image that changes while it is read is refused, and not remembered", { skip }, async () => {
  const path = join(folder, "changing");
  writeFileSync(path, Buffer.alloc(5_000_000));
  const fd = openSync(path, "r");
  const inspector = createImageInspector(() => nothing);
  const looking = inspector.inspect({ fd, directory: null, path, mappings: [] });
  writeFileSync(path, "more", { flag: "a" });
  await assert.rejects(looking, (error) => error instanceof Denied && error.code === "caller_replaced");
  assert.equal(readOf(await inspector.inspect({ fd, directory: null, path, mappings: [] })).digests.bytes, 5_000_004);
  closeSync(fd);
});

test("a change of policy asks again and keeps the digest", { skip }, async () => {
  const path = join(folder, "asked-again");
  writeFileSync(path, "image");
  const fd = openSync(path, "r");
  let settings = nothing;
  const inspector = createImageInspector(() => settings);
  const first = inspector.inspect({ fd, directory: null, path, mappings: [] });
  assert.equal(inspector.inspect({ fd, directory: null, path, mappings: [] }), first);
  settings = { ...nothing, imaKeys: [{ name: "x", pem: "not read without a signature" }] };
  const second = inspector.inspect({ fd, directory: null, path, mappings: [] });
  assert.notEqual(second, first);
  assert.deepEqual(readOf(await second).digests, readOf(await first).digests);
  closeSync(fd);
});

test("files that no package owns are named, and so are those that are not the file of their name", {
  skip,
}, async () => {
  const path = join(folder, "mine");
  writeFileSync(path, "image");
  const fd = openSync(path, "r");
  const inspector = createImageInspector(() => nothing);
  const there = mappingOf(path);
  const mappings = [there, { ...there, path: "/nowhere/x.so" }, { ...there, inode: "1", path: process.execPath }];
  const answer = await inspector.inspect({ fd, directory: null, path: "/other", mappings });
  assert.deepEqual(answer.unowned, [path]);
  assert.deepEqual(answer.changed, ["/nowhere/x.so", process.execPath]);
  assert.equal(readOf(answer).package, null);
  closeSync(fd);
});

test("a small new image is looked at beside large ones, and after one of them where four are at work", {
  skip,
}, async () => {
  const inspector = createImageInspector(() => nothing);
  const open: number[] = [];
  async function orderOf(images: Readonly<Record<string, number>>): Promise<readonly string[]> {
    const order: string[] = [];
    const looks = Object.entries(images).map(async ([name, bytes]) => {
      const fd = openSync(join(folder, name), "w+");
      open.push(fd);
      ftruncateSync(fd, bytes);
      await inspector.inspect({ fd, directory: null, path: `/${name}`, mappings: [] });
      order.push(name);
    });
    await Promise.all(looks);
    return order;
  }
  // Threads that are there already: how long one takes to start is no part of the order.
  await orderOf({ a: 100, b: 100, c: 100, d: 100 });
  const large = defaults.callerImageBytes / 16;
  const orders: string[] = [];
  // A busy core may keep the thread of a small image waiting: what no round shows is not so.
  async function isInOrder(round: number): Promise<boolean> {
    const [first, ...few] = await orderOf({ [`1-${round}`]: large, [`2-${round}`]: large, [`small-${round}`]: 100 });
    const [third, fourth, fifth, sixth] = ["3", "4", "5", "6"].map((name) => ({ [`${name}-${round}`]: large }));
    const many = await orderOf({ ...third, ...fourth, ...fifth, ...sixth, [`last-${round}`]: 100 });
    orders.push([first, ...few, ...many].join());
    return first === `small-${round}` && many[0] !== `last-${round}`;
  }
  let found = false;
  for (let round = 0; round < 8 && !found; round++) found = await isInOrder(round);
  for (const fd of open) closeSync(fd);
  assert.ok(found, orders.join("\n"));
});

test("a thread that has answered is asked the next question too", { skip }, async () => {
  const threads = (): readonly string[] =>
    readdirSync("/proc/self/task").filter((id) => /^Worker/.test(readFileSync(`/proc/self/task/${id}/comm`, "utf8")));
  const path = join(folder, "twice");
  writeFileSync(path, "image");
  const fd = openSync(path, "r");
  const before = threads();
  const inspector = createImageInspector(() => nothing);
  const started = async (mappings: readonly Mapped[]): Promise<readonly string[]> => {
    await inspector.inspect({ fd, directory: null, path, mappings });
    return threads().filter((id) => !before.includes(id));
  };
  const first = await started([]);
  assert.equal(first.length, 1);
  assert.deepEqual(await started([{ device: "00:01", inode: "1", path: "/nowhere/x.so" }]), first);
  closeSync(fd);
});

test("a file that cannot be read takes its thread with it and nobody's turn: those who come after are answered", {
  skip,
}, async () => {
  const inspector = createImageInspector(() => nothing);
  const broken = openSync(folder, "r");
  const path = join(folder, "sound");
  writeFileSync(path, "image");
  const sound = openSync(path, "r");
  const look = (fd: number, name: string) => inspector.inspect({ fd, directory: null, path: name, mappings: [] });
  // A thread that waits for its next question, then more that fail than may be at work.
  assert.equal(readOf(await look(sound, "/first")).digests.bytes, 5);
  const failed = ["/a", "/b", "/c", "/d", "/e", "/f"].map((name) => look(broken, name));
  const beside = look(sound, "/beside");
  for (const result of await Promise.allSettled(failed)) assert.equal(result.status, "rejected");
  assert.equal(readOf(await beside).digests.bytes, 5);
  assert.equal(readOf(await look(sound, "/after")).digests.bytes, 5);
  for (const fd of [broken, sound]) closeSync(fd);
});

test("an image that is not read in time is refused and keeps no turn: those who come after are answered", {
  skip,
}, async () => {
  const bounds = { withinMs: 1 };
  const inspector = createImageInspector(() => nothing, bounds);
  const isLate = (error: unknown): boolean => error instanceof Denied && error.code === "caller_unreadable";
  const slow = ["a", "b", "c", "d"].map((name) => {
    const fd = openSync(join(folder, `slow-${name}`), "w+");
    ftruncateSync(fd, defaults.callerImageBytes);
    return fd;
  });
  const looks = slow.map((fd, index) =>
    inspector.inspect({ fd, directory: null, path: `/slow-${index}`, mappings: [] }),
  );
  for (const look of looks) await assert.rejects(look, isLate);
  bounds.withinMs = defaults.callerImageMs;
  const path = join(folder, "after-slow");
  writeFileSync(path, "image");
  const fd = openSync(path, "r");
  assert.equal(readOf(await inspector.inspect({ fd, directory: null, path, mappings: [] })).digests.bytes, 5);
  for (const one of [fd, ...slow]) closeSync(one);
});
