/**
 * The few things the writer does to a disk, so that a test can make each of them fail. Writes and inline syncs are
 * synchronous because they are shorter than a trip to the thread pool; `sync` is that trip, for disks that are slow.
 */
export interface LogFiles {
  /** Makes the folder when it is missing, for its owner alone. */
  prepare(): void;
  list(): string[];
  /** A new file for its owner alone; fails when the name is taken. */
  create(name: string): LogFile;
  openToRead(name: string): ReadFile;
  rename(from: string, to: string): void;
  remove(name: string): void;
  /** Makes names durable. */
  syncFolder(): void;
}

export interface LogFile {
  /** Writes all of `bytes` at `position` or throws. */
  write(bytes: Uint8Array, position: number): void;
  syncInline(): void;
  sync(): Promise<void>;
  truncate(length: number): void;
  close(): void;
}

export interface ReadFile {
  size(): number;
  /** Fills `target` from `position`; returns how many bytes there were. */
  read(target: Uint8Array, position: number): number;
  close(): void;
}
