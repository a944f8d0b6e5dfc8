import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { missingForSshd } from "../demo/host/sshd.ts";
import { standInAccount, writeProgram } from "./ssh-stand.ts";

/** How long a test may take that waits for real clients and hosts, also on a busy machine. */
const LIMIT_MS = 240_000;

export interface SshFile {
  /** Why none of its tests can run here. */
  readonly missing: string | null;
  /** For programs of its own, and what they leave. */
  readonly scripts: string;
  program(name: string, script: string): string;
  real(name: string, run: () => Promise<void>): void;
  /** Once nothing writes there any more. */
  removeScripts(): void;
}

/** What a file of tests over SSH begins with: it runs as an account that sshd knows. */
export function beginSshFile(file: string): SshFile {
  standInAccount(file);
  const missing = missingForSshd();
  const scripts = mkdtempSync(join(tmpdir(), "gw-ssh-programs-"));
  return {
    missing,
    scripts,
    program: (name, script) => writeProgram({ folder: scripts }, name, script),
    real: (name, run) => void test(name, { skip: missing ?? false, timeout: LIMIT_MS }, run),
    removeScripts: () => rmSync(scripts, { recursive: true, force: true }),
  };
}
