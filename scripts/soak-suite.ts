import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Every case of the tests of which `npm test` plays a sample, and a process of its own for every command of `gw`. */
const root = join(import.meta.dirname, "..");
const files = ["src", "packages", "test"]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  )
  .filter((file) => file.endsWith(".test.ts"))
  .filter((file) =>
    /from "[./\w]+\/(support\/(whole|home)|testing\/whole|dedicated-stand)\.ts"/.test(
      readFileSync(join(root, file), "utf8"),
    ),
  );
const done = spawnSync(process.execPath, [join(import.meta.dirname, "test.ts"), ...files], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, GW_TEST_WHOLE: "1", GW_TEST_STRICT: "1" },
});
process.exit(done.status ?? 1);
