import type { Change } from "./change-code.ts";

/** A change that no test can notice, since the program behaves the same with it, and why. */
export interface Explained {
  readonly file: string;
  /** The line, as it stands in the source. */
  readonly code: string;
  /** The change, as the list of survivors has it. */
  readonly says: string;
  readonly why: string;
}

export const explained: readonly Explained[] = [];

export function findExplained(change: Change & { readonly file: string }): Explained | undefined {
  const { file, code, says } = change;
  return explained.find((row) => row.file === file && row.code === code && row.says === says);
}
