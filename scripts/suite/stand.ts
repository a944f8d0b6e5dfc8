import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, cpSync, mkdirSync, symlinkSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { Product } from "./product.ts";

const UNPRIVILEGED = 64123;

/** Where and as whom test files run: what comes before node, and the clone as it is seen from there. */
export interface Stand {
  readonly command: readonly string[];
  readonly node: string;
  readonly clone: string;
  readonly env: Readonly<Record<string, string>>;
}

/** As whoever started the suite. */
export function ownStand(root: string, product: Product): Stand {
  // What takes long to make is made once for all files that want it.
  const made = join(dirname(dirname(product.program)), "made");
  const compiled = join(made, "compiled");
  // Some of these files run as another user, and Node keeps what is compiled apart for each; test/support/postgres.ts does so with clusters.
  for (const folder of [compiled, join(made, "clusters")]) {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o1777);
  }
  const env = {
    GW_PROGRAM: product.program,
    GW_TEST_MADE: made,
    GW_CHECKED_BESIDE: "1",
    NODE_COMPILE_CACHE: compiled,
  };
  return { command: [], node: process.execPath, clone: root, env };
}

/** Drops to an unprivileged uid; where that uid cannot reach the clone, in a private mount namespace that shows it elsewhere. */
export function unprivilegedStand(root: string, product: Product, folder: string): Stand {
  const home = join(folder, "home");
  mkdirSync(home, { mode: 0o700 });
  // Where a person looks for what the tests saw; test/support/shots.ts writes there.
  const shots = join(root, "out", "shots");
  mkdirSync(shots, { recursive: true });
  for (const place of [home, shots]) chownSync(place, UNPRIVILEGED, UNPRIVILEGED);
  const env = {
    HOME: home,
    USER: "gw-test",
    LOGNAME: "gw-test",
    XDG_STATE_HOME: join(home, "state"),
    // Hundreds of processes load the same sources: their types are stripped once.
    NODE_COMPILE_CACHE: join(home, "compiled"),
    GW_PROGRAM: product.program,
    GW_TEST_MADE: home,
  };
  const drop = ["setpriv", `--reuid=${UNPRIVILEGED}`, `--regid=${UNPRIVILEGED}`, "--clear-groups", "--"];
  const test = ["test", "-r", join(root, "package.json"), "-a", "-x", process.execPath];
  const reached = spawnSync(drop[0] ?? "", [...drop.slice(1), ...test]).status === 0;
  if (reached) return { command: drop, node: process.execPath, clone: root, env };

  const view = join(folder, "view");
  mkdirSync(view, { mode: 0o755 });
  const clone = join(view, basename(root));
  const shared = join(view, "shared");
  mkdirSync(clone);
  mkdirSync(shared);
  // The same product, which finds its packages where the view shows them.
  const seen = join(view, "product");
  cpSync(dirname(dirname(product.program)), seen, {
    recursive: true,
    filter: (from) => !["node_modules", "made"].includes(basename(from)),
  });
  symlinkSync(join(clone, "node_modules"), join(seen, "node_modules"));
  const script = `mount --bind "$1" "$2" && { [ ! -d "$3" ] || mount --bind "$3" "$4"; } && cd "$2" && shift 4 && exec "$@"`;
  const enter = ["unshare", "--mount", "--propagation=private", "sh", "-c", script, "sh"];
  return {
    command: [...enter, root, clone, join(dirname(root), "shared"), shared, ...drop],
    node: process.execPath.startsWith(`${root}/`) ? join(clone, relative(root, process.execPath)) : process.execPath,
    clone,
    env: { ...env, GW_PROGRAM: join(seen, "bin", "gw") },
  };
}
