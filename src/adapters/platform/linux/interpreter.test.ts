import assert from "node:assert/strict";
import { test } from "node:test";
import { isUntold, parseCommand, readInterpreter } from "./interpreter.ts";
import { inodeOf } from "./proc.ts";

test("interpreters are named as such, with their script as context", () => {
  const cases: readonly [string, readonly string[], string, string | null][] = [
    ["/usr/bin/node", ["node", "agent.js", "--flag"], "node", "agent.js"],
    ["/usr/bin/node", ["node", "--no-warnings", "/srv/agent.mjs"], "node", "/srv/agent.mjs"],
    ["/usr/bin/python3.11", ["python3", "-u", "bot.py"], "python3.11", "bot.py"],
    ["/usr/bin/bash", ["bash", "-c", "curl evil"], "bash", null],
    ["/usr/bin/perl", ["perl", "-e", "1"], "perl", null],
    ["/usr/bin/ruby3.1", ["ruby"], "ruby3.1", null],
    ["/usr/bin/python3.11", ["python3", "-m", "agent"], "python3.11", null],
    ["/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", ["ld", "/tmp/evil"], "ld-linux-x86-64.so.2", "/tmp/evil"],
    ["/opt/node (deleted)", ["node", "a.js"], "node", "a.js"],
  ];
  for (const [path, command, name, script] of cases) {
    assert.deepEqual(readInterpreter(path, command), { name, script });
  }
});

test("a program that is no interpreter is not called one", () => {
  for (const path of ["/usr/bin/curl", "/opt/noder", "/opt/mynode", "/usr/bin/shasum", ""]) {
    assert.equal(readInterpreter(path, ["x", "y"]), null);
  }
});

test("a command line is split at its zero bytes, and an emptied one is empty", () => {
  assert.deepEqual(parseCommand(Buffer.from("node\0a b\0\0c\0")), ["node", "a b", "", "c"]);
  assert.deepEqual(parseCommand(Buffer.alloc(0)), []);
});

test("an interpreter under another name is known by what it maps and by its package", () => {
  const path = "/usr/bin/perl5.36-x86_64-linux-gnu";
  assert.equal(readInterpreter("/opt/tool", ["/opt/tool", "x"]), null);
  const mapped = ["/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libperl.so.5.36"];
  const known = { mapped, package: null, inode: null };
  assert.deepEqual(readInterpreter(path, [path, "script.pl"], known), {
    name: "perl5.36-x86_64-linux-gnu",
    script: "script.pl",
  });
  assert.notEqual(readInterpreter("/opt/tool", [], { mapped: [], package: "libperl5.36", inode: null }), null);
  assert.equal(
    readInterpreter("/usr/bin/curl", [], { mapped: ["/usr/lib/libcurl.so.4"], package: "curl", inode: null }),
    null,
  );
});

test("a second name of the shell's own file is the shell", () => {
  const inode = inodeOf("/usr/bin/bash");
  if (inode === null) return;
  assert.notEqual(readInterpreter("/opt/innocent", [], { mapped: [], package: null, inode }), null);
});

test("an image that loads no library and is of no package may be an interpreter, and nobody can tell", () => {
  assert.equal(isUntold({ mapped: [], package: null, inode: null }), true);
  assert.equal(isUntold({ mapped: ["/usr/lib/libc.so.6"], package: null, inode: null }), false);
  assert.equal(isUntold({ mapped: [], package: "restic", inode: null }), false);
});
