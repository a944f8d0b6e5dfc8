import type { Change } from "./change-code.ts";

/** A change that no test can notice, since the program behaves the same with it, and why. */
export interface Explained {
  readonly file: string;
  /** The line as it stands in the source, or what tells it from the others. */
  readonly code: string;
  /** The change, as the list of survivors has it. */
  readonly says: string;
  readonly why: string;
}

export const explained: readonly Explained[] = [
  {
    file: "src/conventions/caller/session.ts",
    code: 'if (step.kind === "refused") throw new Fault(',
    says: 'step.kind === "refused" → false',
    why: "the table has both steps; the compiler wants the case",
  },
  {
    file: "src/conventions/grant/condition.ts",
    code: "return { kind, input, values: [...new Set(values as Scalar[])].sort((a, b) => (String(a) < String(b) ? -1 : 1)) };",
    says: "1 → 2",
    why: "a sort asks for the sign alone",
  },
  {
    file: "src/conventions/operation/summary.ts",
    code: "(one.operation_id < other.operation_id ? -1 : 1)",
    says: "< → <=",
    why: "no two operations have the same id",
  },
  {
    file: "src/conventions/token/assumed-role.ts",
    code: "const once = start !== -1 && end > start && text.lastIndexOf(open) === start && text.lastIndexOf(close) === end;",
    says: "> → >=",
    why: "an opening and a closing tag cannot begin at the same place",
  },
  {
    file: "src/gateway/record/row-order.ts",
    code: "let last = 0;",
    says: "0 → 1",
    why: "moments are compared with each other alone",
  },
  {
    file: "src/gateway/record/row-order.ts",
    code: "const [oldest = last + 1] = underWay;",
    says: "1 → 2",
    why: "no moment is later than the last one",
  },
  {
    file: "src/gateway/record/row-order.ts",
    code: "for (const [key, moment] of kept) if (moment < oldest) kept.delete(key);",
    says: "< → <=",
    why: "the oldest moment under way may keep its own row again, remembered or not",
  },
  {
    file: "src/gateway/record/row-order.ts",
    code: "if ((kept.get(key) ?? 0) > moment) return false;",
    says: "0 → 1",
    why: "the first moment is 1, which is not later than any",
  },
];

export function findExplained(change: Change & { readonly file: string }): Explained | undefined {
  const { file, code, says } = change;
  return explained.find((row) => row.file === file && code.includes(row.code) && row.says === says);
}
