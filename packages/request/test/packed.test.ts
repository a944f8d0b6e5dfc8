import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { importedBy, installPacked } from "../../../test/support/packed.ts";

test("the packed package serves its README's API from an empty folder, and brings nothing else", async () => {
  const installed = await installPacked("request");
  assert.deepEqual(installed.packages, ["@agent-action-gateway/request"]);
  assert.deepEqual(importedBy(installed, "request"), []);
  writeFileSync(join(installed.folder, "api.js"), installed.example);
  const api = spawn(process.execPath, ["api.js"], { cwd: installed.folder, stdio: ["ignore", "pipe", "inherit"] });
  try {
    // A program that ends without a line ends its lines too.
    const { value: port } = await createInterface(api.stdout)[Symbol.asyncIterator]().next();
    const ask = async (body: string) => {
      const reply = await fetch(`http://127.0.0.1:${port}/v1/environments/staging/promotions`, {
        ...{ method: "POST", body, headers: { "content-type": "application/json" } },
      });
      return { status: reply.status, body: (await reply.json()) as Readonly<Record<string, unknown>> };
    };
    assert.deepEqual(await ask('{"release":"r1"}'), { status: 200, body: { promoted: "r1", to: "staging" } });
    assert.equal((await ask('{"release":"r1","release":"r2"}')).body["code"], "json_duplicate_member");
    assert.equal((await ask('{"release":1}')).status, 422);
  } finally {
    api.kill();
  }
});
