import type { Gateway } from "../../gateway/gateway.ts";
import type { Posture } from "../../gateway/posture.ts";
import type { Envelope } from "../../gateway/record/record.ts";
import type { Clock } from "../../kernel/clock.ts";
import { version } from "../version.ts";
import type { Health } from "./health.ts";
import type { Trust } from "./trust.ts";

/** That the gateway began, what it found, and why it stays locked where what it found does not hold. */
export async function noteStart({
  gateway,
  envelope,
  clock,
  mode,
  trust: { vault, policy, trouble },
  health,
}: {
  readonly gateway: Pick<Gateway, "ledger">;
  readonly envelope: Envelope;
  readonly clock: Clock;
  readonly mode: Posture["mode"];
  readonly trust: Trust;
  readonly health: Health;
}): Promise<void> {
  await gateway.ledger.note([
    {
      ...envelope("gateway_started"),
      version,
      mode,
      locked: true,
      boot_id: clock.bootId(),
      platform: process.platform,
      policy_digest: policy?.digest ?? null,
      vault_generation: vault.generation,
    },
  ]);
  if (trouble === null) return;
  const { code, message } = trouble;
  await gateway.ledger.note([{ ...envelope("policy_refused"), code, policy_digest: null }]);
  health.staysLocked(code, `${code}: ${message} The gateway stays locked.`);
}
