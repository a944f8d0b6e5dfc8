import { isUtf8 } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import type { Digest } from "../../../../src/kernel/canonical-json.ts";
import { Denied, Fault, type Finding } from "../../../../src/kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../../../src/kernel/json.ts";
import { ByteCollector } from "../collect-bytes.ts";
import { tooLarge } from "../head.ts";
import { parseJson } from "../json/parse.ts";
import { readMediaType } from "../media-type.ts";
import { appendPointer, shortenPointer } from "../pointer.ts";
import type { CompiledBody } from "../route.ts";
import { createMultipartParser, malformed } from "./parse.ts";
import type { CompiledPart, FileSink, OpenFile } from "./part.ts";
import { type PartHeader, readPartHeader, refused } from "./part-header.ts";

export interface CollectedParts {
  readonly body: JsonObject;
  readonly findings: readonly Finding[];
  /** The contents of files that no sink took. */
  readonly files: ReadonlyMap<string, Buffer>;
}

export interface PartCollector {
  push(chunk: Uint8Array): void | Promise<void>;
  finish(): CollectedParts | Promise<CollectedParts>;
  abort(): void;
}

interface OpenPart {
  readonly rule: CompiledPart;
  readonly header: PartHeader;
  readonly sink: FileSink | undefined;
  readonly hash: Hash | undefined;
  readonly kept: ByteCollector;
  size: number;
}

/** Turns parts into members of one object, each under its own name: no part can stand in for another. */
export function collectParts(
  declared: Extract<CompiledBody, { readonly kind: "multipart" }>,
  boundary: string,
  openFile: OpenFile | undefined,
): PartCollector {
  const body: Record<string, JsonValue> = Object.create(null);
  const files = new Map<string, Buffer>();
  const findings: Finding[] = [];
  const sinks: FileSink[] = [];
  const waits: Promise<void>[] = [];
  let open: OpenPart | undefined;
  let total = 0;

  const parser = createMultipartParser(boundary, {
    beginPart(block) {
      const header = readPartHeader(block);
      const path = appendPointer("", header.name);
      const rule = declared.parts.get(header.name);
      if (rule === undefined) throw deny("unknown_member", path, "the route has no part of this name");
      if (Object.hasOwn(body, header.name)) throw deny("repeated_name", path, "the part came more than once");
      checkHeader(rule, header);
      // Claimed at once, so that a second part of this name is refused while the first is still a placeholder.
      body[header.name] = null;
      const sink = rule.kind === "file" ? openFile?.(header.name) : undefined;
      if (sink !== undefined) sinks.push(sink);
      const hash = rule.kind === "file" ? createHash("sha256") : undefined;
      open = { rule, header, sink, hash, kept: new ByteCollector(), size: 0 };
    },
    data(bytes) {
      const part = current(open);
      part.size += bytes.length;
      if (part.size > part.rule.maxBytes) throw tooLarge(part.rule.maxBytes);
      part.hash?.update(bytes);
      if (part.sink === undefined) part.kept.push(bytes);
      else wait(waits, part.sink.write(bytes));
    },
    endPart() {
      const part = current(open);
      open = undefined;
      const { name } = part.header;
      if (part.hash !== undefined) body[name] = describeFile(part, part.hash);
      else body[name] = readField(part, findings);
      if (part.sink !== undefined) wait(waits, part.sink.end());
      else if (part.rule.kind === "file") files.set(name, part.kept.take());
    },
  });

  return {
    push(chunk) {
      total += chunk.length;
      if (total > declared.maxBytes) throw tooLarge(declared.maxBytes);
      parser.push(chunk);
      return drain(waits);
    },
    finish() {
      parser.finish();
      for (const [name, rule] of declared.parts) {
        if (rule.optional || Object.hasOwn(body, name)) continue;
        findings.push({ code: "missing_member", path: appendPointer("", name), message: "the part is required" });
      }
      const collected = { body, findings, files };
      return drain(waits)?.then(() => collected) ?? collected;
    },
    abort() {
      for (const sink of sinks) sink.abort();
    },
  };
}

function checkHeader(rule: CompiledPart, header: PartHeader): void {
  if (rule.filename === "refused" && header.filename !== undefined) throw refused("this part takes no filename");
  if (rule.filename === "required" && header.filename === undefined) throw refused("this part needs a filename");
  if (rule.contentType === "refused" && header.contentType !== undefined) {
    throw refused("this part takes no Content-Type");
  }
  if (header.contentType === undefined) {
    if (typeof rule.contentType !== "string") throw refused(`this part needs a Content-Type`);
    return;
  }
  const { essence, boundary } = readMediaType(header.contentType);
  if (boundary !== undefined) throw refused("a part holds no parts of its own");
  const allowed = typeof rule.contentType === "string" ? implied(rule) : rule.contentType;
  if (allowed !== undefined && !allowed.includes(essence)) {
    throw new Denied("media_type_unsupported", `this part takes ${allowed.join(" or ")}`);
  }
}

/** What an optional Content-Type may say: a JSON part is JSON, a text part is plain text, a file's is a mere claim. */
function implied(rule: CompiledPart): readonly string[] | undefined {
  switch (rule.kind) {
    case "file":
      return undefined;
    case "json":
      return ["application/json"];
    case "text":
      return ["text/plain"];
  }
}

function describeFile(part: OpenPart, hash: Hash): JsonObject {
  const { filename, contentType } = part.header;
  return {
    size: part.size,
    digest: `sha256:${hash.digest("hex")}` as Digest,
    claimed_name: filename ?? null,
    claimed_type: contentType === undefined ? null : readMediaType(contentType).essence,
  };
}

function readField(part: OpenPart, findings: Finding[]): JsonValue {
  const bytes = part.kept.take();
  const at = appendPointer("", part.header.name);
  if (part.rule.kind === "text") {
    if (!isUtf8(bytes)) throw malformed("a text part is not UTF-8");
    const text = bytes.toString("utf8");
    findings.push(...part.rule.check(text).map((finding) => ({ ...finding, path: at + finding.path })));
    return text;
  }
  const { value, spelling } = parseJson(bytes);
  findings.push(...part.rule.check(value, spelling).map((finding) => ({ ...finding, path: at + finding.path })));
  return value;
}

function current(part: OpenPart | undefined): OpenPart {
  if (part === undefined) throw new Fault("multipart content outside a part");
  return part;
}

function wait(waits: Promise<void>[], result: void | Promise<void>): void {
  if (result === undefined) return;
  // A refusal may leave before anybody waits for this one; its failure must not go unhandled then.
  result.catch(() => {});
  waits.push(result);
}

function drain(waits: Promise<void>[]): Promise<void> | undefined {
  if (waits.length === 0) return undefined;
  return Promise.all(waits.splice(0)).then(() => undefined);
}

function deny(code: "unknown_member" | "repeated_name", path: string, message: string): Denied {
  return new Denied(code === "unknown_member" ? "schema_violation" : code, message, {
    errors: [{ code, path: shortenPointer(path), message }],
  });
}
