import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { allowedEnvironment } from "../adapters/platform/environment.ts";
import { showingProgram } from "../adapters/platform/own-program.ts";
import { requireServerOf } from "../adapters/platform/server.ts";
import { Denied } from "../kernel/failure.ts";
import type { LoginPorts } from "../surfaces/cli/vault/session.ts";
import { findKeeper } from "../surfaces/client/keeper.ts";
import { type Compartment, writeCompartment } from "../vault/compartment.ts";
import { checkPrivateFolder, currentUser } from "../vault/files/private-file.ts";
import { stateFolder } from "./state-folder.ts";

const FLAGS = ["--disable-sigusr1", "--clear-free-memory", "--disable-warning=ExperimentalWarning"];

/** Logins of this operator: one small program a vault, behind a socket in a folder that is theirs alone. */
export const logins: LoginPorts = {
  async find(vaultId) {
    const path = socketOf(vaultId);
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null;
    checkPrivateFolder(folderOfLogins());
    return await findKeeper({ path, requireServer: requireServerOf(currentUser()) }, showingProgram);
  },
  async start({ vaultId, operator, keyId }, keys, forMs) {
    mkdirSync(folderOfLogins(), { recursive: true, mode: 0o700 });
    checkPrivateFolder(folderOfLogins());
    await startKeeper([socketOf(vaultId), vaultId, operator, keyId, String(forMs)], keys);
  },
};

function folderOfLogins(): string {
  const runtime = process.env["XDG_RUNTIME_DIR"] ?? "";
  const stats = runtime === "" ? undefined : lstatSync(runtime, { throwIfNoEntry: false });
  const ours = stats?.isDirectory() === true && stats.uid === currentUser() && (stats.mode & 0o077) === 0;
  return ours ? join(runtime, "gw") : join(stateFolder(), "run");
}

function socketOf(vaultId: string): string {
  return join(folderOfLogins(), `login-${createHash("sha256").update(vaultId).digest("hex").slice(0, 12)}.sock`);
}

async function startKeeper(args: readonly string[], keys: Compartment): Promise<void> {
  const file = join(import.meta.dirname, `gw-keeper.${import.meta.filename.endsWith(".ts") ? "ts" : "js"}`);
  const child = spawn(process.execPath, [...FLAGS, file, ...args], {
    stdio: ["pipe", "pipe", "ignore"],
    env: allowedEnvironment(),
    cwd: "/",
    // It outlives this command and its terminal.
    detached: true,
  });
  const plain = writeCompartment(keys);
  const ended = new Promise<string>((resolve) => child.once("exit", () => resolve("")));
  child.stdin.once("error", () => undefined);
  child.stdin.end(plain, () => plain.fill(0));
  const said = new Promise<string>((resolve) => child.stdout.once("data", (bytes: Buffer) => resolve(String(bytes))));
  const first = await Promise.race([said, ended]);
  child.stdout.destroy();
  child.unref();
  if (!first.startsWith("ready"))
    throw new Denied("login_over", `The program that keeps the keys did not start. ${first.trim()}`);
}
