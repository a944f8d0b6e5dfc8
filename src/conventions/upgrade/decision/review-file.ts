import { stringify } from "yaml";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import { readDocument } from "../document/read-document.ts";
import { type SignedDecision, verdicts } from "./statement.ts";

/** The file that is committed beside the pack: who decided what about which difference. Entries are only ever added. */
export interface ReviewFile {
  readonly format: "gw.upgrade-review/v1";
  readonly api: string;
  readonly decisions: readonly SignedDecision[];
}

const LIMITS = { bytes: defaults.upgradeReviewFileBytes, depth: 8, nodes: 1_000_000 };
const TEXT_CHARACTERS = 4_000;

export function emptyReviewFile(api: string): ReviewFile {
  return { format: "gw.upgrade-review/v1", api, decisions: [] };
}

export function readReviewFile(name: string, bytes: Uint8Array): ReviewFile {
  const root = readDocument(name, bytes, LIMITS).root;
  const fail = (message: string): never => {
    throw new Denied("review_file_invalid", `${name}: ${message}.`);
  };
  if (!isJsonObject(root) || root["format"] !== "gw.upgrade-review/v1")
    return fail("format is not gw.upgrade-review/v1");
  onlyMembers(root, ["format", "api", "decisions"], fail);
  const api = root["api"];
  const decisions = root["decisions"];
  if (typeof api !== "string" || api === "") return fail("api must name the API");
  if (!Array.isArray(decisions)) return fail("decisions must be a list");
  return { format: "gw.upgrade-review/v1", api, decisions: decisions.map((entry) => readDecision(entry, fail)) };
}

/** One block a decision and no reordering, so that version control shows what was added. */
export function writeReviewFile(file: ReviewFile): string {
  const head = "# Decisions about an API upgrade. Written by gw upgrade decide; a changed line breaks its signature.\n";
  return head + stringify(file, { lineWidth: 0, aliasDuplicateObjects: false });
}

type Fail = (message: string) => never;

function readDecision(entry: JsonValue, fail: Fail): SignedDecision {
  if (!isJsonObject(entry)) return fail("each decision must be an object");
  onlyMembers(entry, ["statement", "signature"], fail);
  const statement = entry["statement"];
  if (!isJsonObject(statement) || statement["format"] !== "gw.upgrade-decision/v1")
    return fail("a statement has another format");
  onlyMembers(
    statement,
    ["format", "api", "difference", "verdict", "reason", "narrowing", "operator", "operator_key_id", "decided_at"],
    fail,
  );
  const text = (name: string): string => {
    const value = statement[name];
    if (typeof value !== "string" || value.length > TEXT_CHARACTERS) return fail(`${name} of a decision must be text`);
    return value;
  };
  const verdict =
    verdicts.find((known) => known === statement["verdict"]) ?? fail("a verdict is accepted, rejected or narrowed");
  const signature = entry["signature"];
  if (typeof signature !== "string" || signature.length > 200) return fail("a decision has no signature");
  return {
    statement: {
      format: "gw.upgrade-decision/v1",
      api: text("api"),
      difference: text("difference"),
      verdict,
      reason: text("reason"),
      narrowing: statement["narrowing"] === null ? null : text("narrowing"),
      operator: text("operator"),
      operator_key_id: text("operator_key_id"),
      decided_at: text("decided_at"),
    },
    signature,
  };
}

function onlyMembers(node: JsonObject, names: readonly string[], fail: Fail): void {
  const extra = Object.keys(node).find((name) => !names.includes(name));
  if (extra !== undefined) fail(`the member ${JSON.stringify(extra)} is not part of the format`);
}
