import { isJsonObject } from "../../../../kernel/json.ts";

/** The one question there is: hold the process behind this pidfd. */
export const QUESTION = "gw-ident/v1 hold";

/** What gw-ident says of a process. Descriptors come along: the image, the address space and, if `watched`, the exec watch. */
export type IdentAnswer =
  | {
      readonly kind: "held";
      readonly pid: number;
      readonly path: string;
      readonly landmarks: string;
      readonly namespaces: "own" | "other" | "unreadable";
      readonly watched: boolean;
    }
  | { readonly kind: "refused"; readonly code: string; readonly message: string };

/** Undefined for whatever gw-ident would not say. */
export function parseAnswer(bytes: Buffer): IdentAnswer | undefined {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
  if (!isJsonObject(value as never)) return undefined;
  const { kind, pid, path, landmarks, namespaces, watched, code, message } = value as Record<string, unknown>;
  if (kind === "refused" && typeof code === "string" && typeof message === "string") return { kind, code, message };
  const told = typeof pid === "number" && typeof path === "string" && typeof landmarks === "string";
  if (kind !== "held" || !told || typeof watched !== "boolean") return undefined;
  if (namespaces !== "own" && namespaces !== "other" && namespaces !== "unreadable") return undefined;
  return { kind, pid, path, landmarks, namespaces, watched };
}
