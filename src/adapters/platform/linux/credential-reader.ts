import koffi from "koffi";
import { errnos, lastErrno, loadLibc } from "./libc.ts";

/** One read of a connection, with the process that wrote it as the kernel noted it. */
export type CredentialRead =
  | { readonly kind: "bytes"; readonly bytes: Buffer; readonly writer: number }
  | { readonly kind: "end" }
  | { readonly kind: "later" }
  /** Descriptors came along with the bytes; the kernel has already dropped them. */
  | { readonly kind: "descriptors" }
  | { readonly kind: "failed"; readonly errno: number };

const MSG_CTRUNC = 0x8;
const MSG_DONTWAIT = 0x40;
const MSG_CMSG_CLOEXEC = 0x40000000;
const SOL_SOCKET = 1;
const SCM_CREDENTIALS = 2;

const BUFFER_BYTES = 65_536;
const MSGHDR_BYTES = 56;
const IOVEC_BYTES = 16;
// Exactly one credentials message. There is no room for descriptors, so none can ever be installed in this process.
const CONTROL_BYTES = 32;
const CREDENTIALS_LENGTH = 28;
const CONTROL_LENGTH_AT = 40;
const FLAGS_AT = 48;

/**
 * recvmsg with one buffer for all connections: the loop is single-threaded, and every read is copied out at once. A
 * stream socket that passes credentials never joins the bytes of two writers in one read.
 */
export function createCredentialReader(): (fd: number) => CredentialRead {
  const libc = loadLibc();
  const size = MSGHDR_BYTES + IOVEC_BYTES + CONTROL_BYTES + BUFFER_BYTES;
  const memory: unknown = koffi.alloc("uint8_t", size);
  const start = koffi.address(memory);
  const whole = Buffer.from(koffi.view(memory, size));
  const header = whole.subarray(0, MSGHDR_BYTES);
  const vector = whole.subarray(MSGHDR_BYTES, MSGHDR_BYTES + IOVEC_BYTES);
  const control = whole.subarray(MSGHDR_BYTES + IOVEC_BYTES, MSGHDR_BYTES + IOVEC_BYTES + CONTROL_BYTES);
  const bytes = whole.subarray(size - BUFFER_BYTES);
  header.fill(0);
  header.writeBigUInt64LE(start + BigInt(MSGHDR_BYTES), 16);
  header.writeBigUInt64LE(1n, 24);
  header.writeBigUInt64LE(start + BigInt(MSGHDR_BYTES + IOVEC_BYTES), 32);
  vector.writeBigUInt64LE(start + BigInt(size - BUFFER_BYTES), 0);
  vector.writeBigUInt64LE(BigInt(BUFFER_BYTES), 8);

  return (fd) => {
    header.writeUInt32LE(CONTROL_BYTES, CONTROL_LENGTH_AT);
    const count = libc.recvmsg(fd, start, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0) {
      const errno = lastErrno();
      return errno === errnos["EAGAIN"] || errno === errnos["EINTR"] ? { kind: "later" } : { kind: "failed", errno };
    }
    if (count === 0) return { kind: "end" };
    if ((header.readUInt32LE(FLAGS_AT) & MSG_CTRUNC) !== 0) return { kind: "descriptors" };
    return { kind: "bytes", bytes: Buffer.from(bytes.subarray(0, count)), writer: readWriter(header, control) };
  };
}

/** 0 when the kernel does not name the writer. */
function readWriter(header: Buffer, control: Buffer): number {
  const named =
    header.readUInt32LE(CONTROL_LENGTH_AT) >= CREDENTIALS_LENGTH &&
    control.readUInt32LE(0) === CREDENTIALS_LENGTH &&
    control.readInt32LE(8) === SOL_SOCKET &&
    control.readInt32LE(12) === SCM_CREDENTIALS;
  return named ? control.readInt32LE(16) : 0;
}
