import { readdirSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import type { Bench } from "./bench.ts";

const args = process.argv.slice(2);
const json = args.includes("--json");
const names = args.filter((arg) => !arg.startsWith("--"));

const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith(".bench.ts"));
const benches: Bench[] = [];
for (const file of files.sort()) {
  const module = (await import(join(import.meta.dirname, file))) as { readonly bench: Bench };
  benches.push(module.bench);
}
const unknown = names.filter((name) => !benches.some((bench) => bench.name === name));
if (unknown.length > 0) {
  console.error(`no bench is called ${unknown.join(", ")}; there are ${benches.map((bench) => bench.name).join(", ")}`);
  process.exit(2);
}
if (!json) sayLoad("before");
if (!json) console.log(line("bench", "case", "value", "unit", "beside", "ratio"));
for (const bench of benches.filter(({ name }) => names.length === 0 || names.includes(name))) {
  await bench.run((row) => {
    if (json) console.log(JSON.stringify({ bench: bench.name, ...row }));
    else console.log(line(bench.name, row.case, show(row.value), row.unit, row.beside, show(row.ratio)));
  });
}
if (!json) sayLoad("after");

/** Rates mean little on a machine that does other work: whoever reads them sees whether it did. */
function sayLoad(when: string): void {
  console.log(`load average ${when}: ${loadavg().map(show).join(" ")}`);
}

function line(...cells: readonly string[]): string {
  const widths = [12, 44, 12, 10, 44, 8];
  return cells
    .map((cell, index) => cell.padEnd(widths[index] ?? 0))
    .join(" ")
    .trimEnd();
}

function show(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en-US") : value.toFixed(2);
}
