import koffi from "koffi";
import { Fault } from "../../../kernel/failure.ts";

/**
 * The few calls of libc that Node has no name for. Every argument is a number or a Buffer that the kernel fills, so
 * that no structure is described twice. Loaded on first use: other platforms import this file and never touch it.
 */
export interface Libc {
  getsockopt(fd: number, level: number, option: number, value: Buffer, length: Buffer): number;
  setsockopt(fd: number, level: number, option: number, value: Buffer, length: number): number;
  socket(domain: number, type: number, protocol: number): number;
  bind(fd: number, address: Buffer, length: number): number;
  listen(fd: number, backlog: number): number;
  accept4(fd: number, address: null, length: null, flags: number): number;
  shutdown(fd: number, how: number): number;
  connect(fd: number, address: Buffer, length: number): number;
  close(fd: number): number;
  sendmsg(fd: number, message: bigint, flags: number): number;
  recvmsg(fd: number, message: bigint, flags: number): number;
  send(fd: number, bytes: Uint8Array, length: number, flags: number): number;
  poll(entries: Buffer, count: number, timeoutMs: number): number;
  epollCreate(flags: number): number;
  epollControl(epoll: number, operation: number, fd: number, event: Buffer): number;
  epollWait(epoll: number, events: Buffer, count: number, timeoutMs: number): number;
  pread(fd: number, bytes: Buffer, length: number, offset: number): number;
  pidfdOpen(pid: number, flags: number): number;
  perfEventOpen(attributes: Buffer, pid: number, cpu: number, group: number, flags: number): number;
  mmap(address: null, length: number, protection: number, flags: number, fd: number, offset: number): bigint;
  munmap(address: bigint, length: number): number;
  statx(directory: number, path: string, flags: number, mask: number, answer: Buffer): number;
  ioctl(fd: number, request: number, argument: Buffer): number;
  fgetxattr(fd: number, name: string, value: Buffer, size: number): number;
  prctl(option: number, a: number, b: number, c: number, d: number): number;
  seccomp(operation: number, flags: number, program: Buffer): number;
  setrlimit(resource: number, limits: Buffer): number;
  waitpid(pid: number, status: Buffer, options: number): number;
  /** Null is what the kernel does by itself. */
  signal(number: number, handler: null): unknown;
  clockGettime(clock: number, time: Buffer): number;
  mount(source: string | null, target: string, type: string | null, flags: number, data: string | null): number;
  mountSetattr(directory: number, path: string, flags: number, attributes: Buffer, size: number): number;
  closeRange(first: number, last: number, flags: number): number;
  capset(header: Buffer, data: Buffer): number;
  keyctl(operation: number, argument: number): number;
  landlockVersion(): number;
  landlockCreate(attributes: Buffer, size: number): number;
  /** What is allowed below a folder, or in a file. */
  landlockAdd(rules: number, beneath: Buffer): number;
  landlockRestrict(rules: number): number;
}

/** Numbers that differ between machines. Only 64-bit little-endian Linux is supported. */
interface Syscalls {
  readonly pidfdOpen: number;
  readonly perfEventOpen: number;
  readonly statx: number;
  readonly seccomp: number;
  readonly capset: number;
  readonly keyctl: number;
}

/** The same on every machine. */
const MOUNT_SETATTR = 442;
const CLOSE_RANGE = 436;
const LANDLOCK_CREATE = 444;
const LANDLOCK_ADD = 445;
const LANDLOCK_RESTRICT = 446;
const LANDLOCK_VERSION = 1;
const LANDLOCK_PATH_BENEATH = 1;

const SYSCALLS: Readonly<Record<string, Syscalls>> = {
  x64: { pidfdOpen: 434, perfEventOpen: 298, statx: 332, seccomp: 317, capset: 126, keyctl: 250 },
  arm64: { pidfdOpen: 434, perfEventOpen: 241, statx: 291, seccomp: 277, capset: 91, keyctl: 219 },
};

let loaded: Libc | undefined;

export function loadLibc(): Libc {
  loaded ??= bindLibc();
  return loaded;
}

/** The error of the call that just returned -1; nothing may run between the two. */
export function lastErrno(): number {
  return koffi.errno();
}

export const errnos = koffi.os.errno;

export function nameErrno(errno: number): string {
  for (const [name, value] of Object.entries(errnos)) if (value === errno) return name;
  return `errno ${errno}`;
}

function bindLibc(): Libc {
  const numbers = SYSCALLS[process.arch];
  if (process.platform !== "linux" || numbers === undefined) {
    throw new Fault(`the Linux adapter does not know ${process.platform} on ${process.arch}`);
  }
  const library = koffi.load(null);
  const bind = <Name extends keyof Libc>(prototype: string) => library.func(prototype) as Libc[Name];
  const pidfdOpen = library.func("long syscall(long number, int pid, unsigned int flags)");
  const perfEventOpen = library.func(
    "long syscall(long number, void *attributes, int pid, int cpu, int group, unsigned long flags)",
  );
  const statx = library.func(
    "long syscall(long number, int directory, const char *path, int flags, unsigned int mask, void *answer)",
  );
  const seccomp = library.func("long syscall(long number, unsigned int operation, unsigned int flags, void *program)");
  const mountSetattr = library.func(
    "long syscall(long number, int directory, const char *path, unsigned int flags, void *attributes, size_t size)",
  );
  const closeRange = library.func(
    "long syscall(long number, unsigned int first, unsigned int last, unsigned int flags)",
  );
  const capset = library.func("long syscall(long number, void *header, void *data)");
  const keyctl = library.func("long syscall(long number, int operation, unsigned long argument)");
  const landlockCreate = library.func("long syscall(long number, void *attributes, size_t size, unsigned int flags)");
  const landlockAdd = library.func(
    "long syscall(long number, int rules, int kind, void *attributes, unsigned int flags)",
  );
  const landlockRestrict = library.func("long syscall(long number, int rules, unsigned int flags)");
  return {
    getsockopt: bind<"getsockopt">("int getsockopt(int fd, int level, int option, void *value, void *length)"),
    setsockopt: bind<"setsockopt">("int setsockopt(int fd, int level, int option, void *value, uint32_t length)"),
    socket: bind<"socket">("int socket(int domain, int type, int protocol)"),
    bind: bind<"bind">("int bind(int fd, void *address, uint32_t length)"),
    listen: bind<"listen">("int listen(int fd, int backlog)"),
    accept4: bind<"accept4">("int accept4(int fd, void *address, void *length, int flags)"),
    shutdown: bind<"shutdown">("int shutdown(int fd, int how)"),
    connect: bind<"connect">("int connect(int fd, void *address, uint32_t length)"),
    close: bind<"close">("int close(int fd)"),
    sendmsg: bind<"sendmsg">("long sendmsg(int fd, void *message, int flags)"),
    recvmsg: bind<"recvmsg">("long recvmsg(int fd, void *message, int flags)"),
    send: bind<"send">("long send(int fd, void *bytes, size_t length, int flags)"),
    poll: bind<"poll">("int poll(void *entries, unsigned long count, int timeout)"),
    epollCreate: bind<"epollCreate">("int epoll_create1(int flags)"),
    epollControl: bind<"epollControl">("int epoll_ctl(int epoll, int operation, int fd, void *event)"),
    epollWait: bind<"epollWait">("int epoll_wait(int epoll, void *events, int count, int timeout)"),
    pread: bind<"pread">("long pread(int fd, void *bytes, size_t length, long offset)"),
    pidfdOpen: (pid, flags) => Number(pidfdOpen(numbers.pidfdOpen, pid, flags)),
    perfEventOpen: (attributes, pid, cpu, group, flags) =>
      Number(perfEventOpen(numbers.perfEventOpen, attributes, pid, cpu, group, flags)),
    mmap: bind<"mmap">("void *mmap(void *address, size_t length, int protection, int flags, int fd, long offset)"),
    munmap: bind<"munmap">("int munmap(void *address, size_t length)"),
    statx: (directory, path, flags, mask, answer) => Number(statx(numbers.statx, directory, path, flags, mask, answer)),
    ioctl: bind<"ioctl">("int ioctl(int fd, unsigned long request, void *argument)"),
    fgetxattr: bind<"fgetxattr">("long fgetxattr(int fd, const char *name, void *value, size_t size)"),
    prctl: bind<"prctl">("int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)"),
    seccomp: (operation, flags, program) => Number(seccomp(numbers.seccomp, operation, flags, program)),
    setrlimit: bind<"setrlimit">("int setrlimit(int resource, void *limits)"),
    waitpid: bind<"waitpid">("int waitpid(int pid, void *status, int options)"),
    signal: bind<"signal">("void *signal(int number, void *handler)"),
    clockGettime: bind<"clockGettime">("int clock_gettime(int clock, void *time)"),
    mount: bind<"mount">(
      "int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)",
    ),
    mountSetattr: (directory, path, flags, attributes, size) =>
      Number(mountSetattr(MOUNT_SETATTR, directory, path, flags, attributes, size)),
    closeRange: (first, last, flags) => Number(closeRange(CLOSE_RANGE, first, last, flags)),
    capset: (header, data) => Number(capset(numbers.capset, header, data)),
    keyctl: (operation, argument) => Number(keyctl(numbers.keyctl, operation, argument)),
    landlockVersion: () => Number(landlockCreate(LANDLOCK_CREATE, null, 0, LANDLOCK_VERSION)),
    landlockCreate: (attributes, size) => Number(landlockCreate(LANDLOCK_CREATE, attributes, size, 0)),
    landlockAdd: (rules, beneath) => Number(landlockAdd(LANDLOCK_ADD, rules, LANDLOCK_PATH_BENEATH, beneath, 0)),
    landlockRestrict: (rules) => Number(landlockRestrict(LANDLOCK_RESTRICT, rules, 0)),
  };
}

/** A signal to this program (a child that ended, a profiler) says nothing about the caller: the call is made again. */
export function uninterrupted(call: () => number): number {
  for (;;) {
    const result = call();
    if (result >= 0 || lastErrno() !== errnos["EINTR"]) return result;
  }
}
