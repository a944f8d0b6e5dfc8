import { createRequire } from "node:module";

/** What Node's own parser, llhttp in its strict mode, makes of an answer. For tests only. */
export interface Parsed {
  readonly status: number;
  /** Names in lower case and values, in turns. */
  readonly fields: readonly string[];
  readonly body: Buffer;
  readonly informational: number;
  /** Whether the connection may be used again. */
  readonly keeps: boolean;
}

interface NodeParser {
  initialize(type: number, resource: object, maxHeaderBytes: number, lenient: number): void;
  execute(bytes: Buffer): number | Error;
  [callback: number]: ((...args: never[]) => unknown) | undefined;
}

interface Kind {
  new (): NodeParser;
  readonly RESPONSE: number;
  readonly kOnHeaders: number;
  readonly kOnHeadersComplete: number;
  readonly kOnBody: number;
  readonly kOnMessageComplete: number;
}

const { HTTPParser } = createRequire(import.meta.url)("_http_common") as { readonly HTTPParser: Kind };
const SKIP_BODY = 1;

/** Null where it is refused, or not whole. What follows the answer is not looked at. */
export function parseWithNode(pieces: readonly Buffer[], method: string, headBytes: number): Parsed | null {
  const parser = new HTTPParser();
  let status = 0;
  let fields: string[] = [];
  let bodies: Buffer[] = [];
  let informational = 0;
  let headRead = false;
  let keeps = false;
  let whole: Parsed | null = null;
  parser.initialize(HTTPParser.RESPONSE, {}, headBytes, 0);
  parser[HTTPParser.kOnHeaders] = (more: string[]) => {
    // What comes after the head are trailers.
    if (!headRead) fields.push(...more);
  };
  parser[HTTPParser.kOnHeadersComplete] = (...args: unknown[]) => {
    const [, , more, , , code, , , keepAlive] = args;
    status = Number(code);
    keeps = keepAlive === true;
    headRead = true;
    fields.push(...((more ?? []) as string[]));
    return method === "HEAD" ? SKIP_BODY : 0;
  };
  parser[HTTPParser.kOnBody] = (bytes: Buffer) => void bodies.push(Buffer.from(bytes));
  parser[HTTPParser.kOnMessageComplete] = () => {
    if (status >= 100 && status < 200) informational++;
    else whole ??= { status, fields: fields.map(lowerName), body: Buffer.concat(bodies), informational, keeps };
    [fields, bodies, headRead] = [[], [], false];
  };
  for (const piece of pieces) {
    if (parser.execute(piece) instanceof Error || whole !== null) return whole;
  }
  return whole;
}

function lowerName(text: string, index: number): string {
  return index % 2 === 0 ? text.toLowerCase() : text;
}
