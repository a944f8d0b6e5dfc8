import { spawn } from "node:child_process";
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { LocalSecret, LocalSources } from "../../gateway/ports.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Secret } from "../../kernel/secret.ts";
import { findOpenPath } from "./open-path.ts";

/** Secrets that a program of this machine prints, or that systemd put beside the gateway's service. */
export function createLocalSources(
  credentialsFolder: string | undefined,
  commandMs: number = defaults.sourceCommandMs,
): LocalSources {
  return {
    read: async (source) =>
      source.kind === "command"
        ? await runCommand(source.argv, commandMs)
        : readCredential(credentialsFolder, source.name),
  };
}

/** It inherits nothing of ours but who we are: no environment, no descriptor, no folder. */
const environment = (): NodeJS.ProcessEnv => ({
  HOME: homedir(),
  PATH: "/usr/local/bin:/usr/bin:/bin",
  LANG: "C.UTF-8",
});
const MOST = defaults.secretBytes + 1;

function runCommand([program = "", ...rest]: readonly string[], commandMs: number): Promise<LocalSecret> {
  const trouble = troubleWith(program);
  if (trouble !== null) return Promise.resolve(failed(trouble));
  return new Promise((resolve) => {
    // What was looked at is what runs, under the name that was asked for.
    const child = spawn(realpathSync(program), rest, {
      argv0: program,
      cwd: "/",
      env: environment(),
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
    });
    let parts: Buffer[] = [];
    let size = 0;
    let cut: string | null = null;
    const end = (why: string): void => {
      cut ??= why;
      killGroup(child.pid);
      // One that left the group may keep this open for ever.
      child.stdout.destroy();
    };
    child.on("exit", () => killGroup(child.pid));
    const late = setTimeout(() => end("its command took too long"), commandMs);
    child.stdout.on("data", (part: Buffer) => {
      size += part.length;
      parts.push(part);
      if (size > MOST) end("its command printed too much");
    });
    child.on("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(late);
      resolve(failed(`its command cannot be started (${error.code ?? error.name})`));
    });
    child.on("close", (code, signal) => {
      clearTimeout(late);
      const bytes = Buffer.concat(parts);
      for (const part of parts) part.fill(0);
      parts = [];
      if (cut !== null || code !== 0) {
        bytes.fill(0);
        resolve(failed(cut ?? `its command ended with ${signal ?? code}`));
      } else resolve(secretOf(bytes));
    });
  });
}

/** A program that somebody else may change or replace could be told to print anything, or to keep what it sees. */
function troubleWith(program: string): string | null {
  if (!existsSync(program)) return "its program is not there";
  // The folder of a link counts as well: whoever can write there makes it another program.
  const open = findOpenPath(dirname(program)) ?? findOpenPath(program);
  return open === null ? null : `others may change or replace its program (${open.path})`;
}

/** With whatever it started: nothing of it outlives its turn. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Already gone.
  }
}

function readCredential(folder: string | undefined, name: string): LocalSecret {
  if (folder === undefined) return failed("systemd gave this gateway no credentials (LoadCredential=)");
  try {
    const path = join(folder, name);
    if (statSync(path).size > MOST) return failed("it is too large");
    return secretOf(readFileSync(path));
  } catch (error) {
    return failed(`systemd's credential ${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? "fault"})`);
  }
}

/** One line end belongs to the file, not to the secret. Takes ownership. */
function secretOf(bytes: Buffer): LocalSecret {
  const end = bytes.at(-1) === 0x0a ? bytes.length - 1 : bytes.length;
  const secret = Secret.take(Buffer.from(bytes.subarray(0, end)));
  bytes.fill(0);
  return { kind: "secret", secret };
}

function failed(why: string): LocalSecret {
  return { kind: "failed", why };
}
