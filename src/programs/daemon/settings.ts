import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { Denied } from "../../kernel/failure.ts";
import { type CallbackAddress, readCallbackAddress } from "./callback-address.ts";

/** What GW_HOME/config.yaml may say. Nothing here lowers a protection: that is for the signed policy alone. */
export interface Settings {
  readonly home: string;
  readonly agentSocket: string;
  readonly operatorSocket: string;
  readonly stateFile: string;
  readonly auditFolder: string;
  readonly packsFolder: string;
  /** Where callbacks would be listened for; whether they are is in the signed policy. */
  readonly callbackAddress: CallbackAddress | null;
}

const MAX_BYTES = 65_536;
const TEXTS = ["format", "agent_socket", "operator_socket"] as const;
const MEMBERS = [...TEXTS, "callbacks"] as const;

type Config = Partial<Record<(typeof TEXTS)[number], string>> & { readonly callbackAddress: CallbackAddress | null };

export function readSettings(home: string): Settings {
  const config = readConfig(join(home, "config.yaml"));
  return {
    home,
    agentSocket: config.agent_socket ?? join(home, "agent.sock"),
    operatorSocket: config.operator_socket ?? join(home, "operator.sock"),
    stateFile: join(home, "state.db"),
    auditFolder: join(home, "audit"),
    packsFolder: join(home, "packs"),
    callbackAddress: config.callbackAddress,
  };
}

function readConfig(path: string): Config {
  const members = readMembers(path);
  const texts: Partial<Record<string, string>> = {};
  for (const [name, member] of Object.entries(members)) {
    if (!(MEMBERS as readonly string[]).includes(name))
      throw invalid(path, `${name} is not a setting; there are ${MEMBERS.join(", ")}`);
    if (name === "callbacks") continue;
    if (typeof member !== "string") throw invalid(path, `${name} must be text`);
    texts[name] = member;
  }
  if (texts["format"] !== undefined && texts["format"] !== "gw.config/v1")
    throw invalid(path, "format must be gw.config/v1");
  return { ...texts, callbackAddress: readCallbacks(path, members["callbacks"]) };
}

function readCallbacks(path: string, value: unknown): CallbackAddress | null {
  if (value === undefined) return null;
  const { listen, ...others } = isMapping(value) ? value : {};
  const address = typeof listen === "string" ? readCallbackAddress(listen) : null;
  if (address === null || Object.keys(others).length > 0)
    throw invalid(path, "callbacks must be { listen: IP:PORT } and nothing more, such as { listen: 127.0.0.1:7412 }");
  return address;
}

function readMembers(path: string): Readonly<Record<string, unknown>> {
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
  if (!isMapping(value)) throw invalid(path, "a mapping is expected");
  return value;
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(path: string, why: string): Denied {
  return new Denied("config_invalid", `${path}: ${why}. Mend the file, or remove it to use the defaults.`);
}
