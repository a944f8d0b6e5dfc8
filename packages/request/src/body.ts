import { digestBytes } from "../../../src/kernel/canonical-json.ts";
import { Denied, type Finding } from "../../../src/kernel/failure.ts";
import type { JsonValue } from "../../../src/kernel/json.ts";
import { ByteCollector } from "./collect-bytes.ts";
import { tooLarge } from "./head.ts";
import { parseJson } from "./json/parse.ts";
import { collectParts } from "./multipart/collect.ts";
import type { OpenFile } from "./multipart/part.ts";
import { readPairs } from "./pairs.ts";
import type { CompiledBody } from "./route.ts";
import type { ValueSpelling } from "./schema.ts";

export interface BodyContent {
  readonly body: JsonValue;
  readonly findings: readonly Finding[];
  readonly files: ReadonlyMap<string, Buffer>;
  /** Of a JSON body; of parts nothing is told apart any more. */
  readonly spelling?: ValueSpelling;
  /** The bytes as sent, for signature checks; empty for multipart, which is never kept whole. */
  readonly bytes: Buffer;
}

/** Reads one body within its limit, counted as bytes arrive, with the one parser that the route named. */
export interface BodyReader {
  push(chunk: Uint8Array): void | Promise<void>;
  finish(): BodyContent | Promise<BodyContent>;
  abort(): void;
}

const noFiles: ReadonlyMap<string, Buffer> = new Map();
const noBytes = Buffer.alloc(0);

export function openBody(body: CompiledBody, boundary: string | undefined, openFile: OpenFile | undefined): BodyReader {
  switch (body.kind) {
    case "none":
      return {
        push(chunk) {
          if (chunk.length > 0) throw new Denied("body_not_allowed", "this route takes zero bytes");
        },
        finish: () => ({ body: null, findings: [], files: noFiles, bytes: noBytes }),
        abort: () => {},
      };
    case "bytes":
      return bufferBody(body.maxBytes, (bytes) => {
        const said = { digest: digestBytes(bytes), bytes: bytes.length };
        return { body: said, findings: [], files: new Map([["body", bytes]]), bytes };
      });
    case "json":
      return bufferBody(body.maxBytes, (bytes) => {
        const { value, spelling } = parseJson(bytes);
        return { body: value, findings: body.check(value, spelling), files: noFiles, spelling, bytes };
      });
    case "form":
      return bufferBody(body.maxBytes, (bytes) => {
        // Every byte outside ASCII is an invalid character in a form, whatever it decodes to.
        const text = bytes.toString("latin1");
        const pairs = readPairs(text, { malformed: "form_malformed", lists: body.fields.lists });
        const value = body.fields.convert(pairs);
        return { body: value, findings: body.check(value), files: noFiles, bytes };
      });
    case "multipart": {
      const parts = collectParts(body, boundary ?? "", openFile);
      return {
        push: (chunk) => parts.push(chunk),
        finish() {
          const collected = parts.finish();
          if (collected instanceof Promise) return collected.then((done) => ({ ...done, bytes: noBytes }));
          return { ...collected, bytes: noBytes };
        },
        abort: () => parts.abort(),
      };
    }
  }
}

function bufferBody(maxBytes: number, read: (bytes: Buffer) => BodyContent): BodyReader {
  const collector = new ByteCollector();
  return {
    push(chunk) {
      if (collector.size + chunk.length > maxBytes) throw tooLarge(maxBytes);
      collector.push(chunk);
    },
    finish: () => read(collector.take()),
    abort: () => {},
  };
}
