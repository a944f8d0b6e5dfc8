import { randomBytes } from "node:crypto";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Code } from "../../kernel/codes.ts";
import { codes } from "../../kernel/codes.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { Door } from "../place/place.ts";

/** One plane of a gateway, reached over its local socket. */
export interface Connection {
  ask(method: "GET" | "POST", path: string, options?: AskOptions): Promise<Reply>;
  /** The body as it came, for whoever reads it more strictly. */
  bytes(method: "GET" | "POST", path: string, options?: AskOptions): Promise<Buffer>;
  /** A page that is text. */
  read(path: string): Promise<string>;
  /** Server-sent events with their parsed `data`, one at a time, until the stream ends or the signal aborts. */
  stream(
    path: string,
    options: { readonly headers?: Record<string, string>; readonly signal: AbortSignal },
  ): AsyncGenerator<StreamEvent>;
  close(): void;
}

export interface StreamEvent {
  readonly event: string;
  readonly data: JsonValue;
}

export interface AskOptions {
  readonly body?: JsonValue;
  /** Goes along as a file beside `body`, as it comes. */
  readonly file?: AsyncIterable<Buffer>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Hangs up: whoever asked is no longer there. */
  readonly signal?: AbortSignal;
}

export interface Reply {
  readonly status: number;
  readonly body: JsonValue;
  /** Where the reply goes on as it comes: a value a line. */
  readonly more?: AsyncIterable<JsonValue>;
}

/** The gateway is not there, or went away before it answered. Nothing is known about what it did. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
  /** Somebody listens there and could not serve this connection: trying again may help. */
  readonly crowded: boolean;

  constructor(message: string, cause?: unknown) {
    super(message);
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
    this.crowded = ["EAGAIN", "ECONNRESET", "EPIPE"].includes(code);
  }
}

const MAX_REPLY_BYTES = 67_108_864;
const MAX_LINE_BYTES = 4_194_304;

/**
 * Hands out the socket only when whoever listens there is the right user: nothing is said to anybody else. Where the queue before
 * the door is full it knocks again: nothing was sent, so nothing can happen twice.
 */
export function knock(
  door: Door,
  done: (error: Error | null, socket: Socket) => void,
  tries: number = defaults.knockTries,
): void {
  const socket: Socket = connect(door.path);
  const fail = (error: Error): void => {
    if (tries > 1 && "code" in error && error.code === "EAGAIN")
      setTimeout(() => knock(door, done, tries - 1), defaults.knockPauseMs);
    else done(error, socket);
  };
  socket.once("error", fail);
  socket.once("connect", () => {
    socket.off("error", fail);
    try {
      door.requireServer(socket);
      done(null, socket);
    } catch (error) {
      socket.destroy();
      done(error instanceof Error ? error : new Error(String(error)), socket);
    }
  });
}

export function openConnection(door: Door): Connection {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  agent.createConnection = (_options, done) => {
    knock(door, (error, socket) => done?.(error, socket));
    return undefined;
  };
  return over(door.path, agent);
}

/** Everything on one socket and never on another, whatever stands under the name by then. */
export async function openSingle(door: Door): Promise<{ readonly connection: Connection; readonly socket: Socket }> {
  const socket = await new Promise<Socket>((resolve, reject) => {
    knock(door, (error, opened) => {
      if (error === null) resolve(opened);
      else reject(error instanceof Denied ? error : new Unreachable(describe(error, door.path), error));
    });
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agent.createConnection = (_options, done) => {
    // A socket that was closed meanwhile would take the request and never answer.
    if (!socket.destroyed) return socket;
    done?.(new Error("the connection was closed"), socket);
    return undefined;
  };
  return { connection: over(door.path, agent), socket };
}

function over(socketPath: string, agent: Agent): Connection {
  const send = (method: string, path: string, options: AskOptions, signal?: AbortSignal): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const text = options.body === undefined ? null : JSON.stringify(options.body);
      const { file } = options;
      const headers = {
        ...options.headers,
        ...(file !== undefined
          ? { "content-type": `multipart/form-data; boundary=${BOUNDARY}` }
          : text === null
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
      };
      const call = request({ socketPath, agent, method, path, headers, ...(signal ? { signal } : {}) }, resolve);
      call.on("error", (error) =>
        reject(error instanceof Denied ? error : new Unreachable(describe(error, socketPath), error)),
      );
      // An answer may come before all of it is sent; then nobody reads the rest.
      if (file !== undefined)
        pipeline(Readable.from(partsOf(text ?? "", file)), call).catch((error: Error) => call.destroy(error));
      else if (text === null) call.end();
      else call.end(text);
    });

  const bytes: Connection["bytes"] = async (method, path, options = {}) => {
    const response = await send(method, path, options, options.signal);
    const body = await readBytes(response, socketPath);
    if ((response.statusCode ?? 0) >= 400) throw deniedOf(JSON.parse(body.toString("utf8")) as JsonValue);
    return body;
  };

  return {
    async ask(method, path, options = {}) {
      const response = await send(method, path, options, options.signal);
      if (response.headers["content-type"] === "application/jsonl") return readLines(response, socketPath);
      const text = await readText(response, socketPath);
      const body = text === "" ? null : (JSON.parse(text) as JsonValue);
      const status = response.statusCode ?? 0;
      if (status >= 400) throw deniedOf(body);
      return { status, body };
    },
    bytes,
    read: async (path) => (await bytes("GET", path, {})).toString("utf8"),
    async *stream(path, { headers = {}, signal }) {
      const response = await send("GET", path, { headers }, signal);
      if ((response.statusCode ?? 0) >= 400)
        throw deniedOf(JSON.parse(await readText(response, socketPath)) as JsonValue);
      let rest = "";
      response.setEncoding("utf8");
      try {
        for await (const chunk of response as AsyncIterable<string>) {
          const events = (rest + chunk).split("\n\n");
          rest = events.pop() ?? "";
          for (const event of events) {
            const field = (name: string): string | undefined =>
              event
                .split("\n")
                .find((line) => line.startsWith(name))
                ?.slice(name.length);
            const data = field("data: ");
            if (data !== undefined) yield { event: field("event: ") ?? "message", data: JSON.parse(data) as JsonValue };
          }
        }
      } catch (error) {
        if (!signal.aborted) throw new Unreachable(describe(error, socketPath), error);
      }
    },
    close() {
      agent.destroy();
    },
  };
}

/** Nobody whose bytes are sent knows it, so that nothing can end its own part. */
const BOUNDARY = `gw-${randomBytes(24).toString("hex")}`;

async function* partsOf(text: string, file: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const disposition = (name: string): string => `content-disposition: form-data; name="${name}"`;
  yield Buffer.from(`--${BOUNDARY}\r\n${disposition("request")}\r\n\r\n${text}\r\n`);
  yield Buffer.from(`--${BOUNDARY}\r\n${disposition("body")}\r\n\r\n`);
  yield* file;
  yield Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
}

async function readText(response: IncomingMessage, socketPath: string): Promise<string> {
  return (await readBytes(response, socketPath)).toString("utf8");
}

async function readBytes(response: IncomingMessage, socketPath: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.byteLength;
      if (length > MAX_REPLY_BYTES) throw new Error("the answer is too large");
      chunks.push(chunk);
    }
  } catch (error) {
    throw new Unreachable(describe(error, socketPath), error);
  }
  return Buffer.concat(chunks);
}

/** The first line is the body; the others come as they come. */
async function readLines(response: IncomingMessage, socketPath: string): Promise<Reply> {
  const lines = linesIn(response, socketPath);
  const { value: body = null } = await lines.next();
  return { status: response.statusCode ?? 0, body, more: lines };
}

async function* linesIn(response: IncomingMessage, socketPath: string): AsyncGenerator<JsonValue> {
  let parts: string[] = [];
  let length = 0;
  response.setEncoding("utf8");
  try {
    for await (const text of response as AsyncIterable<string>) {
      const [first = "", ...others] = text.split("\n");
      parts.push(first);
      length += first.length;
      if (length > MAX_LINE_BYTES) throw new Error("a line of the answer is too large");
      for (const other of others) {
        yield JSON.parse(parts.join("")) as JsonValue;
        parts = [other];
        length = other.length;
      }
    }
  } catch (error) {
    throw new Unreachable(describe(error, socketPath), error);
  }
}

/** A problem document becomes the refusal it stands for; its code is kept even when this client does not know it. */
function deniedOf(body: JsonValue): Denied {
  const problem = (typeof body === "object" && body !== null && !Array.isArray(body) ? body : {}) as JsonObject;
  const code =
    typeof problem["code"] === "string" && problem["code"] in codes ? (problem["code"] as Code) : "internal_fault";
  const message =
    typeof problem["message"] === "string" ? problem["message"] : "The gateway refused without saying why.";
  const errors = Array.isArray(problem["errors"]) ? problem["errors"] : [];
  return new Denied(code, message, {
    retryAllowed: problem["retry_allowed"] === true,
    errors: errors as never,
    extra: Object.fromEntries(Object.entries(problem).filter(([name]) => !ENVELOPE.has(name))),
  });
}

/** What every problem has; what stands beside it belongs to this refusal, such as what made a plan stale. */
const ENVELOPE = new Set(["type", "title", "status", "detail", "code", "message", "errors", "retry_allowed"]);

function describe(error: unknown, socketPath: string): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ENOENT" || code === "ECONNREFUSED")
    return `No gateway answers at ${socketPath}. Start it with: gw up, or on a server: systemctl start gw`;
  if (code === "EACCES")
    return `This user may not open ${socketPath}. On a server its group lets users in: usermod -aG, then log in anew.`;
  return `The gateway at ${socketPath} went away before it answered (${error instanceof Error ? error.message : String(error)}).`;
}
