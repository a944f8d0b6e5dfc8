import { defaults } from "../../kernel/defaults.ts";

/**
 * Ends the process in order, once. Kept on: the launcher and the terminal may both send one, and a second must not cut the first short.
 * A disk that does not answer keeps nobody waiting for ever: whatever the log does not have by then, the next start tells.
 */
export function stopOnSignal(close: (signal: string) => Promise<void>, mostMs: number = defaults.stopMostMs): void {
  let stopping = false;
  const stop = async (signal: string): Promise<void> => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => {
      process.stderr.write(
        `gw: the log or the state was not written within ${mostMs / 1_000} seconds of ${signal}, so the gateway ends without. The next start tells what it left open. Look at the disk under the home.\n`,
      );
      process.exit(1);
    }, mostMs);
    await close(signal);
    process.exit(0);
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => void stop(signal));
}
