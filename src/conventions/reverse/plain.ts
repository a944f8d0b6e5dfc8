/**
 * Reverse binding: a plain HTTP request that some tool wrote becomes exactly one action of a trusted pack with typed
 * arguments, or nothing. Whatever is found is bound forward again and counts only if that gives the same request, so that
 * nothing is ever sent which a typed call could not have sent.
 */

import type { Code } from "../../kernel/codes.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { ActionDefinition, Pack } from "../action/pack.ts";
import type { SentBody } from "../action/spooled.ts";

/** What a tool sent, as it came: names of header fields in lower case, in their order. */
export interface PlainRequest {
  readonly origin: string;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly HeaderLine[];
  /** Null where none was sent. */
  readonly body: SentBody | null;
}

export type HeaderLine = readonly [name: string, value: string];

/** One page of a list, as the tool asked for it. */
export interface PageAsked {
  readonly size: number | null;
  readonly cursor: string | null;
}

export type Reversed = FoundAction | NoAction;

export interface FoundAction {
  readonly kind: "action";
  readonly pack: Pack;
  readonly action: ActionDefinition;
  readonly input: JsonObject;
  /** Set for an action that reads a list: this page and no other. */
  readonly page: PageAsked | null;
  /** What the tool said and nobody will hear: names of header fields, and `query NAME`. */
  readonly dropped: readonly string[];
}

export interface NoAction {
  readonly kind: "refused";
  readonly code: Code;
  readonly message: string;
  /** The action that came nearest, and what kept it from fitting. */
  readonly nearest: Miss | null;
}

/** Why one action does not say this request. `depth` is how far it came: the farthest is the nearest. */
export interface Miss {
  readonly action: string;
  readonly why: string;
  readonly depth: number;
}
