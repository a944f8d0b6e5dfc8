import { closeSync } from "node:fs";
import { Socket } from "node:net";
import { loadLibc, uninterrupted } from "./libc.ts";
import { readCredentials } from "./peer.ts";

const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
/** No more than a queue holds: whoever comes back at once waits for the next time. */
const LOOKED_AT = 512;

/** Those who wait before a listening descriptor. Whoever is not welcome costs three calls of the kernel and nothing else. */
export function takeWaiting(
  listening: number,
  most: number,
  welcomes: (pid: number) => boolean,
  take: (socket: Socket) => void,
): void {
  const libc = loadLibc();
  for (let looked = 0, taken = 0; looked < LOOKED_AT && taken < most; looked++) {
    const fd = uninterrupted(() => libc.accept4(listening, null, null, SOCK_NONBLOCK | SOCK_CLOEXEC));
    // Nobody is left, or there is no descriptor for more: Node finds out by itself and goes on.
    if (fd < 0) return;
    if (!welcomes(readCredentials(fd).pid)) closeSync(fd);
    else {
      taken++;
      take(new Socket({ fd, allowHalfOpen: true }));
    }
  }
}
