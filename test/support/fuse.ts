import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Identity, keep, until } from "./home.ts";

/** A file system that a program answers for; `fuse-server.ts` says what it does. */
export interface Fuse {
  /** Its one file. */
  readonly program: string;
  /** What it was asked so far, by the kernel's numbers. */
  readonly asked: readonly number[];
  /** From now on it leaves these questions without an answer. */
  silence(...questions: readonly number[]): Promise<void>;
  end(): Promise<void>;
}

export interface FuseOptions {
  /** A new folder in which the file system is mounted. */
  readonly at: string;
  readonly owner: Identity;
  /** What is read by who opens the file first, and by everybody after. */
  readonly first: string;
  readonly later: string;
}

const SERVER = join(import.meta.dirname, "fuse-server.ts");

/** Undefined where it can be mounted; otherwise why not. */
export const noFuse: string | undefined = (() => {
  if (process.platform !== "linux") return "FUSE is Linux's";
  if (process.getuid?.() !== 0) return "only root mounts a FUSE file system without fusermount3";
  return existsSync("/dev/fuse") ? undefined : "this kernel has no /dev/fuse";
})();

/** By root, as fusermount3 does it for a user. */
export async function mountFuse({ at, owner, first, later }: FuseOptions): Promise<Fuse> {
  mkdirSync(at, { mode: 0o755 });
  const command = ["--disable-warning=ExperimentalWarning", SERVER, "/dev/fuse", at, String(owner.uid), first, later];
  const child = spawn(process.execPath, command, { stdio: ["pipe", "pipe", "inherit"] });
  keep(child);
  child.stdin.on("error", () => undefined);
  const ended = once(child, "close");
  const asked: number[] = [];
  const said: string[] = [];
  createInterface(child.stdout).on("line", (line) => {
    const question = /^asked (\d+)$/.exec(line)?.[1];
    if (question === undefined) said.push(line);
    else asked.push(Number(question));
  });
  await Promise.race([until("it is mounted", () => said.includes("mounted")), ended]);
  return {
    program: join(at, "program"),
    asked,
    async silence(...questions) {
      const line = `silent ${questions.join(" ")}`;
      child.stdin.write(`${line}\n`);
      await until("it is silent", () => said.includes(line));
    },
    async end() {
      child.kill("SIGKILL");
      await ended;
      spawnSync("umount", ["-l", at]);
    },
  };
}
