import { writeFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { join } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { inspect } from "node:util";
import { lendPlayers } from "./players.ts";
import { nameSources } from "./traces.ts";

/**
 * Runs test files as whoever starts this, in the order in which they are named (`node --test` sorts them): so many at once, each in
 * a process of its own, or `together` in this one, each a suite of its own. What failed is told in a file, for whoever has to name it at the end.
 */
export interface Failure {
  /** As the process that ran it saw the path. */
  readonly file: string;
  readonly test: string;
  readonly error: string;
}

const LIMIT_MS = 900_000;
/** Nearly every test file loads these. */
const COMMON = ["test/support/home.ts", "test/support/gateway.ts"];
const [list = "", atOnce = "1", ...files] = process.argv.slice(2);
const all = join(process.env["GW_TEST_ONE_FILE"] ?? "", "all.mjs");
const named = nameSources(all);
const failures: Failure[] = [];

// Compiled once, before many processes do it at the same time.
const { modules } = (await import(all)) as { readonly modules: Readonly<Record<string, () => Promise<unknown>>> };
if (files.length > 1) await Promise.all(COMMON.map((file) => modules[file]?.()));
flushCompileCache();

const together = atOnce === "together";
// Files that run in this process start no commands.
const { GW_PROGRAM, GW_TEST_MADE, HOME } = process.env;
const place = GW_TEST_MADE ?? HOME;
if (GW_PROGRAM !== undefined && place !== undefined && !together) await lendPlayers(GW_PROGRAM, place);

const how = together
  ? ({ isolation: "none", files: [join(import.meta.dirname, "together.ts")] } as const)
  : { concurrency: Number(atOnce), files };
// A failed test may leave something open, and must not keep the whole run waiting for it.
const events = run({ timeout: LIMIT_MS, forceExit: true, ...how });
let suite = "";
events.on("test:start", ({ name, nesting }) => {
  if (nesting === 0) suite = name;
});
events.on("test:fail", ({ name, file, details }) => {
  process.exitCode = 1;
  // Of a suite with a failed test the test is told.
  if ("failureType" in details.error && details.error.failureType === "subtestsFailed") return;
  const from = together ? suite : (file ?? name);
  failures.push({ file: from, test: name, error: named(inspect(details.error.cause ?? details.error)) });
  writeFileSync(list, JSON.stringify(failures));
});
const told = events.compose(spec);
told.on("data", (text: string | Buffer) => process.stdout.write(named(String(text))));
