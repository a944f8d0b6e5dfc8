import { existsSync, readFileSync } from "node:fs";
import { Denied } from "../../../../kernel/failure.ts";

/** There is no box to be had: why, and what a person can do about it. */
export function unavailable(why: string, mend: string | null): Denied {
  const then = mend === null ? "" : ` To mend it: ${mend}.`;
  return new Denied("contain_unavailable", `no box can be built here: ${why}.${then}`, { extra: { mend } });
}

/** Neither tier: the first is what a person would want, so that it is what is told; what bubblewrap lacks stands beside it. */
export function neither(first: Denied, second: Denied): Denied {
  const alone = first.message === second.message;
  const beside = alone ? "" : ` Bubblewrap, the second way, gives none either: ${second.message}`;
  return new Denied("contain_unavailable", `${first.message}${beside}`, { extra: first.extra });
}

/** By what the machine allows, and by what the kernel said. */
export function mendFor(said: string): string | null {
  if (readSetting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") === "1") {
    return "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile with userns for /usr/bin/unshare (for the second tier: for /usr/bin/bwrap)";
  }
  if (readSetting("/proc/sys/kernel/unprivileged_userns_clone") === "0") {
    return "sudo sysctl kernel.unprivileged_userns_clone=1";
  }
  if (readSetting("/proc/sys/user/max_user_namespaces") === "0" || /ENOSPC|No space/.test(said)) {
    return "sudo sysctl user.max_user_namespaces=15000";
  }
  if (/EPERM|not permitted/.test(said)) {
    return "let the container make namespaces (Docker: --security-opt seccomp=unconfined --security-opt systempaths=unconfined), or run gw outside of it";
  }
  return null;
}

function readSetting(path: string): string | null {
  return existsSync(path) ? readFileSync(path, "utf8").trim() : null;
}
