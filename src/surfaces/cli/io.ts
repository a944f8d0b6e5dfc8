import type { Secret } from "../../kernel/secret.ts";

/** What a command may do to the person's terminal. Commands take it as an argument, so that tests drive them whole. */
export interface CliIo {
  /** Prints one line on standard output. */
  out(line: string): void;
  /** Prints one line on standard error. */
  err(line: string): void;
  /** Whether standard output is a terminal; colour needs it. */
  readonly isTty: boolean;
  /** Shows this in the last line of standard error in the place of what it showed before; absent where that is no terminal. */
  status?(text: string): void;
  /** Whether standard output is a file: nothing that is written there comes between what `status` shows. */
  readonly intoFile?: boolean;
  readonly color: boolean;
  /** How wide that terminal is. */
  readonly columns?: number;
  /** Denied `terminal_needed` where nobody could be asked this: for what must not be begun in vain. */
  requireTerminal?(prompt: string): void;
  /** Asks on the terminal without echo; Denied `terminal_needed` where there is none. */
  askSecret(prompt: string): Promise<Secret>;
  /** Asks a question on the terminal with echo; `draft` is there already, to be edited. */
  ask(prompt: string, draft?: string): Promise<string>;
  /** Reads a secret from standard input when that is no terminal, else asks for it. Trailing newline removed, bounded. */
  readSecret(prompt: string): Promise<Secret>;
}

/** What the exit status of every command means. */
export const exits = {
  done: 0,
  denied: 1,
  usage: 2,
  unreachable: 3,
  locked: 4,
  unknown: 5,
  pending: 6,
} as const;

export type Exit = (typeof exits)[keyof typeof exits];
