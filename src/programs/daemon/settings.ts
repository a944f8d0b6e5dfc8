import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { Denied } from "../../kernel/failure.ts";

/** What GW_HOME/config.yaml may say. Nothing here lowers a protection: that is for the signed policy alone. */
export interface Settings {
  readonly home: string;
  readonly agentSocket: string;
  readonly operatorSocket: string;
  readonly stateFile: string;
  readonly auditFolder: string;
  readonly packsFolder: string;
}

const MAX_BYTES = 65_536;
const MEMBERS = ["format", "agent_socket", "operator_socket"] as const;

export function readSettings(home: string): Settings {
  const config = readConfig(join(home, "config.yaml"));
  return {
    home,
    agentSocket: config.agent_socket ?? join(home, "agent.sock"),
    operatorSocket: config.operator_socket ?? join(home, "operator.sock"),
    stateFile: join(home, "state.db"),
    auditFolder: join(home, "audit"),
    packsFolder: join(home, "packs"),
  };
}

function readConfig(path: string): Partial<Record<(typeof MEMBERS)[number], string>> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return {};
    throw new Denied("config_invalid", `${path} cannot be read. Mend its mode, or remove it to use the defaults.`);
  }
  if (text.length > MAX_BYTES) throw invalid(path, `it is larger than ${MAX_BYTES} bytes`);
  let value: unknown;
  try {
    value = parse(text, { strict: true, uniqueKeys: true, maxAliasCount: 0 });
  } catch (error) {
    throw invalid(path, error instanceof Error ? (error.message.split("\n")[0] ?? "") : "it is not YAML");
  }
  if (value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) throw invalid(path, "a mapping is expected");
  const members = value as Readonly<Record<string, unknown>>;
  for (const [name, member] of Object.entries(members)) {
    if (!(MEMBERS as readonly string[]).includes(name))
      throw invalid(path, `${name} is not a setting; there are ${MEMBERS.join(", ")}`);
    if (typeof member !== "string") throw invalid(path, `${name} must be text`);
  }
  if (members["format"] !== undefined && members["format"] !== "gw.config/v1")
    throw invalid(path, "format must be gw.config/v1");
  return members as Partial<Record<(typeof MEMBERS)[number], string>>;
}

function invalid(path: string, why: string): Denied {
  return new Denied("config_invalid", `${path}: ${why}. Mend the file, or remove it to use the defaults.`);
}
