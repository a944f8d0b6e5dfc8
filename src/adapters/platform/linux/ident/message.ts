import koffi from "koffi";
import { lastErrno, loadLibc, nameErrno, uninterrupted } from "../libc.ts";

/** One packet between the gateway and gw-ident: a few bytes, and descriptors that the kernel carries along. */
export interface Message {
  readonly bytes: Buffer;
  readonly descriptors: readonly number[];
}

/** The longest name the kernel gives an image, with every byte of it escaped, and the rest of an answer. */
const MESSAGE_BYTES = 32_768;
const DESCRIPTORS_MAX = 4;
const MSGHDR_BYTES = 56;
const IOVEC_BYTES = 16;
const CMSG_HEADER_BYTES = 16;
const CONTROL_BYTES = CMSG_HEADER_BYTES + 8 * Math.ceil((DESCRIPTORS_MAX * 4) / 8);
const CONTROL_LENGTH_AT = 40;
const FLAGS_AT = 48;
const MSG_CTRUNC = 0x8;
const MSG_TRUNC = 0x20;
const MSG_NOSIGNAL = 0x4000;
const MSG_CMSG_CLOEXEC = 0x40000000;
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
const POLLIN = 1;

interface Frame {
  readonly start: bigint;
  readonly header: Buffer;
  readonly vector: Buffer;
  readonly control: Buffer;
  readonly bytes: Buffer;
}

let only: Frame | undefined;

export function sendMessage(socket: number, { bytes, descriptors }: Message): boolean {
  if (bytes.length > MESSAGE_BYTES || descriptors.length > DESCRIPTORS_MAX) return false;
  const frame = clearFrame(bytes.length);
  bytes.copy(frame.bytes);
  const length = CMSG_HEADER_BYTES + descriptors.length * 4;
  if (descriptors.length > 0) {
    frame.control.writeBigUInt64LE(BigInt(length), 0);
    frame.control.writeInt32LE(SOL_SOCKET, 8);
    frame.control.writeInt32LE(SCM_RIGHTS, 12);
    for (const [at, fd] of descriptors.entries()) frame.control.writeInt32LE(fd, CMSG_HEADER_BYTES + at * 4);
  }
  frame.header.writeBigUInt64LE(descriptors.length > 0 ? BigInt(length) : 0n, CONTROL_LENGTH_AT);
  return uninterrupted(() => loadLibc().sendmsg(socket, frame.start, MSG_NOSIGNAL)) === bytes.length;
}

/** Undefined when the other side went away, said nothing in time, or sent what is no packet of ours. */
export function receiveMessage(socket: number, waitMs: number): Message | undefined {
  const libc = loadLibc();
  if (!waitReadable(socket, waitMs)) return undefined;
  const frame = clearFrame(MESSAGE_BYTES);
  frame.header.writeBigUInt64LE(BigInt(CONTROL_BYTES), CONTROL_LENGTH_AT);
  const count = uninterrupted(() => libc.recvmsg(socket, frame.start, MSG_CMSG_CLOEXEC));
  if (count <= 0) return undefined;
  const descriptors = readDescriptors(frame);
  const cut = (frame.header.readUInt32LE(FLAGS_AT) & (MSG_CTRUNC | MSG_TRUNC)) !== 0;
  if (cut) {
    closeAll(descriptors);
    return undefined;
  }
  return { bytes: Buffer.from(frame.bytes.subarray(0, count)), descriptors };
}

export function waitReadable(socket: number, waitMs: number): boolean {
  const entry = Buffer.alloc(8);
  entry.writeInt32LE(socket, 0);
  entry.writeInt16LE(POLLIN, 4);
  return uninterrupted(() => loadLibc().poll(entry, 1, waitMs)) === 1;
}

export function closeAll(descriptors: readonly number[]): void {
  for (const fd of descriptors) loadLibc().close(fd);
}

export function describeErrno(what: string): string {
  return `${what} failed with ${nameErrno(lastErrno())}`;
}

function readDescriptors({ header, control }: Frame): readonly number[] {
  if (header.readBigUInt64LE(CONTROL_LENGTH_AT) < BigInt(CMSG_HEADER_BYTES)) return [];
  const rights = control.readInt32LE(8) === SOL_SOCKET && control.readInt32LE(12) === SCM_RIGHTS;
  const count = rights ? (Number(control.readBigUInt64LE(0)) - CMSG_HEADER_BYTES) / 4 : 0;
  return Array.from({ length: count }, (_, at) => control.readInt32LE(CMSG_HEADER_BYTES + at * 4));
}

/** One for all packets: every call is synchronous, and what was received is copied out at once. */
function clearFrame(length: number): Frame {
  only ??= makeFrame();
  only.control.fill(0);
  only.bytes.fill(0);
  only.header.writeUInt32LE(0, FLAGS_AT);
  only.vector.writeBigUInt64LE(BigInt(length), 8);
  return only;
}

function makeFrame(): Frame {
  const size = MSGHDR_BYTES + IOVEC_BYTES + CONTROL_BYTES + MESSAGE_BYTES;
  const memory: unknown = koffi.alloc("uint8_t", size);
  const start = koffi.address(memory);
  const whole = Buffer.from(koffi.view(memory, size));
  whole.fill(0);
  const header = whole.subarray(0, MSGHDR_BYTES);
  const vector = whole.subarray(MSGHDR_BYTES, MSGHDR_BYTES + IOVEC_BYTES);
  const controlAt = MSGHDR_BYTES + IOVEC_BYTES;
  header.writeBigUInt64LE(start + BigInt(MSGHDR_BYTES), 16);
  header.writeBigUInt64LE(1n, 24);
  header.writeBigUInt64LE(start + BigInt(controlAt), 32);
  vector.writeBigUInt64LE(start + BigInt(controlAt + CONTROL_BYTES), 0);
  return {
    start,
    header,
    vector,
    control: whole.subarray(controlAt, controlAt + CONTROL_BYTES),
    bytes: whole.subarray(controlAt + CONTROL_BYTES),
  };
}
