import koffi, { type LibraryHandle } from "koffi";
import { Fault } from "../../../kernel/failure.ts";

/** A reference that Core Foundation counts; 0n and null are none. */
export type Reference = bigint | null;

/** What we use of libSystem, Core Foundation and Security. Loaded on first use, on macOS alone. */
export interface Libraries {
  getsockopt(fd: number, level: number, option: number, value: Buffer, length: Buffer): number;
  kqueue(): number;
  kevent(
    queue: number,
    changes: Buffer,
    changeCount: number,
    events: Buffer,
    eventCount: number,
    timeout: Buffer,
  ): number;
  procPidinfo(pid: number, flavor: number, argument: bigint, answer: Buffer, size: number): number;
  procPidpath(pid: number, path: Buffer, size: number): number;
  sysctlbyname(name: string, value: Buffer, size: Buffer, next: null, nextSize: number): number;
  clockGettime(clock: number, time: Buffer): number;
  setrlimit(resource: number, limits: Buffer): number;
  ptrace(request: number, pid: number, address: null, data: number): number;
  release(reference: bigint): void;
  createData(allocator: null, bytes: Buffer, length: number): Reference;
  dataLength(data: bigint): number;
  dataBytes(data: bigint): bigint;
  createDictionary(
    allocator: null,
    keys: Buffer,
    values: Buffer,
    count: number,
    keyCalls: bigint,
    valueCalls: bigint,
  ): Reference;
  dictionaryValue(dictionary: bigint, key: bigint): Reference;
  arrayCount(array: bigint): number;
  arrayValue(array: bigint, index: number): Reference;
  numberValue(number: bigint, type: number, value: Buffer): boolean;
  stringText(string: bigint, text: Buffer, size: number, encoding: number): boolean;
  copyGuest(host: null, attributes: bigint, flags: number, guest: Buffer): number;
  checkValidity(code: bigint, flags: number, requirement: null): number;
  copyStaticCode(code: bigint, flags: number, staticCode: Buffer): number;
  copySigningInformation(code: bigint, flags: number, information: Buffer): number;
  copyDesignatedRequirement(code: bigint, flags: number, requirement: Buffer): number;
  requirementText(requirement: bigint, flags: number, text: Buffer): number;
  certificateSummary(certificate: bigint): Reference;
  /** The value of an exported CFStringRef constant. */
  constant(name: string): bigint;
  /** The address of an exported structure. */
  structure(name: string): bigint;
}

const CORE_FOUNDATION = "/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation";
const SECURITY = "/System/Library/Frameworks/Security.framework/Security";
const SYSTEM = "/usr/lib/libSystem.B.dylib";

let loaded: Libraries | undefined;

export function loadLibraries(): Libraries {
  loaded ??= bindLibraries();
  return loaded;
}

function bindLibraries(): Libraries {
  if (process.platform !== "darwin") throw new Fault(`the macOS adapter does not run on ${process.platform}`);
  const system = koffi.load(SYSTEM);
  const foundation = koffi.load(CORE_FOUNDATION);
  const security = koffi.load(SECURITY);
  const bind = <Name extends keyof Libraries>(library: LibraryHandle, prototype: string) =>
    library.func(prototype) as Libraries[Name];
  return {
    getsockopt: bind<"getsockopt">(system, "int getsockopt(int fd, int level, int option, void *value, void *length)"),
    kqueue: bind<"kqueue">(system, "int kqueue()"),
    kevent: bind<"kevent">(
      system,
      "int kevent(int queue, void *changes, int changeCount, void *events, int eventCount, void *timeout)",
    ),
    procPidinfo: bind<"procPidinfo">(
      system,
      "int proc_pidinfo(int pid, int flavor, uint64_t argument, void *answer, int size)",
    ),
    procPidpath: bind<"procPidpath">(system, "int proc_pidpath(int pid, void *path, uint32_t size)"),
    sysctlbyname: bind<"sysctlbyname">(
      system,
      "int sysctlbyname(const char *name, void *value, void *size, void *next, size_t nextSize)",
    ),
    clockGettime: bind<"clockGettime">(system, "int clock_gettime(int clock, void *time)"),
    setrlimit: bind<"setrlimit">(system, "int setrlimit(int resource, void *limits)"),
    ptrace: bind<"ptrace">(system, "int ptrace(int request, int pid, void *address, int data)"),
    release: bind<"release">(foundation, "void CFRelease(void *reference)"),
    createData: bind<"createData">(foundation, "void *CFDataCreate(void *allocator, void *bytes, long length)"),
    dataLength: bind<"dataLength">(foundation, "long CFDataGetLength(void *data)"),
    dataBytes: bind<"dataBytes">(foundation, "void *CFDataGetBytePtr(void *data)"),
    createDictionary: bind<"createDictionary">(
      foundation,
      "void *CFDictionaryCreate(void *allocator, void *keys, void *values, long count, void *keyCalls, void *valueCalls)",
    ),
    dictionaryValue: bind<"dictionaryValue">(foundation, "void *CFDictionaryGetValue(void *dictionary, void *key)"),
    arrayCount: bind<"arrayCount">(foundation, "long CFArrayGetCount(void *array)"),
    arrayValue: bind<"arrayValue">(foundation, "void *CFArrayGetValueAtIndex(void *array, long index)"),
    numberValue: bind<"numberValue">(foundation, "bool CFNumberGetValue(void *number, long type, void *value)"),
    stringText: bind<"stringText">(
      foundation,
      "bool CFStringGetCString(void *string, void *text, long size, uint32_t encoding)",
    ),
    copyGuest: bind<"copyGuest">(
      security,
      "int SecCodeCopyGuestWithAttributes(void *host, void *attributes, uint32_t flags, void *guest)",
    ),
    checkValidity: bind<"checkValidity">(
      security,
      "int SecCodeCheckValidity(void *code, uint32_t flags, void *requirement)",
    ),
    copyStaticCode: bind<"copyStaticCode">(
      security,
      "int SecCodeCopyStaticCode(void *code, uint32_t flags, void *staticCode)",
    ),
    copySigningInformation: bind<"copySigningInformation">(
      security,
      "int SecCodeCopySigningInformation(void *code, uint32_t flags, void *information)",
    ),
    copyDesignatedRequirement: bind<"copyDesignatedRequirement">(
      security,
      "int SecCodeCopyDesignatedRequirement(void *code, uint32_t flags, void *requirement)",
    ),
    requirementText: bind<"requirementText">(
      security,
      "int SecRequirementCopyString(void *requirement, uint32_t flags, void *text)",
    ),
    certificateSummary: bind<"certificateSummary">(
      security,
      "void *SecCertificateCopySubjectSummary(void *certificate)",
    ),
    constant: (name) => BigInt(koffi.decode.uint64(security.symbol(name))),
    structure: (name) => koffi.address(foundation.symbol(name)),
  };
}
