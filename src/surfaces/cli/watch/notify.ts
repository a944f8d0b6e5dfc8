import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { defaults } from "../../../kernel/defaults.ts";

/** Tells the desktop that something waits. It never throws and never waits: whoever does not hear it still sees the card. */
export type Notifier = (text: string) => void;

/** Where distributions put it. A name that PATH decides is not started by a program that holds keys. */
export const NOTIFY_SEND = "/usr/bin/notify-send";

/** One at a time: a flood of cards is one notice. Null where there is no such program. */
export function createNotifier(program: string, environment: NodeJS.ProcessEnv): Notifier | null {
  try {
    accessSync(program, constants.X_OK);
  } catch {
    return null;
  }
  // Enough to find the person's desktop, and nothing else of ours.
  const { HOME, LANG, XDG_RUNTIME_DIR } = environment;
  let running = false;
  return (text) => {
    if (running) return;
    running = true;
    const child = spawn(program, ["--app-name=gw", "--", "gw", text], {
      env: { HOME, LANG, XDG_RUNTIME_DIR },
      stdio: "ignore",
      timeout: defaults.notifyMs,
      killSignal: "SIGKILL",
    });
    const ended = (): void => {
      running = false;
    };
    child.once("error", ended).once("exit", ended);
    child.unref();
  };
}
