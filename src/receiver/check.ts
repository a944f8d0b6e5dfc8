import { accessSync, constants, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { readManifest } from "../conventions/ssh/manifest.ts";
import { openRecorder } from "./record.ts";
import { resolveTrusted, type Trust } from "./trusted-file.ts";

/** Says everything that would make the receiver refuse, and what to allow in sudoers. Exit status 0 when all is well. */
export function check(manifestPath: string, trust: Trust, say: (line: string) => void): number {
  const real = resolveTrusted(manifestPath, trust);
  if (real === undefined) {
    say(
      `${manifestPath}: not there, or someone besides root could change it. As root: chown root: and chmod go-w, for its folders too.`,
    );
    return 1;
  }
  if (!may(real, constants.R_OK)) {
    say(`${manifestPath}: this account cannot read it. As root: chmod 644 ${manifestPath}`);
    return 1;
  }
  const reading = readManifest(readFileSync(real));
  if (reading.kind === "invalid") {
    say(`${manifestPath}: not valid at: ${reading.at}`);
    return 1;
  }
  const { manifest } = reading;
  let faults = 0;
  if (openRecorder(manifest.state) === undefined) {
    say(
      `${manifest.state}: must be a folder of the account that runs gw-receiver, closed to others, where nobody but root and that account can put another in its place. As root: install -d -m 0700 -o ACCOUNT ${manifest.state}`,
    );
    faults++;
  }
  const elevated = new Set<string>();
  for (const [name, operation] of manifest.operations) {
    for (const path of [operation.executable, operation.elevated]) {
      if (path === null || resolveTrusted(path, trust) !== undefined) continue;
      say(`${name}: ${path} is not there, or someone besides root could change it.`);
      faults++;
    }
    const { executable } = operation;
    if (resolveTrusted(executable, trust) !== undefined && !may(executable, constants.X_OK)) {
      say(`${name}: this account cannot run ${executable}. As root: chmod 755 ${executable}`);
      faults++;
    }
    if (operation.elevated !== null) elevated.add(operation.elevated);
  }
  for (const path of elevated) say(`sudoers: ${nameAccount()} ALL=(root) NOPASSWD: ${path}`);
  if (manifest.pin === null) say("note: no gateway_key, so whoever holds the SSH key can send requests.");
  if (faults === 0) say(`${manifestPath}: ${manifest.operations.size} operations, ready`);
  return faults === 0 ? 0 : 1;
}

function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** As sudoers names a user; an account that is not in the password file goes by its number. */
function nameAccount(): string {
  try {
    return userInfo().username;
  } catch {
    return `#${process.geteuid?.()}`;
  }
}
