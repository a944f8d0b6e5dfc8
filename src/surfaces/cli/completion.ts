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
    const script =
      shell === "bash"
        ? bash(words)
        : shell === "zsh"
          ? `autoload -U bashcompinit && bashcompinit\n${bash(words)}`
          : shell === "fish"
            ? fish(words)
            : null;
    if (script === null) {
      io.err("There is completion for bash, zsh and fish.");
      finish(exits.usage);
      return;
    }
    io.out(script);
    finish(exits.done);
  });
}

interface Words {
  /** The command so far, such as `credential`, or empty. */
  readonly path: string;
  readonly next: readonly string[];
}

function wordsOf(program: Command): readonly Words[] {
  const list: Words[] = [];
  const visit = (command: Command, path: readonly string[]): void => {
    const names = command.commands.map((child) => child.name());
    const flags = command.options.flatMap(({ long }) => (long === undefined || long === null ? [] : [long]));
    list.push({ path: path.join(" "), next: [...names, ...flags, "--help"].sort() });
    for (const child of command.commands) visit(child, [...path, child.name()]);
  };
  visit(program, []);
  return list;
}

function bash(words: readonly Words[]): string {
  const cases = words.map(
    ({ path, next }) => `    "${path}") COMPREPLY=( $(compgen -W "${next.join(" ")}" -- "$word") );;`,
  );
  return [
    "_gw() {",
    "  local word=$2 path= part at",
    "  for ((at = 1; at < COMP_CWORD; at++)); do",
    "    part=$" + "{COMP_WORDS[at]}",
    '    case "$part" in -*) ;; *) [ -n "$path" ] && path+=" "; path+=$part;; esac',
    "  done",
    '  case "$path" in',
    ...cases,
    "  esac",
    "}",
    "complete -F _gw gw",
  ].join("\n");
}

function fish(words: readonly Words[]): string {
  return words
    .map(({ path, next }) => {
      const condition = path === "" ? "__fish_use_subcommand" : `__fish_seen_subcommand_from ${path.split(" ").at(-1)}`;
      return `complete -c gw -n "${condition}" -a "${next.join(" ")}"`;
    })
    .join("\n");
}
