import { showIdentifier } from "../../kernel/display.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { Card } from "./card.ts";
import { entry, field, list, quote } from "./render-line.ts";

/** What the operating system says of the caller. Names of files and parents are context: anyone can choose them. */
export function callerLines({ caller, context }: Pick<Card, "caller" | "context">): readonly string[] {
  return [
    entry("file (context only)", named(caller["path_observed"])),
    ...interpreterLines(objectOf(context["interpreter"]), context["interpreter_unsure"] === true),
    entry("process", processOf(objectOf(caller["process"]))),
    entry("image digest", word(caller["cdhash"])),
    entry("image check", checkOf(caller["validity"], objectOf(context["authority"])?.["kind"])),
    ...claimLines("signing name", caller["signing_identifier"]),
    ...claimLines("requirement", caller["designated_requirement"]),
    ...mappingLines(arrayOf(context["unowned_mappings"])),
    ...ancestorLines(arrayOf(context["ancestors"])),
    ...namespaceLines(context["namespaces"]),
    ...bindingLines(context["binding"]),
  ];
}

/** What is odd about the caller beyond the first line: the worst in words, the rest as a number. Nothing where nothing is. */
export function anomalyLines({ context }: Pick<Card, "context">): readonly string[] {
  const mappings = arrayOf(context["unowned_mappings"]).length;
  const odd = [
    ...(mappings === 0
      ? []
      : [
          `it has loaded ${mappings === 1 ? "1 file" : `${mappings} files`} that no package owns, or that changed since`,
        ]),
    ...(context["interpreter_unsure"] === true && objectOf(context["interpreter"]) === null
      ? ["whether it runs scripts cannot be told"]
      : []),
  ];
  if (odd.length === 0) return [];
  return [field("BUT", `${odd[0]}${odd.length === 1 ? "" : ` (and ${odd.length - 1} more, in the evidence)`}`)];
}

function interpreterLines(interpreter: JsonObject | null, unsure: boolean): readonly string[] {
  if (interpreter === null)
    return unsure
      ? [entry("interpreter", "cannot be told: it loads no library and is of no package; it may run scripts")]
      : [];
  const script = interpreter["script"];
  const runs =
    typeof script === "string" ? `the script ${named(script)}` : "a program that its command line does not name";
  return [entry("interpreter", `${word(interpreter["name"])} runs ${runs}; nothing vouches for that`)];
}

function processOf(process: JsonObject | null): string {
  if (process === null) return "not known";
  const parts = [`pid ${word(process["pid"])}`, `user id ${word(process["uid"])}`];
  if (process["start_time"] !== undefined) parts.push(`start time ${word(process["start_time"])}`);
  if (typeof process["pidfd_inode"] === "string") parts.push(`kernel number ${word(process["pidfd_inode"])}`);
  return parts.join(", ");
}

function checkOf(validity: JsonValue | undefined, authority: JsonValue | undefined): string {
  switch (validity) {
    case "valid":
      return "valid: the file is the one that the first line vouches for";
    case "package_record":
      return "package record: the file is as its package installed it; nobody signed it";
    case "unsigned":
      return authority === "own_runtime"
        ? "unsigned, and byte for byte the Node that this gateway runs on"
        : "unsigned: nothing vouches for this file";
    case "invalid":
      return "INVALID: something claims to vouch for this file and is wrong";
    default:
      return `not known (${word(validity)})`;
  }
}

function claimLines(label: string, value: JsonValue | undefined): readonly string[] {
  return typeof value === "string" ? [entry(label, named(value))] : [];
}

function mappingLines(mappings: readonly JsonValue[]): readonly string[] {
  if (mappings.length === 0) return [];
  const files = mappings.length === 1 ? "1 file" : `${mappings.length} files`;
  return [
    entry("loaded code", `${files} that no package owns, or that changed since:`),
    ...list("", mappings.map(named)),
  ];
}

function ancestorLines(ancestors: readonly JsonValue[]): readonly string[] {
  if (ancestors.length === 0) return [];
  const lines = ancestors.map((one) => {
    const { pid, path } = { pid: null, path: null, ...objectOf(one) } as JsonObject;
    return `pid ${word(pid)} ${path === null ? "(file not readable)" : named(path)}`;
  });
  return [entry("started by", "nearest first, context only:"), ...list("", lines)];
}

function namespaceLines(namespaces: JsonValue | undefined): readonly string[] {
  if (namespaces === "own" || namespaces === undefined) return [];
  if (namespaces === "other") return [entry("container", "yes: it sees other files than this machine does")];
  return [entry("container", `cannot be told (${word(namespaces)})`)];
}

function bindingLines(binding: JsonValue | undefined): readonly string[] {
  if (binding === "process") return [entry("bound to", "this process, until it exits or becomes another program")];
  if (binding === "connection") return [entry("bound to", "this connection only; a new one is asked about again")];
  return binding === undefined ? [] : [entry("bound to", word(binding))];
}

/** A path or an identity: in quotes, with every look-alike letter written out. */
function named(value: JsonValue | undefined): string {
  return typeof value === "string" ? `"${showIdentifier(value).replaceAll('"', '\\"')}"` : word(value);
}

/** A value that has no blanks of its own. Anything else is shown as the text that it is. */
function word(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "not known";
  if (typeof value === "string") return /^[!-~]+$/.test(value) ? showIdentifier(value) : named(value);
  return typeof value === "object" ? quote(JSON.stringify(value)) : String(value);
}

function objectOf(value: JsonValue | undefined): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

function arrayOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}
