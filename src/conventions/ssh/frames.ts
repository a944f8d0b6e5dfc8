import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import { isRefusalCode, type RefusalCode } from "./refusal.ts";
import { isRequestId } from "./request.ts";
import { decodeStrictUtf8, parseStrictJson } from "./strict-json.ts";

/**
 * What a receiver says, one JSON object a line: `ready`, then `refused`, or `started`, any `output`, and `finished`.
 * A line out of this order, of another shape or for another request is a violation, and nothing after it counts.
 */
export type Frame = ReadyFrame | RefusedFrame | StartedFrame | OutputFrame | FinishedFrame;

export interface ReadyFrame {
  readonly kind: "ready";
  readonly nonce: string;
}
export interface RefusedFrame {
  readonly kind: "refused";
  /** Null where the receiver could not read one. */
  readonly requestId: string | null;
  readonly code: RefusalCode;
}
export interface StartedFrame {
  readonly kind: "started";
  readonly requestId: string;
}
export interface OutputFrame {
  readonly kind: "output";
  readonly stream: "stdout" | "stderr";
  readonly data: Buffer;
}
export interface FinishedFrame {
  readonly kind: "finished";
  readonly requestId: string;
  /** Null when a signal ended the operation. */
  readonly exitStatus: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  /** The operation wrote more than the receiver passes on. */
  readonly truncated: boolean;
}

export const RECEIVER_FORMAT = "gw.receiver/v1";
export const OUTPUT_CHUNK_BYTES = 24_576;
const LINE_BYTES_MAX = 40_960;
const NONCE = /^[A-Za-z0-9_-]{22}$/;
const SIGNAL = /^SIG[A-Z0-9]{1,12}$/;

export function writeFrame(frame: Frame): string {
  return `${JSON.stringify(membersOf(frame))}\n`;
}

/** Reads one line without its newline; undefined when it is no frame. */
export function readFrame(line: Uint8Array): Frame | undefined {
  const text = line.length > LINE_BYTES_MAX ? undefined : decodeStrictUtf8(line);
  const value = text === undefined ? undefined : parseStrictJson(text);
  if (!isJsonObject(value)) return undefined;
  const frame = shapeOf(value);
  // One form a frame: what does not write back to the same members had others, or other types.
  return frame !== undefined && sameMembers(value, membersOf(frame)) ? frame : undefined;
}

export type FrameProgress = "none" | "ready" | "refused" | "started" | "finished";

/** The order of frames. `output` keeps the state; a pair that is not here is a violation. */
const order: readonly (readonly [FrameProgress, Frame["kind"], FrameProgress])[] = [
  ["none", "ready", "ready"],
  ["none", "refused", "refused"],
  ["ready", "refused", "refused"],
  ["ready", "started", "started"],
  ["started", "output", "started"],
  ["started", "finished", "finished"],
];

export interface FrameReader {
  readonly progress: FrameProgress;
  readonly violation: FrameViolation | null;
  /** Takes bytes as they come; returns the frames that became whole. After a violation it returns none. */
  push(chunk: Buffer): Frame[];
  /** The stream ended: half a line is a violation. */
  end(): void;
}

export type FrameViolation = "frame_malformed" | "frame_too_long" | "frame_out_of_order" | "frame_for_another_request";

export function createFrameReader(requestId: string): FrameReader {
  let progress: FrameProgress = "none";
  let violation: FrameViolation | null = null;
  let rest: Buffer = Buffer.alloc(0);
  const admit = (line: Buffer): Frame | undefined => {
    const frame = readFrame(line);
    if (frame === undefined) {
      violation = "frame_malformed";
      return undefined;
    }
    const next = order.find(([from, kind]) => from === progress && kind === frame.kind)?.[2];
    if (next === undefined) violation = "frame_out_of_order";
    else if (!concerns(frame, requestId)) violation = "frame_for_another_request";
    if (violation !== null || next === undefined) return undefined;
    progress = next;
    return frame;
  };
  return {
    get progress() {
      return progress;
    },
    get violation() {
      return violation;
    },
    push(chunk) {
      const frames: Frame[] = [];
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      while (violation === null) {
        const end = rest.indexOf(0x0a);
        if (end < 0) {
          if (rest.length > LINE_BYTES_MAX) violation = "frame_too_long";
          break;
        }
        const frame = admit(rest.subarray(0, end));
        rest = rest.subarray(end + 1);
        if (frame !== undefined) frames.push(frame);
      }
      return frames;
    },
    end() {
      if (violation === null && rest.length > 0) violation = "frame_malformed";
    },
  };
}

function concerns(frame: Frame, requestId: string): boolean {
  switch (frame.kind) {
    case "ready":
    case "output":
      return true;
    case "refused":
      return frame.requestId === null || frame.requestId === requestId;
    case "started":
    case "finished":
      return frame.requestId === requestId;
  }
}

function membersOf(frame: Frame): JsonObject {
  switch (frame.kind) {
    case "ready":
      return { frame: "ready", format: RECEIVER_FORMAT, nonce: frame.nonce };
    case "refused":
      return { frame: "refused", request_id: frame.requestId, code: frame.code };
    case "started":
      return { frame: "started", request_id: frame.requestId };
    case "output":
      return { frame: "output", stream: frame.stream, data: frame.data.toString("base64") };
    case "finished":
      return {
        frame: "finished",
        request_id: frame.requestId,
        exit_status: frame.exitStatus,
        signal: frame.signal,
        timed_out: frame.timedOut,
        truncated: frame.truncated,
      };
  }
}

function shapeOf(value: JsonObject): Frame | undefined {
  switch (value["frame"]) {
    case "ready": {
      const { nonce } = value;
      return typeof nonce === "string" && NONCE.test(nonce) ? { kind: "ready", nonce } : undefined;
    }
    case "refused": {
      const { request_id: requestId = null, code } = value;
      if (requestId !== null && !isId(requestId)) return undefined;
      return typeof code === "string" && isRefusalCode(code) ? { kind: "refused", requestId, code } : undefined;
    }
    case "started": {
      const { request_id: requestId } = value;
      return isId(requestId) ? { kind: "started", requestId } : undefined;
    }
    case "output": {
      const { stream, data } = value;
      if ((stream !== "stdout" && stream !== "stderr") || typeof data !== "string") return undefined;
      return { kind: "output", stream, data: Buffer.from(data, "base64") };
    }
    case "finished":
      return shapeFinished(value);
    default:
      return undefined;
  }
}

function shapeFinished(value: JsonObject): FinishedFrame | undefined {
  const { request_id: requestId, exit_status: exitStatus = null, signal = null } = value;
  const { timed_out: timedOut, truncated } = value;
  if (!isId(requestId) || typeof timedOut !== "boolean" || typeof truncated !== "boolean") return undefined;
  if (signal !== null && (typeof signal !== "string" || !SIGNAL.test(signal))) return undefined;
  if (exitStatus !== null && !isExitStatus(exitStatus)) return undefined;
  // An operation ends in one way: with a status or by a signal.
  if ((exitStatus === null) === (signal === null)) return undefined;
  return { kind: "finished", requestId, exitStatus, signal, timedOut, truncated };
}

function isId(value: JsonValue | undefined): value is string {
  return typeof value === "string" && isRequestId(value);
}

function isExitStatus(value: JsonValue): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 255;
}

function sameMembers(value: JsonObject, members: JsonObject): boolean {
  const names = Object.keys(value);
  return names.length === Object.keys(members).length && names.every((name) => value[name] === members[name]);
}
