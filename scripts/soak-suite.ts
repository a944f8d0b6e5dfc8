import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Every case of the tests of which `npm test` plays a sample. */
const root = join(import.meta.dirname, "..");
const files = readdirSync(join(root, "test"))
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => join("test", name))
  .filter((file) => readFileSync(join(root, file), "utf8").includes('from "./support/whole.ts"'));
const done = spawnSync(process.execPath, [join(import.meta.dirname, "test.ts"), ...files], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, GW_TEST_WHOLE: "1", GW_TEST_STRICT: "1" },
});
process.exit(done.status ?? 1);
