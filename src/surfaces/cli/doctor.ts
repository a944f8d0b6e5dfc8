import { type CliIo, type Exit, exits } from "./io.ts";
import { sayProse } from "./say-prose.ts";

/** One thing that was looked at on this machine. `mend` is the command that puts it right. */
export interface Finding {
  readonly name: string;
  readonly state: "ok" | "missing" | "warning";
  readonly detail: string;
  readonly mend: string | null;
}

/** Looks at the machine; the composition root says how. */
export type Examine = () => Promise<readonly Finding[]>;

export async function runDoctor(examine: Examine, options: { readonly json: boolean }, io: CliIo): Promise<Exit> {
  const findings = await examine();
  if (options.json) io.out(JSON.stringify(findings, null, 2));
  else for (const line of doctorLines(findings)) sayProse(io, line, nameWidth(findings) + 11);
  return findings.some(({ state }) => state === "missing") ? exits.denied : exits.done;
}

export function doctorLines(findings: readonly Finding[]): readonly string[] {
  const marks = { ok: "ok     ", warning: "warning", missing: "MISSING" } as const;
  const width = nameWidth(findings);
  return findings.flatMap(({ name, state, detail, mend }) => [
    `${marks[state]}  ${name.padEnd(width)}  ${detail}`,
    ...(mend === null ? [] : [`${" ".repeat(width + 11)}mend: ${mend}`]),
  ]);
}

function nameWidth(findings: readonly Finding[]): number {
  return Math.max(...findings.map(({ name }) => name.length));
}
