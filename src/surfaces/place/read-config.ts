import { lstatSync } from "node:fs";
import { Denied } from "../../kernel/failure.ts";
import { readPlainFile } from "../../vault/files/private-file.ts";

export type ConfigMembers = Readonly<Record<string, unknown>>;

const MAX_BYTES = 65_536;
const FORMAT = "gw.config/v1";

/**
 * The members of a configuration file; null when there is none or another user keeps it closed to us. `owners` are the
 * users who may have written it, `forbidden` the bits nobody else may have: whoever can edit it says where clients talk to.
 */
export async function readConfig(
  path: string,
  names: readonly string[],
  owners: readonly number[],
  forbidden: number,
): Promise<ConfigMembers | null> {
  const text = readOwned(path, owners, forbidden);
  if (text === null) return null;
  const { readYaml } = await import("./read-yaml.ts");
  let value: unknown;
  try {
    value = readYaml(text);
  } catch (error) {
    throw invalidConfig(path, error instanceof Error ? (error.message.split("\n")[0] ?? "") : "it is not YAML");
  }
  if (value === null) return {};
  if (!isMapping(value)) throw invalidConfig(path, "a mapping is expected");
  for (const name of Object.keys(value)) {
    if (name !== "format" && !names.includes(name))
      throw invalidConfig(path, `${name} is not a setting; there are ${["format", ...names].join(", ")}`);
  }
  if (value["format"] !== undefined && value["format"] !== FORMAT)
    throw invalidConfig(path, `format must be ${FORMAT}`);
  return value;
}

function readOwned(path: string, owners: readonly number[], forbidden: number): string | null {
  try {
    const bytes = readPlainFile(path, MAX_BYTES, ({ uid, mode }) => {
      if (owners.includes(uid) && (mode & forbidden) === 0) return;
      throw invalidConfig(path, `others may change it; it has to belong to user ${owners.join(" or ")} with mode 644`);
    });
    return bytes?.toString("utf8") ?? null;
  } catch (error) {
    const code = error instanceof Denied ? error.code : null;
    if (code === "config_invalid") throw error;
    if (code === "file_not_owned" && !isOwn(path)) return null;
    if (code === "file_not_regular") throw invalidConfig(path, "it is a link or no regular file");
    if (code === "file_too_large") throw invalidConfig(path, `it is larger than ${MAX_BYTES} bytes`);
    throw invalidConfig(path, "it cannot be read");
  }
}

function isOwn(path: string): boolean {
  try {
    return lstatSync(path).uid === process.geteuid?.();
  } catch {
    return false;
  }
}

export function textOf(path: string, members: ConfigMembers, name: string): string | undefined {
  const value = members[name];
  if (value === undefined || typeof value === "string") return value;
  throw invalidConfig(path, `${name} must be text`);
}

export function isMapping(value: unknown): value is ConfigMembers {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function invalidConfig(path: string, why: string): Denied {
  return new Denied("config_invalid", `${path}: ${why}. Mend the file, or remove it to use the defaults.`);
}
