import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readSideFile, sideFileSegment } from "../read/side-file.ts";
import type { Walk } from "./walk.ts";

/** Side files that say they hold the seed of a segment and name another log or commitment, or cannot be read. */
export function strangeSideFiles(
  folder: string,
  walk: Pick<Walk, "logId" | "commitments">,
  first: number,
): [string, number][] {
  const strange: [string, number][] = [];
  for (const name of readdirSync(folder).sort()) {
    const segment = sideFileSegment(name);
    if (segment === undefined || segment < first) continue;
    const held = readSideFile(join(folder, name));
    const fits =
      held !== undefined &&
      held.name.segment === segment &&
      walk.logId?.equals(held.name.logId) === true &&
      walk.commitments.get(segment)?.equals(held.name.commitment) === true;
    if (!fits) strange.push([name, segment]);
  }
  return strange;
}
