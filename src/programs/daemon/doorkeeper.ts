import type { Gateway } from "../../gateway/gateway.ts";
import { denialLimits } from "../../gateway/record/denials.ts";
import { createFloodGate, type FloodPorts } from "../../gateway/record/flood-gate.ts";
import type { Envelope } from "../../gateway/record/record.ts";
import { bytesOf, payerOf } from "../../gateway/record/written.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { Denied } from "../../kernel/failure.ts";

/** So many agent connections that operators, the log and the store always find a descriptor, each at its most expensive. */
export function agentConnectionsFor(descriptors: number): number {
  const fit = Math.floor((descriptors - defaults.descriptorsReserved) / defaults.agentDescriptorsEach);
  return Math.max(16, Math.min(defaults.agentConnections, fit));
}

/** Who was turned away at the agent's door goes into the log, past an allowance as a count: a queue of refused fills no disk. */
export function createDoorkeeper(
  { ledger, volume }: Pick<Gateway, "ledger" | "volume">,
  envelope: Envelope,
  ports: Omit<FloodPorts, "volume" | "hasRoom">,
): (denied: Denied, uid: number) => void {
  const gate = createFloodGate({ ...ports, volume, hasRoom: ledger.hasRoom }, denialLimits, (counted) =>
    ledger.record(
      "denials.counted",
      counted.map(({ what: { code, caller }, count, firstAt, lastAt }) => ({
        ...envelope("denials_counted"),
        ...{ code, caller, count, first_at: firstAt, last_at: lastAt },
      })),
    ),
  );
  return (denied, uid) => {
    const { code } = denied;
    const payer = payerOf(uid);
    if (!gate.pass(payer, `${uid} ${code}`, { code, caller: payer }, payer)) return;
    const event = { ...envelope("caller_refused"), code, detail: denied.message };
    volume.charge(payer, bytesOf([event]));
    void ledger.note([event]).catch(() => undefined);
  };
}
