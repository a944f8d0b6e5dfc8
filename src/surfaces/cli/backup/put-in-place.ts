import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { nodeSteps } from "../../../vault/files/atomic-write.ts";
import { VAULT_NAME } from "../../../vault/files/home.ts";
import { ASIDE, MAKING } from "./entries.ts";

/** The log, which knows more than the one in the backup; what belongs to processes and their tries; what earlier restorations put aside. */
const STAYS = new RegExp(`^(audit$|unlock-attempts\\.json$|${ASIDE}|\\${MAKING})|\\.(lock(-journal)?|sock)$`);

/**
 * Exchanges the content of a home for what was made inside it. The folder itself stays: it may be a mount, and its parent root's.
 * The old vault goes first and the new one comes last, so that a home in which this was cut short has none: nothing starts there,
 * nothing is lost, and the same restoration can be made again. Returns where the old content is, null where there was none.
 */
export function putInPlace(target: string, made: string): string | null {
  const aside = join(target, `${ASIDE}${made.slice(made.lastIndexOf("-") + 1)}`);
  const old = readdirSync(target).filter((name) => !STAYS.test(name));
  if (old.length > 0) mkdirSync(aside, { mode: 0o700 });
  for (const name of vaultLast(old).toReversed()) renameSync(join(target, name), join(aside, name));
  nodeSteps.syncFolder(target);
  const isLogged = existsSync(join(target, "audit"));
  const ours = readdirSync(made).filter((name) => (name === "audit" ? !isLogged : !STAYS.test(name)));
  for (const name of vaultLast(ours)) renameSync(join(made, name), join(target, name));
  nodeSteps.syncFolder(target);
  // This one, and what those left that were cut short: each is a whole home.
  for (const name of readdirSync(target).filter((name) => name.startsWith(MAKING)))
    rmSync(join(target, name), { recursive: true, force: true });
  return old.length > 0 ? aside : null;
}

function vaultLast(names: readonly string[]): readonly string[] {
  return [...names.filter((name) => name !== VAULT_NAME), ...names.filter((name) => name === VAULT_NAME)];
}
