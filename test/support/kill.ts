import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Exited, GW, type Home, start, within } from "./home.ts";

/** An operator's command that is killed right before its N-th change of a file below a folder; it ends well where it makes fewer. */
export async function killedAt(at: number, below: string, home: Home, args: readonly string[]): Promise<Exited> {
  const root = dirname(dirname(GW));
  const source = join(root, "src", "programs", "gw.ts");
  const program = existsSync(source) ? source : join(root, "dist", "src", "programs", "gw.js");
  const running = start(
    [
      ...[process.execPath, "--disable-sigusr1", "--disable-warning=ExperimentalWarning"],
      ...["--import", join(import.meta.dirname, "kill-at.ts"), program],
      ...[...args, "--home", home.folder, "--passphrase-file", home.passphraseFile],
    ],
    { env: { ...home.environment(), GW_KILL_AT: `${at}:${below}` } },
  );
  return within(running.exited, 120_000, `gw ${args.join(" ")}, killed at ${at}`);
}
