import { type Code, codes } from "../../../src/kernel/codes.ts";
import { Denied } from "../../../src/kernel/failure.ts";
import { PROBLEM_MEDIA_TYPE, problemOf } from "../../../src/kernel/problem.ts";
import { doingOf, endAfterAnswers, noteFault } from "./conversation.ts";

/** The little of a socket that is needed to say goodbye. */
export interface ErrorSocket {
  readonly writable: boolean;
  readonly bytesWritten: number;
  end(text: string, onWritten: () => void): unknown;
  destroy(): unknown;
}

const codeOf: Readonly<Record<string, Code>> = {
  HPE_HEADER_OVERFLOW: "head_too_large",
  HPE_INVALID_EOF_STATE: "request_cut_off",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timed_out",
};

/** The peer is gone, or the line is: nobody asked for anything that could be refused. */
const BROKEN = new Set<unknown>(["ECONNRESET", "EPIPE", "ECONNABORTED", "ETIMEDOUT"]);

/**
 * For a server's `clientError`: bytes that never became a request get the same envelope as everything else, then the
 * connection ends. Requests that came whole before them are answered for what they were, and then nothing is added.
 */
export function createClientErrorHandler<Socket extends ErrorSocket>(
  correlationId: () => string,
  onRefused: (denied: Denied, correlationId: string, bytes: Uint8Array | null, socket: Socket) => void = () =>
    undefined,
): (error: Error, socket: Socket) => void {
  return (error, socket) => {
    const reason: unknown = "code" in error ? error.code : undefined;
    const doing = doingOf(socket);
    if (!socket.writable || BROKEN.has(reason) || (doing === "nothing_known" && socket.bytesWritten > 0)) {
      socket.destroy();
      return;
    }
    const code = (typeof reason === "string" ? codeOf[reason] : undefined) ?? "framing_invalid";
    const denied = new Denied(code, codes[code].means);
    if (doing === "answering") return endAfterAnswers(socket, denied);
    noteFault(socket, denied);
    const id = correlationId();
    const bytes = "rawPacket" in error && error.rawPacket instanceof Uint8Array ? error.rawPacket : null;
    onRefused(denied, id, bytes, socket);
    refuseOn(socket, denied, id);
  };
}

/** The one envelope as the last bytes of a connection, for refusals that no response object can carry. */
export function refuseOn(socket: Pick<ErrorSocket, "end" | "destroy">, denied: Denied, correlationId: string): void {
  // Whoever does not hang up either would hold the connection for good.
  socket.end(refusalText(denied, correlationId), () => socket.destroy());
}

/** A whole answer that refuses and closes. */
export function refusalText(denied: Denied, correlationId: string): string {
  const problem = problemOf(denied, correlationId);
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} Refused`,
    `content-type: ${PROBLEM_MEDIA_TYPE}`,
    "cache-control: no-store",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}
