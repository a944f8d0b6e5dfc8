import { createHmac, timingSafeEqual } from "node:crypto";
import {
  type LockStatement,
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
  /** Made by a key that is only lent for reading. */
  readonly readsOnly: boolean;
}

/**
 * Who speaks on the operator plane. A challenge is answered once, with the approver key; the token it gives lives in the
 * operator's own process and dies after hours without use. Being the same user is never enough. A challenge needs no memory: it
 * carries its own time and our mark, so that nobody can push another's out by asking for many. Those that were answered are
 * remembered, and only an operator's key can answer one.
 */
export interface Logins {
  challenge(): string;
  /** Who ordered the lock; Denied unless the signature is an operator's and the challenge is ours, young and not yet answered. */
  order(signed: Signed<LockStatement>): Login;
  admit(signed: Signed<LoginStatement>): { readonly token: string; readonly login: Login };
  /** Denied `operator_not_logged_in` unless the header carries a live token. */
  find(authorization: string | undefined): Login;
  endAll(): void;
}

/** Until when, and 16 random bytes. */
const CHALLENGE_BYTES = 24;
const MAC_BYTES = 32;

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
  const mark = random.bytes(32);
  const answered = new Map<string, number>();
  let held: Held[] = [];

  function dropOld(): void {
    const nowMs = clock.bootMs();
    held = held.filter(({ usedBootMs }) => nowMs - usedBootMs < defaults.operatorIdleMs);
    for (const [challenge, untilMs] of answered) if (untilMs <= nowMs) answered.delete(challenge);
  }

  const macOf = (body: Buffer): Buffer => createHmac("sha256", mark).update(body).digest();

  function spend(challenge: string): void {
    dropOld();
    const bytes = Buffer.from(challenge, "base64url");
    const body = bytes.subarray(0, CHALLENGE_BYTES);
    const ours =
      bytes.length === CHALLENGE_BYTES + MAC_BYTES && timingSafeEqual(macOf(body), bytes.subarray(CHALLENGE_BYTES));
    const untilMs = ours ? Number(body.readBigUInt64BE(0)) : 0;
    // One spelling for one challenge, or a second could be answered again.
    if (!ours || bytes.toString("base64url") !== challenge || untilMs <= clock.bootMs() || answered.has(challenge)) {
      throw new Denied(
        "signature_invalid",
        "The challenge is unknown, was answered before, or is too old. Ask for a new one.",
      );
    }
    answered.set(challenge, untilMs);
  }

  return {
    challenge() {
      const body = Buffer.alloc(CHALLENGE_BYTES);
      body.writeBigUInt64BE(BigInt(Math.ceil(clock.bootMs()) + defaults.challengeMs), 0);
      random.bytes(CHALLENGE_BYTES - 8).copy(body, 8);
      return Buffer.concat([body, macOf(body)]).toString("base64url");
    },
    order(signed) {
      const { vaultId, keys } = operators();
      const { statement } = verifyStatement(signed, vaultId, keys);
      spend(statement.challenge);
      return { operator: statement.operator, operatorKeyId: statement.operator_key_id, readsOnly: false };
    },
    admit(signed) {
      dropOld();
      const { vaultId, keys } = operators();
      const { statement } = verifyStatement(signed, vaultId, keys);
      spend(statement.challenge);
      const login = {
        operator: statement.operator,
        operatorKeyId: statement.operator_key_id,
        readsOnly: statement.reads_only === true,
      };
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
