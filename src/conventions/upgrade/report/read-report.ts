import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import { asDifference, changes, type Difference, surfaces } from "../compare/difference.ts";
import { readDocument } from "../document/read-document.ts";

const LIMITS = { bytes: defaults.upgradeReportBytes, depth: 16, nodes: 10_000_000 };

/** What stands in a saved JSON report; only a signature over it says that a probe saw this. */
export interface SavedReport {
  readonly api: string;
  readonly differences: readonly Difference[];
  readonly root: JsonObject;
}

export function readReport(name: string, bytes: Uint8Array): SavedReport {
  const root = readDocument(name, bytes, LIMITS).root;
  const fail = (message: string): never => {
    throw new Denied("review_file_invalid", `${name}: ${message}.`);
  };
  if (!isJsonObject(root) || root["format"] !== "gw.upgrade-report/v1")
    return fail("format is not gw.upgrade-report/v1");
  const after = root["after"];
  const api = isJsonObject(after) ? after["title"] : undefined;
  const listed = root["differences"];
  if (typeof api !== "string" || !Array.isArray(listed)) return fail("it names no API or holds no differences");
  return { api, root, differences: listed.map((entry: JsonValue) => readDifference(entry, fail)) };
}

/** An id that does not belong to what stands beside it would let a reviewer sign something else than they read. */
function readDifference(entry: JsonValue, fail: (message: string) => never): Difference {
  if (!isJsonObject(entry)) return fail("a difference is not an object");
  const text = (member: string): string => textAt(entry, member) ?? fail(`a difference has no ${member}`);
  const id = text("id");
  const surface = surfaces.find((known) => known === entry["surface"]) ?? fail("a difference is on no surface");
  const change = changes.find((known) => known === entry["change"]) ?? fail("a difference goes no way");
  const found = asDifference({
    ...{ surface, change, kind: text("kind"), subject: text("subject"), at: text("at"), says: text("says") },
    ...{ before: textAt(entry, "before"), after: textAt(entry, "after"), binding: textAt(entry, "binding") },
  });
  if (found.id !== id) fail(`${JSON.stringify(id)} is not the id of what stands beside it`);
  return { ...found, group: text("group") };
}

function textAt(entry: JsonObject, member: string): string | null {
  const value = entry[member];
  return typeof value === "string" ? value : null;
}
