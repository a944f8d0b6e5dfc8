import { readFileSync, statfsSync } from "node:fs";
import { inodeIn, inodeOf, type Mapping, type Place, parseMaps, placeOf, readProc } from "../proc.ts";

/**
 * Who answers for the bytes of a file. A user may mount a file system of which a program of theirs is the server (FUSE), or an overlay
 * over one, or have root's daemon (udisks) mount a file of theirs as a disk: what a file there holds when it is read says nothing about
 * what was run from it.
 */
export interface Mount {
  /** Of the file system, `major:minor`, as in `maps`. */
  readonly device: string;
  readonly type: string;
  /** Root's daemons mount so what users give them, and no user can take it off; who mounts a disk for the machine does without. */
  readonly nosuid: boolean;
}

/** Asks the file system, which may never answer. */
export interface Asking {
  readonly magic: () => number | null;
  readonly isMadeOfFiles: (device: string, magic: number) => boolean;
}

/** By the number that `mountinfo` and statx give a mount. */
export type Mounts = ReadonlyMap<string, Mount>;

/** A file that a process runs code from, as its `maps` name it. */
export type Mapped = Pick<Mapping, "device" | "inode" | "path">;

export interface Surroundings {
  /** Of this gateway's own mount namespace: what stands there somebody with the rights to mount put there. */
  readonly own: Mounts;
  readonly callers: Mounts;
  /** Devices that this very program runs code from, as `maps` write them. */
  readonly devices: ReadonlySet<string>;
  /** Whether nobody without rights of this machine can have mounted what stands in the caller's. */
  readonly sameUser: boolean;
}

const MOUNTINFO_LIMIT = 16 * 1_048_576;
const FUSE_MAGIC = 0x65735546;
const OVERLAY_MAGIC = 0x794c7630;
const DELETED = " (deleted)";
const NOBODY = "so nobody can say what it runs";

export const distrusts = {
  fuse: `its file lies on a file system that a program answers for (FUSE), ${NOBODY}`,
  overlay: `its file lies on an overlay that any user may have made over such files as they like, ${NOBODY}`,
  files: `its file lies on a disk that is itself a file, which any user may have had mounted and may write, ${NOBODY}`,
  silent: `its file system does not say what it is, ${NOBODY}`,
} as const;

/** `directory` is the caller's in /proc. Its mounts are read before its user namespace: once it has left ours there is no way back. */
export function readSurroundings(directory: number | null): Surroundings {
  const own = parseMounts(readFileSync("/proc/self/mountinfo", "utf8"));
  const devices = new Set(parseMaps(readFileSync("/proc/self/maps", "utf8")).map(({ device }) => device));
  if (directory === null) return { own, callers: new Map(), devices, sameUser: false };
  const callers = parseMounts(readProc(directory, "mountinfo", MOUNTINFO_LIMIT)?.toString("utf8") ?? "");
  const user = inodeIn(directory, "ns/user");
  return { own, callers, devices, sameUser: user !== null && user === inodeOf("/proc/self/ns/user") };
}

/** Names are escaped by the kernel: blanks in a line are its own, and ` - ` ends what may be missing. */
export function parseMounts(text: string): Mounts {
  const mounts = new Map<string, Mount>();
  for (const line of text.split("\n")) {
    const [id = "", , device = "", , , options = ""] = line.split(" ", 6);
    const type = /^.*? - (\S+) /.exec(line)?.[1];
    if (type !== undefined) mounts.set(id, { device, type, nosuid: options.split(",").includes("nosuid") });
  }
  return mounts;
}

/** Why nothing that is read of the file counts; null where the kernel itself, or a server that root chose, answers for it. */
export function distrustOf(place: Place | null, around: Surroundings, ask: Asking): string | null {
  if (place === null) return distrusts.silent;
  const mount = mountOf(place, around);
  // Known without asking it: its server may never answer.
  if (mount !== undefined && isAnswered(mount)) return distrusts.fuse;
  // The machine's host answers for this one, which only root mounts, and which calls itself FUSE.
  if (mount?.type === "virtiofs") return null;
  const magic = ask.magic();
  switch (magic) {
    case null:
      return distrusts.silent;
    case FUSE_MAGIC:
      return distrusts.fuse;
    case OVERLAY_MAGIC:
      return isRoots(mount, around) ? null : distrusts.overlay;
    default:
      return isForAll(mount?.device ?? place.device, around) || !ask.isMadeOfFiles(place.device, magic)
        ? null
        : distrusts.files;
  }
}

export function magicOf(fd: number): number | null {
  try {
    return statfsSync(`/proc/self/fd/${fd}`).type;
  } catch {
    return null;
  }
}

/** Whether a mapped file is the image itself, and no other of that name. */
export function isImage({ device, inode }: Mapped, place: Place | null, around: Surroundings): boolean {
  const mount = mountOf(place, around);
  return mount !== undefined && inode === place?.inode && isOn(device, mount, around);
}

/** Whether a mapped file is, in this gateway's own eyes, the file of its name, so that a package can own it. */
export function isOfItsName({ device, inode, path }: Mapped, around: Surroundings): boolean {
  const place = path.endsWith(DELETED) ? null : placeOf(path);
  const mount = around.own.get(place?.mount ?? "");
  return mount !== undefined && !isAnswered(mount) && place?.inode === inode && isOn(device, mount, around);
}

function mountOf(place: Place | null, { own, callers }: Surroundings): Mount | undefined {
  const id = place?.mount ?? "";
  return own.get(id) ?? callers.get(id);
}

function isAnswered({ type }: Mount): boolean {
  return /^fuse(blk)?(\.|$)/.test(type);
}

function isRoots(mount: Mount | undefined, { own, callers, sameUser }: Surroundings): boolean {
  const roots = [...own.values(), ...(sameUser ? callers.values() : [])];
  return roots.some(({ device, type }) => device === mount?.device && type === "overlay");
}

function isForAll(device: string, { own }: Surroundings): boolean {
  return [...own.values()].some((mount) => mount.device === device && !mount.nosuid);
}

/** `maps` has both numbers in hexadecimal. Of a file on an overlay older kernels say the device below, which no list of mounts has. */
function isOn(device: string, mount: Mount, { devices }: Surroundings): boolean {
  const numbers = device.split(":").map((part) => Number.parseInt(part, 16));
  return numbers.join(":") === mount.device || (mount.type === "overlay" && devices.has(device));
}
