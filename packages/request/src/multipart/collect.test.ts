import assert from "node:assert/strict";
import { test } from "node:test";
import { digestBytes } from "../../../../src/kernel/canonical-json.ts";
import { Denied } from "../../../../src/kernel/failure.ts";
import { type CollectedParts, collectParts } from "./collect.ts";
import { compilePart, type FileSink, type OpenFile, type PartDeclaration } from "./part.ts";

const file: PartDeclaration = { kind: "file", filename: "optional", contentType: "optional", maxBytes: 100 };
const manifest: PartDeclaration = {
  kind: "json",
  contentType: "optional",
  maxBytes: 100,
  schema: { type: "object", properties: { n: { type: "integer" } } },
};

function body(...parts: readonly string[]): string {
  return `${parts.map((part) => `--B\r\n${part}\r\n`).join("")}--B--\r\n`;
}

function part(name: string, content: string, more = ""): string {
  return `Content-Disposition: form-data; name="${name}"${more}\r\n\r\n${content}`;
}

async function collect(
  declared: Readonly<Record<string, PartDeclaration>>,
  text: string,
  openFile?: OpenFile,
): Promise<CollectedParts> {
  const parts = new Map(Object.entries(declared).map(([name, rule]) => [name, compilePart(name, rule)]));
  const collector = collectParts(
    { kind: "multipart", mediaType: "multipart/form-data", maxBytes: 1000, parts },
    "B",
    openFile,
  );
  await collector.push(Buffer.from(text));
  return collector.finish();
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "accepted",
    (error) => {
      assert.ok(error instanceof Denied, String(error));
      return error.errors[0]?.code ?? error.code;
    },
  );
}

test("each part stands under its own name and cannot override another", async () => {
  const { body: value, findings } = await collect(
    { file, manifest },
    body(part("file", "DATA", '; filename="manifest"'), part("manifest", '{"n":1}')),
  );
  assert.deepEqual(findings, []);
  assert.deepEqual(JSON.parse(JSON.stringify(value)), {
    file: { size: 4, digest: digestBytes(Buffer.from("DATA")), claimed_name: "manifest", claimed_type: null },
    manifest: { n: 1 },
  });
});

test("unknown parts and second parts are refused at their header", async () => {
  assert.equal(await codeOf(collect({ file }, body(part("other", "")))), "unknown_member");
  assert.equal(await codeOf(collect({ file }, body(part("__proto__", "")))), "unknown_member");
  assert.equal(await codeOf(collect({ file }, body(part("", "")))), "unknown_member");
  assert.equal(await codeOf(collect({ file }, body(part("file", "a"), part("file", "a")))), "repeated_name");
});

test("missing parts and unfit values are findings with a path into the body", async () => {
  const { findings } = await collect({ file, manifest }, body(part("manifest", '{"n":1.0,"x":2}')));
  assert.deepEqual(
    findings.map(({ code, path }) => `${code} ${path}`),
    ["wrong_type /manifest/n", "unknown_member /manifest/x", "missing_member /file"],
  );
  assert.deepEqual(
    (await collect({ file: { ...file, optional: true }, manifest }, body(part("manifest", "{}")))).findings,
    [],
  );
});

test("each part has a limit of its own inside the limit of the whole", async () => {
  assert.equal(await codeOf(collect({ file }, body(part("file", "x".repeat(100))))), "accepted");
  assert.equal(await codeOf(collect({ file }, body(part("file", "x".repeat(101))))), "body_too_large");
  assert.equal(
    await codeOf(collect({ file: { ...file, maxBytes: 5000 } }, body(part("file", "x".repeat(1000))))),
    "body_too_large",
  );
});

test("the route decides per part about its Content-Type, which stays a claim", async () => {
  const typed = (type: string): string =>
    part("file", "<html>").replace("\r\n\r\n", `\r\nContent-Type: ${type}\r\n\r\n`);
  const rule = (contentType: PartDeclaration["contentType"]) => ({ file: { ...file, contentType } });
  assert.equal(await codeOf(collect(rule("refused"), body(typed("text/plain")))), "part_header_refused");
  assert.equal(await codeOf(collect(rule("refused"), body(part("file", "")))), "accepted");
  assert.equal(await codeOf(collect(rule(["image/png"]), body(part("file", "")))), "part_header_refused");
  assert.equal(await codeOf(collect(rule(["image/png"]), body(typed("image/gif")))), "media_type_unsupported");
  const { body: value } = await collect(rule(["image/png"]), body(typed("image/png; charset=utf-8")));
  assert.equal(JSON.parse(JSON.stringify(value)).file.claimed_type, "image/png");
});

test("a sink that fails while the parser refuses the same bytes leaves no unhandled rejection", async () => {
  const aborted: string[] = [];
  const sink: FileSink = {
    write: () => Promise.reject(new Error("disk full")),
    end: () => {},
    abort: () => void aborted.push("abort"),
  };
  const seen: unknown[] = [];
  const watch = (reason: unknown): void => void seen.push(reason);
  process.on("unhandledRejection", watch);
  assert.equal(
    await codeOf(collect({ file }, body(part("file", "a"), part("other", "b")), () => sink)),
    "unknown_member",
  );
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", watch);
  assert.deepEqual(seen, []);
  await assert.rejects(
    collect({ file }, body(part("file", "a")), () => sink),
    /disk full/,
  );
});
