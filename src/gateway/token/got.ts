import type { TokenAnswer } from "../../conventions/token/result.ts";
import { Denied, Fault } from "../../kernel/failure.ts";
import { Secret } from "../../kernel/secret.ts";
import { requireUnlocked } from "../core.ts";
import type { Exchanged } from "./exchange.ts";
import type { TokenNeeds } from "./needs.ts";
import type { TokenFacts } from "./port.ts";
import type { Sourced } from "./source.ts";

/** What came of asking for a token or a secret: it, or why there is none, in words for whoever waits for it. */
export type Got =
  | ({ readonly kind: "got"; readonly token: Secret; readonly lifeMs: number } & Pick<TokenFacts, "scopes" | "missing">)
  /** `ended`: only a person can mend it. `narrow`: it was about what was asked for, and something else may be given. */
  | { readonly kind: "refused"; readonly why: Denied; readonly ended: boolean; readonly narrow: boolean };

export function readGot(label: string, exchanged: Exchanged, waitMs: number): Got {
  const { answer } = exchanged;
  const why = refusalOf(label, exchanged, waitMs);
  if (why !== null || answer.kind !== "token") {
    const narrow = answer.kind === "refused" || answer.kind === "token";
    return { kind: "refused", why: why ?? unheard(), ended: answer.kind === "ended", narrow };
  }
  const { scopes, missing } = answer.granted;
  return { kind: "got", token: Secret.fromText(answer.token), lifeMs: answer.lifeMs, scopes, missing };
}

/** What a source gave must be a secret of its kind: one line, nothing that could end a header. */
export function readSourced(
  core: Pick<TokenNeeds, "credentials">,
  label: string,
  sourced: Sourced,
  waitMs: number,
): Got {
  const refused = (why: Denied): Got => ({ kind: "refused", why, ended: false, narrow: false });
  const again = `It is asked again in ${Math.ceil(waitMs / 1_000)} s at the earliest.`;
  if (sourced.kind === "failed")
    return refused(new Denied("source_unavailable", `The source of ${label} failed: ${sourced.why}. ${again}`));
  const { secret: token, lifeMs } = sourced;
  try {
    requireUnlocked(core).checkSourced(label, token);
    return { kind: "got", token, lifeMs, scopes: [], missing: [] };
  } catch (error) {
    token.wipe();
    if (!(error instanceof Denied)) throw error;
    return refused(
      new Denied("source_unfit", `What the source of ${label} gave is not used: ${error.message} ${again}`),
    );
  }
}

/** Null where a token came that may be used. */
function refusalOf(label: string, { answer, afterCut }: Exchanged, waitMs: number): Denied | null {
  switch (answer.kind) {
    case "token":
      return beyond(label, answer);
    case "ended": {
      const cut = afterCut ? " The gateway ended during the last refresh, so that its answer was lost." : "";
      const words = `${label}: the provider says invalid_grant: consent was withdrawn or the refresh token is spent.${cut}`;
      return new Denied(
        "token_grant_ended",
        `${words} An operator agrees once more with gw credential login ${label}, or gives a new one: gw credential rotate ${label}.`,
      );
    }
    case "refused":
      return new Denied(
        "token_refused",
        `The token endpoint of ${label} says ${answer.error}. Nothing of the call was sent.`,
      );
    case "failed":
      return new Denied(
        "token_unavailable",
        `The token endpoint of ${label} failed: ${answer.why}. It is asked again in ${Math.ceil(waitMs / 1_000)} s at the earliest.`,
      );
  }
}

function beyond(label: string, { granted }: Extract<TokenAnswer, { readonly kind: "token" }>): Denied | null {
  if (granted.beyond.length === 0) return null;
  return new Denied(
    "token_scope_beyond",
    `The provider granted ${label} more than it is pinned to: ${granted.beyond.join(" ")}. The token was thrown away.`,
  );
}

export function unheard(): never {
  throw new Fault("an exchange ended without a word");
}
