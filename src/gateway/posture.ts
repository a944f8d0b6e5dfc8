import type { Ceilings } from "../conventions/budget/ceilings.ts";
import type { DecisionRules } from "../conventions/passkey/demand.ts";
import type { LiveCaller } from "./ports.ts";

/** What the gateway found, and what the operator signed, that it must know while it works. */
export interface Posture {
  readonly mode: "guard-rail" | "dedicated";
  /** Whether a caller's user could act as the gateway or as an operator: its cards say guard-rail, whatever the mode. */
  mayDecide?(caller: Pick<LiveCaller, "uid" | "pid">): boolean;
  /** What no run passes; the standard ones where policy names none. */
  readonly ceilings?: Ceilings;
  /** What a yes needs beside an operator's key, and where passkeys decide; nothing where it is absent. */
  readonly decisions?: { readonly rules: DecisionRules; readonly where: readonly string[] };
}
