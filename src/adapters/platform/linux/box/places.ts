import { statSync } from "node:fs";
import type { BoxPlan } from "../../../../conventions/box/plan.ts";

/** A folder that is not as outside: covered and hidden ones are empty, what is written to or read lies below such a folder. */
export interface Place {
  readonly kind: "cover" | "hide" | "write" | "read";
  readonly path: string;
}

/** Outer folders first. */
export function placesOf({ folder, write, read, cover, hide }: BoxPlan): readonly Place[] {
  const as = (kind: Place["kind"], paths: readonly string[]) => paths.map((path): Place => ({ kind, path }));
  return [
    ...as("cover", [...cover, "/dev/shm"].filter(isFolder)),
    ...as(
      "read",
      read.filter((path) => cover.some((outer) => isBelow(path, outer))),
    ),
    ...as("write", [...new Set([folder, ...write])]),
    ...as("hide", hide.filter(isFolder)),
  ].toSorted((a, b) => depthOf(a.path) - depthOf(b.path));
}

export function isBelow(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function depthOf(path: string): number {
  return path.split("/").length;
}
