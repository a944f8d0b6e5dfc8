import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Denied } from "../src/kernel/failure.ts";
import { type CliIo, type Exit, exits } from "../src/surfaces/cli/io.ts";
import { sayProse } from "../src/surfaces/cli/say-prose.ts";
import { openHome } from "../src/vault/files/home.ts";
import { Astray, Skipped } from "./astray.ts";
import type { Narrator, Scene } from "./scene.ts";
import { approve, budget, deny, eachUse } from "./scenes/approval.ts";
import { box } from "./scenes/box.ts";
import { lateCancel, lostAnswer, stalePlan, staleRollback } from "./scenes/consequence.ts";
import { host } from "./scenes/host.ts";
import { longAgo, record } from "./scenes/record.ts";
import { replaced, revoke } from "./scenes/session.ts";
import { tamper } from "./scenes/tamper.ts";
import { type Stage, type StagePorts, setStage } from "./stage.ts";

export interface DemoOptions {
  /** Null plays in a folder that is thrown away. */
  readonly home: string | null;
  readonly json: boolean;
}

/** `gw demo`: the whole story with real processes. Every scene checks itself; one that goes astray ends with exit 1. */
const story: readonly Scene[] = [
  ...[approve, deny, eachUse, budget, revoke, replaced, box],
  ...[stalePlan, staleRollback, lostAnswer, lateCancel, host, tamper, record],
];

export async function playDemo(
  { home, json }: DemoOptions,
  io: Pick<CliIo, "out" | "err" | "columns">,
  ports: StagePorts,
  scenes = story,
): Promise<Exit> {
  const folder = home ?? join(mkdtempSync(join(tmpdir(), "gw-demo-")), "home");
  if (openHome(folder, ports.random).exists()) {
    throw new Denied(
      "vault_exists",
      `${folder} is a home already. The demo makes its own: name a folder that is not there.`,
    );
  }
  const tell: Narrator = json ? silent : narrate(io);
  tell.say(
    `A home, a gateway and a provider in ${folder}. The operator's keys are made for this demo and stored nowhere.`,
  );
  try {
    const stage = await setStage(folder, ports, (ground) => longAgo(ground, tell));
    try {
      for (const [index, scene] of scenes.entries()) {
        if (!json) io.out(`\n== ${index + 1}. ${scene.title} ==`);
        const startedMs = ports.clock.bootMs();
        const skipped = await playUnlessSkipped(scene, stage, tell);
        if (skipped !== null) tell.say(`Not played here: ${skipped}.`);
        const elapsed_ms = Math.round(ports.clock.bootMs() - startedMs);
        if (json) io.out(JSON.stringify({ scene: scene.name, as_told: skipped === null, skipped, elapsed_ms }));
      }
    } finally {
      await stage.close();
    }
    if (!json) narrate(io).say(closing(home));
    return exits.done;
  } catch (error) {
    if (!(error instanceof Astray)) throw error;
    io.err(`demo_astray: ${error.message}`);
    return exits.denied;
  } finally {
    if (home === null) rmSync(join(folder, ".."), { recursive: true, force: true });
  }
}

/** Why the scene was not played; null when it was. */
async function playUnlessSkipped(scene: Scene, stage: Stage, tell: Narrator): Promise<string | null> {
  try {
    await scene.play(stage, tell);
    return null;
  } catch (error) {
    if (error instanceof Skipped) return error.message;
    throw error;
  }
}

function closing(home: string | null): string {
  return home === null
    ? "All of it went as told. Keep the home to look around in: gw demo --home DIR"
    : `All of it went as told. The home stays in ${home}. Its keys are gone, so that nobody can read its log; it is checked without one: gw audit verify --log ${join(home, "audit")}`;
}

function narrate(io: Pick<CliIo, "out" | "columns">): Narrator {
  return {
    say(text) {
      io.out("");
      sayProse(io, text);
    },
    show: (lines) => {
      for (const line of lines) io.out(line === "" ? "  |" : `  | ${line}`);
    },
  };
}

const silent: Narrator = { say: () => undefined, show: () => undefined };
