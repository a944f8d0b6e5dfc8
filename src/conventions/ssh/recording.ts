import { isJsonObject } from "../../kernel/json.ts";
import { parseStrictJson } from "./strict-json.ts";

/** What an operation wrote, as it came, up to a cap. It is sealed for the audit recipients and never kept in clear. */
export interface SshRecording {
  readonly requestId: string;
  readonly chunks: readonly RecordedChunk[];
  /** More came than the cap allows. */
  readonly capped: boolean;
}

export interface RecordedChunk {
  readonly afterMs: number;
  readonly stream: "stdout" | "stderr";
  readonly data: Buffer;
}

const FORMAT = "gw.ssh-recording/v1";

/** What a recording takes beside its pieces, and a piece beside its data, at most. */
export const HEAD_BYTES = 128;
export const PIECE_BYTES = 64;

/** What the data of a piece takes: it stands there as base64. */
export function writtenBytes(dataBytes: number): number {
  return Math.ceil(dataBytes / 3) * 4;
}

/** The most data that takes no more than that. */
export function dataWithin(bytes: number): number {
  return Math.floor(Math.max(0, bytes) / 4) * 3;
}

/** The bytes that are sealed, and whose digest the completion event carries. */
export function writeRecording(recording: SshRecording): Buffer {
  const head = JSON.stringify({ format: FORMAT, request_id: recording.requestId, capped: recording.capped });
  const lines = recording.chunks.map(({ afterMs, stream, data }) =>
    JSON.stringify({ after_ms: afterMs, stream, data: data.toString("base64") }),
  );
  return Buffer.from(`${[head, ...lines].join("\n")}\n`, "utf8");
}

export function readRecording(bytes: Buffer): SshRecording | undefined {
  const [head, ...lines] = bytes.toString("utf8").trimEnd().split("\n");
  const top = parseStrictJson(head ?? "");
  if (!isJsonObject(top) || top["format"] !== FORMAT) return undefined;
  const { request_id: requestId, capped } = top;
  if (typeof requestId !== "string" || typeof capped !== "boolean") return undefined;
  const chunks: RecordedChunk[] = [];
  for (const line of lines) {
    const chunk = readChunk(line);
    if (chunk === undefined) return undefined;
    chunks.push(chunk);
  }
  return { requestId, chunks, capped };
}

/** asciicast v2. A player writes these bytes to a terminal, so only text, tabs and line ends go through. */
export function writeAsciicast(recording: SshRecording, startedAtMs: number): string {
  const header = { version: 2, width: 80, height: 24, timestamp: Math.floor(startedAtMs / 1000) };
  // A letter may begin in one piece and end in the next of its stream.
  const decoder = () => new TextDecoder("utf-8", { ignoreBOM: true });
  const letters = { stdout: decoder(), stderr: decoder() };
  const event = (afterMs: number, text: string): string => JSON.stringify([afterMs / 1000, "o", tameForTerminal(text)]);
  const events = recording.chunks.map(({ afterMs, stream, data }) =>
    event(afterMs, letters[stream].decode(data, { stream: true })),
  );
  const cut = letters.stdout.decode() + letters.stderr.decode();
  if (cut !== "") events.push(event(recording.chunks.at(-1)?.afterMs ?? 0, cut));
  return `${[JSON.stringify(header), ...events].join("\n")}\n`;
}

function tameForTerminal(text: string): string {
  return text
    .replaceAll(/[^\P{C}\t\n]/gu, (each) => `\\u{${(each.codePointAt(0) ?? 0).toString(16)}}`)
    .replaceAll("\n", "\r\n");
}

function readChunk(line: string): RecordedChunk | undefined {
  const value = parseStrictJson(line);
  if (!isJsonObject(value)) return undefined;
  const { after_ms: afterMs, stream, data } = value;
  if (typeof afterMs !== "number" || typeof data !== "string") return undefined;
  if (stream !== "stdout" && stream !== "stderr") return undefined;
  return { afterMs, stream, data: Buffer.from(data, "base64") };
}
