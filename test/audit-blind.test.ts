import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createHash, hash } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { decodeOpen } from "../src/audit/frame/bodies.ts";
import { findSeed } from "../src/audit/read/seeds.ts";
import { dissect, freshFolder, makeKeys, removeFolders } from "./audit-kit.ts";

/**
 * Write-blindness, looked at from outside: the memory of a process that wrote 10,000 events. It runs with
 * `--clear-free-memory`, as a gateway should: V8 then wipes what it collects. What is left until a collection comes is
 * named in docs/log-format.md.
 */
const EVENTS = 10_000;
const LAST_COMMIT = 4;
const PROGRAM = join(import.meta.dirname, "audit-programs/write-and-wait.ts");
const keys = makeKeys();
after(removeFolders);

test("the writing process holds no plaintext of an earlier commit, no seed, no frame key and no reading key", async (t) => {
  if (process.platform !== "linux") return t.skip("needs /proc/PID/mem");
  const folder = freshFolder();
  const snapshot = join(freshFolder(), "heap.heapsnapshot");
  const recipient = keys.recipient.export({ format: "der", type: "spki" }).toString("base64");
  const flags = ["--clear-free-memory", "--expose-gc"];
  const child = spawn(process.execPath, [...flags, PROGRAM, folder, recipient, snapshot], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const first = await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
    assert.equal(String(first[0]).trim(), "ready");
    const markers = new Map(
      Array.from({ length: EVENTS }, (_, index) => [
        createHash("sha256").update(`marker ${index}`).digest("hex"),
        index,
      ]),
    );

    const inSnapshot = findMarkers(readFileSync(snapshot), markers);
    assert.deepEqual(earlier(inSnapshot), [], "heap snapshot");

    const secrets = secretsOf(folder);
    assert.equal(secrets.frameKeys.length, EVENTS / LAST_COMMIT);
    const inMemory = new Set<number>();
    const leaked = new Set<string>();
    let scanned = 0;
    let foundProgram = false;
    for (const chunk of memoryOf(child)) {
      scanned += chunk.length;
      foundProgram ||= chunk.includes("evt_intent_");
      for (const index of findMarkers(chunk, markers)) inMemory.add(index);
      if (chunk.includes(secrets.readingKey)) leaked.add("reading key");
      if (chunk.includes(secrets.seed)) leaked.add("seed");
      for (const [index, key] of secrets.frameKeys.slice(0, -1).entries()) {
        if (index % 100 === 0 && chunk.includes(key)) leaked.add(`frame key ${index}`);
      }
    }
    assert.ok(scanned > 50_000_000, `only ${scanned} bytes were looked at`);
    assert.ok(foundProgram, "the search finds what is known to be there");
    // Node's own memory, which it freed and did not wipe, rarely holds a piece of one commit: see docs/log-format.md.
    const left = earlier(inMemory);
    assert.ok(new Set(left.map((index) => Math.floor(index / LAST_COMMIT))).size <= 1, `memory: ${left.join()}`);
    assert.deepEqual([...leaked], []);
  } finally {
    child.kill("SIGKILL");
    await once(child, "exit").catch(() => undefined);
  }
});

function earlier(found: Iterable<number>): number[] {
  return [...found].filter((index) => index < EVENTS - LAST_COMMIT);
}

function findMarkers(bytes: Buffer, markers: ReadonlyMap<string, number>): Set<number> {
  const found = new Set<number>();
  for (let at = bytes.indexOf("/v1/"); at >= 0; at = bytes.indexOf("/v1/", at + 4)) {
    const index = markers.get(bytes.toString("latin1", at + 4, at + 68));
    if (index !== undefined) found.add(index);
  }
  return found;
}

/** What only the reader can know: the seed, and the frame keys made from it. */
function secretsOf(folder: string): { readingKey: Buffer; seed: Buffer; frameKeys: Buffer[] } {
  const { pieces } = dissect(join(folder, "0000000001.gwlog"));
  const open = decodeOpen(pieces[0]?.body ?? Buffer.alloc(0));
  assert.ok(open);
  const seed = findSeed(folder, open, keys.readingKey);
  assert.ok(seed);
  const frameKeys: Buffer[] = [];
  let chain: Buffer = seed;
  for (const { type } of pieces) {
    if (type !== 2) continue;
    const output = hash("sha512", Buffer.concat([Buffer.from("gw-audit-v1 chain"), chain]), "buffer");
    frameKeys.push(output.subarray(32));
    chain = output.subarray(0, 32);
  }
  const readingKey = keys.readingKey.export({ format: "der", type: "pkcs8" }).subarray(16);
  return { readingKey, seed, frameKeys };
}

function* memoryOf(child: ChildProcess): Generator<Buffer> {
  const fd = openSync(`/proc/${child.pid}/mem`, "r");
  const OVERLAP = 128;
  const CHUNK = 16_777_216;
  try {
    for (const line of readFileSync(`/proc/${child.pid}/maps`, "latin1").split("\n")) {
      const range = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line);
      if (range === null) continue;
      const end = Number.parseInt(range[2] ?? "", 16);
      for (let at = Number.parseInt(range[1] ?? "", 16); at < end; at += CHUNK - OVERLAP) {
        const chunk = Buffer.alloc(Math.min(CHUNK, end - at));
        try {
          yield chunk.subarray(0, readSync(fd, chunk, 0, chunk.length, at));
        } catch {
          // A guard page or a device: nothing of ours is there.
        }
      }
    }
  } finally {
    closeSync(fd);
  }
}
