import type { ChildProcess } from "node:child_process";
import type { Socket as Datagrams } from "node:dgram";
import type { Server } from "node:net";
import type { BoxPlan, BoxTier } from "../../conventions/box/plan.ts";
import type { CarriedRequest } from "../client/agent.ts";

/** What a machine that can make boxes has for us. */
export interface BoxPort {
  /** The best one of this machine, built and thrown away: a person is asked about nothing that cannot be had. Denied `contain_unavailable`. */
  choose(plan: BoxPlan): Promise<{ readonly tier: BoxTier }>;
  /** The command that starts it. */
  command(plan: BoxPlan): readonly string[];
  /** Builds the box in a child that `command` started, which waits then. */
  open(child: ChildProcess, plan: BoxPlan, said: () => string): Promise<OpenBox>;
  /** Those that a path leads to, and all that lie in these folders. */
  outerSockets(folders: readonly string[]): readonly string[];
  /** Folders of this program, which stay to be read. */
  readonly programFolders: readonly string[];
  /** Folders of gw's own that are not for the box. */
  readonly ownFolders: readonly string[];
}

export interface OpenBox {
  readonly sockets: {
    readonly https: readonly Server[];
    readonly http: readonly Server[];
    readonly agent: Server;
    readonly dns: readonly Datagrams[];
    readonly proxy: readonly Server[];
  };
  /** Lets the command begin. */
  go(): void;
  signal(signal: NodeJS.Signals): void;
  /** Who holds the connection from this address and port to that port, as far as it can be seen. */
  findHolder(address: string, from: number, to: number): CarriedRequest["process"] | null;
}
