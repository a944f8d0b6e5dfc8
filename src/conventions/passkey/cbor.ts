import { Denied } from "../../kernel/failure.ts";

/**
 * The part of CBOR (RFC 8949) that authenticators write: definite lengths in their shortest form, shallow, few members.
 * Everything else is refused, so that one value has one spelling.
 */
export type Cbor = number | boolean | null | string | Buffer | readonly Cbor[] | CborMap;
export type CborMap = ReadonlyMap<number | string, Cbor>;

const DEPTH_MAX = 4;
const MEMBERS_MAX = 32;

/** One value at the beginning, and how many bytes it took. */
export function readCbor(bytes: Buffer): { readonly value: Cbor; readonly length: number } {
  let at = 0;

  function take(count: number): Buffer {
    if (count > bytes.length - at) return refuse("it ends early");
    at += count;
    return bytes.subarray(at - count, at);
  }

  /** The argument of a head. Longer than needed, or of no definite length, it is none of ours. */
  function argument(info: number): number {
    if (info < 24) return info;
    if (info === 24) return atLeast(take(1).readUInt8(), 24);
    if (info === 25) return atLeast(take(2).readUInt16BE(), 0x100);
    if (info === 26) return atLeast(take(4).readUInt32BE(), 0x1_0000);
    return refuse("a length or number is too large or of no definite length");
  }

  function item(depth: number): Cbor {
    if (depth > DEPTH_MAX) return refuse("it is nested too deeply");
    const head = take(1).readUInt8();
    const info = head & 0x1f;
    switch (head >> 5) {
      case 0:
        return argument(info);
      case 1:
        return -1 - argument(info);
      case 2:
        return Buffer.from(take(argument(info)));
      case 3:
        return text(take(argument(info)));
      case 4:
        return Array.from({ length: few(argument(info)) }, () => item(depth + 1));
      case 5:
        return map(few(argument(info)), depth + 1);
      default:
        return simple(head);
    }
  }

  function map(count: number, depth: number): CborMap {
    const members = new Map<number | string, Cbor>();
    for (let index = 0; index < count; index++) {
      const key = item(depth);
      if ((typeof key !== "number" && typeof key !== "string") || members.has(key)) {
        return refuse("a member has no name of its own");
      }
      members.set(key, item(depth));
    }
    return members;
  }

  const value = item(0);
  return { value, length: at };
}

function simple(head: number): boolean | null {
  if (head === 0xf4) return false;
  if (head === 0xf5) return true;
  if (head === 0xf6) return null;
  return refuse("it holds a kind of value that no authenticator writes");
}

function text(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return refuse("a text is not UTF-8");
  }
}

function few(count: number): number {
  return count <= MEMBERS_MAX ? count : refuse("it has too many members");
}

function atLeast(value: number, minimum: number): number {
  return value >= minimum ? value : refuse("a number is longer than it needs to be");
}

function refuse(why: string): never {
  throw new Denied("passkey_malformed", `What the authenticator sent is not CBOR as it has to be: ${why}.`);
}
