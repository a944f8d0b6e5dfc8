import { namesAction } from "../../../conventions/grant/grant.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { RunView } from "../../agent/answers.ts";
import { type AgentClient, connectAgent } from "../../client/agent.ts";
import { Unreachable } from "../../client/connection.ts";
import { answering } from "../answer.ts";
import { reworded } from "../call.ts";
import { type BudgetOptions, budgetAsked } from "../commands/budget-options.ts";
import { type CliIo, exits } from "../io.ts";
import { agentDoor, type BaseOptions } from "../options.ts";
import { type Containment, type ContainPorts, prepareContainment } from "./contain.ts";
import { findProgram } from "./find-program.ts";
import { prepareProxy } from "./proxy.ts";
import { type Ended, startCommand } from "./start-command.ts";
import { summaryLines } from "./summary.ts";

export interface RunOptions extends BaseOptions, BudgetOptions {
  readonly actions?: readonly string[];
  readonly purpose?: string;
  readonly wait: number;
  readonly contain?: boolean;
  readonly write?: readonly string[];
  readonly learn?: string;
  readonly proxy?: boolean;
}

/** What the wrapper needs of the machine. */
export interface WrapperPorts extends ContainPorts {
  /** Keeps orphans below this process; null where the system cannot. */
  keepOrphans: ((own: () => number | undefined) => { count(own: number): number; close(): void }) | null;
  /** As it was before this program closed its own files to others. */
  readonly umask: number;
}

const PURPOSE_LENGTH = 500;
/** The schema's own limits. */
const COMMAND_WORDS = 200;
const COMMAND_CHARACTERS = 4_000;
/** The schema's own limit; a home with more packs names what it needs. */
const ACTIONS = 200;

/**
 * `gw run -- COMMAND`: opens one session for a command and whatever that starts. It proxies nothing: each process
 * connects by itself, and the gateway finds out that it is below this one. With `--contain` the command runs in a box
 * whose one way out is this program.
 */
export async function runWrapped(
  command: readonly string[],
  options: RunOptions,
  io: CliIo,
  ports: WrapperPorts,
): Promise<number> {
  const found = findProgram(command[0] ?? "", process.env["PATH"], process.cwd());
  if (found.kind === "refused") {
    io.err(found.message);
    return found.exit;
  }
  if (options.learn !== undefined && options.contain !== true) {
    io.err("gw run: --learn is for what a box is refused. Use it with --contain.");
    return exits.usage;
  }
  if (options.proxy === true && options.contain === true) {
    io.err("gw run: --contain and --proxy are two ways; a box is the stronger one. Use one of them.");
    return exits.usage;
  }
  const door = agentDoor(options);
  const client = connectAgent(door);
  try {
    let run: RunView | undefined;
    let box: Containment | null = null;
    const refused = await answering(io, async () => {
      if (options.contain === true) box = await prepareContainment(command, options, { client, door }, io, ports);
      if (options.proxy === true) box = await prepareProxy(command, options.home, client, io, ports);
      run = await openRun(client, command, options, io, box);
      return run.state === "open" ? exits.done : stillPending(run, io);
    });
    return run?.state === "open" ? await follow(client, run, command, options, io, ports, box) : refused;
  } finally {
    client.close();
  }
}

async function openRun(
  client: AgentClient,
  command: readonly string[],
  options: RunOptions,
  io: CliIo,
  box: Containment | null,
): Promise<RunView> {
  const actions = options.actions ?? (await everyPack(client));
  const contained = options.contain === true;
  const proxied = options.proxy === true;
  const typed = `gw run ${contained ? "--contain " : proxied ? "--proxy " : ""}-- ${command.join(" ")}`;
  const purpose = (options.purpose ?? typed).slice(0, PURPOSE_LENGTH);
  requireShowable(command);
  io.err("gw run: asks to begin. Unless a grant covers the run, a person approves it (gw watch, or gw approvals).");
  const asked = {
    purpose,
    actions,
    budget: budgetAsked(options),
    contained,
    ...(box?.tier == null ? {} : { boxTier: box.tier }),
    proxied,
    descendants: !contained,
    command,
  };
  return client.openRun(asked, options.wait).catch(async (error: unknown) => {
    throw options.actions === undefined ? withAdvice(error, actions) : await withUnknownNamed(error, actions, client);
  });
}

/** The card shows the command line whole, so that it has to fit one. */
function requireShowable(command: readonly string[]): void {
  const characters = command.reduce((sum, word) => sum + word.length, 0);
  if (command.length <= COMMAND_WORDS && characters <= COMMAND_CHARACTERS) return;
  throw new Denied(
    "schema_violation",
    `The command line has ${command.length} words and ${characters} characters; a card shows at most ${COMMAND_WORDS} and ${COMMAND_CHARACTERS}, and is never cut. Put the command into a script and run that.`,
  );
}

/** The gateway refuses what there is none or too much of, so that its log has the refusal. */
async function everyPack(client: AgentClient): Promise<readonly string[]> {
  const packs = new Set((await client.actions()).map(({ pack }) => `${pack}.*`));
  return packs.size === 0 ? [NO_PACK] : [...packs];
}

/** Stands for "all there is" where there is nothing. */
const NO_PACK = "any.*";

function withAdvice(error: unknown, actions: readonly string[]): unknown {
  if (!(error instanceof Denied)) return error;
  const none = actions[0] === NO_PACK && error.code === "action_not_permitted";
  if (!none && actions.length <= ACTIONS) return error;
  const message = none
    ? "No trusted pack defines an action. Trust one first: gw pack trust"
    : "There are more packs than one run can name. Name the actions: --actions";
  return new Denied("action_not_permitted", message);
}

/** The gateway tells an agent no more than that it may not; who typed the names has to see which of them nothing fits. */
async function withUnknownNamed(error: unknown, names: readonly string[], client: AgentClient): Promise<unknown> {
  if (!(error instanceof Denied && error.code === "action_not_permitted")) return error;
  const there = await client.actions();
  const unknown = names.filter((name) => !there.some(({ action }) => namesAction([name], action)));
  if (unknown.length === 0) return error;
  const shown = unknown.map((name) => showIdentifier(name)).join(" or ");
  return reworded(error, `No trusted pack has an action ${shown}. Nobody was asked.`, "See what there is: gw actions");
}

function stillPending({ approval_id }: RunView, io: CliIo): typeof exits.pending {
  io.err(
    `gw run: nobody has decided (${approval_id ?? "no card"}). Nothing was started; run it again with a longer --wait.`,
  );
  return exits.pending;
}

async function follow(
  client: AgentClient,
  run: RunView,
  command: readonly string[],
  options: RunOptions,
  io: CliIo,
  ports: WrapperPorts,
  box: Containment | null,
): Promise<number> {
  let own: number | undefined;
  // Of a box nothing is left when its first process ends.
  const orphans = options.contain !== true ? (ports.keepOrphans?.(() => own) ?? null) : null;
  // A command runs as it would without us.
  process.umask(ports.umask);
  const env = { ...process.env, GW_RUN: run.run_id, GW_HOME: options.home };
  const running = box === null ? startCommand(command, env, ports) : await box.start(run);
  own = running.pid;
  const ended = await running.ended;
  if (ended.fault !== null) io.err(`command_not_executable: ${ended.fault}`);
  const leftBehind = orphans?.count(own ?? 0) ?? 0;
  orphans?.close();
  report(command, ended, leftBehind, await lastView(client, run.run_id), options, io);
  return ended.exit;
}

async function lastView(client: AgentClient, runId: string): Promise<RunView | null> {
  try {
    return await client.run(runId);
  } catch (error) {
    if (error instanceof Denied || error instanceof Unreachable) return null;
    throw error;
  }
}

/** On standard error: standard output is the command's. */
function report(
  command: readonly string[],
  ended: Ended,
  leftBehind: number,
  run: RunView | null,
  options: RunOptions,
  io: CliIo,
): void {
  if (options.json) {
    io.err(JSON.stringify({ exit: ended.exit, signal: ended.signal, left_behind: leftBehind, run }));
    return;
  }
  for (const line of summaryLines(command[0] ?? "", ended, leftBehind, run)) io.err(line);
}
