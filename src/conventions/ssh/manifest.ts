import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import { readSshPublicLine, type SshPublicKey, writeSshPublicLine } from "../../kernel/ssh-key.ts";
import { type FieldGrammar, isWhole, readFieldGrammar } from "./field-grammar.ts";
import { isActionName, isFieldName } from "./request.ts";
import { decodeStrictUtf8, parseStrictJson } from "./strict-json.ts";

/** The closed grammar of one host: which operations exist, what each may be told, and what exactly runs. */
export interface Manifest {
  /** Folder of the durable events. */
  readonly state: string;
  /** When set, a request must carry this gateway's signature for this host. */
  readonly pin: GatewayPin | null;
  readonly environment: Readonly<Record<string, string>>;
  readonly operations: ReadonlyMap<string, HostOperation>;
}

export interface GatewayPin {
  readonly gatewayKey: SshPublicKey;
  /** `TYPE BASE64`: the key by which the gateway knows this host. */
  readonly hostKey: string;
}

export interface HostOperation {
  readonly executable: string;
  readonly arguments: readonly Argument[];
  readonly fields: ReadonlyMap<string, FieldGrammar>;
  readonly cwd: string;
  readonly timeoutS: number;
  readonly outputBytes: number;
  /** With sudo: the one program that the rule names. */
  readonly elevated: string | null;
}

export type Argument =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "field"; readonly field: string; readonly prefix: string }
  | { readonly kind: "switch"; readonly field: string; readonly text: string };

export const MANIFEST_FORMAT = "gw.receiver-manifest/v1";
export const MANIFEST_BYTES_MAX = 262_144;
/** Answered by the receiver itself, so no manifest may use the name. */
export const STATUS_ACTION = "request_status";
const TIMEOUT_S_MAX = 3_600;
/** Of both streams together: no receiver passes on more. */
export const OUTPUT_BYTES_MAX = 4_194_304;
const defaultEnvironment = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LANG: "C.UTF-8" };
/** Programs that take a program, or the text of one, as an argument: with one of them the grammar would not be closed. */
const OPEN_ENDED = setOf(
  "sh bash rbash dash ash zsh rzsh ksh rksh mksh lksh oksh pdksh csh bsd-csh tcsh yash posh fish elvish xonsh pwsh",
  "busybox toybox command env xargs nohup setsid timeout nice ionice chrt taskset numactl prlimit choom stdbuf time",
  "watch flock script find parallel rlwrap unbuffer logsave ifne chronic entr eatmydata fakeroot faketime expect",
  "su sg newgrp runuser setpriv capsh runcon aa-exec gosu su-exec setuidgid chpst softlimit cgexec cpulimit",
  "setarch linux32 linux64 i386 x86_64 uname26 strace ltrace gdb lldb valgrind perf screen tmux dtach tini dumb-init",
  "chroot fakechroot proot unshare nsenter bwrap firejail start-stop-daemon daemonize run-parts xvfb-run dbus-run-session",
  "systemd-run systemd-inhibit systemd-nspawn systemd-cat systemd-socket-activate ssh ssh-agent sshpass autossh dbclient",
  "socat nc ncat netcat proxychains torsocks",
  "python pypy micropython perl ruby jruby irb node nodejs deno bun bunx npx uvx pipx qjs php lua luajit texlua tclsh wish",
  "awk gawk mawk nawk original-awk sed ed ex vi view vim rvim rview vimdiff nvim emacs tcc",
  "java jshell groovy scala Rscript R julia guile racket erl escript elixir iex ghci runghc ocaml sbcl swipl octave osascript",
);
/** Programs that run one with other rights. Of these the grammar knows one, and behind it none. */
const RAISING = setOf("sudo sudo-rs sudoedit doas pkexec run0 dzdo pfexec please");
/** How systems tell versions and variants of one program apart: `python3.11`, `perl5.36-x86_64-linux-gnu`, `vim.tiny`. */
const VARIANT =
  /[0-9.-]*(?:[.-](?:static|dbg|debug|basic|tiny|nox|gtk3?|athena|cgi|ws|rs|openbsd|traditional)|-?[a-z0-9_]+-linux-gnu\w*)?$/;
/** The loader runs the program that its argument names. */
const LOADER = /^ld(?:-linux|-musl)?[\w.-]*\.so(?:\.\d+)?$/;
const VARIABLE = /^[A-Z][A-Z0-9_]{0,63}$/;

export type ManifestReading =
  | { readonly kind: "manifest"; readonly manifest: Manifest }
  | { readonly kind: "invalid"; readonly at: string };

/** Reads a whole manifest; the first thing that is not as described makes it invalid and is named by its place. */
export function readManifest(bytes: Uint8Array): ManifestReading {
  const text = bytes.length > MANIFEST_BYTES_MAX ? undefined : decodeStrictUtf8(bytes);
  const value = text === undefined ? undefined : parseStrictJson(text);
  if (!isJsonObject(value)) return invalid("the file is not one strict JSON object");
  const unknown = findUnknown(value, ["format", "state", "gateway_key", "host_key", "environment", "operations"]);
  if (unknown !== undefined) return invalid(unknown);
  if (value["format"] !== MANIFEST_FORMAT) return invalid("format");
  const { state, operations: entries } = value;
  if (!isAbsolute(state)) return invalid("state");
  const pin = readPin(value["gateway_key"], value["host_key"]);
  if (typeof pin === "string") return invalid(pin);
  const environment = readEnvironment(value["environment"]);
  if (environment === undefined) return invalid("environment");
  if (!isJsonObject(entries)) return invalid("operations");
  const operations = new Map<string, HostOperation>();
  for (const [name, entry] of Object.entries(entries)) {
    if (!isActionName(name) || name === STATUS_ACTION) return invalid(`operations/${name}`);
    const operation = readOperation(entry);
    if (typeof operation === "string") return invalid(`operations/${name}/${operation}`);
    operations.set(name, operation);
  }
  return { kind: "manifest", manifest: { state, pin, environment, operations } };
}

function invalid(at: string): ManifestReading {
  return { kind: "invalid", at };
}

/** A text names the member that is wrong. */
function readOperation(entry: JsonValue): HostOperation | string {
  if (!isJsonObject(entry)) return "";
  const unknown = findUnknown(entry, ["executable", "arguments", "fields", "cwd", "timeout_s", "output_bytes"]);
  if (unknown !== undefined) return unknown;
  const { executable, cwd = "/", timeout_s: timeoutS = 30, output_bytes: outputBytes = 65_536 } = entry;
  if (!isAbsolute(executable) || isOpenEnded(executable)) return "executable";
  if (!isAbsolute(cwd)) return "cwd";
  if (!isWhole(timeoutS, 1, TIMEOUT_S_MAX)) return "timeout_s";
  if (!isWhole(outputBytes, 0, OUTPUT_BYTES_MAX)) return "output_bytes";
  const fields = readFields(entry["fields"] ?? {});
  if (fields === undefined) return "fields";
  const args = readArguments(entry["arguments"] ?? [], fields);
  if (args === undefined) return "arguments";
  const elevated = elevatedOf(executable, args);
  if (elevated === undefined) return "arguments";
  return { executable, arguments: args, fields, cwd, timeoutS, outputBytes, elevated };
}

function readFields(value: JsonValue): ReadonlyMap<string, FieldGrammar> | undefined {
  if (!isJsonObject(value)) return undefined;
  const fields = new Map<string, FieldGrammar>();
  for (const [name, entry] of Object.entries(value)) {
    const grammar = readFieldGrammar(entry);
    if (!isFieldName(name) || grammar === undefined) return undefined;
    fields.set(name, grammar);
  }
  return fields;
}

function readArguments(value: JsonValue, fields: ReadonlyMap<string, FieldGrammar>): readonly Argument[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const args: Argument[] = [];
  for (const entry of value) {
    const argument = readArgument(entry, fields);
    if (argument === undefined) return undefined;
    args.push(argument);
  }
  // A field that reaches nothing would be approved by a person and mean nothing.
  const used = args.map((argument) => (argument.kind === "literal" ? "" : argument.field));
  return [...fields.keys()].every((name) => used.includes(name)) ? args : undefined;
}

function readArgument(entry: JsonValue, fields: ReadonlyMap<string, FieldGrammar>): Argument | undefined {
  if (typeof entry === "string") return isLiteral(entry) ? { kind: "literal", text: entry } : undefined;
  if (!isJsonObject(entry)) return undefined;
  const { field, prefix = "", when_true: text } = entry;
  const grammar = typeof field === "string" ? fields.get(field) : undefined;
  if (typeof field !== "string" || grammar === undefined) return undefined;
  if (text !== undefined) {
    if (findUnknown(entry, ["field", "when_true"]) !== undefined || grammar.kind !== "boolean") return undefined;
    return typeof text === "string" && isLiteral(text) ? { kind: "switch", field, text } : undefined;
  }
  if (findUnknown(entry, ["field", "prefix"]) !== undefined || typeof prefix !== "string") return undefined;
  return isLiteral(`x${prefix}`) ? { kind: "field", field, prefix } : undefined;
}

/** sudo runs exactly one named program without asking: `-n -- /absolute/program`. Null without sudo. */
function elevatedOf(executable: string, args: readonly Argument[]): string | null | undefined {
  if (!isIn(RAISING, executable)) return null;
  if (baseOf(executable) !== "sudo") return undefined;
  const [batch, end, target] = args.map((argument) => (argument.kind === "literal" ? argument.text : undefined));
  if (batch !== "-n" || end !== "--" || !isAbsolute(target)) return undefined;
  if (isOpenEnded(target) || isIn(RAISING, target)) return undefined;
  return target;
}

/** Both keys or neither: without the host's own key a signature for another host would do. A text names what is wrong. */
function readPin(gateway: JsonValue | undefined, host: JsonValue | undefined): GatewayPin | null | string {
  if (gateway === undefined && host === undefined) return null;
  const gatewayKey = typeof gateway === "string" ? readSshPublicLine(gateway) : undefined;
  if (gatewayKey === undefined) return "gateway_key";
  const hostKey = typeof host === "string" ? readSshPublicLine(host) : undefined;
  return hostKey === undefined ? "host_key" : { gatewayKey, hostKey: writeSshPublicLine(hostKey) };
}

function readEnvironment(value: JsonValue | undefined): Readonly<Record<string, string>> | undefined {
  if (value === undefined) return defaultEnvironment;
  if (!isJsonObject(value)) return undefined;
  const variables: Record<string, string> = {};
  for (const [name, text] of Object.entries(value)) {
    if (!VARIABLE.test(name) || typeof text !== "string" || !isLiteral(text)) return undefined;
    variables[name] = text;
  }
  return variables;
}

function findUnknown(value: JsonObject, known: readonly string[]): string | undefined {
  return Object.keys(value).find((name) => !known.includes(name));
}

function isLiteral(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) < 0x20 || text.charCodeAt(at) > 0x7e) return false;
  return text.length > 0;
}

/** Absolute and already in its shortest form, so that what is checked is what is run. */
function isAbsolute(value: JsonValue | undefined): value is string {
  if (typeof value !== "string" || !isLiteral(value) || !value.startsWith("/")) return false;
  return (
    value === "/" || value.split("/").every((part, at) => (part === "" ? at === 0 : part !== "." && part !== ".."))
  );
}

function isOpenEnded(path: string): boolean {
  return isIn(OPEN_ENDED, path) || LOADER.test(baseOf(path));
}

/** By its very name, or by that of one of its variants. */
function isIn(names: ReadonlySet<string>, path: string): boolean {
  const base = baseOf(path);
  return names.has(base) || names.has(base.replace(VARIANT, ""));
}

function setOf(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((names) => names.split(" ")));
}

function baseOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
