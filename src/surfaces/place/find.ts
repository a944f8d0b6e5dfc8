import { lstatSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { Denied } from "../../kernel/failure.ts";
import { readMachine } from "./machine.ts";
import type { Door, MachineConfig, Place } from "./place.ts";
import { type ConfigMembers, readConfig, textOf } from "./read-config.ts";

/** What the command line says: `--home DIR` and `--config FILE`. */
export interface PlaceAsked {
  readonly home: string | undefined;
  readonly config: string | undefined;
}

export type RequireServer = (owner: number) => Door["requireServer"];

export const HOME_SETTINGS = ["agent_socket", "operator_socket", "callbacks", "retention"] as const;

/**
 * The one way to a gateway: `--home`, `GW_HOME`, `/etc/gw/gw.yaml`, and the user's own `~/.gw`, in that order. A home that
 * the machine's file names has that file's sockets, however it was found.
 */
export async function findPlace(asked: PlaceAsked, requireServer: RequireServer): Promise<Place> {
  const named = asked.home ?? emptyIsNone(process.env["GW_HOME"]);
  const machine = await readMachine(asked.config).catch((error: unknown) => {
    // A home that was named is found without it; only what the command line itself names has to hold.
    if (named !== undefined && asked.config === undefined && error instanceof Denied) return null;
    throw error;
  });
  const home = named === undefined ? (machine?.home ?? join(homedir(), ".gw")) : resolve(named);
  if (machine?.home === home) return machinePlace(machine, requireServer);
  const owner = lstatSync(home, { throwIfNoEntry: false })?.uid ?? null;
  const config = await readHomeConfig(home, owner);
  const file = join(home, "config.yaml");
  const door = (name: "agent_socket" | "operator_socket", usual: string): Door => ({
    path: textOf(file, config, name) ?? join(home, usual),
    // Where there is no home yet, only a gateway of one's own could answer.
    requireServer: requireServer(owner ?? process.geteuid?.() ?? -1),
  });
  return {
    home,
    agent: door("agent_socket", "agent.sock"),
    operator: door("operator_socket", "operator.sock"),
    owner,
    machine: null,
  };
}

/** What a home's own config.yaml says; nothing where there is none or it is closed to us. */
export async function readHomeConfig(home: string, owner: number | null): Promise<ConfigMembers> {
  const owners = [0, ...(owner === null ? [] : [owner])];
  return (await readConfig(join(home, "config.yaml"), HOME_SETTINGS, owners, 0o002)) ?? {};
}

function machinePlace(machine: MachineConfig, requireServer: RequireServer): Place {
  const admit = requireServer(machine.user);
  return {
    home: machine.home,
    agent: { path: machine.agentSocket, requireServer: admit },
    operator: { path: machine.operatorSocket, requireServer: admit },
    owner: machine.user,
    machine,
  };
}

function emptyIsNone(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
