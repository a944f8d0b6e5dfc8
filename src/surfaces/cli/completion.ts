import type { Command } from "commander";
import { addCommand, type CliDeps } from "./commands/deps.ts";
import { exits } from "./io.ts";

/** Shell completion, written from the commands themselves. */
export function addCompletionCommand(program: Command, { io, finish }: CliDeps): void {
  addCommand(
    program,
    "completion <SHELL>",
    "a completion script for bash, zsh or fish",
    "source <(gw completion bash)",
  ).action((shell: string) => {
    const words = wordsOf(program);
    const write = new Map([
      ["bash", bash],
      ["zsh", zsh],
      ["fish", fish],
    ]).get(shell);
    if (write === undefined) {
      io.err("There is completion for bash, zsh and fish.");
      finish(exits.usage);
      return;
    }
    io.out(write(words).join("\n"));
    finish(exits.done);
  });
}

interface Words {
  /** The command so far, such as `credential add`, or empty. */
  readonly path: string;
  readonly next: readonly string[];
  /** Flags that take the word after them. */
  readonly valued: readonly string[];
}

function wordsOf(program: Command): readonly Words[] {
  const list: Words[] = [];
  const visit = (command: Command, path: readonly string[]): void => {
    const names = command.commands.map((child) => child.name());
    const flags = command.options.filter(({ hidden, long }) => !hidden && long !== undefined && long !== null);
    const valued = flags.filter(({ required, optional }) => required || optional);
    list.push({
      path: path.join(" "),
      next: [...names, ...flags.map(({ long }) => long ?? ""), "--help"].sort(),
      valued: valued.map(({ long }) => long ?? ""),
    });
    for (const child of command.commands) visit(child, [...path, child.name()]);
  };
  visit(program, []);
  return list;
}

function valuedOf(words: readonly Words[]): readonly string[] {
  return [...new Set(words.flatMap(({ valued }) => valued))].sort();
}

/** Words so far without flags and what flags take: they name the command, and the command says what may follow. */
function bash(words: readonly Words[]): readonly string[] {
  return [
    "_gw() {",
    "  local word=$2 path= part at",
    "  for ((at = 1; at < COMP_CWORD; at++)); do",
    "    part=$" + "{COMP_WORDS[at]}",
    '    case "$part" in',
    `      ${valuedOf(words).join("|")}) ((at++));;`,
    "      -*) ;;",
    '      *) path+="$' + '{path:+ }$part";;',
    "    esac",
    "  done",
    '  case "$path" in',
    ...words.map(({ path, next }) => `    "${path}") COMPREPLY=( $(compgen -W "${next.join(" ")}" -- "$word") );;`),
    "  esac",
    "}",
    "complete -o default -F _gw gw",
  ];
}

/** Works in a folder of `fpath`, where the file is the function, and when it is read by `source`. */
function zsh(words: readonly Words[]): readonly string[] {
  return [
    "#compdef gw",
    "_gw() {",
    "  local part skip",
    "  local -a so_far follows",
    "  for part in $" + "{words[2,CURRENT-1]}; do",
    '    if [[ -n "$skip" ]]; then skip=; continue; fi',
    '    case "$part" in',
    `      ${valuedOf(words).join("|")}) skip=1;;`,
    "      -*) ;;",
    "      *) so_far+=($part);;",
    "    esac",
    "  done",
    '  if [[ -n "$skip" ]]; then _files; return; fi',
    '  case "$so_far" in',
    ...words.map(({ path, next }) => `    "${path}") follows=(${next.join(" ")});;`),
    "    *) _files; return;;",
    "  esac",
    "  compadd -a follows",
    "}",
    'if [ "$funcstack[1]" = "_gw" ]; then _gw "$@"; else compdef _gw gw; fi',
  ];
}

function fish(words: readonly Words[]): readonly string[] {
  return [
    "function __gw_at",
    "  set -l so_far",
    "  set -l skip 0",
    "  for part in (commandline -opc)[2..-1]",
    "    if test $skip -eq 1; set skip 0; continue; end",
    "    switch $part",
    `      case ${valuedOf(words).join(" ")}`,
    "        set skip 1",
    "      case '-*'",
    "      case '*'",
    "        set -a so_far $part",
    "    end",
    "  end",
    '  test "$so_far" = "$argv[1]"',
    "end",
    ...words.map(({ path, next }) => `complete -c gw -n "__gw_at '${path}'" -a "${next.join(" ")}"`),
  ];
}
