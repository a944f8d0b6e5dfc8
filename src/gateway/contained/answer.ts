import type { CallResult, ResponseRecord } from "../../conventions/outcome/result.ts";
import type { Miss } from "../../conventions/reverse/plain.ts";
import { type Code, codes } from "../../kernel/codes.ts";
import { bytesOf } from "../attempt/follow.ts";

/** Exactly what a tool in a box is told. */
export interface ContainedAnswer {
  readonly callId: string | null;
  readonly outcome: CallResult["outcome"] | "refused" | "streaming";
  readonly status: number;
  /** Set for what we say ourselves; null where the provider answered. */
  readonly code: Code | null;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
  /** Where the provider's answer is passed on as it comes: what follows, and how it ended once that is on record. */
  readonly stream?: { readonly pieces: AsyncGenerator<Buffer>; readonly end: Promise<StreamEnd> };
}

export interface StreamEnd {
  readonly outcome: ContainedAnswer["outcome"];
  /** Why the tool has not got all of it; null where it has. */
  readonly broken: string | null;
}

/** What a refusal is about, for its words. */
export interface RefusalFacts {
  readonly code: Code;
  readonly message: string;
  readonly callId: string | null;
  readonly outcome: ContainedAnswer["outcome"];
  readonly nearest: Miss | null;
  /** Some tools show a body only where it is plain text. */
  readonly plainText: boolean;
}

/** A provider's own answer as it came; where there is none to show, why, in words that a tool prints. */
export function tellResult(result: CallResult, plainText: boolean): ContainedAnswer {
  const { call_id: callId, outcome, response, action } = result;
  const nearest = { action, why: "this is the action it was", depth: 0 };
  const refuse = (code: Code, message: string) => tellRefusal({ code, message, callId, outcome, nearest, plainText });
  if (outcome === "unknown" && !isAccepted(response)) {
    return refuse("outcome_unknown", `${codes.outcome_unknown.means} ${result.guidance ?? "Do not repeat it."}`);
  }
  if (response === null) {
    const { reason } = result.transport_observation;
    return refuse("provider_not_answered", `The provider gave no answer (${reason ?? "no reason known"}).`);
  }
  const body = response.body_kind === "streamed" ? NOTHING : bytesOf(response);
  if (body === null) {
    const told = outcome === "success" ? "was carried out" : "was answered";
    return refuse("answer_withheld", `The request ${told} (status ${response.status}). Its answer is withheld.`);
  }
  const headers = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
  return { callId, outcome, status: response.status, code: null, headers, body };
}

const NOTHING = Buffer.alloc(0);

/** The provider took it on and says so itself; what comes of it is looked after as for every call. */
function isAccepted(response: ResponseRecord | null): boolean {
  return response !== null && response.status >= 200 && response.status < 300;
}

/** Always 403: what a tool would repeat by itself is none of our answers. */
export function tellRefusal({ code, message, callId, outcome, nearest, plainText }: RefusalFacts): ContainedAnswer {
  const near = nearest === null ? "" : ` Nearest action: ${nearest.action} (${nearest.why}).`;
  const more = nearest === null ? "gw actions" : `gw actions ${nearest.action}`;
  const said = /[.!?]$/.test(message) ? message : `${message}.`;
  const text = `gw: ${said}${near} ${codes[code].mend} More: ${more}`;
  const headers: readonly (readonly [string, string])[] = [
    ["content-type", plainText ? "text/plain; charset=utf-8" : "application/json"],
    ["cache-control", "no-store"],
    ["x-gw-code", code],
  ];
  const body = plainText
    ? `${text}\n`
    : JSON.stringify({ message: text, error: text, detail: text, code, action: nearest?.action ?? null, more });
  return { callId, outcome, status: 403, code, headers, body: Buffer.from(body, "utf8") };
}
