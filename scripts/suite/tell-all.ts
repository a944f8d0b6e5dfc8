/**
 * Loaded before a test file: what it tells its runner is written before it goes on. A process that ends itself, as one of tests does when
 * they are through, would leave out what waits in its pipe while the runner is busy.
 */
interface Blocking {
  readonly _handle?: { setBlocking?(blocking: boolean): void };
}

(process.stdout as Blocking)._handle?.setBlocking?.(true);
