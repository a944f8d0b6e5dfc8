import { join } from "node:path";
import { readHomeConfig } from "../../surfaces/place/find.ts";
import type { MachineConfig } from "../../surfaces/place/place.ts";
import { type ConfigMembers, invalidConfig, isMapping, textOf } from "../../surfaces/place/read-config.ts";
import { type CallbackAddress, readCallbackAddress } from "./callback-address.ts";
import type { SocketAccess } from "./socket-path.ts";

/** What GW_HOME/config.yaml and the machine's file may say. Nothing here lowers a protection: that is for signed policy. */
export interface Settings {
  readonly home: string;
  readonly agentSocket: SocketAccess;
  readonly operatorSocket: SocketAccess;
  /** Where gw-ident answers and as which user, for callers of other users. */
  readonly ident: { readonly path: string; readonly uid: number } | null;
  readonly stateFile: string;
  readonly auditFolder: string;
  readonly packsFolder: string;
  /** Where callbacks would be listened for; whether they are is in the signed policy. */
  readonly callbackAddress: CallbackAddress | null;
}

export async function readSettings(home: string, machine: MachineConfig | null = null): Promise<Settings> {
  const file = join(home, "config.yaml");
  const config = await readHomeConfig(home, process.geteuid?.() ?? null);
  const socket = (name: "agent_socket" | "operator_socket", usual: string): SocketAccess => ({
    path: textOf(file, config, name) ?? join(home, usual),
    group: null,
  });
  const shared = machine?.home === home ? machine : null;
  return {
    home,
    agentSocket:
      shared === null ? socket("agent_socket", "agent.sock") : { path: shared.agentSocket, group: shared.agentGroup },
    operatorSocket:
      shared === null
        ? socket("operator_socket", "operator.sock")
        : { path: shared.operatorSocket, group: shared.operatorGroup },
    ident:
      shared === null || shared.identSocket === null
        ? null
        : { path: shared.identSocket, uid: shared.identUser ?? shared.user },
    stateFile: join(home, "state.db"),
    auditFolder: join(home, "audit"),
    packsFolder: join(home, "packs"),
    callbackAddress: readCallbacks(file, config),
  };
}

function readCallbacks(path: string, { callbacks }: ConfigMembers): CallbackAddress | null {
  if (callbacks === undefined) return null;
  const { listen, ...others } = isMapping(callbacks) ? callbacks : {};
  const address = typeof listen === "string" ? readCallbackAddress(listen) : null;
  if (address === null || Object.keys(others).length > 0)
    throw invalidConfig(
      path,
      "callbacks must be { listen: IP:PORT } and nothing more, such as { listen: 127.0.0.1:7412 }",
    );
  return address;
}
