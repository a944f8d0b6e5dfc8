import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { segmentName } from "../audit/frame/layout.ts";
import { openLog } from "../audit/log.ts";
import type { Head } from "../audit/receipt.ts";
import { judgePast, NOWHERE, type Reached, takePart } from "./take-part.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-take-"));
after(() => rmSync(folder, { recursive: true }));
const reading = generateKeyPairSync("x25519").publicKey;
const open = () =>
  openLog({
    folder,
    clock: { wallMs: () => 1_700_000_000_000 },
    random: { bytes: randomBytes },
    recipients: [reading],
    vaultGeneration: 1,
    vaultHash: Buffer.alloc(32),
  });

/** Everything there is to take, as the files that it makes. */
function takeAll(head: Head, mostBytes: number): { readonly files: Map<string, Buffer>; readonly at: Reached } {
  const files = new Map<string, Buffer>();
  let at = NOWHERE;
  for (let part = takePart(folder, at, head, mostBytes); part !== null; part = takePart(folder, at, head, mostBytes)) {
    const name = segmentName(part.reached.segment);
    const before = files.get(name) ?? Buffer.alloc(0);
    assert.equal(part.offset, before.length, "each begins where the one before ended");
    files.set(name, Buffer.concat([before, part.bytes]));
    at = part.reached;
    assert.equal(judgePast(folder, at), "own");
  }
  return { files, at };
}

/** As on disk, but for the space that the writer set aside: zeros, which the last bytes of a frame may be too. */
function requireOnDisk(taken: ReadonlyMap<string, Buffer>, most: number): void {
  const names = readdirSync(folder).filter((name) => name.endsWith(".gwlog"));
  assert.deepEqual([...taken.keys()], names, `parts of ${most}`);
  for (const [name, bytes] of taken) {
    const disk = readFileSync(join(folder, name));
    assert.deepEqual(bytes, disk.subarray(0, bytes.length), `${name} in parts of ${most}`);
    assert.ok(
      disk.subarray(bytes.length).every((byte) => byte === 0),
      `${name} goes on`,
    );
  }
}

test("what is taken is the log byte for byte, in parts of any size, over turns, crashes and their torn ends", async () => {
  const first = await open();
  await first.seal();
  await first.rotate();
  await first.close();
  // An interrupted write: the next start declares it, and a copy without it would not verify.
  const last = join(folder, segmentName(2));
  truncateSync(last, readFileSync(last).length - 30);
  const second = await open();
  assert.ok(second.opened.tornBytes > 0);
  await second.seal();
  for (const most of [1, 400, 1_048_576]) {
    const { files, at } = takeAll(second.head(), most);
    requireOnDisk(files, most);
    assert.deepEqual([at.nextFrame - 1, at.link], [second.head().frame, second.head().link]);
  }
  await second.close();
});

test("a torn frame with the space set aside behind it is a torn end, also where the hub was told that it is a frame", async () => {
  const first = await open();
  const before = first.head();
  await first.close();
  const last = join(folder, segmentName(before.segment));
  const { length } = readFileSync(last);
  truncateSync(last, length - 30);
  truncateSync(last, length + 4_096);
  const second = await open();
  assert.ok(second.opened.tornBytes > 0);
  const whole = takeAll(second.head(), 1_048_576);
  for (const most of [1, 400, 1_048_576]) {
    const { files, at } = takeAll(second.head(), most);
    requireOnDisk(files, most);
    assert.deepEqual(at, whole.at);
  }
  assert.deepEqual([whole.at.nextFrame - 1, whole.at.link], [second.head().frame, second.head().link]);
  const told = { segment: before.segment, offset: length, frameEnd: length, nextFrame: before.frame + 2 };
  const next = takePart(folder, { ...told, link: "00".repeat(32) }, second.head(), 1_048_576);
  assert.deepEqual([next?.offset, next?.reached], [0, whole.at], "it goes on with what the next start wrote");
  await second.close();
});

test("frames that are not durable yet are left, and another log's past is not taken for ours", async () => {
  const log = await open();
  const head = log.head();
  const { at } = takeAll({ ...head, frame: head.frame - 1 }, 1_048_576);
  assert.equal(at.nextFrame, head.frame);
  assert.equal(judgePast(folder, { ...at, link: "00".repeat(32) }), "foreign");
  assert.equal(judgePast(folder, { ...at, segment: at.segment + 9 }), "foreign");
  await log.close();
});

test("a segment that was moved away is passed over only where all of it had gone up", async () => {
  const log = await open();
  const { at: whole } = takeAll(log.head(), 1_048_576);
  const oldest = takePart(folder, NOWHERE, log.head(), 1);
  assert.ok(oldest !== null);
  rmSync(join(folder, segmentName(1)));
  assert.throws(() => takePart(folder, oldest.reached, log.head(), 1), { code: "hub_log_gone" });
  assert.equal(judgePast(folder, oldest.reached), "gone", "not somebody else's: nobody here can tell yet");
  assert.equal(takePart(folder, whole, log.head(), 1), null);
  await log.close();
});
