import type { GatewayReport } from "../../../hub/check-fleet.ts";
import { connectHub, type HubLogin } from "../../../hub/connect.ts";
import type { Clock, Sleep } from "../../../kernel/clock.ts";
import { printable } from "../../../kernel/display.ts";
import type { VaultHome } from "../../../vault/files/home.ts";
import { type HubLogs, keepHubLogs } from "./logs.ts";
import { type GatewayState, isSilent, newestOf, readStates } from "./status.ts";
import { gatewayLines, lookAtLogs } from "./verify.ts";

/** A gateway as the page shows it. */
export interface ShownGateway extends GatewayState {
  readonly silent: boolean;
  /** The newer files that another one follows; null where it follows them too. */
  readonly behind: { readonly vault: number; readonly policy: number } | null;
}

/** What was found of one log on the hub, with its report and in words. */
export type CheckedGateway = Pick<GatewayReport, "gateway" | "left" | "log"> & {
  readonly sound: boolean;
  readonly words: readonly string[];
};

/** All gateways of a vault, as a hub shows them. */
export interface Fleet {
  gateways(): Promise<{ readonly answered_ms: number; readonly gateways: readonly ShownGateway[] }>;
  /** Checks every log from the hub alone, and remembers what was in order. */
  verify(): Promise<readonly CheckedGateway[]>;
  readonly logs: HubLogs;
}

export function createFleet(
  login: HubLogin,
  home: VaultHome,
  {
    stateFolder,
    ...time
  }: { readonly clock: Pick<Clock, "bootMs">; readonly sleep: Sleep; readonly stateFolder: string },
): Fleet {
  return {
    async gateways() {
      const connection = await connectHub(login, null);
      try {
        const { states, answeredMs } = await readStates(connection, home, time, stateFolder);
        const { vault, policy } = newestOf(states);
        const gateways = states.map((one) => {
          const behind = one.tick !== null && ((one.vault ?? 0) < vault || (one.policy ?? 0) < policy);
          return { ...one, silent: isSilent(one), behind: behind ? { vault, policy } : null };
        });
        return { answered_ms: answeredMs, gateways };
      } finally {
        await connection.close();
      }
    },
    async verify() {
      const reports = await lookAtLogs(login, { vault: home.readVault(), stateFolder, allowUnattested: true });
      return reports.map((report) => ({
        ...{ gateway: report.gateway, left: report.left, log: report.log },
        ...{ sound: report.findings.length === 0, words: gatewayLines(report).map((line) => printable(line)) },
      }));
    },
    logs: keepHubLogs(login, () => home.readVault()),
  };
}
