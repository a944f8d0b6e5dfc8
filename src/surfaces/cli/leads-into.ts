import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** Whether a path is the folder or leads into it, by whatever links and mounts; what is not there yet is where it would be made. */
export function leadsInto(path: string, folder: string): boolean {
  const own = statSync(folder, { throwIfNoEntry: false });
  const place = placeOf(resolve(path));
  if (own === undefined) return `${place}/`.startsWith(`${placeOf(resolve(folder))}/`);
  for (let at = place; ; at = dirname(at)) {
    const here = statSync(at, { throwIfNoEntry: false });
    if (here?.ino === own.ino && here.dev === own.dev) return true;
    if (at === dirname(at)) return false;
  }
}

function placeOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  return path === dirname(path) ? path : join(placeOf(dirname(path)), basename(path));
}
