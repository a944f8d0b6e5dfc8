import type { Interpreter } from "../../../conventions/caller/authority.ts";
import { isInterpreterName } from "../../../conventions/caller/interpreter-name.ts";
import { inodeOf } from "./proc.ts";

/** Options after which the program is text on the command line or a module name, so that there is no script file. */
const INLINE = new Set(["-c", "-e", "-E", "-p", "-m", "-r", "--eval", "--print", "--test"]);

/** Libraries that are an interpreter: whoever maps one can run a script, under whatever name. */
const LIBRARIES =
  /^lib(?:perl|python|pypy|ruby|lua|luajit|php|jvm|v8|node|mozjs|guile|tcl|julia|R|mono|coreclr|hermes|quickjs)[-0-9a-z._]*\.so/;

/** Packages whose programs are interpreters, whatever their files are called. */
const PACKAGES =
  /^(?:perl|perl-base|libperl|(?:lib)?python|(?:lib)?ruby|php|(?:lib)?lua|nodejs|node|bash|dash|zsh|ksh|mksh|busybox|openjdk)[-0-9.a-z]*$/;

/** Where the usual ones stand: a second name of the same file is the same program. */
const USUAL = ["sh", "bash", "dash", "zsh", "perl", "python3", "ruby", "node", "php", "lua", "busybox", "awk", "java"];

export interface ImageKnown {
  /** Files that the process can run code from. */
  readonly mapped: readonly string[];
  /** The package that owns the image, and whether its record matches. */
  readonly package: string | null;
  /** The image's own device and inode. */
  readonly inode: string | null;
}

/** `path` is the kernel's name of the image; `command` the command line, which is only what the process claims. */
export function readInterpreter(
  path: string,
  command: readonly string[],
  known: ImageKnown = { mapped: [], package: null, inode: null },
): Interpreter | null {
  const name = (path.split("/").at(-1) ?? "").replace(/ \(deleted\)$/, "");
  const is =
    isInterpreterName(name) ||
    known.mapped.some((file) => LIBRARIES.test(file.split("/").at(-1) ?? "")) ||
    (known.package !== null && PACKAGES.test(known.package)) ||
    (known.inode !== null && USUAL.some((usual) => inodeOf(`/usr/bin/${usual}`) === known.inode));
  return is ? { name, script: scriptOf(command) } : null;
}

/** Linked into one file that no package owns, it shows nothing to know an interpreter by. */
export function isUntold({ mapped, package: owner }: ImageKnown): boolean {
  return mapped.length === 0 && owner === null;
}

/** The first word that is no option. Options that take a word of their own may mislead; it is context, not evidence. */
function scriptOf(command: readonly string[]): string | null {
  for (const word of command.slice(1)) {
    if (word === "") continue;
    if (!word.startsWith("-")) return word;
    if (INLINE.has(word)) return null;
  }
  return null;
}

export function parseCommand(cmdline: Buffer): readonly string[] {
  const words = cmdline.toString("utf8").split("\0");
  if (words.at(-1) === "") words.pop();
  return words;
}
