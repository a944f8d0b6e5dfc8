import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { EffectVerdict } from "../../upgrade/meaning/effect.ts";
import type { Api, ApiOperation } from "../../upgrade/model/api.ts";
import { parseTemplate } from "../../url/template.ts";
import type { Effect } from "../pack.ts";
import { draftInputs } from "./draft-inputs.ts";
import { cleanText, writeComment, writeFlow } from "./write-flow.ts";

/** The lines of one action, or why the operation is none. */
export type DraftedAction =
  | { readonly kind: "drafted"; readonly lines: readonly string[] }
  | { readonly kind: "left_out"; readonly why: string };

export interface ActionFrame {
  readonly api: Api;
  /** The path of the server, which stands before every path of the document. */
  readonly basePath: string;
  /** Header fields of the provider, in lower case. */
  readonly takenHeaders: ReadonlySet<string>;
  /** What a reviewer must know of how the operation is let in. */
  readonly access: readonly string[];
}

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);

export function draftAction(
  name: string,
  operation: ApiOperation,
  verdict: EffectVerdict,
  frame: ActionFrame,
): DraftedAction {
  if (!METHODS.has(operation.method)) return leftOut(`an action cannot send ${operation.method}`);
  const drafted = draftInputs(frame.api, operation, frame.takenHeaders);
  if (drafted.kind === "unfit") return leftOut(drafted.why);
  const path = pathOf(operation, frame.basePath, drafted.renamed);
  if (path.kind === "left_out") return path;

  const guess = guessEffect(operation, verdict);
  const side = guess.effect !== "read";
  const text = cleanText(operation.summary || operation.description.split("\n\n")[0] || "");
  const request = {
    method: operation.method,
    path: path.text,
    ...(drafted.body === null ? {} : { body: drafted.body }),
  };
  const notes = [...frame.access, ...drafted.notes];
  const shown = notes.slice(0, defaults.packDraftNotes);
  if (notes.length > shown.length) shown.push(`${notes.length - shown.length} more remarks are not shown`);
  if (operation.deprecated) shown.unshift("the document calls it deprecated");
  const lines = [
    writeComment(`${operation.key}${operation.operationId === null ? "" : ` (${operation.operationId})`}`),
    ...shown.map((note) => writeComment(`REVIEW: ${note}`.slice(0, 400))),
    `${name}:`,
    ...(text === "" ? [] : [`  description: ${writeFlow(cut(text, 300))}`]),
    `  effect: ${guess.effect} ${writeComment(`REVIEW: ${guess.says}`)}`,
    ...(side ? ["  retry: non_idempotent_write", "  needs: { approval: each_use }"] : []),
    `  request: ${writeFlow(request)}`,
  ];
  if (drafted.inputs.size === 0) return { kind: "drafted", lines };
  const inputs = [...drafted.inputs].map(([input, field]) => `    ${input}: ${writeFlow(field)}`);
  return { kind: "drafted", lines: [...lines, "  input:", ...inputs] };
}

/** A guess may be too strict, never too mild: what is not surely a read is drafted as a side effect. */
function guessEffect(
  operation: ApiOperation,
  verdict: EffectVerdict,
): { readonly effect: Effect; readonly says: string } {
  const why = cut([verdict.confidence, ...verdict.evidence].join("; "), 300);
  switch (verdict.effect) {
    case "read": {
      const safe = operation.method === "GET" || operation.method === "HEAD";
      if (safe && !verdict.confidence.startsWith("contradictory")) return { effect: "read", says: why };
      return { effect: "write", says: `looks like a read, say so once you have made sure; ${why}` };
    }
    case "preview":
      return { effect: "write", says: `looks like a preview, say so once you have made sure; ${why}` };
    case "write":
    case "create":
    case "send":
    case "purchase":
      return { effect: verdict.effect, says: why };
    case "delete":
      return { effect: "write", says: `it deletes; ${why}` };
    case "grant":
      return { effect: "write", says: `it changes what others may do; ${why}` };
    case "mint":
      return { effect: "create", says: `its answer may hold a secret, name the member in mints; ${why}` };
  }
}

function pathOf(
  operation: ApiOperation,
  basePath: string,
  renamed: ReadonlyMap<string, string>,
): { readonly kind: "path"; readonly text: string } | { readonly kind: "left_out"; readonly why: string } {
  const missing = new Set<string>();
  const text = `${basePath}${operation.path}`.replaceAll(/\{([^{}]*)\}/g, (_whole, name: string) => {
    const input = renamed.get(name);
    if (input === undefined) missing.add(name);
    return `{${input ?? "missing"}}`;
  });
  if (missing.size > 0) return leftOut(`the document does not describe {${[...missing].join("}, {")}} of its path`);
  try {
    const { parameters } = parseTemplate(text);
    const unused = [...renamed.values()].find((name) => !parameters.includes(name));
    return unused === undefined ? { kind: "path", text } : leftOut(`its path has no {${unused}}`);
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    return leftOut(`its path does not fit: ${error.message}`);
  }
}

function leftOut(why: string): { readonly kind: "left_out"; readonly why: string } {
  return { kind: "left_out", why };
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}
