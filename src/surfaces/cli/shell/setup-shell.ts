import {
  chmodSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { Random } from "../../../kernel/clock.ts";
import { Denied } from "../../../kernel/failure.ts";
import { nodeSteps, replaceFile } from "../../../vault/files/atomic-write.ts";
import { makeFolder } from "../../../vault/files/make-folder.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import type { BaseOptions } from "../options.ts";
import { programFile } from "../program-file.ts";
import { sayProse } from "../say-prose.ts";
import { addBlock, profileOf, removeBlock } from "./profile.ts";

export interface SetupShellOptions extends BaseOptions {
  readonly undo?: boolean;
}

/** The person whose shell it is. */
export interface ShellOf {
  readonly home: string;
  readonly shell: string;
  readonly path: string;
}

const MAX_PROFILE_BYTES = 4_194_304;

/**
 * `gw setup-shell`: a link to this very program in `~/.local/bin`, and that folder on the path where it is not. Nothing is asked of
 * a registry, and nobody else's `gw` is replaced. `--undo` takes both away.
 */
export function runSetupShell(
  { undo, json }: SetupShellOptions,
  io: CliIo,
  of: ShellOf,
  random: Random,
): Promise<Exit> {
  return answering(io, () => {
    const link = join(of.home, ".local", "bin", "gw");
    const profile = profileOf(of.shell);
    const file = profile === null ? null : join(of.home, profile.file);
    const onPath = of.path.split(":").includes(dirname(link));
    const linked = undo === true ? unlink(link) : putLink(link);
    const change = (text: string): string =>
      undo === true ? removeBlock(text) : profile === null || onPath ? text : addBlock(text, profile.line);
    const written = file !== null && rewrite(file, change, random);
    if (json) {
      io.out(
        JSON.stringify({ program: programFile, link, linked, profile: written ? file : null, undone: undo === true }),
      );
      return exits.done;
    }
    if (undo === true) {
      sayProse(io, linked ? `${link} is gone.` : `${link} was not ours, or not there.`);
      if (written) sayProse(io, `${file} has no lines of ours any more.`);
      return exits.done;
    }
    sayProse(io, `${link} ${linked ? "now starts" : "already starts"} ${programFile}.`);
    if (written)
      sayProse(io, `${file} puts that folder on the path of the next shell; now: export PATH="${dirname(link)}:$PATH"`);
    else if (!onPath)
      sayProse(io, `Put ${dirname(link)} on the path of your shell; this program knows bash, zsh, sh and fish.`);
    sayProse(io, "gw setup-shell --undo takes it back.");
    return exits.done;
  });
}

/** True when it was made now. */
function putLink(link: string): boolean {
  const found = lstatSync(link, { throwIfNoEntry: false });
  if (found !== undefined) {
    if (found.isSymbolicLink() && leadsHere(link)) return false;
    throw new Denied(
      "shell_program_foreign",
      `${link} is there and is not a link to ${programFile}. Move it away first.`,
    );
  }
  makeFolder(dirname(link), 0o755);
  symlinkSync(programFile, link);
  return true;
}

function unlink(link: string): boolean {
  const found = lstatSync(link, { throwIfNoEntry: false });
  if (found === undefined || !found.isSymbolicLink() || !leadsHere(link)) return false;
  unlinkSync(link);
  return true;
}

function leadsHere(link: string): boolean {
  return readlinkSync(link) === programFile;
}

/** True when the file changed. It keeps its mode, and stays where a link in its place leads. */
function rewrite(file: string, change: (text: string) => string, random: Random): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats !== undefined && (!stats.isFile() || stats.size > MAX_PROFILE_BYTES)) {
    throw new Denied("file_not_regular", `${file} is no file of a shell's settings and was left untouched.`);
  }
  // A letter a byte, whichever encoding the person's own lines have: ours are ASCII.
  const before = stats === undefined ? "" : readFileSync(file, "latin1");
  const after = change(before);
  if (after === before) return false;
  makeFolder(dirname(file), 0o755);
  const target = stats === undefined ? file : realpathSync(file);
  replaceFile(target, Buffer.from(after, "latin1"), random, { ...nodeSteps, list: () => [] });
  chmodSync(target, stats === undefined ? 0o644 : stats.mode & 0o777);
  return true;
}
