import { openSync, read, readFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { lastErrno, loadLibc, nameErrno } from "../../src/adapters/platform/linux/libc.ts";

/**
 * A file system of one file, `program`, that this program answers for: DEVICE MOUNTPOINT UID FIRST LATER. Who opens it first, as exec does,
 * reads the bytes of FIRST; who opens it later reads those of LATER. Both are made equally long. It says what it is asked, by the kernel's
 * number, and takes `silent NUMBER…`: such a question is never answered from then on. Its end ends the file system.
 */
const [device = "", mountpoint = "", uid = "", first = "", later = ""] = process.argv.slice(2);
const contents = [readFileSync(first), readFileSync(later)];
const size = Math.max(...contents.map(({ length }) => length));

const MS_NOSUID_NODEV = 6;
const IN_HEADER = 40;
const OUT_HEADER = 16;
const [LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE] = [1, 2, 3, 14, 15, 17, 18];
const [FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET] = [25, 26, 27, 28, 29, 36, 42];
const ENOENT = 2;
const ENOSYS = 38;
const ROOT = 1n;
const PROGRAM = 2n;
const DIRECT_IO = 1;
const SERVED_MS_AGO = 1_700_000_000n;

let opened = 0;
const silent = new Set<number>();

const fd = openSync(device, "r+");
const options = `fd=${fd},rootmode=40000,user_id=${uid},group_id=${uid}`;
if (loadLibc().mount("gw-test", mountpoint, "fuse.gw-test", MS_NOSUID_NODEV, options) !== 0) {
  console.error(`mount: ${nameErrno(lastErrno())}`);
  process.exit(1);
}
createInterface(process.stdin).on("line", (line) => {
  for (const word of line.split(" ").slice(1)) silent.add(Number(word));
  console.log(line);
});
process.stdin.on("end", () => process.exit());
console.log("mounted");
next();

function next(): void {
  const buffer = Buffer.alloc(135_168);
  read(fd, buffer, 0, buffer.length, null, (error, count) => {
    if (error !== null) process.exit(error.code === "ENODEV" ? 0 : 1);
    const opcode = buffer.readUInt32LE(4);
    if (opcode !== INIT) console.log(`asked ${opcode}`);
    const isAsked = ![FORGET, INTERRUPT, BATCH_FORGET].includes(opcode);
    if (isAsked && !silent.has(opcode)) reply(buffer.readBigUInt64LE(8), answer(opcode, buffer.subarray(0, count)));
    next();
  });
}

function reply(unique: bigint, said: Buffer | number): void {
  const body = typeof said === "number" ? Buffer.alloc(0) : said;
  const header = Buffer.alloc(OUT_HEADER);
  header.writeUInt32LE(OUT_HEADER + body.length, 0);
  header.writeInt32LE(typeof said === "number" ? -said : 0, 4);
  header.writeBigUInt64LE(unique, 8);
  try {
    writeSync(fd, Buffer.concat([header, body]));
  } catch {
    // Whoever asked has given up.
  }
}

/** The body of the answer, or the number of an error. */
function answer(opcode: number, question: Buffer): Buffer | number {
  const node = question.readBigUInt64LE(16);
  const body = question.subarray(IN_HEADER);
  switch (opcode) {
    case INIT: {
      const out = Buffer.alloc(64);
      out.writeUInt32LE(7, 0);
      out.writeUInt32LE(31, 4);
      out.writeUInt32LE(4_096, 20);
      return out;
    }
    case LOOKUP: {
      if (body.subarray(0, body.indexOf(0)).toString() !== "program") return ENOENT;
      const out = Buffer.alloc(40);
      out.writeBigUInt64LE(PROGRAM, 0);
      return Buffer.concat([out, attributes(PROGRAM)]);
    }
    case GETATTR:
      return Buffer.concat([Buffer.alloc(16), attributes(node)]);
    case OPEN: {
      const out = Buffer.alloc(16);
      out.writeBigUInt64LE(opened === 0 ? 0n : 1n, 0);
      // Past the pages that the kernel keeps of what was run.
      out.writeUInt32LE(opened === 0 ? 0 : DIRECT_IO, 8);
      opened++;
      return out;
    }
    case READ: {
      const whole = Buffer.alloc(size);
      contents[Number(body.readBigUInt64LE(0))]?.copy(whole);
      const from = Number(body.readBigUInt64LE(8));
      return whole.subarray(from, from + body.readUInt32LE(16));
    }
    case OPENDIR:
      return Buffer.alloc(16);
    case STATFS:
      return Buffer.alloc(80);
    case READDIR:
    case RELEASE:
    case RELEASEDIR:
    case FLUSH:
      return Buffer.alloc(0);
    default:
      return ENOSYS;
  }
}

/** Good for no time at all: the kernel asks again. */
function attributes(node: bigint): Buffer {
  const out = Buffer.alloc(88);
  out.writeBigUInt64LE(node, 0);
  out.writeBigUInt64LE(node === ROOT ? 0n : BigInt(size), 8);
  for (const at of [24, 32, 40]) out.writeBigUInt64LE(SERVED_MS_AGO, at);
  out.writeUInt32LE(node === ROOT ? 0o40755 : 0o100755, 60);
  out.writeUInt32LE(1, 64);
  out.writeUInt32LE(Number(uid), 68);
  out.writeUInt32LE(Number(uid), 72);
  out.writeUInt32LE(4_096, 80);
  return out;
}
