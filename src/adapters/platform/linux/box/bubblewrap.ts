import { lstatSync } from "node:fs";
import { join } from "node:path";
import { type BoxPlan, boxCertificate } from "../../../../conventions/box/plan.ts";
import { defaults } from "../../../../kernel/defaults.ts";
import { CERTIFICATES } from "./folders.ts";
import { isBelow, isFolder, type Place, placesOf } from "./places.ts";

/**
 * The second tier as arguments of `bwrap`: the same folders, hidden and covered in the same way, by a program that the machine lets
 * do so. What it starts is process 1 of namespaces of its own and has no right in them; its network has loopback and nothing else.
 */
export function bubblewrapArguments(plan: BoxPlan): readonly string[] {
  const places = placesOf(plan);
  return [
    ...["--unshare-user", "--disable-userns", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts"],
    ...["--die-with-parent", "--as-pid-1", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--proc", "/proc"],
    ...places.flatMap((place) => layPlace(place, places)),
    ...["--dev", "/dev", "--perms", "1777", "--size", String(defaults.boxFolderBytes), "--tmpfs", "/dev/shm"],
    ...layCertificates(plan),
    ...hiddenSockets(plan.sockets, places).flatMap((path) => ["--ro-bind", "/dev/null", path]),
    ...["--chdir", plan.folder, "--"],
  ];
}

function layPlace({ kind, path }: Place, places: readonly Place[]): readonly string[] {
  switch (kind) {
    case "cover":
      return path === "/dev/shm" ? [] : ["--perms", "1777", "--size", String(defaults.boxFolderBytes), "--tmpfs", path];
    case "hide":
      // Below a folder that is covered it is not there any more.
      return isEmpty(path, places) ? [] : ["--perms", "0555", "--size", "4096", "--tmpfs", path, "--remount-ro", path];
    case "write":
      return ["--bind", path, path];
    case "read":
      return ["--ro-bind", path, path];
  }
}

/** The file itself is written by the stage: it lies in the folder that is the box's own. */
function layCertificates({ subjectHash }: BoxPlan): readonly string[] {
  if (!isFolder(CERTIFICATES)) return [];
  const links = ["ca-certificates.crt", `${subjectHash}.0`].map((name) => join(CERTIFICATES, name));
  return [
    ...["--size", "65536", "--tmpfs", CERTIFICATES],
    ...links.flatMap((path) => ["--symlink", boxCertificate, path]),
    ...["--remount-ro", CERTIFICATES],
  ];
}

/** Those that could be seen inside: a path leads to a socket whatever network it is in. */
function hiddenSockets(paths: readonly string[], places: readonly Place[]): readonly string[] {
  return paths.filter((path) => !isEmpty(path, places) && isSocket(path));
}

function isEmpty(path: string, places: readonly Place[]): boolean {
  const nearest = places.findLast((place) => isBelow(path, place.path));
  return nearest?.kind === "cover" || nearest?.kind === "hide";
}

function isSocket(path: string): boolean {
  try {
    return lstatSync(path).isSocket();
  } catch {
    // Gone, or in a folder that this user cannot enter from inside either.
    return false;
  }
}
