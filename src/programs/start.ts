import { closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { allScopes, type Reference, startReference } from "../../packages/reference/src/start.ts";
import { harden } from "../adapters/platform/callers.ts";
import { requireServerOf } from "../adapters/platform/server.ts";
import { createClock, systemRandom, systemSleep } from "../adapters/platform/system.ts";
import { readPack } from "../conventions/action/read.ts";
import { Denied } from "../kernel/failure.ts";
import { installation } from "../kernel/installation.ts";
import type { Secret } from "../kernel/secret.ts";
import { answering } from "../surfaces/cli/answer.ts";
import type { GatewayProcess } from "../surfaces/cli/commands/deps.ts";
import { awaitEnd, sayStatus, startUnlocked } from "../surfaces/cli/operator/run-gateway.ts";
import { programFile } from "../surfaces/cli/program-file.ts";
import { openTerminal } from "../surfaces/cli/terminal.ts";
import { choosePassphrase } from "../surfaces/cli/vault/init.ts";
import { isUnlockable, type WrongPassphrase } from "../surfaces/cli/vault/open-keys.ts";
import { readStatus } from "../surfaces/client/read-status.ts";
import { findPlace } from "../surfaces/place/find.ts";
import type { Place } from "../surfaces/place/place.ts";
import { openHome } from "../vault/files/home.ts";
import { makeFolder } from "../vault/files/make-folder.ts";
import { generatePassphrase } from "../vault/passphrase/generate.ts";
import { requireStartable } from "./daemon/startable.ts";
import { logins } from "./logins.ts";
import { serverCheckOf } from "./server-check.ts";
import { makeHome } from "./start/make-home.ts";
import { startGateway } from "./start-gateway.ts";
import { stateFolder } from "./state-folder.ts";
import { tellWrongPassphrase } from "./tell-wrong-passphrase.ts";

/**
 * `npm start`: a gateway on embedded defaults with the reference provider beside it, so that the first call works at once.
 * On a terminal it asks for a passphrase. Without one it makes a key file that opens the credentials alone, and prints a
 * generated operator passphrase once.
 */
const PORT = 7411;
const YEAR_MS = 31_536_000_000;
const io = openTerminal();
const clock = createClock();
const ports = {
  clock,
  random: systemRandom,
  sleep: systemSleep,
  stateFolder: stateFolder(),
  logins,
  refresh: async () => undefined,
  afterChange: async () => undefined,
  afterWrongPassphrase: async (failure: WrongPassphrase) => tellWrongPassphrase((await place()).operator, failure, io),
};
const folder = resolve(process.env["GW_HOME"] ?? join(homedir(), ".gw"));
const keyFile = join(folder, "service.key");
const packFile = join(installation, "packs/reference.yaml");

process.exitCode = await answering(io, async () => {
  await harden({ inspectable: false, startsPrivileged: false });
  return start();
});

async function start() {
  const fresh = !openHome(folder, systemRandom).exists();
  const startable = () => requireStartable(folder, undefined);
  const asks = !existsSync(keyFile) && (fresh || (await isUnlockable(folder, {}, io, systemRandom, startable)));
  makeFolder(join(folder, "provider"));
  if (fresh) await startable();
  const provider = await startProvider(fresh ? PORT : portOf(folder), fresh);
  try {
    const gateway = await launch(provider, fresh, asks);
    return await serve(gateway, fresh, existsSync(keyFile));
  } finally {
    await provider.close();
  }
}

async function launch(provider: Reference, fresh: boolean, asks: boolean): Promise<GatewayProcess> {
  using typed = fresh ? await makeFreshHome(provider) : null;
  // A new home has a key file by now where nobody could be asked.
  const unattended = existsSync(keyFile);
  return asks && !unattended ? await startWith(typed) : await startGateway(folder, unattended ? keyFile : null);
}

async function serve(gateway: GatewayProcess, fresh: boolean, unattended: boolean) {
  try {
    sayStatus(io, await readStatus((await place()).operator));
    io.out("");
    if (unattended && fresh && !hasTerminal()) sayNobodyDecides();
    else sayWhatNext(unattended);
    return await awaitEnd(gateway);
  } finally {
    gateway.stop();
    await gateway.stopped;
  }
}

/** A new home takes another port where the usual one is somebody else's; an old one has a pack that names its own. */
async function startProvider(port: number, fresh: boolean): Promise<Reference> {
  const options = { file: join(folder, "provider", "reference.db"), clock, random: systemRandom, sleep: systemSleep };
  try {
    return await startReference({ ...options, port });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") {
      if (fresh) return await startReference({ ...options, port: 0 });
      throw new Denied(
        "port_in_use",
        `Port ${port} on loopback is taken, and the provider's pack names it. Stop what uses it, or start with another GW_HOME.`,
      );
    }
    throw error;
  }
}

/** The port that this home's pack names; a home without that pack has a provider nobody calls. */
function portOf(home: string): number {
  const path = join(home, "packs", "reference.yaml");
  if (!existsSync(path)) return 0;
  const origin = readPack(readFileSync(path), path).pack?.provider?.origin;
  return origin === undefined ? 0 : Number(new URL(origin).port);
}

/** Gives the passphrase that was just typed, if one was: nobody types it a second time to unlock what they made. */
async function makeFreshHome(provider: Reference): Promise<Secret | null> {
  const attended = process.stdin.isTTY === true;
  io.out(`Making a new home in ${folder}.`);
  const passphrase = attended
    ? await choosePassphrase({ home: folder, json: false }, io, ports)
    : generatePassphrase(systemRandom);
  if (!attended) {
    sayPassphrase(passphrase);
    io.out(`There is no terminal to ask for it, so ${keyFile} unlocks the credentials at start, and nothing else.`);
  }
  const token = await provider.issueToken({ actor: "gw", tenant: "acme", scopes: allScopes, expiresInMs: YEAR_MS });
  await makeHome(
    { folder, passphrase, origin: provider.origin, token, packFile, keyFile: attended ? null : keyFile },
    ports,
  );
  if (attended) return passphrase;
  passphrase.wipe();
  return null;
}

/** To the person's terminal and nowhere else: what goes into a pipe or a file stays there. */
function sayPassphrase(passphrase: Secret): void {
  if (!hasTerminal()) return;
  const terminal = openSync("/dev/tty", "w");
  try {
    passphrase.use((bytes) => {
      writeSync(terminal, "Operator passphrase, shown only now and stored nowhere: ");
      writeSync(terminal, bytes);
      writeSync(terminal, "\n");
    });
  } finally {
    closeSync(terminal);
  }
}

/** Whether anything can be shown to a person, and kept from whoever reads the output. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "w"));
    return true;
  } catch {
    return false;
  }
}

/** As every client finds it: whoever listens there has to be the home's own user. */
function place(): Promise<Place> {
  return findPlace({ home: folder, config: undefined }, requireServerOf);
}

/** As gw up does it, with the passphrase that was just typed where one was. */
async function startWith(typed: Secret | null): Promise<GatewayProcess> {
  const again = typed?.copy();
  const asking = again === undefined ? io : { ...io, askSecret: async () => again };
  return startUnlocked(
    { home: folder, json: false, place: await place() },
    {
      io: asking,
      clock,
      vault: ports,
      startGateway,
      serverCheck: async (home, serviceKey, how) => serverCheckOf(home, serviceKey, how),
    },
  );
}

/** There was no terminal to show an operator passphrase on. */
function sayNobodyDecides(): void {
  io.out(
    "It runs. Nobody can approve what agents ask of it: there is no terminal either to show an operator passphrase on,",
  );
  io.out("so nobody has one. To be the person who approves, start another in a terminal, in a home of its own:");
  io.out(`  GW_HOME=${folder}-mine npm start`);
  io.out("Stop this with Ctrl-C.");
}

function sayWhatNext(unattended: boolean): void {
  const at = folder === join(homedir(), ".gw") ? "" : ` --home ${folder}`;
  io.out("It runs. In another terminal, be the person who approves, in a browser:");
  io.out(`  ${programFile} console${at}`);
  io.out("Or without a browser:");
  io.out(`  ${programFile} watch${at}`);
  if (unattended) {
    io.out("(Both ask for the passphrase that was shown when this home was made. Where nobody has it, start another:");
    io.out(`  GW_HOME=${folder}-mine npm start, in a terminal.)`);
  }
  io.out("And in a third, be the agent:");
  io.out(`  ${programFile} call reference.project.list${at}`);
  io.out("Then see what was done, and prove it:");
  io.out(`  ${programFile} activity${at}`);
  io.out(`  ${programFile} audit verify${at}`);
  io.out("To type plain gw instead, in every new terminal:");
  io.out(`  ${programFile} setup-shell`);
  io.out("Stop this with Ctrl-C; npm start goes on with the same home.");
}
