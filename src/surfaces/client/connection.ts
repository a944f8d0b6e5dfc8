import { randomBytes } from "node:crypto";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import type { Door } from "../place/place.ts";
import { readAnswer, readProblem, unfit } from "./read-answer.ts";

/**
 * One plane of a gateway, reached over its local socket. What it answers is read by what its routes declare, and by nothing else.
 * A refusal is thrown as the `Denied` that it stands for.
 */
export interface Connection {
  ask<const Schema extends JsonSchema>(
    answer: Schema,
    method: Method,
    path: string,
    options?: AskOptions,
  ): Promise<FromSchema<Schema>>;
  /** Where all that the route has to say is that it was done. */
  tell(path: string, options?: AskOptions): Promise<void>;
  /** An answer that may go on as it comes: then a value a line. */
  askOn<const Head extends JsonSchema, const Line extends JsonSchema>(
    answers: { readonly head: Head; readonly line: Line },
    path: string,
    options: AskOptions,
  ): Promise<{ readonly head: FromSchema<Head>; readonly more?: AsyncGenerator<FromSchema<Line>> }>;
  /** The body as it came, for whoever reads it otherwise. */
  bytes(
    method: Method,
    path: string,
    options?: AskOptions,
  ): Promise<{ readonly status: number; readonly body: Buffer }>;
  /** Server-sent events by their names, one at a time, until the stream ends or the signal aborts. Others are passed over. */
  stream<const Events extends Readonly<Record<string, JsonSchema>>>(
    events: Events,
    path: string,
    options: { readonly headers?: Record<string, string>; readonly signal: AbortSignal },
  ): AsyncGenerator<StreamEvent<Events>>;
  close(): void;
}

export type StreamEvent<Events> = {
  [Name in keyof Events & string]: { readonly event: Name; readonly data: FromSchema<Events[Name]> };
}[keyof Events & string];

type Method = "GET" | "POST";

export interface AskOptions {
  readonly body?: JsonValue;
  /** Goes along as a file beside `body`, as it comes. */
  readonly file?: AsyncIterable<Buffer>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Hangs up: whoever asked is no longer there. */
  readonly signal?: AbortSignal;
}

/** The gateway is not there, or went away before it answered. Nothing is known about what it did. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
  /** Somebody listens there and could not serve this connection: trying again may help. */
  readonly crowded: boolean;
  /** This user may not open the door: nothing is known of whoever is behind it. */
  readonly closed: boolean;
  /** It was there, and may have done what it was asked. */
  readonly lost: boolean;

  constructor(message: string, cause?: unknown) {
    super(message);
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
    this.lost = !["ENOENT", "ECONNREFUSED", "EACCES", "EAGAIN"].includes(code);
    this.crowded = ["EAGAIN", "ECONNRESET", "EPIPE"].includes(code);
    this.closed = code === "EACCES";
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
      else reject(error instanceof Denied ? error : new Unreachable(sayUnreachable(error, door.path), error));
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
        reject(error instanceof Denied ? error : new Unreachable(sayUnreachable(error, socketPath), error)),
      );
      // An answer may come before all of it is sent; then nobody reads the rest.
      if (file !== undefined)
        pipeline(Readable.from(partsOf(text ?? "", file)), call).catch((error: Error) => call.destroy(error));
      else if (text === null) call.end();
      else call.end(text);
    });

  const begin = async (method: Method, path: string, options: AskOptions): Promise<IncomingMessage> => {
    const response = await send(method, path, options, options.signal);
    if ((response.statusCode ?? 0) < 400) return response;
    throw readProblem(await readBytes(response, socketPath), `${method} ${path}`);
  };
  const bytes: Connection["bytes"] = async (method, path, options = {}) => {
    const response = await begin(method, path, options);
    return { status: response.statusCode ?? 0, body: await readBytes(response, socketPath) };
  };

  return {
    ask: async (answer, method, path, options) =>
      readAnswer((await bytes(method, path, options)).body, answer, `${method} ${path}`),
    async tell(path, options) {
      const { body } = await bytes("POST", path, options);
      if (body.byteLength > 0) throw unfit(`POST ${path}`, "it has nothing to say");
    },
    async askOn({ head, line }, path, options) {
      const response = await begin("POST", path, options);
      const asked = `POST ${path}`;
      if (response.headers["content-type"] !== "application/jsonl")
        return { head: readAnswer(await readBytes(response, socketPath), head, asked) };
      const lines = linesIn(response, socketPath);
      const first = readAnswer((await lines.next()).value ?? Buffer.alloc(0), head, asked);
      return { head: first, more: readLines(lines, line, asked) };
    },
    bytes,
    async *stream(events, path, { headers = {}, signal }) {
      const response = await begin("GET", path, { headers, signal });
      for await (const block of blocksIn(response, socketPath, signal)) {
        const field = (name: string): string | undefined =>
          block
            .split("\n")
            .find((line) => line.startsWith(name))
            ?.slice(name.length);
        const [event, data] = [field("event: "), field("data: ")];
        if (event === undefined || data === undefined || !Object.hasOwn(events, event)) continue;
        const read = readAnswer(Buffer.from(data, "utf8"), events[event] as JsonSchema, `GET ${path}`);
        yield { event, data: read } as unknown as StreamEvent<typeof events>;
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
    throw new Unreachable(sayUnreachable(error, socketPath), error);
  }
  return Buffer.concat(chunks);
}

async function* linesIn(response: IncomingMessage, socketPath: string): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      let from = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
        yield Buffer.concat([...parts, chunk.subarray(from, end)]);
        parts = [];
        length = 0;
        from = end + 1;
      }
      length += chunk.byteLength - from;
      if (length > MAX_LINE_BYTES) throw new Error("a line of the answer is too large");
      parts.push(chunk.subarray(from));
    }
  } catch (error) {
    throw new Unreachable(sayUnreachable(error, socketPath), error);
  }
}

const NEWLINE = 0x0a;

async function* readLines<const Line extends JsonSchema>(
  lines: AsyncGenerator<Buffer>,
  line: Line,
  asked: string,
): AsyncGenerator<FromSchema<Line>> {
  for await (const bytes of lines) yield readAnswer(bytes, line, asked);
}

/** Blocks of lines, as they stand between empty ones. */
async function* blocksIn(response: IncomingMessage, socketPath: string, signal: AbortSignal): AsyncGenerator<string> {
  let rest = "";
  response.setEncoding("utf8");
  try {
    for await (const chunk of response as AsyncIterable<string>) {
      const blocks = (rest + chunk).split("\n\n");
      rest = blocks.pop() ?? "";
      if (rest.length > MAX_REPLY_BYTES) throw new Error("an event is too large");
      yield* blocks;
    }
  } catch (error) {
    if (!signal.aborted) throw new Unreachable(sayUnreachable(error, socketPath), error);
  }
}

/** Why nothing answered at a socket, and what to do about it. */
export function sayUnreachable(error: unknown, socketPath: string): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ENOENT" || code === "ECONNREFUSED")
    return `No gateway answers at ${socketPath}. Start it with: gw up, or on a server: systemctl start gw`;
  if (code === "EACCES")
    return `This user may not open ${socketPath}. On a server its group lets users in: usermod -aG, then log in anew.`;
  return `The gateway at ${socketPath} went away before it answered (${error instanceof Error ? error.message : String(error)}).`;
}
