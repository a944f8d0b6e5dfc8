import assert from "node:assert/strict";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { isAboveLoop, isMadeOfFiles } from "./disk.ts";

const skip = process.platform === "linux" ? false : "disks are looked at on Linux";
const sysfs = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(sysfs, { recursive: true, force: true }));

/** As the kernel lays them out: whole disks with what they are made of, partitions inside their disk. */
function addDisk(device: string, at: string, slaves: readonly string[] = []): void {
  const folder = join(sysfs, "devices", at);
  mkdirSync(join(folder, "slaves"), { recursive: true });
  for (const slave of slaves) {
    symlinkSync(join(sysfs, "devices", slave), join(folder, "slaves", slave.replaceAll("/", "-")));
  }
  addLink(device, folder);
}

function addPartition(device: string, at: string): void {
  const folder = join(sysfs, "devices", at);
  mkdirSync(folder);
  writeFileSync(join(folder, "partition"), "1\n");
  addLink(device, folder);
}

function addLink(device: string, folder: string): void {
  const link = join(sysfs, "dev/block", device);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(folder, link);
}

const isLoop = (device: string): boolean => isAboveLoop([join(sysfs, "dev/block", device)]);

test("a disk is known as a file through partitions, LUKS, LVM and md, and a real one is not", { skip }, () => {
  addDisk("7:0", "virtual/block/loop0");
  addPartition("259:9", "virtual/block/loop0/loop0p1");
  addDisk("259:0", "pci0000:00/0000:00:1d.0/nvme/nvme0/nvme0n1");
  addPartition("259:1", "pci0000:00/0000:00:1d.0/nvme/nvme0/nvme0n1/nvme0n1p1");
  addDisk("253:0", "virtual/block/dm-0", ["pci0000:00/0000:00:1d.0/nvme/nvme0/nvme0n1/nvme0n1p1"]);
  addDisk("253:1", "virtual/block/dm-1", ["virtual/block/loop0/loop0p1"]);
  addDisk("9:0", "virtual/block/md0", ["virtual/block/dm-0", "virtual/block/dm-1"]);
  addPartition("259:7", "virtual/block/md0/md0p1");
  addDisk("253:2", "virtual/block/dm-2", ["virtual/block/md0/md0p1"]);
  for (const device of ["7:0", "259:9", "253:1", "9:0", "259:7", "253:2"]) assert.ok(isLoop(device), device);
  for (const device of ["259:0", "259:1", "253:0"]) assert.ok(!isLoop(device), device);
});

test("disks that are said to be made of each other end the walk", { skip }, () => {
  addDisk("253:8", "virtual/block/dm-8", ["virtual/block/dm-9"]);
  addDisk("253:9", "virtual/block/dm-9", ["virtual/block/dm-8"]);
  assert.equal(isLoop("253:8"), false);
});

test("what nobody can tell of a disk counts as a file's, and what has no disk is none", { skip }, () => {
  const [EXT4, TMPFS, BTRFS, ECRYPTFS] = [0xef53, 0x01021994, 0x9123683e, 0xf15f];
  const fd = openSync("/proc/self/status", "r");
  assert.equal(isMadeOfFiles(fd, "7:1048575", EXT4), true, "without an entry in sysfs");
  assert.equal(isMadeOfFiles(fd, "0:44", BTRFS), true, "without a number of its file system");
  assert.equal(isMadeOfFiles(fd, "0:44", ECRYPTFS), true);
  assert.equal(isMadeOfFiles(fd, "0:44", TMPFS), false);
  closeSync(fd);
});
