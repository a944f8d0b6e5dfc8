/** Ends the process in order, once. Kept on: the launcher and the terminal may both send one, and a second must not cut the first short. */
export function stopOnSignal(close: (signal: string) => Promise<void>): void {
  let stopping = false;
  const stop = async (signal: string): Promise<void> => {
    if (stopping) return;
    stopping = true;
    await close(signal);
    process.exit(0);
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => void stop(signal));
}
