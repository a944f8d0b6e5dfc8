import { Fault } from "../../../kernel/failure.ts";

const AF_UNIX = 1;
const PATH_BYTES = 108;

/** A path as the kernel takes it for a local socket. */
export function unixAddress(path: string): Buffer {
  const address = Buffer.alloc(2 + PATH_BYTES);
  address.writeUInt16LE(AF_UNIX, 0);
  if (Buffer.byteLength(path) >= PATH_BYTES) throw new Fault(`the socket path is too long: ${path}`);
  address.write(path, 2);
  return address;
}
