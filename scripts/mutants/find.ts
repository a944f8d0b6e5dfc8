import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Mutant } from "./mutant.ts";

/** The file with the rule broken, or why it cannot be: a text that moved must be found again by a person. */
export function breakRule(root: string, { file, text, becomes }: Mutant): { readonly source: string } | string {
  const source = readFileSync(join(root, file), "utf8");
  const times = source.split(text).length - 1;
  if (times !== 1) return `${file}: stands ${times} times: ${text}`;
  if (text === becomes) return `${file}: nothing would change: ${text}`;
  return { source: source.replace(text, () => becomes) };
}
