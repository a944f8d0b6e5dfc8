import type { Socket } from "node:net";

/** A gateway's home and its two sockets, as every client and the gateway itself find them. */
export interface Place {
  readonly home: string;
  readonly agent: Door;
  readonly operator: Door;
  /** The user whose gateway this is; null where there is no home yet. */
  readonly owner: number | null;
  /** What the machine's own file says, where that file names this home. */
  readonly machine: MachineConfig | null;
}

export interface Door {
  readonly path: string;
  /** Throws `Denied` unless the process that listens there runs as the gateway's user. Called before a byte is sent. */
  requireServer(socket: Socket): void;
}

/** `/etc/gw/gw.yaml`: a gateway for all users of a machine. */
export interface MachineConfig {
  readonly file: string;
  readonly home: string;
  readonly user: number;
  /** As `sudo -u` takes it: its name where the file has one. */
  readonly userWord: string;
  readonly agentSocket: string;
  readonly operatorSocket: string;
  /** Groups that may open the sockets; null leaves a socket to the gateway's user. */
  readonly agentGroup: number | null;
  readonly operatorGroup: number | null;
  /** Where gw-ident answers, and as whom; null where there is none. */
  readonly identSocket: string | null;
  readonly identUser: number | null;
}
