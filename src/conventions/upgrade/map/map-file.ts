import { stringify } from "yaml";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonValue } from "../../../kernel/json.ts";
import { readDocument } from "../document/read-document.ts";
import type { AuthorityMap, AuthorityRow } from "./authority-map.ts";

const LIMITS = { bytes: defaults.upgradeReviewFileBytes, depth: 8, nodes: 1_000_000 };
const COLUMNS = [
  "operation",
  "effect",
  "resource_boundary",
  "credential_label",
  "authorization_condition",
  "default_behaviour",
  "denial_expectation",
] as const;

export function writeAuthorityMap(map: AuthorityMap): string {
  const head = `# Authority map of ${oneLine(map.api)} ${oneLine(map.version)}: one row per request family. Reviewed by people; compared by gw upgrade review --map.\n`;
  return head + stringify(map, { lineWidth: 0 });
}

export function readAuthorityMap(name: string, bytes: Uint8Array): AuthorityMap {
  const root = readDocument(name, bytes, LIMITS).root;
  const fail = (message: string): never => {
    throw new Denied("review_file_invalid", `${name}: ${message}.`);
  };
  if (!isJsonObject(root) || root["format"] !== "gw.authority-map/v1") return fail("format is not gw.authority-map/v1");
  const { api, version, rows } = root;
  if (typeof api !== "string" || typeof version !== "string") return fail("api and version must be text");
  if (!Array.isArray(rows)) return fail("rows must be a list");
  return { format: "gw.authority-map/v1", api, version, rows: rows.map((row) => readRow(row, fail)) };
}

function readRow(row: JsonValue, fail: (message: string) => never): AuthorityRow {
  if (!isJsonObject(row)) return fail("each row must be an object");
  const extra = Object.keys(row).find((name) => name !== "actions" && !COLUMNS.some((column) => column === name));
  if (extra !== undefined) return fail(`the column ${JSON.stringify(extra)} is not part of the format`);
  for (const column of COLUMNS) if (typeof row[column] !== "string") return fail(`a row has no ${column}`);
  if (!Array.isArray(row["actions"])) return fail("a row has no actions");
  return row as unknown as AuthorityRow;
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ").slice(0, 120);
}
