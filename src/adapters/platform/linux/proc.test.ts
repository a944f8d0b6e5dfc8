import assert from "node:assert/strict";
import { closeSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { inodeOf, landmarksOf, openProcess, parseMaps, parseStat, parseTracer, readLink, readProc } from "./proc.ts";

const skip = process.platform === "linux" ? false : "/proc is Linux's";

const TAIL =
  "S 10 42 42 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 1 0 98765 1000 200 18446744073709551615 111 222 333 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 444 555 666 7 8 9 10 0\n";

test("stat is read past a name that looks like the rest of the line", () => {
  for (const name of ["node", "a b", ") S 1 1 1", "x) R 99 (y"]) {
    assert.deepEqual(parseStat(Buffer.from(`42 (${name}) ${TAIL}`)), {
      exiting: false,
      parent: 10,
      startTime: "98765",
      layout: "111 222 333 444 555 666",
    });
  }
});

test("a process on its way out is told by its flags", () => {
  const line = `42 (node) ${TAIL}`;
  assert.equal(parseStat(Buffer.from(line.replace("4194304", "4194308")))?.exiting, true);
});

test("a line that is cut, empty or something else is no process", () => {
  const line = Buffer.from(`42 (node) ${TAIL}`);
  for (const length of [0, 5, 10, 40, 90]) assert.equal(parseStat(line.subarray(0, length)), undefined);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      const found = parseStat(Buffer.from(bytes));
      assert.equal(found, undefined);
    }),
  );
});

test("the tracer is read from its own line only", () => {
  assert.equal(parseTracer(Buffer.from("Name:\tx\nState:\tS\nTracerPid:\t0\nUid:\t1\n")), 0);
  assert.equal(parseTracer(Buffer.from("Name:\tx\nTracerPid:\t812\n")), 812);
  assert.equal(parseTracer(Buffer.from("Name:\tTracerPid:\\t0\n")), undefined);
  assert.equal(parseTracer(Buffer.alloc(0)), undefined);
});

test("landmarks are the stack's upper end, the vdso and the first file that is run from", () => {
  const maps = (stack: string): string =>
    [
      "55d0c0000000-55d0c0001000 r--p 00000000 fe:00 77                         /usr/bin/x y",
      "55d0c0001000-55d0c0002000 r-xp 00001000 fe:00 77                         /usr/bin/x y",
      "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 ",
      `${stack}-7ffd00021000 rw-p 00000000 00:00 0                          [stack]`,
      "7ffd00031000-7ffd00032000 r-xp 00000000 00:00 0                          [vdso]",
      "",
    ].join("\n");
  const found = landmarksOf(parseMaps(maps("7ffd00000000")));
  assert.equal(found, "7ffd00021000 7ffd00031000 7ffd00032000 55d0c0001000 55d0c0002000 fe:00 77");
  assert.equal(landmarksOf(parseMaps(maps("7ffc00000000"))), found, "a stack that grew is the same stack");
  assert.equal(parseMaps(maps("7ffd00000000"))[0]?.path, "/usr/bin/x y");
});

test("our own process is read as the kernel shows it", { skip }, () => {
  const directory = openProcess(process.pid);
  try {
    assert.equal(readLink(directory, "exe"), process.execPath);
    assert.equal(parseStat(readProc(directory, "stat", 4_096) ?? Buffer.alloc(0))?.parent, process.ppid);
    assert.equal(readProc(directory, "maps", 10), undefined, "longer than the limit");
    assert.equal(readProc(directory, "nothing", 10), undefined);
    const maps = parseMaps(readFileSync("/proc/self/maps", "latin1"));
    assert.ok(maps.some(({ path, executable }) => path === process.execPath && executable));
    assert.ok(!landmarksOf(maps).includes("undefined"));
  } finally {
    closeSync(directory);
  }
});

test("an inode is named with its device, and nothing is named where nothing is", { skip }, () => {
  const { ino } = statSync(process.execPath);
  assert.equal(inodeOf(process.execPath)?.split(" ")[1], String(ino));
  assert.equal(inodeOf("/proc/self/exe"), inodeOf(process.execPath));
  assert.equal(inodeOf("/nowhere/at/all"), null);
});
