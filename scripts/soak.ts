import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";

/** The long campaigns, one after another: every scripts/soak-*.ts. With names, only those; what begins with -- goes to them, with all behind it. */
const args = process.argv.slice(2);
const first = args.findIndex((arg) => arg.startsWith("--"));
const [names, options] = first < 0 ? [args, []] : [args.slice(0, first), args.slice(first)];
const files = readdirSync(import.meta.dirname)
  .filter((file) => file.startsWith("soak-") && file.endsWith(".ts"))
  .filter((file) => names.length === 0 || names.includes(file.slice("soak-".length, -".ts".length)));
let failed = false;
for (const file of files.sort()) {
  console.log(`soak: ${file}`);
  const done = spawnSync(process.execPath, ["--expose-gc", join(import.meta.dirname, file), ...options], {
    stdio: "inherit",
  });
  failed ||= done.status !== 0;
}
process.exit(failed ? 1 : 0);
