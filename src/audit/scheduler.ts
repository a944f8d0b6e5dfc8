/** Timers of the log, so that tests drive them by hand. Nothing here keeps a process alive. */
export interface Scheduler {
  /** Runs after what is already queued on this turn of the loop. */
  soon(run: () => void): void;
  /** Returns the way to cancel. */
  after(ms: number, run: () => void): () => void;
  /** For measuring a flush; decides only where the next one runs. */
  nowMs(): number;
}

export const nodeScheduler: Scheduler = {
  soon: (run) => void setImmediate(run),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
  nowMs: () => performance.now(),
};
