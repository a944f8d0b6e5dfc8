import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import { type Difference, differenceId } from "../compare/difference.ts";
import { readDocument } from "../document/read-document.ts";

export type ReportedDifference = Pick<Difference, "id" | "group" | "kind" | "surface" | "subject" | "says">;

const LIMITS = { bytes: defaults.upgradeReportBytes, depth: 16, nodes: 10_000_000 };

/** The differences of a saved JSON report, so that what a probe observed can be decided without sending it again. */
export function readReport(
  name: string,
  bytes: Uint8Array,
): { readonly api: string; readonly differences: readonly ReportedDifference[] } {
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
  return { api, differences: listed.map((entry: JsonValue) => readDifference(entry, fail)) };
}

/** An id that does not belong to what stands beside it would let a reviewer sign something else than they read. */
function readDifference(entry: JsonValue, fail: (message: string) => never): ReportedDifference {
  if (!isJsonObject(entry)) return fail("a difference is not an object");
  const text = (member: string): string => textAt(entry, member) ?? fail(`a difference has no ${member}`);
  const id = text("id");
  const found = differenceId({
    kind: text("kind"),
    subject: text("subject"),
    at: text("at"),
    before: textAt(entry, "before"),
    after: textAt(entry, "after"),
    binding: textAt(entry, "binding"),
  });
  if (found !== id) fail(`${JSON.stringify(id)} is not the id of what stands beside it`);
  const surface = text("surface") as Difference["surface"];
  return { id, group: text("group"), kind: text("kind"), surface, subject: text("subject"), says: text("says") };
}

function textAt(entry: JsonObject, member: string): string | null {
  const value = entry[member];
  return typeof value === "string" ? value : null;
}
