import { writeFileSync } from "node:fs";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { inspect } from "node:util";

/**
 * Runs test files as whoever starts this, in the order in which they are named (`node --test` sorts them): so many at once, each in
 * a process of its own, or `together` in this one. What failed is told in a file, for whoever has to name it at the end.
 */
export interface Failure {
  /** As the process that ran it saw the path. */
  readonly file: string;
  readonly test: string;
  readonly error: string;
}

const LIMIT_MS = 240_000;
const [list = "", atOnce = "1", ...files] = process.argv.slice(2);
const failures: Failure[] = [];
const how = atOnce === "together" ? ({ isolation: "none" } as const) : { concurrency: Number(atOnce) };
// A failed test may leave something open, and must not keep the whole run waiting for it.
const events = run({ files, timeout: LIMIT_MS, forceExit: true, ...how });
events.on("test:fail", ({ name, file, details }) => {
  process.exitCode = 1;
  // Of a suite with a failed test the test is told.
  if ("failureType" in details.error && details.error.failureType === "subtestsFailed") return;
  failures.push({ file: file ?? name, test: name, error: inspect(details.error.cause ?? details.error) });
  writeFileSync(list, JSON.stringify(failures));
});
events.compose(spec).pipe(process.stdout);
