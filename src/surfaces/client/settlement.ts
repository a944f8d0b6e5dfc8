import type { SettlementStatement } from "../../conventions/approval/decision.ts";
import type { OperationDetail } from "../../conventions/operation/summary.ts";
import { type Clock, isoTime } from "../../kernel/clock.ts";
import type { OpenOperator } from "../../vault/operator.ts";

/** What a person says became of an operation, as it is signed, by whichever way it goes. */
export function settlementOf(
  { operation_id, request_fingerprint }: Pick<OperationDetail, "operation_id" | "request_fingerprint">,
  { happened, reason, although }: Pick<SettlementStatement, "happened" | "reason" | "although">,
  operator: Pick<OpenOperator, "vaultId" | "name" | "keyId">,
  clock: Pick<Clock, "wallMs">,
): SettlementStatement {
  return {
    format: "gw.settlement/v1",
    vault_id: operator.vaultId,
    operation_id,
    request_fingerprint,
    happened,
    reason,
    although,
    operator: operator.name,
    operator_key_id: operator.keyId,
    decided_at: isoTime(clock.wallMs()),
  };
}
