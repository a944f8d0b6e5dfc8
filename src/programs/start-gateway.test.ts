import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { GATEWAY_FLAGS, gatewayEnvironment } from "./start-gateway.ts";

function readUnit(name: string): { setting(setting: string): string | undefined } {
  const unit = readFileSync(join(import.meta.dirname, "../../packaging/systemd", name), "utf8");
  return { setting: (setting) => new RegExp(`^${setting}=(.*)$`, "m").exec(unit)?.[1] };
}

test("the service of a machine starts the gateway as gw up does: the same flags, and memory bounded alike", () => {
  const { setting } = readUnit("gw.service");
  const flags = setting("ExecStart")
    ?.split(" ")
    .filter((word) => word.startsWith("--"));
  assert.deepEqual(flags, GATEWAY_FLAGS);
  const pools = gatewayEnvironment()["MALLOC_ARENA_MAX"];
  assert.ok(pools !== undefined);
  assert.equal(setting("Environment"), `MALLOC_ARENA_MAX=${pools}`);
});

test("a start of the gateway that is refused is not tried for ever, and gw-ident always comes back", () => {
  const { setting } = readUnit("gw.service");
  const seconds = (name: string): number => Number(/^(\d+)s$/.exec(setting(name) ?? "")?.[1]);
  // A slow machine takes so long to refuse one.
  const between = seconds("RestartSec") + 50;
  const [burst, interval] = [Number(setting("StartLimitBurst")), seconds("StartLimitIntervalSec")];
  assert.ok(burst * between <= interval);
  assert.ok(burst * seconds("WatchdogSec") >= interval, "one that hangs is started on and on");
  assert.equal(setting("Restart"), "on-failure");
  const ident = readUnit("gw-ident.service");
  assert.deepEqual([ident.setting("Restart"), ident.setting("StartLimitIntervalSec")], ["always", "0"]);
});

test("both services wait for the volume that the home may be on, before they look whether there is a vault", () => {
  const [gateway, ident] = [readUnit("gw.service"), readUnit("gw-ident.service")];
  const home = dirname(ident.setting("ConditionPathExists") ?? "");
  assert.equal(ident.setting("RequiresMountsFor"), home);
  // This one waits by itself for the folder of its state.
  assert.equal(`/var/lib/${gateway.setting("StateDirectory")}`, home);
});
