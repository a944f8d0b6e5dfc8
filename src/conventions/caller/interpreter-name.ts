/** Programs that run programs, by name. A file can be given any name: where one runs, what it is counts as well. */
const INTERPRETERS: readonly RegExp[] = [
  /^(?:node|nodejs|deno|bun|electron)$/,
  /^(?:python|pypy)[0-9.]*[a-z]?$/,
  /^(?:ruby|perl|php|lua|luajit|tclsh|wish|guile|racket|julia|ocaml|ghci|erl|beam\.smp|elixir|swipl)[0-9.-]*$/,
  /^(?:sh|bash|dash|ash|zsh|ksh[0-9]*|mksh|fish|tcsh|csh|busybox|toybox|pwsh|rbash)$/,
  /^(?:java|dotnet|mono|Rscript|R|awk|gawk|mawk|qemu-[a-z0-9_]+|wine[0-9]*|box64)$/,
  // Started by name, the dynamic loader runs any file it is given.
  /^ld(?:-linux[a-z0-9_-]*|-musl-[a-z0-9_]+|64)?\.so(?:\.[0-9]+)?$/,
];

export function isInterpreterName(name: string): boolean {
  return INTERPRETERS.some((pattern) => pattern.test(name));
}
