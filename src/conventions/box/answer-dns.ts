import { defaults } from "../../kernel/defaults.ts";

/** Answers questions for names inside a box. It forwards nothing: a name is a way to this program and no way out. */
export interface Names {
  /** The answer to one datagram; null for what is no question. */
  answer(query: Uint8Array): Buffer | null;
}

const HEADER_BYTES = 12;
const LABEL_BYTES = 63;
const TYPE_A = 1;
const TTL_SECONDS = 5;
/** RFC 2544: addresses for tests of network devices, which nobody routes. */
const FIRST_OCTET = 198;
const SECOND_OCTET = 18;

export function createNames(): Names {
  const known = new Map<string, number>();
  return {
    answer(given) {
      const query = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
      const question = readQuestion(query);
      if (question === null) return null;
      const number = question.type === TYPE_A ? numberOf(known, question.name) : null;
      const head = Buffer.from(query.subarray(0, HEADER_BYTES));
      // An answer with authority; recursion as asked for, and "available", without which some resolvers look further.
      head.writeUInt8(0x84 | (head.readUInt8(2) & 0x01), 2);
      head.writeUInt8(0x80, 3);
      for (const [at, count] of [1, number === null ? 0 : 1, 0, 0].entries()) head.writeUInt16BE(count, 4 + at * 2);
      return Buffer.concat([
        head,
        query.subarray(HEADER_BYTES, question.end),
        ...(number === null ? [] : [record(number)]),
      ]);
    },
  };
}

function readQuestion(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } | null {
  if (query.length < HEADER_BYTES + 5 || query.length > defaults.boxDatagramBytes) return null;
  const isQuery = (query.readUInt8(2) & 0xf8) === 0;
  if (!isQuery || query.readUInt16BE(4) !== 1) return null;
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query.readUInt8(at); length !== 0; length = query.readUInt8(at)) {
    if (length > LABEL_BYTES || at + length + 1 >= query.length) return null;
    labels.push(query.toString("latin1", at + 1, at + 1 + length).toLowerCase());
    at += length + 1;
  }
  if (at + 5 > query.length) return null;
  return { name: labels.join("."), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** The same name has the same address for the whole run. Past the last one, names share it: only the TLS name counts. */
function numberOf(known: Map<string, number>, name: string): number {
  const found = known.get(name);
  if (found !== undefined) return found;
  const number = Math.min(known.size + 1, defaults.boxNames);
  if (known.size < defaults.boxNames) known.set(name, number);
  return number;
}

function record(number: number): Buffer {
  const answer = Buffer.alloc(16);
  // A pointer to the name in the question.
  answer.writeUInt16BE(0xc00c, 0);
  answer.writeUInt16BE(TYPE_A, 2);
  answer.writeUInt16BE(1, 4);
  answer.writeUInt32BE(TTL_SECONDS, 6);
  answer.writeUInt16BE(4, 10);
  answer.set([FIRST_OCTET, SECOND_OCTET + (number >> 16), (number >> 8) & 0xff, number & 0xff], 12);
  return answer;
}
