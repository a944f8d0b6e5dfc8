import assert from "node:assert/strict";
import { test } from "node:test";
import { distrustOf, distrusts, isImage, isOfItsName, parseMounts, type Surroundings } from "./mount.ts";

const EXT4 = 0xef53;
const FUSE = 0x65735546;
const OVERLAY = 0x794c7630;
const own = parseMounts(`22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
30 27 0:40 / /mnt/a\\040-\\040fuse rw - overlay overlay rw,lowerdir=/a
31 27 0:41 / /home/ada/apps rw,nosuid,nodev - fuse.sshfs ada@host:/ rw,user_id=1000
32 27 8:17 / /media/disk rw - fuseblk /dev/sdb1 rw
33 27 0:42 / /share rw - virtiofs share rw
`);
const callers = parseMounts(
  "50 49 0:50 / / rw - overlay overlay rw,lowerdir=/mine\n51 50 0:40 /x /x rw - overlay overlay rw\n",
);
const around: Surroundings = { own, callers, devices: new Set(["fe:00"]), sameUser: false };
const at = (mount: string | null) => ({ inode: "5", mount });
const says = (magic: number | null) => () => magic;
const never = (): never => assert.fail("its server was asked");

test("mounts are read with their device and type, whatever stands in their names", () => {
  assert.deepEqual(own.get("27"), { device: "254:0", type: "ext4" });
  assert.deepEqual(own.get("30"), { device: "0:40", type: "overlay" });
  assert.equal(own.size, 6);
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
