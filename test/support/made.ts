import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./home.ts";

const root = join(import.meta.dirname, "..", "..");

/** What takes long to make: whoever of a run of the suite wants it first makes it, and the others wait for it. Without a suite it is made in `folder`. */
export async function makeOnce(name: string, folder: string, make: (place: string) => void): Promise<string> {
  const place = join(process.env["GW_TEST_MADE"] ?? folder, name);
  const [making, made] = [`${place}.making`, `${place}.made`];
  try {
    mkdirSync(making);
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "EEXIST");
    await until(`${name} is made`, () => existsSync(made), 200_000);
    return place;
  }
  try {
    make(place);
  } catch (error) {
    rmSync(making, { recursive: true });
    throw error;
  }
  writeFileSync(made, "");
  return place;
}

/** Another clone, elsewhere, with nothing that this one made in it. */
export function copyClone(place: string): void {
  const skipped = new Set(["node_modules", "dist", "out", ".git"].map((name) => join(root, name)));
  cpSync(root, place, { recursive: true, filter: (path) => !skipped.has(path) });
  symlinkSync(join(root, "node_modules"), join(place, "node_modules"));
}

/** Another clone with what its `npm run build` makes: building in this one would touch what other tests run. */
export function builtClone(folder: string): Promise<string> {
  return makeOnce("other clone", folder, (place) => {
    copyClone(place);
    const build = ["--disable-warning=ExperimentalWarning", join(place, "scripts", "build.ts")];
    const built = spawnSync(process.execPath, build, { cwd: place, encoding: "utf8" });
    assert.equal(built.status, 0, built.stderr);
  });
}
