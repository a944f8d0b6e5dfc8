import type { SshRecording } from "../../../conventions/ssh/recording.ts";
import type { Clock, Sleep } from "../../../kernel/clock.ts";
import type { HelperProgram } from "./start-helper.ts";

export interface SshTransportOptions {
  /** Private to the gateway; one folder a connection is made in it and removed again. */
  readonly folder: string;
  readonly helper: HelperProgram;
  /** How long a helper may stand ready for the next call after one has ended; 0 starts each when it is needed. */
  readonly spareHelperMs: number;
  readonly sshPath: string;
  readonly clock: Pick<Clock, "bootMs">;
  readonly sleep: Sleep;
  readonly connectTimeoutMs: number;
  /** Signs with the gateway's own key, which hosts may pin. Throws while the vault is locked: nothing is then sent. */
  readonly signRequest: ((data: Buffer) => Buffer | null) | null;
  /** Takes what an operation wrote, to be sealed. Called before `send` returns, for requests that ask for it. */
  readonly recorder: SshRecorder | null;
  readonly recordingBytes: number;
}

export interface SshRecorder {
  /** The digest of what was sealed, for the completion event. */
  seal(recording: SshRecording): Promise<string>;
}
