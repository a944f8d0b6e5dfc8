import type { OperatorStatement } from "../../conventions/approval/decision.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { createFloodGate } from "../record/flood-gate.ts";
import type { Envelope } from "../record/record.ts";
import type { DeskPorts } from "./needs.ts";

/** Statements about a card. */
type AboutCard = Extract<OperatorStatement, { readonly approval_id: string }>;

/** Where one of these stands in the place of a caller. */
const WHO = "operators";

/**
 * What an operator, or somebody in their name, signed and was refused goes into the log; past an allowance as a count, since whoever writes to
 * a hub can have it said without end. Gives the error back.
 */
export function createRefusals(
  ports: Pick<DeskPorts, "clock" | "sleep" | "volume" | "record" | "hasRoom">,
  envelope: Envelope,
): (statement: Pick<AboutCard, "approval_id" | "operator_key_id">, error: unknown) => Promise<unknown> {
  const limits = { burst: defaults.denialsBurst, perSecond: defaults.denialsPerSecond };
  const gate = createFloodGate<Denied["code"]>(ports, limits, (counted) =>
    ports.record(
      "denials.counted",
      counted.map(({ what: code, count, firstAt, lastAt }) => ({
        ...envelope("denials_counted"),
        ...{ code, caller: WHO, count, first_at: firstAt, last_at: lastAt },
      })),
    ),
  );
  return async ({ approval_id, operator_key_id }, error) => {
    if (!(error instanceof Denied)) return error;
    const { code } = error;
    if (gate.pass(WHO, code, code, null))
      await ports.record("approval.refused", [{ ...envelope("decision_refused"), approval_id, code, operator_key_id }]);
    return error;
  };
}
