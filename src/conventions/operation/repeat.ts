/** What is known when a request without an answer might be sent once more, to be told its original result. */
export interface RepeatFacts {
  /** The token that the request went out under. */
  readonly token: string | null;
  /** How long the provider remembers a token; null where it does not say. */
  readonly windowMs: number | null;
  /** Since the first send under this token. */
  readonly sinceFirstMs: number;
  /** How long one send may take: the repeat must arrive while the token is remembered. */
  readonly sendMs: number;
  /** The session that approved the request still stands. */
  readonly standing: boolean;
  readonly repeats: number;
  readonly maxRepeats: number;
  /** Digests of the request as it was sent, and as it was built again from what is stored. */
  readonly sent: string;
  readonly rebuilt: string;
}

export type RepeatDecision =
  | { readonly kind: "repeat" }
  | {
      readonly kind: "stop";
      readonly why: "another_request" | "no_token" | "no_window" | "window_over" | "session_over" | "repeats_used";
    };

/**
 * Exactly the stored request, under its own token, while the provider remembers it and while whoever approved it still
 * stands behind it. Anything else would be a second request, and is a person's decision.
 */
export function decideRepeat(facts: RepeatFacts): RepeatDecision {
  const { token, windowMs, sinceFirstMs, sendMs } = facts;
  if (facts.sent !== facts.rebuilt) return { kind: "stop", why: "another_request" };
  if (token === null || token === "") return { kind: "stop", why: "no_token" };
  if (windowMs === null) return { kind: "stop", why: "no_window" };
  // A clock that went backwards tells nothing about how old the token is.
  if (sinceFirstMs < 0 || sinceFirstMs + sendMs >= windowMs) return { kind: "stop", why: "window_over" };
  if (!facts.standing) return { kind: "stop", why: "session_over" };
  return facts.repeats < facts.maxRepeats ? { kind: "repeat" } : { kind: "stop", why: "repeats_used" };
}

/** For the record of an operation that a person must now look at. */
export function sayStop(why: Extract<RepeatDecision, { kind: "stop" }>["why"]): string {
  switch (why) {
    case "another_request":
      return "the request built from what is stored is not the one that was sent";
    case "no_token":
      return "the request carried no token that its provider would know it by";
    case "no_window":
      return "the pack does not say how long the provider remembers a token";
    case "window_over":
      return "the provider may have forgotten its token, so that a repeat could be a second request";
    case "session_over":
      return "its session is over, and nothing is sent again without it";
    case "repeats_used":
      return "it was sent again as often as is allowed, and no answer told what happened";
  }
}
