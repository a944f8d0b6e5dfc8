import { encodeSection, HANDS_A_FRAME } from "../../audit/frame/section.ts";
import { openLog } from "../../audit/log.ts";
import { openResumable, type ResumableLog } from "../../audit/resumable.ts";
import type { Clock, Random } from "../../kernel/clock.ts";
import { createStamper } from "./stamps.ts";
import type { StewardState } from "./steward-parts.ts";
import { auditRecipientsOf, vaultHashOf } from "./trust.ts";

interface Parts {
  readonly folder: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly state: StewardState;
  /** How many calls are under way, who share a flush. */
  company(): number;
}

/** The gateway's log: sealed to whoever may read now, each frame stamped with the state that it knows of. */
export async function openGatewayLog({ folder, clock, random, state, company }: Parts): Promise<{
  readonly log: ResumableLog;
  /** What passkeys answered, for the next frames to show in clear. */
  readonly hands: string[];
}> {
  const log = await openResumable(folder, () =>
    openLog({
      folder,
      clock,
      random,
      recipients: auditRecipientsOf(state.trust),
      vaultGeneration: state.trust.vault.generation,
      vaultHash: vaultHashOf(state.trust),
      company,
    }),
  );
  const hands: string[] = [];
  const stamp = createStamper(clock.bootId());
  log.stamp(() =>
    encodeSection(stamp(state.high, state.compartment?.stateMark() ?? null), hands.splice(0, HANDS_A_FRAME)),
  );
  return { log, hands };
}
