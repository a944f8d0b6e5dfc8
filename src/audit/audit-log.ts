import type { KeyObject } from "node:crypto";
import type { Denied } from "../kernel/failure.ts";
import type { AttestationOffer } from "./attestation.ts";
import type { NewEvent } from "./event.ts";
import type { Head, IntentReceipt } from "./receipt.ts";

/**
 * The audit log, as the gateway holds it: it can append and prove, and it cannot read. One writer a folder, one frame
 * a durable commit, every frame linked to the one before and sealed with keys that are gone a second later.
 */
export interface AuditLog {
  /** Hex. Names this log for good. */
  readonly logId: string;
  readonly opened: { readonly reason: "genesis" | "boot" | "crash"; readonly tornBytes: number };
  /**
   * Resolves when the events are on disk. Concurrent callers share a flush. All events of one call share a frame. Refused with
   * `log_backlogged` where more waits for the disk than may.
   */
  append(events: readonly NewEvent[]): Promise<IntentReceipt>;
  /** False where `append` would be refused as backlogged. */
  hasRoom(): boolean;
  head(): Head;
  /** What an operator's client needs to sign for this live process. Ends in a seal made now. */
  offerAttestation(): Promise<AttestationOffer>;
  /** Whether a statement about a head that was offered before would still be taken. */
  isAttestable(head: Pick<Head, "frame" | "link">): boolean;
  /** Puts an operator's signed statement into the log; refuses one about anything but this process, or about too old a head. */
  attest(statement: Buffer): Promise<Head>;
  seal(): Promise<Head>;
  /** What stands in clear in every frame of records from now on, for the next start; asked when the frame is built. */
  stamp(section: () => Buffer): void;
  /** Starts a new segment, for other recipients or another state of the vault when they are given. */
  rotate(change?: Partial<SegmentSettings>): Promise<Head>;
  /** Null while all is well. Once set nothing is written any more. */
  failure(): Denied | null;
  /** The clean stop: everything waiting is written, the last seal says that no other follows. */
  close(): Promise<void>;
}

export interface SegmentSettings {
  /** X25519 public keys of those who may read. */
  readonly recipients: readonly KeyObject[];
  readonly vaultGeneration: number;
  /** SHA-256 of the vault file. */
  readonly vaultHash: Buffer;
}

export interface LogLimits {
  readonly segmentBytes: number;
  readonly frameBytes: number;
  readonly recordBytes: number;
  readonly queueBytes: number;
  readonly spaceBytes: number;
  readonly sealTickMs: number;
  readonly sealBusyMs: number;
  readonly heartbeatMs: number;
  readonly inlineFlushMs: number;
  /** How many turns of the loop a flush waits for company, and which share of those under way is enough. */
  readonly gatherTurns: number;
  readonly gatherShare: number;
}
