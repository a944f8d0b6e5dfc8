import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { GATEWAY_FLAGS, gatewayEnvironment } from "./start-gateway.ts";

test("the service of a machine starts the gateway as gw up does: the same flags, and memory bounded alike", () => {
  const unit = readFileSync(join(import.meta.dirname, "../../packaging/systemd/gw.service"), "utf8");
  const setting = (name: string): string => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1] ?? "";
  const flags = setting("ExecStart")
    .split(" ")
    .filter((word) => word.startsWith("--"));
  assert.deepEqual(flags, GATEWAY_FLAGS);
  const pools = gatewayEnvironment()["MALLOC_ARENA_MAX"];
  assert.ok(pools !== undefined);
  assert.equal(setting("Environment"), `MALLOC_ARENA_MAX=${pools}`);
});
