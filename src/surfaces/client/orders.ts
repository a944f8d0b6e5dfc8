import { type LockStatement, type RevocationStatement, signStatement } from "../../conventions/approval/decision.ts";
import { type Clock, isoTime, type Sleep } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import type { OpenOperator } from "../../vault/operator.ts";
import { challengeAnswer, type Status, statusAnswer } from "../operator/answers.ts";
import type { Door } from "../place/place.ts";
import { type Connection, openConnection, Unreachable } from "./connection.ts";

/**
 * The two orders that must get through whatever else is asked of the gateway: each is one signed request on a connection of its own,
 * without a login, and is tried again while the door is crowded.
 */
export interface Orders {
  lock(reason: string): Promise<Status>;
  revoke(sessionId: string, reason: string | null): Promise<void>;
}

export function ordersOf(
  to: Door,
  operator: OpenOperator,
  { clock, sleep }: { readonly clock: Pick<Clock, "wallMs">; readonly sleep: Sleep },
): Orders {
  const who = { vault_id: operator.vaultId, operator: operator.name, operator_key_id: operator.keyId } as const;

  async function insist<Answer>(work: (connection: Connection) => Promise<Answer>): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const connection = openConnection(to);
      try {
        return await work(connection);
      } catch (error) {
        if (!(error instanceof Unreachable) || !error.crowded || attempt >= defaults.orderTries) throw error;
      } finally {
        connection.close();
      }
      await sleep.sleep(defaults.orderPauseMs);
    }
  }

  return {
    lock: (reason) =>
      insist(async (connection) => {
        const { challenge, vault_id } = await connection.ask(challengeAnswer, "POST", "/v1/login/challenge");
        if (vault_id !== operator.vaultId) {
          throw new Denied("vault_foreign", "The gateway at this socket works with another vault than this home's.");
        }
        const statement: LockStatement = { format: "gw.lock/v1", challenge, reason, ...who };
        const signed = signStatement(statement, operator.approver) as unknown as JsonValue;
        return await connection.ask(statusAnswer, "POST", "/v1/lock/order", { body: signed });
      }),
    revoke: (sessionId, reason) =>
      insist(async (connection) => {
        const decided_at = isoTime(clock.wallMs());
        const statement: RevocationStatement = {
          format: "gw.revocation/v1",
          session_id: sessionId,
          reason,
          decided_at,
          ...who,
        };
        const signed = signStatement(statement, operator.approver) as unknown as JsonValue;
        await connection.tell(`/v1/sessions/${encodeURIComponent(sessionId)}/revoke`, { body: signed });
      }),
  };
}
