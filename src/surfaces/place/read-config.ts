import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from "node:fs";
import { Denied } from "../../kernel/failure.ts";

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
  const { parse } = await import("yaml");
  let value: unknown;
  try {
    value = parse(text, { strict: true, uniqueKeys: true, maxAliasCount: 0 });
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
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR" || (code === "EACCES" && !isOwn(path))) return null;
    throw invalidConfig(path, "it cannot be read");
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw invalidConfig(path, "it is no regular file");
    if (!owners.includes(stats.uid) || (stats.mode & forbidden) !== 0) {
      throw invalidConfig(path, `others may change it; it has to belong to user ${owners.join(" or ")} with mode 644`);
    }
    if (stats.size > MAX_BYTES) throw invalidConfig(path, `it is larger than ${MAX_BYTES} bytes`);
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
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
