import { readFileSync } from "node:fs";
import { join } from "node:path";
import { installation } from "../../kernel/installation.ts";

/** The one list of variables that programs which hold a key may have, for the launcher, for themselves and for what they start. */
const ALLOWED = new Set(
  readFileSync(join(installation, "bin/environment"), "latin1")
    .split("\n")
    .filter((name) => name !== ""),
);

export function isAllowedVariable(name: string): boolean {
  return ALLOWED.has(name) || name.startsWith("GW_");
}

/** What a program of ours that holds a key is started with. */
export function allowedEnvironment(environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => isAllowedVariable(name)));
}
