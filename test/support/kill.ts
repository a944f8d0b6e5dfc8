import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Exited, GW, type Home, start, within } from "./home.ts";

/** An operator's command that is killed right before its N-th change of a file below a folder; it ends well where it makes fewer. */
export function killedAt(at: number, below: string, home: Home, args: readonly string[]): Promise<Exited> {
  const running = loadedWith("kill-at.ts", home, args, { GW_KILL_AT: `${at}:${below}` });
  return within(running.exited, 120_000, `gw ${args.join(" ")}, killed at ${at}`);
}

/** An operator's command, and another that does all of its work right before the first opens a file of this name for the N-th time. */
export function meanwhile(
  moment: { readonly at: number; readonly file: string },
  home: Home,
  args: readonly string[],
  other: readonly string[],
): Promise<Exited> {
  const run = [...programOf(), ...operatorWords(home, other)];
  const running = loadedWith("meanwhile-at.ts", home, args, { GW_MEANWHILE: JSON.stringify({ ...moment, run }) });
  return within(running.exited, 120_000, `gw ${args.join(" ")}, and meanwhile gw ${other.join(" ")}`);
}

function loadedWith(
  preload: string,
  home: Home,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): ReturnType<typeof start> {
  const [node = "", ...program] = programOf();
  const words = [node, "--import", join(import.meta.dirname, preload), ...program, ...operatorWords(home, args)];
  return start(words, { env: { ...home.environment(), ...env } });
}

function programOf(): readonly string[] {
  const root = dirname(dirname(GW));
  const source = join(root, "src", "programs", "gw.ts");
  const program = existsSync(source) ? source : join(root, "dist", "src", "programs", "gw.js");
  return [process.execPath, "--disable-sigusr1", "--disable-warning=ExperimentalWarning", program];
}

function operatorWords(home: Home, args: readonly string[]): readonly string[] {
  return [...args, "--home", home.folder, "--passphrase-file", home.passphraseFile];
}
