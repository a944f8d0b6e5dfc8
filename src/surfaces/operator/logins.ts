import { timingSafeEqual } from "node:crypto";
import {
  type LoginStatement,
  type OperatorKey,
  type Signed,
  verifyStatement,
} from "../../conventions/approval/decision.ts";
import type { Clock, Random } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";

/** An operator whose key answered a challenge on this plane. */
export interface Login {
  readonly operator: string;
  readonly operatorKeyId: string;
}

/**
 * Who speaks on the operator plane. A challenge is answered once, with the approver key; the token it gives lives in the
 * operator's own process and dies after hours without use. Being the same user is never enough.
 */
export interface Logins {
  challenge(): string;
  admit(signed: Signed<LoginStatement>): { readonly token: string; readonly login: Login };
  /** Denied `operator_not_logged_in` unless the header carries a live token. */
  find(authorization: string | undefined): Login;
  endAll(): void;
}

interface Held {
  readonly token: Buffer;
  readonly login: Login;
  usedBootMs: number;
}

export function createLogins(
  clock: Clock,
  random: Random,
  operators: () => { readonly vaultId: string; readonly keys: readonly OperatorKey[] },
): Logins {
  let challenges = new Map<string, number>();
  let held: Held[] = [];

  function dropOld(): void {
    const nowMs = clock.bootMs();
    held = held.filter(({ usedBootMs }) => nowMs - usedBootMs < defaults.operatorIdleMs);
    challenges = new Map([...challenges].filter(([, atMs]) => nowMs - atMs < defaults.challengeMs));
  }

  return {
    challenge() {
      dropOld();
      const challenge = random.bytes(32).toString("base64url");
      challenges.set(challenge, clock.bootMs());
      if (challenges.size > defaults.challengesOpen) challenges.delete(challenges.keys().next().value ?? "");
      return challenge;
    },
    admit(signed) {
      dropOld();
      const { vaultId, keys } = operators();
      const { statement } = verifyStatement(signed, vaultId, keys);
      if (!challenges.delete(statement.challenge)) {
        throw new Denied(
          "signature_invalid",
          "The challenge is unknown, was answered before, or is too old. Ask for a new one.",
        );
      }
      const login = { operator: statement.operator, operatorKeyId: statement.operator_key_id };
      const token = random.bytes(32);
      held.push({ token, login, usedBootMs: clock.bootMs() });
      if (held.length > defaults.operatorLogins) held.shift();
      return { token: token.toString("base64url"), login };
    },
    find(authorization) {
      dropOld();
      const given = Buffer.from(authorization?.startsWith("Bearer ") ? authorization.slice(7) : "", "base64url");
      const found = held.find(({ token }) => given.byteLength === token.byteLength && timingSafeEqual(token, given));
      if (found === undefined) {
        throw new Denied("operator_not_logged_in", "This needs an operator who has proven their key on this plane.");
      }
      found.usedBootMs = clock.bootMs();
      return found.login;
    },
    endAll() {
      held = [];
    },
  };
}
