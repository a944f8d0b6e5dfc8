import type { Gateway } from "../../gateway/gateway.ts";
import { createDenialGate } from "../../gateway/record/denials.ts";
import type { FloodPorts } from "../../gateway/record/flood-gate.ts";
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
  const isTold = createDenialGate({ ports, volume, ledger, envelope });
  return (denied, uid) => {
    const { code } = denied;
    if (!isTold(code, uid)) return;
    const event = { ...envelope("caller_refused"), code, detail: denied.message };
    volume.charge(payerOf(uid), bytesOf([event]));
    void ledger.note([event]).catch(() => undefined);
  };
}
