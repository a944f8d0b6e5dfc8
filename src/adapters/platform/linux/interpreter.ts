import type { Interpreter } from "../../../conventions/caller/authority.ts";

/** Programs that run programs. The list names what is common; an image that is not on it is simply not called one. */
const INTERPRETERS: readonly RegExp[] = [
  /^(?:node|nodejs|deno|bun|electron)$/,
  /^(?:python|pypy)[0-9.]*[a-z]?$/,
  /^(?:ruby|perl|php|lua|luajit|tclsh|wish|guile|racket|julia|ocaml|ghci|erl|beam\.smp|elixir|swipl)[0-9.-]*$/,
  /^(?:sh|bash|dash|ash|zsh|ksh[0-9]*|mksh|fish|tcsh|csh|busybox|toybox|pwsh|rbash)$/,
  /^(?:java|dotnet|mono|Rscript|R|awk|gawk|mawk|qemu-[a-z0-9_]+|wine[0-9]*|box64)$/,
  // Started by name, the dynamic loader runs any file it is given.
  /^ld(?:-linux[a-z0-9_-]*|-musl-[a-z0-9_]+|64)?\.so(?:\.[0-9]+)?$/,
];

/** Options after which the program is text on the command line or a module name, so that there is no script file. */
const INLINE = new Set(["-c", "-e", "-E", "-p", "-m", "-r", "--eval", "--print", "--test"]);

/** `path` is the kernel's name of the image; `command` the command line, which is only what the process claims. */
export function readInterpreter(path: string, command: readonly string[]): Interpreter | null {
  const name = (path.split("/").at(-1) ?? "").replace(/ \(deleted\)$/, "");
  if (!INTERPRETERS.some((pattern) => pattern.test(name))) return null;
  return { name, script: scriptOf(command) };
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
