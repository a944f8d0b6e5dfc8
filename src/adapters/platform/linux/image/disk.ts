import { closeSync, existsSync, openSync, readdirSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { loadLibc } from "../libc.ts";

const ECRYPTFS_MAGIC = 0xf15f;
const BTRFS_MAGIC = 0x9123683e;
// _IOR(0x94, 31, struct btrfs_ioctl_fs_info_args): the number of the file system stands behind two 64-bit members.
const BTRFS_IOC_FS_INFO = 0x8400941f;
const FS_INFO_BYTES = 1024;
const FSID_AT = 16;
const FSID_BYTES = 16;

/**
 * Whether the file system of an opened file keeps its bytes in files of another, so that who may write those changes its files, inodes
 * and times at will: on a loop device, on what stands above one, or in eCryptfs. Also where that cannot be told.
 */
export function isMadeOfFiles(fd: number, device: string, magic: number): boolean {
  if (magic === ECRYPTFS_MAGIC) return true;
  try {
    if (magic === BTRFS_MAGIC) return isAboveLoop(listIn(`/sys/fs/btrfs/${fsidOf(fd)}/devices`));
    // A device without a disk: memory, a server elsewhere, the kernel itself.
    return !device.startsWith("0:") && isAboveLoop([`/sys/dev/block/${device}`]);
  } catch {
    return true;
  }
}

/** By the folders that sysfs has of disks: partitions, the device mapper's (LUKS, LVM) and md's lead on to what they are made of. */
export function isAboveLoop(folders: readonly string[]): boolean {
  // Grows while it is walked, and has no disk twice.
  const disks = new Set(folders.map(diskAt));
  for (const disk of disks) {
    if (/^loop\d+$/.test(basename(disk))) return true;
    for (const below of listIn(join(disk, "slaves"))) disks.add(diskAt(below));
  }
  return false;
}

function diskAt(folder: string): string {
  const real = realpathSync(folder);
  return existsSync(join(real, "partition")) ? dirname(real) : real;
}

function listIn(folder: string): string[] {
  return readdirSync(folder).map((name) => join(folder, name));
}

/** btrfs gives its files devices that no list of disks has. */
function fsidOf(fd: number): string {
  const answer = Buffer.alloc(FS_INFO_BYTES);
  const opened = openSync(`/proc/self/fd/${fd}`, "r");
  try {
    if (loadLibc().ioctl(opened, BTRFS_IOC_FS_INFO, answer) < 0) throw new Error("btrfs does not say which it is");
  } finally {
    closeSync(opened);
  }
  const digits = answer.toString("hex", FSID_AT, FSID_AT + FSID_BYTES);
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
