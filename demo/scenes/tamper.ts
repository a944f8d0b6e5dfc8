import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, type Scene } from "../scene.ts";

/** The last scene: the gateway has stopped, and the log is whole. */
export const tamper: Scene = {
  name: "tamper",
  title: "Somebody changes one bit of the log",
  async play(stage, tell) {
    await stage.attest();
    await stage.stopGateway();
    tell.say("The gateway stopped. Anybody can check its log, without a secret: gw audit verify --operator KEY");
    const whole = await stage.gw([
      "audit",
      "verify",
      "--log",
      join(stage.home, "audit"),
      "--operator",
      stage.operatorKey,
    ]).ended;
    expect(whole.exit === 0, "the log should be intact", whole.out + whole.err);
    tell.show(whole.out.trimEnd().split("\n"));
    const copy = mkdtempSync(join(tmpdir(), "gw-demo-log-"));
    try {
      cpSync(join(stage.home, "audit"), copy, { recursive: true });
      flipOneBit(copy);
      tell.say("Now one bit in the middle of a copy is turned over:");
      const bad = await stage.gw(["audit", "verify", "--log", copy, "--operator", stage.operatorKey]).ended;
      expect(bad.exit === 1 && /frame/.test(bad.out), "the first bad frame should be named", bad.out + bad.err);
      tell.show(bad.out.trimEnd().split("\n"));
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  },
};

function flipOneBit(folder: string): void {
  const [segment = ""] = readdirSync(folder)
    .filter((name) => name.endsWith(".gwlog"))
    .sort();
  const bytes = readFileSync(join(folder, segment));
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(join(folder, segment), bytes);
}
