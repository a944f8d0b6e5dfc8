import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { importedBy, installPacked } from "../../../test/support/packed.ts";

test("the packed provider answers from an empty folder, with the two packages that it names", async () => {
  const installed = await installPacked("reference");
  const { folder } = installed;
  assert.deepEqual(installed.packages, ["@agent-action-gateway/reference", "jose", "kysely"]);
  assert.deepEqual(importedBy(installed, "reference"), installed.dependencies);
  writeFileSync(join(folder, "suite.js"), installed.example);
  assert.equal(execFileSync(process.execPath, ["suite.js"], { cwd: folder, encoding: "utf8" }), "200\n");

  const args = [join("node_modules", ".bin", "gw-reference"), "--file", "other.db", "--token-file", "token", "--json"];
  const program = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  try {
    // A program that ends without a line ends its lines too.
    const { value: line } = await createInterface(program.stdout)[Symbol.asyncIterator]().next();
    const { origin } = JSON.parse(String(line)) as { readonly origin: string };
    const authorization = `Bearer ${readFileSync(join(folder, "token"), "utf8").trim()}`;
    assert.equal((await fetch(`${origin}/v1/projects`, { headers: { authorization } })).status, 200);
    assert.equal((await fetch(`${origin}/v1/projects`)).status, 401);
  } finally {
    program.kill("SIGTERM");
  }
  const [code] = await once(program, "exit");
  assert.equal(code, 0);
});
