import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createGroupMembers } from "./group-members.ts";

test("members of a group are those it lists and those who begin with it, as the files are now", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "gw-accounts-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const files = { groups: join(folder, "group"), users: join(folder, "passwd") };
  const members = createGroupMembers(900, files);
  assert.deepEqual([...members()], [], "no file, nobody");
  writeFileSync(files.users, "root:x:0:0::/root:/bin/sh\nada:x:1001:1001::/:/bin/sh\neve:x:1002:900::/:/bin/sh\n");
  writeFileSync(files.groups, "root:x:0:\nops:x:900:ada,gone\nothers:x:9001:root\n");
  assert.deepEqual([...members()], [1001, 1002]);
  writeFileSync(files.groups, "root:x:0:\nops:x:900:ada,root\nothers:x:9001:\n");
  assert.deepEqual([...members()], [0, 1001, 1002], "usermod while it runs");
});
