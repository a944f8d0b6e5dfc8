import { execFileSync, spawnSync } from "node:child_process";
import { chownSync, closeSync, existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import type { Identity } from "./home.ts";

/** A file that is a disk, as root's daemon (udisks) makes one of what a user gives it. */
export interface Loop {
  mount(at: string, options: string): void;
  unmount(at: string): void;
  end(): void;
}

/** Undefined where a file can be made a disk; otherwise why not. */
export const noLoop: string | undefined = (() => {
  if (process.platform !== "linux") return "loop devices are Linux's";
  if (process.getuid?.() !== 0) return "only root makes a disk of a file";
  if (spawnSync("mkfs.ext4", ["-V"]).error !== undefined) return "no mkfs.ext4 to make a file system with";
  if (!/\text4\n/.test(readFileSync("/proc/filesystems", "utf8"))) return "this kernel has no ext4";
  const free = spawnSync("losetup", ["--find"], { encoding: "utf8" });
  return free.status === 0 && existsSync(free.stdout.trim()) ? undefined : "this machine gives out no loop device";
})();

/** A file system in a file of this user's, which holds what is in a folder. */
export function makeDisk(image: string, content: string, { uid, gid }: Identity): void {
  execFileSync("mkfs.ext4", ["-q", "-O", "^has_journal", "-d", content, image, "4M"]);
  chownSync(image, uid, gid);
}

export function attachLoop(image: string): Loop {
  const device = execFileSync("losetup", ["--find", "--show", image], { encoding: "utf8" }).trim();
  // Held and given up at once: the kernel frees it after its last use, also where this process is killed.
  const held = openSync(device, "r");
  execFileSync("losetup", ["--detach", device]);
  const mounted = new Set<string>();
  const loop: Loop = {
    mount(at, options) {
      mkdirSync(at, { mode: 0o755 });
      execFileSync("mount", ["-t", "ext4", "-o", options, device, at]);
      mounted.add(at);
    },
    unmount(at) {
      // The gateway may still hold a program there.
      execFileSync("umount", ["--lazy", at]);
      mounted.delete(at);
    },
    end() {
      for (const at of mounted) loop.unmount(at);
      closeSync(held);
    },
  };
  return loop;
}
