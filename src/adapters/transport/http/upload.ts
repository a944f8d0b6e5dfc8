import type { Readable, Writable } from "node:stream";

/** A body that is read while it is sent; its length is known before. */
export interface Upload {
  readonly file: Readable;
  readonly bytes: number;
}

/** `begin` is told before the first piece is written, `done` once whether it went out whole. */
export interface UploadEvents {
  begin(): void;
  done(whole: boolean): void;
}

/** Sends it no faster than it goes out, and never a byte more than was announced. What is returned stops it, and then nothing is told. */
export function upload({ file, bytes }: Upload, socket: Writable, { begin, done }: UploadEvents): () => void {
  let left = bytes;
  let over = false;
  const goOn = (): void => void file.resume();
  const stop = (): void => {
    over = true;
    socket.removeListener("drain", goOn);
    file.destroy();
  };
  const end = (whole: boolean): void => {
    if (over) return;
    stop();
    done(whole);
  };
  const send = (chunk: Buffer): void => {
    const first = left === bytes;
    left -= chunk.byteLength;
    if (left < 0) end(false);
    else {
      socket.cork();
      if (first) begin();
      if (!socket.write(chunk)) file.pause();
      socket.uncork();
    }
  };
  file.on("data", (chunk: Buffer) => {
    if (!over && chunk.byteLength > 0) send(chunk);
  });
  file.on("end", () => end(left === 0));
  file.on("error", () => end(false));
  file.on("close", () => end(false));
  socket.on("drain", goOn);
  return stop;
}
