/**
 * What `git push` sends to git-receive-pack: where the history of a shallow clone ends, which refs move from which commit to
 * which, and a packfile. All but the last is what a person can read. A closed grammar, and one spelling: writing what was read gives the very same bytes.
 */
import { Denied } from "../../kernel/failure.ts";

export interface Push {
  /** The commits whose parents the client does not have; none in a whole clone. */
  readonly shallow: readonly string[];
  readonly updates: readonly RefUpdate[];
  /** As the client wrote them, in their order. */
  readonly capabilities: readonly string[];
  readonly options: readonly string[];
  /** Empty where refs are only deleted. */
  readonly packfile: Buffer;
}

export interface RefUpdate {
  readonly ref: string;
  /** All zeros where the ref is new. */
  readonly old: string;
  /** All zeros where the ref goes away. */
  readonly new: string;
}

export const PUSH_MEDIA_TYPE = "application/x-git-receive-pack-request";

const COMMAND = /^([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) (refs\/[^\0-\x20\x7f~^:?*[\\]+)$/;
const SHALLOW = /^shallow ([0-9a-f]{40}|[0-9a-f]{64})\n?$/;
const CAPABILITY = /^[!-~]+$/;
const ZEROS = /^0+$/;
const FLUSH = "0000";
const PACK = Buffer.from("PACK");

export function readPush(body: Buffer): Push {
  const lines = readLines(body, 0);
  const at = lines.lines.findIndex((one) => !SHALLOW.test(one));
  const [first, ...others] = at < 0 ? [] : lines.lines.slice(at);
  if (first === undefined) throw malformed("it names no ref");
  const nul = first.indexOf("\0");
  if (nul < 0) throw malformed("its first line has no capabilities");
  const capabilities = first
    .slice(nul + 1)
    .replace(/\n$/, "")
    .split(" ")
    .filter((one) => one !== "");
  const updates = [first.slice(0, nul), ...others].map(readUpdate);
  requireOnce(updates);
  const shallow = lines.lines.slice(0, at).map((one) => SHALLOW.exec(one)?.[1] ?? "");
  const optioned = capabilities.includes("push-options");
  const rest = optioned ? readLines(body, lines.end) : { lines: [], end: lines.end };
  const packfile = body.subarray(rest.end);
  if (packfile.byteLength > 0 && !packfile.subarray(0, 4).equals(PACK)) throw malformed("what follows is no packfile");
  return { shallow, updates, capabilities, options: rest.lines, packfile };
}

export function writePush({ shallow, updates, capabilities, options, packfile }: Push): Buffer {
  const [first, ...rest] = updates.map((one) => `${one.old} ${one.new} ${one.ref}`);
  if (first === undefined) throw malformed("it names no ref");
  for (const one of updates) readUpdate(`${one.old} ${one.new} ${one.ref}`);
  requireOnce(updates);
  if (!capabilities.every((one) => CAPABILITY.test(one))) throw malformed("a capability is no word");
  const edge = shallow.map((one) => `shallow ${one}\n`);
  if (!edge.every((one) => SHALLOW.test(one))) throw malformed("a shallow commit is none");
  const optioned = capabilities.includes("push-options");
  if (!optioned && options.length > 0) throw malformed("options need the capability push-options");
  const text = [
    ...edge.map(line),
    line(`${first}\0 ${capabilities.join(" ")}`),
    ...rest.map(line),
    FLUSH,
    ...(optioned ? [...options.map(line), FLUSH] : []),
  ].join("");
  return Buffer.concat([Buffer.from(text, "utf8"), packfile]);
}

/** All zeros: there is no such ref, before or after. */
export function isNoCommit(commit: string): boolean {
  return ZEROS.test(commit);
}

function readUpdate(text: string): RefUpdate {
  const [, old = "", next = "", ref = ""] = COMMAND.exec(text.replace(/\n$/, "")) ?? [];
  if (ref === "" || old.length !== next.length) throw malformed("a line is not OLD NEW REF");
  // No git writes this, and receive-pack takes it for a deletion of whatever the ref is at, past its own settings.
  if (isNoCommit(old) && isNoCommit(next)) throw malformed("a ref goes from no commit to none");
  if (ref.includes("..") || ref.includes("//") || ref.endsWith("/") || ref.endsWith(".") || ref.endsWith(".lock"))
    throw malformed("a ref has a name that git does not take");
  return { ref, old, new: next };
}

/** No git writes it otherwise, and a host that moves it once and refuses it once has a report that could be read in two ways. */
function requireOnce(updates: readonly RefUpdate[]): void {
  if (new Set(updates.map(({ ref }) => ref)).size < updates.length) throw malformed("a ref is named twice");
}

function line(text: string): string {
  const bytes = Buffer.byteLength(text, "utf8") + 4;
  if (bytes > 0xffff) throw malformed("a line is too long");
  return bytes.toString(16).padStart(4, "0") + text;
}

function readLines(body: Buffer, from: number): { readonly lines: readonly string[]; readonly end: number } {
  const { lines, end } = cutLines(body, from);
  return { lines: lines.map(textOf), end };
}

function textOf(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  if (!Buffer.from(text, "utf8").equals(bytes)) throw malformed("a line is not UTF-8");
  return text;
}

/** Lines up to the flush, each as it came. */
export function cutLines(body: Buffer, from: number): { readonly lines: readonly Buffer[]; readonly end: number } {
  const lines: Buffer[] = [];
  for (let at = from; ; ) {
    const head = body.toString("latin1", at, at + 4);
    if (!/^[0-9a-f]{4}$/.test(head)) throw malformed("a line has no length");
    const length = Number.parseInt(head, 16);
    if (length === 0) return { lines, end: at + 4 };
    if (length <= 4 || at + length > body.byteLength) throw malformed("a line is cut off");
    lines.push(body.subarray(at + 4, at + length));
    at += length;
  }
}

function malformed(why: string): Denied {
  return new Denied("git_push_malformed", `the push cannot be read: ${why}`);
}
