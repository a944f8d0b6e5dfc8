import type { JsonValue } from "../../../kernel/json.ts";

/** One version of the provider, as a probe addresses it. */
export interface ProbeVersion {
  /** `https://api.example/v2`: origin and base path; a corpus path follows. */
  readonly base: string;
  /** A dated version header, where that selects the version. */
  readonly header: { readonly name: string; readonly value: string } | null;
}

/** What a corpus path stands behind: it begins with a slash of its own. */
export function basePathOf({ base }: ProbeVersion): string {
  return new URL(base).pathname.replace(/\/$/, "");
}

/** A finished request. The token is not in it: the sender lends the credential of this label for this origin alone. */
export interface ProbeRequest {
  readonly caseId: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonValue | undefined;
  readonly credential: string;
  readonly sideEffect: boolean;
}

/** What came of it. `unanswered` is honest about not knowing: it never counts as a denial. */
export type ProbeExchange =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** Lower-case names. */
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array;
    }
  | { readonly kind: "unanswered"; readonly reason: string }
  | { readonly kind: "not_sent"; readonly reason: string };

/** The port through which probes leave: budget, log and approval stand behind it. */
export type SendProbe = (request: ProbeRequest) => Promise<ProbeExchange>;
