import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { importedBy, installPacked } from "../../../test/support/packed.ts";
import { allScopes, startReference } from "../../reference/src/index.ts";

test("the packed checks run from an empty folder against a provider, and bring nothing else", async () => {
  const installed = await installPacked("conformance");
  const { folder } = installed;
  assert.deepEqual(installed.packages, ["@agent-action-gateway/conformance"]);
  assert.deepEqual(importedBy(installed, "conformance"), []);
  const provider = await startReference({ port: 0, file: join(folder, "provider.db") });
  const run = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
    const [out, [exit]] = await Promise.all([text(child.stdout), once(child, "exit")]);
    return { out, exit };
  };
  try {
    const token = await provider.issueToken({ actor: "robot", tenant: "acme", scopes: allScopes });
    writeFileSync(join(folder, "suite.js"), installed.example);
    const env = { ORIGIN: provider.origin, TOKEN: token };
    assert.deepEqual(await run(["suite.js"], env), { out: "0\n", exit: 0 });

    writeFileSync(join(folder, "token"), token);
    const program = join("node_modules", ".bin", "gw-conformance");
    const passed = await run([program, provider.origin, "--token-file", "token", "--only", "access", "--json"]);
    const verdicts = passed.out
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { verdict: string }).verdict);
    assert.deepEqual([verdicts, passed.exit], [["passed", "passed"], 0]);
    const failed = await run([program, provider.origin, "--only", "list", "--json"]);
    assert.equal(failed.exit, 1, "without a token the lists are closed, which the checks say");
    assert.equal((await run([program])).exit, 2);
  } finally {
    await provider.close();
  }
});
