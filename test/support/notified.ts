import koffi from "koffi";

/** Listens where a service manager would, on a name outside the file system, and hands out what came so far. */
export interface Notified {
  readonly name: string;
  lines(): readonly string[];
  close(): void;
}

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const MSG_DONTWAIT = 0x40;

export function listenForNotices(): Notified {
  const libc = koffi.load(null);
  const socket = libc.func("int socket(int, int, int)");
  const bind = libc.func("int bind(int, void *, uint32_t)");
  const recv = libc.func("long recv(int, void *, size_t, int)");
  const close = libc.func("int close(int)");
  const name = `gw-notify-${process.pid}-${process.hrtime.bigint()}`;
  const address = Buffer.concat([Buffer.from([AF_UNIX, 0, 0]), Buffer.from(name)]);
  const fd = Number(socket(AF_UNIX, SOCK_DGRAM, 0));
  if (Number(bind(fd, address, address.length)) !== 0) throw new Error("cannot listen for notices");
  const heard: string[] = [];
  return {
    name: `@${name}`,
    lines() {
      const bytes = Buffer.alloc(4_096);
      for (;;) {
        const length = Number(recv(fd, bytes, bytes.length, MSG_DONTWAIT));
        if (length <= 0) return heard;
        heard.push(...bytes.toString("utf8", 0, length).split("\n"));
      }
    },
    close: () => void close(fd),
  };
}
