import { randomBytes } from "node:crypto";
import { once } from "node:events";
import busboy from "@fastify/busboy";
import { createMultipartParser } from "../packages/request/src/multipart/parse.ts";
import { beginRequest } from "../packages/request/src/pipeline.ts";
import { defineRoute } from "../packages/request/src/route.ts";
import { type Bench, median } from "./bench.ts";

const BOUNDARY = "----gwbench7MA4YWxkTrZu0gW";
const CHUNK = 65_536;
const ROUNDS = 7;

const route = defineRoute({
  method: "POST",
  path: "/v1/artifacts",
  body: {
    kind: "multipart",
    parts: {
      manifest: { kind: "json", contentType: "optional", schema: { type: "object", additionalProperties: true } },
      file: { kind: "file", filename: "required", contentType: "optional" },
    },
  },
});

/** The same 64 KiB pieces go to each reader; every reader delivers the file's bytes to a counter. */
export const bench: Bench = {
  name: "multipart",
  async run(emit) {
    for (const [label, file] of [
      ["16 MiB of random bytes", randomBytes(16_777_216)],
      ["16 MiB of text lines", Buffer.alloc(16_777_216, "a line of text as uploads hold them\r\n")],
      ["16 MiB of carriage returns", Buffer.alloc(16_777_216, "\r")],
      ["1 KiB", randomBytes(1024)],
    ] as const) {
      const body = write(file);
      const times = { ours: [] as number[], whole: [] as number[], peer: [] as number[] };
      const repeats = Math.max(1, Math.floor(1_000_000 / body.length));
      // Interleaved, so that the machine's moods fall on all alike.
      for (let round = 0; round < ROUNDS; round++) {
        times.ours.push(await time(repeats, () => parseOurs(body, file.length)));
        times.peer.push(await time(repeats, () => parsePeer(body, file.length)));
        times.whole.push(await time(repeats, () => acceptWhole(body, file.length)));
      }
      const peer = median(times.peer);
      const row = { unit: "MB/s", beside: "@fastify/busboy" };
      const speed = (took: number): number => (body.length * repeats) / took / 1000;
      emit({
        case: `strict multipart parse, ${label}`,
        value: speed(median(times.ours)),
        ...row,
        ratio: peer / median(times.ours),
      });
      emit({
        case: `whole pipeline with SHA-256, ${label}`,
        value: speed(median(times.whole)),
        ...row,
        ratio: peer / median(times.whole),
      });
    }
  },
};

async function time(repeats: number, work: () => unknown): Promise<number> {
  const start = performance.now();
  for (let index = 0; index < repeats; index++) await work();
  return performance.now() - start;
}

function write(file: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="manifest"\r\n\r\n{"version":"1"}\r\n`),
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n`),
    Buffer.from("Content-Type: application/octet-stream\r\n\r\n"),
    file,
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
}

function* pieces(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += CHUNK) yield body.subarray(at, at + CHUNK);
}

function parseOurs(body: Buffer, expected: number): void {
  let size = 0;
  let part = 0;
  const parser = createMultipartParser(BOUNDARY, {
    beginPart: () => void part++,
    data(bytes) {
      if (part === 2) size += bytes.length;
    },
    endPart: () => {},
  });
  for (const piece of pieces(body)) parser.push(piece);
  parser.finish();
  check(size, expected);
}

async function parsePeer(body: Buffer, expected: number): Promise<void> {
  let size = 0;
  const parser = new busboy.Busboy({ headers: { "content-type": `multipart/form-data; boundary=${BOUNDARY}` } });
  parser.on("file", (_name, stream) => {
    stream.on("data", (bytes: Buffer) => {
      size += bytes.length;
    });
  });
  const finished = once(parser, "finish");
  for (const piece of pieces(body)) parser.write(piece);
  parser.end();
  await finished;
  check(size, expected);
}

async function acceptWhole(body: Buffer, expected: number): Promise<void> {
  const rawHeaders = ["Host", "bench", "Content-Type", `multipart/form-data; boundary=${BOUNDARY}`];
  const sink = { write: () => {}, end: () => {}, abort: () => {} };
  const intake = beginRequest(route, { method: "POST", target: "/v1/artifacts", rawHeaders }, { openFile: () => sink });
  for (const piece of pieces(body)) await intake.push(piece);
  const accepted = await intake.finish();
  check(accepted.command.body.file.size, expected);
}

function check(size: number, expected: number): void {
  if (size !== expected) throw new Error(`read ${size} of ${expected} bytes`);
}
