import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { asUser, GW, makeFolder } from "./support/home.ts";

describe("what stands in the environment does not bend a program that holds a key", asUser, () => {
  test("an OpenSSL configuration that loads code acts on Node and not on gw", () => {
    const file = join(makeFolder(), "evil.cnf");
    const sections = ["nodejs_conf = a", "openssl_conf = a", "[a]", "providers = p", "[p]", "evil = e"];
    writeFileSync(file, [...sections, "[e]", "module = /nowhere/evil.so", "activate = 1", ""].join("\n"));
    const env = { PATH: process.env["PATH"], HOME: makeFolder(), OPENSSL_CONF: file };
    assert.notEqual(spawnSync(process.execPath, ["-e", ""], { env }).status, 0, "Node obeys it");
    const done = spawnSync(GW, ["operator", "list", "--home", join(env.HOME, "none")], { env, encoding: "utf8" });
    assert.match(done.stderr, /^vault_missing: /m, "gw came as far as its own work");
  });

  test("a program that holds a key runs nothing from a cache that its user can write", () => {
    const home = makeFolder();
    const cache = join(home, ".cache");
    mkdirSync(cache);
    const env = {
      PATH: process.env["PATH"],
      HOME: home,
      XDG_CACHE_HOME: cache,
      NODE_COMPILE_CACHE: join(cache, "node"),
    };
    const done = spawnSync(GW, ["operator", "list", "--home", join(home, "none")], { env, encoding: "utf8" });
    assert.match(done.stderr, /^vault_missing: /m);
    assert.deepEqual([existsSync(join(cache, "gw")), existsSync(join(cache, "node"))], [false, false]);
  });
});
