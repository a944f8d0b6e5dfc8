import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import { object, text, textOrNull, whole } from "../../../packages/request/src/shape.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Authority, CallerValidity, Interpreter } from "./authority.ts";

/**
 * What the operating system and the image file say of a live caller. It is evidence for a person and for the log; it
 * never carries an approval over to another process, however alike the two look.
 */
export interface CallerEvidence {
  readonly process: ProcessCredential;
  /** Where the image was when it was looked at. Context only: names can be chosen by anyone. */
  readonly pathObserved: string;
  readonly signingIdentifier: string | null;
  readonly designatedRequirement: string | null;
  /** `sha256:<hex>` of the opened image on Linux, the code directory hash on macOS; `unproven:<id>`, of this one look, where nothing that can be read says what runs. */
  readonly cdhash: string;
  readonly validity: CallerValidity;
  readonly authority: Authority;
  /** Set when the image runs programs that are files of their own: no claim about the image covers those. */
  readonly interpreter: Interpreter | null;
  /** Set when nothing tells whether the image is one: it maps no library and no package owns it. */
  readonly interpreterUnsure?: boolean;
  /** Executable mappings of files that no package owns, or that are no longer the file of that name. */
  readonly unownedMappings: readonly string[];
  /** The parent chain, nearest first. Context only. */
  readonly ancestors: readonly Ancestor[];
  readonly namespaces: "own" | "other" | "unreadable";
  readonly binding: CallerBinding;
}

/** `process` is bound to the live process; `connection` ends with the connection and is asked about again. */
export type CallerBinding = "process" | "connection";

/** The credential that the operating system issued, none of it taken from what the caller sent. */
export interface ProcessCredential {
  readonly pid: number;
  /** Clock ticks after boot on Linux, pid version on macOS: tells a process from a later one with its pid. */
  readonly startTime: string;
  readonly uid: number;
  /** The kernel's own number of the process; null where a kernel has none. */
  readonly pidfdInode: string | null;
}

export interface Ancestor {
  readonly pid: number;
  readonly startTime: string;
  readonly path: string | null;
}

const UNPROVEN = "unproven:";

/** Stands for the digest of an image of which nobody can say what it holds: equal to no file's, and to that of no other look. */
export function unprovenDigest(id: string): string {
  return `${UNPROVEN}${id}`;
}

/** Whether two processes with this digest run the same file. */
export function namesImage(cdhash: string): boolean {
  return cdhash !== "" && !cdhash.startsWith(UNPROVEN);
}

/** The specification's `caller` object. */
export const callerSchema = object({
  process: object({ pid: whole, start_time: text, uid: whole, pidfd_inode: textOrNull }),
  path_observed: text,
  signing_identifier: textOrNull,
  designated_requirement: textOrNull,
  cdhash: text,
  validity: text,
});

/** The one place that turns evidence into wire names. */
export function encodeCaller(evidence: CallerEvidence): FromSchema<typeof callerSchema> {
  return {
    process: {
      pid: evidence.process.pid,
      start_time: evidence.process.startTime,
      uid: evidence.process.uid,
      pidfd_inode: evidence.process.pidfdInode,
    },
    path_observed: evidence.pathObserved,
    signing_identifier: evidence.signingIdentifier,
    designated_requirement: evidence.designatedRequirement,
    cdhash: evidence.cdhash,
    validity: evidence.validity,
  };
}

/** What the card shows beside the record: never part of the specification's object, always beside it. */
export function encodeCallerContext(evidence: CallerEvidence): JsonObject {
  return {
    authority: { ...evidence.authority },
    interpreter: evidence.interpreter === null ? null : { ...evidence.interpreter },
    ...(evidence.interpreterUnsure === true ? { interpreter_unsure: true } : {}),
    unowned_mappings: [...evidence.unownedMappings],
    ancestors: evidence.ancestors.map(({ pid, startTime, path }) => ({ pid, start_time: startTime, path })),
    namespaces: evidence.namespaces,
    binding: evidence.binding,
  };
}
