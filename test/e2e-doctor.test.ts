import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { asUser, demoPack, Home, type Members, makeFolder } from "./support/home.ts";

const ORIGIN = "http://127.0.0.1:9";

test("gw doctor says what still keeps a call from working, each with the command that mends it", asUser, async () => {
  const home = await new Home(makeFolder()).init();
  assert.deepEqual(await told(home), [
    ["gateway", "warning", "gw up"],
    ["packs", "warning", "gw pack add FILE"],
    ["credentials", "ok", null],
    ["grants", "ok", null],
  ]);

  const file = join(dirname(home.folder), "demo.yaml");
  writeFileSync(file, demoPack(ORIGIN));
  assert.equal((await home.run(["pack", "add", file])).code, 0);
  assert.deepEqual((await told(home))[1], ["packs", "warning", "gw pack trust demo"]);

  await home.must(["pack", "trust", "demo"]);
  const [, packs, credentials] = await told(home);
  assert.deepEqual(packs, ["packs", "ok", null]);
  assert.equal(credentials?.[1], "warning");
  assert.match(String(credentials?.[2]), /^gw credential add demo-token/);

  await home.addCredential("demo-token", ORIGIN);
  const gateway = await home.up();
  try {
    assert.deepEqual(
      (await told(home)).map(([, state]) => state),
      ["ok", "ok", "ok", "ok"],
    );
    await home.must(["lock"]);
    assert.deepEqual((await told(home))[0], ["gateway", "warning", "gw unlock"]);
  } finally {
    await gateway.end("SIGTERM");
  }
});

async function told(home: Home): Promise<readonly (readonly unknown[])[]> {
  const rows = JSON.parse((await home.run(["doctor", "--json"])).out) as readonly Members[];
  const ours = ["gateway", "packs", "credentials", "grants"];
  return rows.filter(({ name }) => ours.includes(String(name))).map(({ name, state, mend }) => [name, state, mend]);
}
