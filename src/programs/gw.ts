import { existsSync } from "node:fs";
import { join } from "node:path";
import { harden } from "../adapters/platform/callers.ts";
import { requireServerOf } from "../adapters/platform/server.ts";
import { createClock, systemRandom, systemSleep } from "../adapters/platform/system.ts";
import type { Generations } from "../hub/documents.ts";
import type { Clock } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied, Fault } from "../kernel/failure.ts";
import { deniedByFiles } from "../kernel/file-trouble.ts";
import type { CliDeps } from "../surfaces/cli/commands/deps.ts";
import { type CliIo, exits } from "../surfaces/cli/io.ts";
import { createProgram } from "../surfaces/cli/program.ts";
import { openTerminal } from "../surfaces/cli/terminal.ts";
import type { VaultChanged } from "../surfaces/cli/vault/session.ts";
import { Unreachable } from "../surfaces/client/connection.ts";
import type { Status } from "../surfaces/operator/answers.ts";
import { findPlace } from "../surfaces/place/find.ts";
import type { Place } from "../surfaces/place/place.ts";
import type { OpenOperator } from "../vault/operator.ts";
import { logins } from "./logins.ts";
import { copyFor, copyHome, isElsewhere, notHere, refreshCopy } from "./operator-copy.ts";
import { startGateway } from "./start-gateway.ts";
import { stateFolder } from "./state-folder.ts";
import { tellWrongPassphrase } from "./tell-wrong-passphrase.ts";
import { version } from "./version.ts";

/** Programs that are callers themselves: the gateway has to look at their image, and they hold no secret. */
const CALLERS = new Set(["actions", "call", "mcp", "run", "plan", "execute"]);

/** Of the rest, those that need nothing of a home, and those that only its owner can do. */
const HOMELESS = new Set([
  "status",
  "doctor",
  "demo",
  "reference",
  "conformance",
  "completion",
  "connect",
  "setup-shell",
  "version",
  "install",
  "uninstall",
]);
const OWNERS = new Set(["init", "up", "backup", "restore"]);

/** One command, as it was started. */
interface Run {
  readonly io: CliIo;
  readonly command: string;
  /** Hardening narrows it; what `gw run` starts gets it back. */
  readonly umask: number;
  /** The gateway that the command is about, once it was found. */
  place: Place | null;
}

if (import.meta.main) await runCommand();

/** Does what this process was started for. */
export async function runCommand(): Promise<void> {
  const io = openTerminal();
  const command = commandOf(process.argv.slice(2));
  const run: Run = { io, command, umask: process.umask(0o077), place: null };
  try {
    await harden({ inspectable: CALLERS.has(command), startsPrivileged: command === "run" });
    const program = createProgram(createDeps(run), command);
    await program.parseAsync();
  } catch (thrown) {
    const error = deniedByFiles(thrown) ?? thrown;
    if (isUsageError(error)) process.exitCode = error.exitCode === 0 ? exits.done : exits.usage;
    else if (error instanceof Unreachable) {
      io.err(`gateway_unreachable: ${error.message}`);
      process.exitCode = exits.unreachable;
    } else if (error instanceof Denied) {
      io.err(`${error.code}: ${error.message}`);
      process.exitCode = exits.denied;
    } else throw error;
  }
}

/** The first word that is neither an option of every command nor the value of one. */
function commandOf([first = "", ...rest]: readonly string[]): string {
  if (first === "--home" || first === "--config") return commandOf(rest.slice(1));
  return first === "--json" || first.startsWith("--home=") || first.startsWith("--config=") ? commandOf(rest) : first;
}

function createDeps(run: Run): CliDeps {
  const { io, command, umask } = run;
  const clock = createClock();
  const deps: CliDeps = {
    io,
    clock,
    random: systemRandom,
    sleep: systemSleep,
    version,
    vault: {
      clock,
      random: systemRandom,
      sleep: systemSleep,
      stateFolder: stateFolder(),
      logins,
      fetchDocument: async (url, ca) =>
        (await import("../adapters/transport/http/fetch-document.ts")).fetchDocument(url, ca),
      postForm: async (url, ca, headers, body) =>
        (await import("../adapters/transport/http/fetch-document.ts")).postForm(url, ca, headers, body),
      awaitBrowser: async (port, state) =>
        (await import("../adapters/transport/http/await-browser.ts")).awaitBrowser(port, state),
      refresh: () => refresh(run),
      beforeChange: (operator) => followHub(run, operator, clock),
      async afterChange(change) {
        if (run.place !== null && isElsewhere(run.place)) await sendChange(run.place, change, clock);
        else await untilSeen(run, change.home, clock.bootMs);
        await untilOnHub(run, clock.bootMs);
      },
      afterWrongPassphrase: (failure) => tellWrongPassphrase(placed(run).operator, failure, io),
    },
    requireHome: (what) => requireHome(run, what),
    async homeKeeper() {
      requireHome(run, command);
      return (await import("./home-keeper.ts")).homeKeeper;
    },
    async mintedKeeper() {
      requireHome(run, "credential");
      return (await import("./minted.ts")).mintedKeeper;
    },
    async findPlace(asked) {
      run.place = await withCopy(run, await findPlace(asked, requireServerOf));
      return run.place;
    },
    examine: (home) => async () => {
      const { examineGateway } = await import("../surfaces/cli/examine-home.ts");
      const { examineMachine } = await import("../adapters/platform/examine.ts");
      const found = placed(run);
      const readable = isElsewhere(found) ? await copyFor(found) : home;
      const rows = await examineGateway(found.operator, readable, clock, systemRandom, stateFolder());
      return [...(await examineMachine(home)), ...rows];
    },
    async formats(home) {
      const { stateMigrations } = await import("../adapters/store/sqlite/state-schema.ts");
      const { readFormat } = await import("../adapters/store/sqlite/upgrade-state.ts");
      const found = home === null ? undefined : readFormat(home);
      const unmarked = home !== null && found === undefined && existsSync(join(home, "state.db"));
      return { known: stateMigrations.length, found: unmarked ? "unmarked" : found };
    },
    requireStartable: async (home, config) => (await import("./daemon/startable.ts")).requireStartable(home, config),
    startGateway,
    serverCheck: async (home, serviceKey, how) =>
      (await import("./server-check.ts")).serverCheckOf(home, serviceKey, {
        ...how,
        ...(run.place?.owner == null ? {} : { uid: run.place.owner }),
      }),
    async operatorKeys(home) {
      const { openHome } = await import("../vault/files/home.ts");
      const { operatorKeysOf, readTrust } = await import("./daemon/trust.ts");
      const opened = openHome(home, systemRandom);
      // A reviewer on another machine has no vault: then no signature counts, and every difference is open.
      return existsSync(home) && opened.exists() ? operatorKeysOf(readTrust(opened)) : [];
    },
    async reference() {
      const { allScopes, startReference } = await import("../../packages/reference/src/start.ts");
      const stopped = new Promise<void>((resolve) => {
        for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
      });
      return {
        start: (options) => startReference({ ...options, clock, random: systemRandom, sleep: systemSleep }),
        scopes: allScopes,
        stopped,
      };
    },
    async playDemo(options) {
      const { playDemo } = await import("../../demo/demo.ts");
      return playDemo(options, io, { clock, random: systemRandom, sleep: systemSleep });
    },
    async serveConsole(options) {
      const { runConsole } = await import("../console/run-console.ts");
      const stopped = new Promise<void>((resolve) => {
        for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
      });
      return runConsole(options, deps, { stopped, refresh: () => refresh(run) });
    },
    async wrapper() {
      const plain = { umask, clock, random: systemRandom, sleep: systemSleep };
      if (process.platform !== "linux")
        return { ...plain, keepOrphans: null, openPty: null, box: null, findPeer: null };
      const { keepOrphans } = await import("../adapters/platform/linux/orphans.ts");
      const { openPty } = await import("../adapters/platform/linux/pty.ts");
      const { boxCommand, openBox, outerSockets } = await import("../adapters/platform/linux/box/open.ts");
      const { chooseBox, programFolders } = await import("../adapters/platform/linux/box/probe.ts");
      const box = {
        ...{ choose: chooseBox, command: boxCommand, open: openBox, outerSockets, programFolders: programFolders() },
        ownFolders: [stateFolder()],
      };
      const { findHolder } = await import("../adapters/platform/linux/box/who.ts");
      const findPeer = (address: string, from: number, to: number) => findHolder(process.pid, address, from, to);
      return { ...plain, keepOrphans, openPty, box, findPeer };
    },
    async signatures() {
      if (process.platform !== "linux") {
        throw new Denied(
          "platform_unsupported",
          "Signatures of program files beside the system's own are read on Linux.",
        );
      }
      const { checkGivenBundle, requireTrustedRoot } = await import("../adapters/platform/linux/image/check-given.ts");
      return { checkBundle: checkGivenBundle, requireTrustedRoot };
    },
    finish: (exit) => {
      process.exitCode = exit;
    },
  };
  return deps;
}

/** A running gateway looks at its files by itself: what a command changed is in force when it returns. */
async function untilSeen(run: Run, home: string, bootMs: () => number): Promise<void> {
  const { fingerprintHome } = await import("../vault/files/fingerprint.ts");
  const written = fingerprintHome(home);
  for (
    const stopAt = bootMs() + defaults.changeSeenMs;
    bootMs() < stopAt;
    await systemSleep.sleep(defaults.changeLookMs)
  ) {
    const status = await lookAt(run);
    if (status === null || status.stopped !== null) return;
    if (status.files !== written) continue;
    if (status.files_refused !== null)
      run.io.err(`warning: the running gateway did not take the change: ${status.files_refused}`);
    return;
  }
  run.io.err("warning: the running gateway has not read the change yet; gw status shows which policy is in force.");
}

/** Two hosts that sign one after the other leave nobody a fork to settle: this one goes on from what the other signed. */
async function followHub(run: Run, operator: OpenOperator, clock: Clock): Promise<void> {
  const { operator: door } = placed(run);
  if (signedOnHub(await lookAt(run)) === null) return;
  const { connectOperator } = await import("../surfaces/client/operator.ts");
  try {
    const client = await connectOperator(door, operator, clock);
    await client.reload().finally(() => client.close());
    await refresh(run);
  } catch (error) {
    // What is signed may be what mends it.
    if (!(error instanceof Denied || error instanceof Unreachable)) throw error;
  }
}

/** And the other finds on the hub what this one signed, once the command is over. */
async function untilOnHub(run: Run, bootMs: () => number): Promise<void> {
  for (
    const stopAt = bootMs() + defaults.hubFollowMs;
    bootMs() < stopAt;
    await systemSleep.sleep(defaults.changeLookMs)
  ) {
    const status = await lookAt(run);
    const signed = signedOnHub(status);
    // What is wrong with the hub is told by gw status; nobody who signs here waits for that to be mended.
    if (status === null || signed === null || signed.trouble !== null) return;
    if (signed.vault >= status.vault_generation && signed.policy >= (status.policy_version ?? 0)) return;
  }
}

async function lookAt(run: Run): Promise<Status | null> {
  const { readStatus } = await import("../surfaces/client/read-status.ts");
  return readStatus(placed(run).operator).catch((error: unknown) => {
    if (error instanceof Unreachable) return null;
    throw error;
  });
}

/** The signed files that the gateway saw on its hub; null where it is on none. */
function signedOnHub(status: Status | null): (Generations & { readonly trouble: unknown }) | null {
  const hub = status?.hub as { readonly signed?: Generations | null; readonly trouble: unknown } | null | undefined;
  return hub?.signed == null ? null : { ...hub.signed, trouble: hub.trouble };
}

function placed({ place }: Run): Place {
  if (place === null) throw new Fault("nobody looked where the gateway answers");
  return place;
}

/** The home of a gateway for all users is closed to everybody else: an operator works in a copy of their own. */
async function withCopy({ command }: Run, found: Place): Promise<Place> {
  if (!isElsewhere(found) || CALLERS.has(command) || HOMELESS.has(command)) return found;
  // An operator accepts a restoration in their own copy: what they remember is theirs.
  const accepts = command === "restore" && process.argv.includes("--accept");
  if (OWNERS.has(command) && !accepts) throw notHere(found, command);
  return { ...found, home: await copyHome(found) };
}

async function refresh({ place }: Run): Promise<void> {
  // The home of such a place is the operator's copy already.
  if (place !== null && isElsewhere(place)) await refreshCopy(place, place.home);
}

/** What is neither signed nor sealed is not taken from an operator's copy: in there it would change nothing. */
function requireHome({ place }: Run, what: string): void {
  if (place !== null && isElsewhere(place)) throw notHere(place, what);
}

async function sendChange(place: Place, change: VaultChanged, clock: Clock): Promise<void> {
  const { dropMirrored, mirroredChange } = await import("../surfaces/client/mirror.ts");
  const { connectOperator } = await import("../surfaces/client/operator.ts");
  try {
    const client = await connectOperator(place.operator, change.operator, clock);
    try {
      await client.changeHome(mirroredChange(change.home, change.vaultChanged, change.policyVersion !== null));
    } finally {
      client.close();
    }
  } catch (error) {
    dropMirrored(change.home);
    throw error;
  }
}

function isUsageError(error: unknown): error is { readonly exitCode: number } {
  return error instanceof Error && "code" in error && String(error.code).startsWith("commander.");
}
