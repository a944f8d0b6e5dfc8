import type { Duplex } from "node:stream";
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/server";
import { parseJsonValue } from "../../../packages/request/src/json/parse.ts";
import { Denied } from "../../kernel/failure.ts";
import { isJsonObject, type JsonValue } from "../../kernel/json.ts";
import { createLineReader } from "./lines.ts";
import type { Taken, Turns } from "./turns.ts";

export interface TransportLimits {
  readonly lineBytes: number;
  /** Lines that are no message; one more ends the connection. */
  readonly badLines: number;
  readonly requestsOpen: number;
}

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const TOO_MANY = -32_000;

/**
 * Lines of strict JSON over a connection that is already identified. What is not exactly one JSON-RPC message is answered
 * with an error and never reaches the server; input is not read while the other side does not read its answers.
 */
export function createLineTransport(
  socket: Duplex,
  head: Buffer,
  limits: TransportLimits,
  turns: Turns,
  working: (busy: boolean) => void = () => undefined,
): Transport {
  const lines = createLineReader(limits.lineBytes);
  const waiting: Buffer[] = [];
  let overlong = false;
  const open = new Set<string | number>();
  let bad = 0;
  let closed = false;

  const transport: Transport = {
    async start() {
      socket.on("data", take);
      socket.on("drain", readOn);
      socket.on("end", close);
      socket.on("close", close);
      socket.on("error", (error) => transport.onerror?.(error));
      if (head.length > 0) take(head);
    },
    async send(message) {
      if (closed) return;
      if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) {
        if (message.id !== undefined) end(message.id);
      } else if (isProgress(message) && socket.writableNeedDrain) return;
      write(message);
    },
    async close() {
      close();
    },
  };
  return transport;

  function take(chunk: Buffer): void {
    const { whole, tooLong } = lines.push(chunk);
    overlong ||= tooLong;
    const idle = waiting.length === 0;
    for (const line of whole) waiting.push(line);
    if (waiting.length === 0) {
      endOverlong();
      return;
    }
    // What was read is worked off before more is.
    socket.pause();
    if (idle) turns.queue(takeTurn);
  }

  function takeTurn(): Taken {
    const line = waiting.shift();
    if (closed || line === undefined) return { bytes: 0, more: false };
    receive(line);
    if (waiting.length > 0) return { bytes: line.length, more: !closed };
    endOverlong();
    readOn();
    return { bytes: line.length, more: false };
  }

  function readOn(): void {
    if (waiting.length === 0 && !socket.writableNeedDrain) socket.resume();
  }

  function endOverlong(): void {
    if (closed || !overlong) return;
    refuse(null, PARSE_ERROR, `A line is longer than ${limits.lineBytes} bytes.`, "body_too_large");
    close();
  }

  function receive(line: Buffer): void {
    const read = readLine(line);
    if (read.kind === "message") {
      admit(read.message);
      return;
    }
    refuse(read.id, read.number, read.why, read.code);
    if (++bad > limits.badLines) close();
  }

  function admit(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) {
      const { id } = message;
      if (open.has(id)) refuse(id, INVALID_REQUEST, "A request with this id is still open.", "repeated_name");
      else if (open.size < limits.requestsOpen) {
        if (open.add(id).size === 1) working(true);
        transport.onmessage?.(message);
      } else refuse(id, TOO_MANY, `${limits.requestsOpen} requests are open already.`, "too_many_requests");
      return;
    }
    if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
      // It gets no answer any more, so that its place is free.
      const id = message.params?.["requestId"];
      if (typeof id === "string" || typeof id === "number") end(id);
    }
    transport.onmessage?.(message);
  }

  function end(id: string | number): void {
    if (open.delete(id) && open.size === 0) working(false);
  }

  function refuse(id: string | number | null, number: number, message: string, code: string): void {
    write({ jsonrpc: "2.0", id, error: { code: number, message, data: { code } } });
  }

  function write(message: object): void {
    if (closed || socket.writableEnded || socket.destroyed) return;
    if (!socket.write(`${JSON.stringify(message)}\n`)) socket.pause();
  }

  function close(): void {
    if (closed) return;
    closed = true;
    socket.off("data", take);
    // What is left of the input is of no interest, and unread input would hold the connection.
    socket.resume();
    // Whoever does not read its answers, or never closes its own side, does not hold the connection either.
    if (socket.writableNeedDrain) socket.destroy();
    else socket.end(() => socket.destroy());
    transport.onclose?.();
  }
}

type Line =
  | { readonly kind: "message"; readonly message: JSONRPCMessage }
  | {
      readonly kind: "bad";
      readonly id: string | number | null;
      readonly number: number;
      readonly why: string;
      readonly code: string;
    };

function readLine(line: Buffer): Line {
  let value: JsonValue;
  try {
    value = parseJsonValue(line);
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    return { kind: "bad", id: null, number: PARSE_ERROR, why: error.message, code: error.code };
  }
  try {
    return { kind: "message", message: parseJSONRPCMessage(value) };
  } catch {
    const id = isJsonObject(value) ? value["id"] : null;
    return {
      kind: "bad",
      id: typeof id === "string" || typeof id === "number" ? id : null,
      number: INVALID_REQUEST,
      why: "The line is not one JSON-RPC message.",
      code: "schema_violation",
    };
  }
}

function isProgress(message: JSONRPCMessage): boolean {
  return isJSONRPCNotification(message) && message.method === "notifications/progress";
}
