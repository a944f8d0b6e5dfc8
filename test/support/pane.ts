import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { until } from "./home.ts";

/** A real terminal: one window of a tmux server of this test's own. */
export interface Pane {
  /** What a person sees now, row by row. */
  rows(): readonly string[];
  text(): string;
  /** The same with the attributes that the terminal draws it with, as escapes. */
  painted(): string;
  /** Types names of keys (`Enter`, `Escape`) or single characters, one after another. */
  type(...keys: readonly string[]): void;
  /** Types a text as it stands. */
  write(text: string): void;
  /** As a person pastes: between the marks, when the program asked for them. */
  paste(text: string): void;
  resize(columns: number, rows: number): void;
  /** A format of tmux, such as `#{alternate_on}`. */
  show(format: string): string;
  shows(what: string | RegExp, limitMs?: number): Promise<void>;
  /** Presses a key until `what` is there: on a screen that just changed, and after its program stood still, none counts, and it says so. */
  press(key: string, what: string | RegExp): Promise<void>;
  /** Presses a key until `what` is there no more. */
  leave(what: string, key?: string): Promise<void>;
  /** Writes at a prompt until it stands there as it should: what did not count is written anew. */
  fill(text: string, shown?: string): Promise<void>;
  /** The same where stars are shown for what is typed. */
  fillSecret(text: string): Promise<void>;
  close(): void;
}

/** After so long a key has not counted. */
const SWALLOWED_MS = 5_000;

export const noTmux = spawnSync("tmux", ["-V"]).status === 0 ? null : "tmux is absent: apt-get install tmux";

export function openPane(
  folder: string,
  command: string,
  env: NodeJS.ProcessEnv,
  size: { readonly columns: number; readonly rows: number } = { columns: 100, rows: 40 },
): Pane {
  const socket = join(folder, `tmux-${process.pid}-${panes++}`);
  const tmux = (...args: readonly string[]): string => {
    const done = spawnSync("tmux", ["-u", "-S", socket, "-f", "/dev/null", ...args], {
      encoding: "utf8",
      env: { ...env, LC_ALL: "C.UTF-8", TERM: "xterm-256color", SHELL: "/bin/sh" },
    });
    if (done.status !== 0) throw new Error(`tmux ${args.join(" ")}: ${done.stderr}`);
    return done.stdout;
  };
  tmux("new-session", "-d", "-s", "t", "-x", String(size.columns), "-y", String(size.rows), "/bin/sh", "-c", command);
  const hasCome = (what: string | RegExp): Promise<boolean> =>
    pane.shows(what, SWALLOWED_MS).then(
      () => true,
      () => false,
    );
  const pane: Pane = {
    rows: () => tmux("capture-pane", "-p", "-t", "t").split("\n").slice(0, -1),
    text: () => pane.rows().join("\n"),
    painted: () => tmux("capture-pane", "-p", "-e", "-t", "t"),
    type: (...keys) => void tmux("send-keys", "-t", "t", ...keys),
    write: (text) => void tmux("send-keys", "-t", "t", "-l", text),
    paste(text) {
      tmux("set-buffer", text);
      tmux("paste-buffer", "-p", "-t", "t");
    },
    resize: (columns, rows) => void tmux("resize-window", "-t", "t", "-x", String(columns), "-y", String(rows)),
    show: (format) => tmux("display-message", "-p", "-t", "t", format).trim(),
    async shows(what, limitMs) {
      const found = (): boolean => (typeof what === "string" ? pane.text().includes(what) : what.test(pane.text()));
      try {
        await until(`the terminal shows ${what}`, found, limitMs);
      } catch (error) {
        throw new Error(`the terminal does not show ${what}:\n${pane.text()}`, { cause: error });
      }
    },
    press: (key, what) =>
      until(`${key} leads to ${what}`, async () => {
        await until("keys count", () => !pane.text().includes("one moment"));
        pane.type(key);
        return hasCome(what);
      }).then(() => undefined),
    leave: (what, key = "Escape") =>
      until(`${what} is left`, async () => {
        pane.type(key);
        return until("it is gone", () => !pane.text().includes(what), SWALLOWED_MS).catch(() => false);
      }).then(() => undefined),
    fill: (text, shown = `${text}_`) =>
      until(`${shown} is written`, () => {
        pane.type("C-u");
        pane.write(text);
        return hasCome(shown);
      }).then(() => undefined),
    fillSecret: (text) => pane.fill(text, `${"*".repeat(text.length)}_`),
    close() {
      spawnSync("tmux", ["-S", socket, "kill-server"]);
      open.delete(pane);
    },
  };
  open.add(pane);
  return pane;
}

let panes = 0;
const open = new Set<Pane>();
process.once("exit", () => {
  for (const pane of [...open]) pane.close();
});
