import assert from "node:assert/strict";
import { test } from "node:test";
import { type Asking, distrustOf, distrusts, isImage, isOfItsName, parseMounts, type Surroundings } from "./mount.ts";

const EXT4 = 0xef53;
const BTRFS = 0x9123683e;
const FUSE = 0x65735546;
const OVERLAY = 0x794c7630;
const own = parseMounts(`22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
30 27 0:40 / /mnt/a\\040-\\040fuse rw - overlay overlay rw,lowerdir=/a
31 27 0:41 / /home/ada/apps rw,nosuid,nodev - fuse.sshfs ada@host:/ rw,user_id=1000
32 27 8:17 / /media/disk rw - fuseblk /dev/sdb1 rw
33 27 0:42 / /share rw - virtiofs share rw
34 27 7:1 / /snap/core22/1612 ro,nodev,relatime shared:31 - squashfs /dev/loop1 ro,errors=continue,threads=single
35 27 7:0 / /run/media/ada/disk rw,nosuid,nodev,relatime shared:80 - ext4 /dev/loop0 rw
36 27 0:43 / /run/media/ada/b rw,nosuid,nodev,relatime - btrfs /dev/loop2 rw,discard=async,space_cache=v2,subvolid=5,subvol=/
37 27 253:3 / /home rw,nosuid,nodev,relatime shared:42 - ext4 /dev/mapper/vg-home rw
38 27 7:4 / /mnt/nosuid rw,nodev - ext4 /dev/loop4 rw
39 27 0:45 / /mnt/b rw,relatime - btrfs /dev/loop5 rw,discard=async,space_cache=v2,subvolid=5,subvol=/
`);
const callers = parseMounts(
  "50 49 0:50 / / rw - overlay overlay rw,lowerdir=/mine\n51 50 0:40 /x /x rw - overlay overlay rw\n52 50 7:0 / /usr rw - ext4 /dev/loop0 rw\n",
);
const around: Surroundings = { own, callers, devices: new Set(["fe:00"]), sameUser: false };
const at = (mount: string | null, device = "254:0") => ({ device, inode: "5", mount });
const says = (magic: number | null, ...files: readonly string[]): Asking => ({
  magic: () => magic,
  isMadeOfFiles: (device) => files.includes(device),
});
const asked = (): never => assert.fail("its file system was asked");
const never: Asking = { magic: asked, isMadeOfFiles: asked };

test("mounts are read with their device and type, whatever stands in their names", () => {
  assert.deepEqual(own.get("27"), { device: "254:0", type: "ext4", nosuid: false });
  assert.deepEqual(own.get("30"), { device: "0:40", type: "overlay", nosuid: false });
  assert.deepEqual(own.get("35"), { device: "7:0", type: "ext4", nosuid: true });
  assert.equal(own.size, 12);
});

test("a file system that a program answers for is known by its mount, without asking that program", () => {
  assert.equal(distrustOf(at("31"), around, never), distrusts.fuse);
  assert.equal(distrustOf(at("32"), around, never), distrusts.fuse);
  assert.equal(distrustOf(at("33"), around, never), null);
});

test("where the mount is listed nowhere, the file system says what it is, and one that does not is not believed", () => {
  for (const mount of ["99", null]) {
    assert.equal(distrustOf(at(mount), around, says(FUSE)), distrusts.fuse);
    assert.equal(distrustOf(at(mount), around, says(OVERLAY)), distrusts.overlay);
    assert.equal(distrustOf(at(mount), around, says(null)), distrusts.silent);
    assert.equal(distrustOf(at(mount), around, says(EXT4)), null);
  }
  assert.equal(distrustOf(null, around, never), distrusts.silent);
});

test("a disk that is itself a file is believed only where it stands among our own mounts as one that root made for the machine", () => {
  const loops = ["7:0", "7:1", "7:4", "0:44", "0:46"];
  assert.equal(distrustOf(at("35", "7:0"), around, says(EXT4, ...loops)), distrusts.files, "as udisks mounts it");
  assert.equal(
    distrustOf(at("36", "0:44"), around, says(BTRFS, ...loops)),
    distrusts.files,
    "a subvolume's own device",
  );
  assert.equal(
    distrustOf(at("52", "7:0"), around, says(EXT4, ...loops)),
    distrusts.files,
    "a caller's list says nothing",
  );
  for (const mount of ["99", null]) {
    assert.equal(distrustOf(at(mount, "7:0"), around, says(EXT4, ...loops)), distrusts.files, "of a caller's alone");
    assert.equal(distrustOf(at(mount, "7:1"), around, says(EXT4, ...loops)), null, "a snap, seen from inside");
  }
  assert.equal(distrustOf(at("34", "7:1"), around, says(EXT4, ...loops)), null);
  assert.equal(distrustOf(at("39", "0:46"), around, says(BTRFS, ...loops)), null, "by its mount, not its subvolume");
  assert.equal(distrustOf(at("38", "7:4"), around, says(EXT4, ...loops)), null, "a name is no option");
  assert.equal(distrustOf(at("37", "253:3"), around, says(EXT4, ...loops)), null, "a real disk, mounted with care");
});

test("an overlay is believed where it stands among our own mounts, or those of a caller that cannot have made it", () => {
  assert.equal(distrustOf(at("30"), around, says(OVERLAY)), null);
  assert.equal(distrustOf(at("51"), around, says(OVERLAY)), null, "the same one, bound elsewhere");
  assert.equal(distrustOf(at("50"), around, says(OVERLAY)), distrusts.overlay);
  assert.equal(distrustOf(at("50"), { ...around, sameUser: true }, says(OVERLAY)), null);
});

test("the image is told from another file of its name by inode and device", () => {
  const image = { device: "fe:00", inode: "5", path: "/a" };
  assert.equal(isImage(image, at("27"), around), true);
  assert.equal(isImage({ ...image, device: "00:29" }, at("27"), around), false);
  assert.equal(isImage({ ...image, inode: "6" }, at("27"), around), false);
  assert.equal(isImage(image, at("99"), around), false);
  assert.equal(isImage(image, at("30"), around), true, "older kernels say the device below an overlay");
  assert.equal(isImage({ ...image, device: "00:29" }, at("30"), around), false);
});

test("a mapped file that is gone, or is nowhere, is not the file of its name", () => {
  assert.equal(isOfItsName({ device: "fe:00", inode: "5", path: "/nowhere/x.so" }, around), false);
  assert.equal(isOfItsName({ device: "fe:00", inode: "5", path: "/usr/lib/x.so (deleted)" }, around), false);
});
