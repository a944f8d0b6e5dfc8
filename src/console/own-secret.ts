import { Denied } from "../kernel/failure.ts";
import type { JsonObject } from "../kernel/json.ts";
import { Secret } from "../kernel/secret.ts";
import type { SecretAnswer } from "../surfaces/cli/watch/prompt.ts";
import { decidePin, FRESH_PIN_GUARD, needsPassphrase } from "../vault/passphrase/pin.ts";
import { textOf } from "./http.ts";

type Which = "pin" | "passphrase";

export interface OwnSecretPorts {
  guardRail(): boolean;
  readonly hasPin: boolean;
  /** Wipes what was typed. */
  check(which: Which, secret: Secret): Promise<SecretAnswer>;
}

/**
 * In guard-rail mode whatever acts or signs asks for what only the person knows, as gw watch does: the PIN, or the passphrase
 * where there is none or it was wrong too often. A no, ending a session, more time for a card and a checkpoint never ask.
 */
export interface OwnSecret {
  /** Denied for a wrong one, and `console_secret_needed` where none was brought. */
  require(body: JsonObject): Promise<void>;
}

export function createOwnSecret({ guardRail, hasPin, check }: OwnSecretPorts): OwnSecret {
  let guard = FRESH_PIN_GUARD;
  const wanted = (): Which | null => (!guardRail() ? null : hasPin && !needsPassphrase(guard) ? "pin" : "passphrase");
  return {
    async require(body) {
      const which = wanted();
      if (which === null) return;
      if (body["secret"] === undefined) {
        const words =
          which === "pin"
            ? "Your PIN, as in gw watch."
            : "Your passphrase: you have no PIN, or it was wrong too often.";
        throw new Denied("console_secret_needed", words);
      }
      const answer = await check(which, Secret.fromText(textOf(body, "secret", 1_000)));
      if (answer.kind === "pin") {
        // Many may be checked at once: those that are wrong count against those that are still under way.
        const outcome = decidePin(guard, answer.right);
        guard = outcome.guard;
        if (outcome.kind === "accepted") return;
        if (outcome.kind === "wrong")
          throw new Denied(
            "pin_wrong",
            `That is not the PIN. Nothing was done. ${outcome.left} more before only the passphrase works.`,
          );
      } else if (answer.right) {
        guard = FRESH_PIN_GUARD;
        return;
      }
      if (answer.kind === "pin")
        throw new Denied("console_secret_needed", "Too many wrong PINs: your passphrase, from now on.");
      throw new Denied("passphrase_wrong", answer.why ?? "That is not the passphrase. Nothing was done.");
    },
  };
}
