import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { allScopes, type Reference, startReference } from "../../packages/reference/src/start.ts";
import { dumpFile } from "../../packages/reference/test/stand.ts";
import { systemRandom } from "../../src/adapters/platform/system.ts";
import type { Step } from "../../src/gateway/steps.ts";
import { bundleProgram } from "../support/bundle.ts";
import { whole } from "../support/whole.ts";
import { type CrashPoint, hurriedTime, type Life, type Told } from "./life.ts";
import { playLife } from "./play.ts";
import { GRANT_FILE, scenes, TOKEN_SCENE } from "./scenes.ts";
import { startTokenServer, type TokenServer } from "./token-server.ts";

/** Steps that write to one place alone: there is nothing between. */
export const unsplit: ReadonlySet<Step> = new Set<Step>([
  "session.widened",
  "approval.requested",
  "approval.given",
  "approval.finished",
  "approval.refused",
  "ticket.attached",
  "ticket.refused",
  "call.denied",
  "denials.counted",
  "request.told",
  "requests.counted",
  "write.confirmed",
  "host.started",
  "plan.executed",
  "day.counted",
  "lease.taken",
  "operation.stopped",
  "probe.opened",
  "probe.closed",
  "token.kept",
  "source.read",
  "gateway.locked",
]);

/**
 * The moments to die in. Of a step that writes to two places the one between them is the delicate one; a send, and what
 * writes to one place alone, is over when it is over. `everything` has the moments before and after each as well: there
 * the disk is as it is around the neighbouring steps.
 */
export function pointsOf(kills: readonly Step[], everything = false): readonly CrashPoint[] {
  return kills.flatMap((step): readonly CrashPoint[] => {
    const whole = unsplit.has(step) || step.endsWith(".sent");
    const middle: CrashPoint = { step, moment: whole ? "after" : "half" };
    if (!everything) return [middle];
    return [{ step, moment: "before" }, middle, ...(whole ? [] : [{ step, moment: "after" } as const])];
  });
}

/** What is left after a chain of lives, for whoever judges it. */
export interface Remains {
  readonly scene: string;
  readonly folder: string;
  readonly privateKey: string;
  readonly stateKey: Buffer;
  readonly told: readonly Told[];
  /** Rows of the provider, by table. */
  readonly provider: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
  /** By the tag of the life, where it was to die. */
  readonly lives: ReadonlyMap<string, CrashPoint>;
}

/**
 * Plays the scene once for every point, in one home, each life recovering what the one before it left. What an earlier life left may
 * keep a later one from its point: that is a fault, unless `onMissed` hears of it.
 */
export async function runChain(
  scene: string,
  points: readonly CrashPoint[],
  judge: (remains: Remains) => Promise<void>,
  onMissed?: (why: string) => void,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "gw-crash-"));
  const epochMs = Date.now();
  const file = join(folder, "reference.db");
  const { clock, sleep } = hurriedTime(epochMs);
  const reference: Reference = await startReference({
    ...{ port: 0, file, clock, sleep, random: systemRandom, faults: true },
    onFault: () => undefined,
  });
  let tokens: TokenServer | null = null;
  try {
    const who = { actor: "robot", tenant: "acme", expiresInMs: 86_400_000 };
    const keys = generateKeyPairSync("x25519", {
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });
    const stateKey = randomBytes(32);
    const base: Omit<Life, "tag" | "number" | "point"> & { tokens: string | null } = {
      folder,
      origin: reference.origin,
      token: await reference.issueToken({ ...who, scopes: allScopes }),
      tokens: null,
      control: await reference.issueToken({ ...who, scopes: ["control"] }),
      stateKey: stateKey.toString("hex"),
      reading: keys,
      epochMs,
      scene,
    };
    if (scene === TOKEN_SCENE) {
      tokens = await startTokenServer(base.token);
      writeFileSync(join(folder, GRANT_FILE), JSON.stringify({ version: 1, secret: tokens.first }));
      base.tokens = tokens.origin;
    }
    const lives = new Map<string, CrashPoint>();
    const met: (CrashPoint | null)[] = [];
    for (const [number, point] of points.entries()) {
      const tag = `${scene}-${number}`;
      lives.set(tag, point);
      const missed = await live({ ...base, tag, number, point });
      if (missed !== null && onMissed === undefined) throw new Error(missed);
      if (missed !== null) onMissed?.(missed);
      met.push(missed === null ? point : null);
    }
    await recover({ ...base, tag: `${scene}-end`, number: points.length, point: null });
    // Only what was lost on its way from the provider to the disk comes again, and only once somebody needs it.
    if (tokens !== null) assert.equal(tokens.reused, usedAgain(met), "no token is used twice");
    const told = readFileSync(join(folder, "told"), "utf8").trimEnd().split("\n");
    await judge({
      scene,
      folder,
      privateKey: keys.privateKey,
      stateKey,
      told: told.map((line) => JSON.parse(line) as Told),
      provider: Object.fromEntries(Object.entries(dumpFile(file)).map(([table, rows]) => [table, JSON.parse(rows)])),
      lives,
    });
  } finally {
    await tokens?.close();
    await reference.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * How often a token comes again that the provider has replaced: once in every life that finds it on disk, gets as far as sending it, and
 * ends before a person has agreed anew and the next one is kept.
 */
function usedAgain(met: readonly (CrashPoint | null)[]): number {
  let times = 0;
  let lost = false;
  for (const point of met) {
    // One that lived to its end kept the next.
    const { step, moment } = point ?? ({ step: "token.kept", moment: "after" } as const);
    const isSent =
      step === "exchange.settled" || step === "token.kept" || (step === "exchange.sent" && moment === "after");
    if (lost && isSent) times++;
    // Replaced by the provider, and the new one is not yet on disk.
    if ((step === "exchange.sent" && moment === "after") || (step === "token.kept" && moment === "before")) lost = true;
    else if (step === "token.kept") lost = false;
  }
  return times;
}

const program = bundleProgram(join(import.meta.dirname, "gateway.ts"));

/** The last life is not killed, and needs no process of its own: it finds on disk what the others left. */
const recover = whole ? live : playLife;

/** Null where it died at its point, or came to its end where it has none; otherwise why it never came there. */
async function live(life: Life): Promise<string | null> {
  const child = fork(await program, [JSON.stringify(life)], {
    execArgv: ["--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const late = setTimeout(() => child.kill("SIGTERM"), 120_000);
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  clearTimeout(late);
  const at = life.point === null ? "its end" : `${life.point.moment} ${life.point.step}`;
  if (life.point === null ? code === 0 : signal === "SIGKILL") return null;
  const why = code === 3 ? "it writes to one place alone" : code === 4 ? `the scene does not pass it: ${said}` : said;
  const missed = `${life.tag} did not die at ${at} (${code ?? signal}): ${why}`;
  if (code === 4) return missed;
  throw new Error(missed);
}

export function everyScene(): readonly (readonly [string, readonly Step[]])[] {
  return [...scenes].map(([name, { kills }]) => [name, kills] as const);
}
