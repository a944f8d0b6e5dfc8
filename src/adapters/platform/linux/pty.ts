import { closeSync, constants, openSync } from "node:fs";
import { ReadStream } from "node:tty";
import { Fault } from "../../../kernel/failure.ts";
import { lastErrno, loadLibc, nameErrno } from "./libc.ts";

const TIOCGPTN = 0x80045430;
const TIOCSPTLCK = 0x40045431;
const TIOCSWINSZ = 0x5414;

/** Our side of a pseudo terminal, and the name by which a program opens the other side. */
export interface Pty {
  readonly path: string;
  readonly stream: ReadStream;
  resize(columns: number, rows: number): void;
}

export function openPty(): Pty {
  const fd = openSync("/dev/ptmx", constants.O_RDWR | constants.O_NOCTTY);
  const control = (request: number, argument: Buffer): Buffer => {
    if (loadLibc().ioctl(fd, request, argument) === 0) return argument;
    throw new Fault(`the kernel gives no pseudo terminal (${nameErrno(lastErrno())})`);
  };
  try {
    control(TIOCSPTLCK, Buffer.alloc(4));
    const path = `/dev/pts/${control(TIOCGPTN, Buffer.alloc(4)).readInt32LE(0)}`;
    const stream = new ReadStream(fd);
    return {
      path,
      stream,
      resize(columns, rows) {
        if (stream.destroyed) return;
        const size = Buffer.alloc(8);
        size.writeUInt16LE(rows, 0);
        size.writeUInt16LE(columns, 2);
        control(TIOCSWINSZ, size);
      },
    };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
