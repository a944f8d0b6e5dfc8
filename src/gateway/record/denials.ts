import type { NewEvent } from "../../audit/event.ts";
import { defaults } from "../../kernel/defaults.ts";
import { type Denied, placeDenied } from "../../kernel/failure.ts";
import type { LiveCaller } from "../ports.ts";
import { createFloodGate, type FloodLimits } from "./flood-gate.ts";
import type { RecordNeeds } from "./needs.ts";
import { nameCaller } from "./record.ts";
import { bytesOf, payerOf } from "./written.ts";

export interface DenialContext {
  readonly caller: LiveCaller;
  readonly runId: string | null;
  readonly callId: string | null;
  readonly action: string;
  /** What else is to be told of it, where it is not merely counted. */
  readonly before?: () => readonly NewEvent[];
}

/**
 * Denials are recorded with the care of calls, and bounded: past a user's allowance they are counted and written as one
 * event a second, so that nobody can fill the disk with refusals; so they are while the log is full, and written once it has
 * room. What is told one by one is also part of what may be written for that user before a person said yes.
 */
export interface DenialRecorder {
  record(denied: Denied, context: DenialContext): Promise<void>;
}

/** How many refusals of a user are told one by one, and under whose name those of too many users are counted. */
export const denialLimits: FloodLimits<DeniedCaller> = {
  burst: defaults.denialsBurst,
  perSecond: defaults.denialsPerSecond,
  others: ({ code }) => ({ code, caller: "others" }),
};

interface DeniedCaller {
  readonly code: Denied["code"];
  readonly caller: string;
}

export function createDenialRecorder(core: RecordNeeds): DenialRecorder {
  const gate = createFloodGate<DeniedCaller>(
    { ...core.ports, volume: core.volume, hasRoom: core.ledger.hasRoom },
    denialLimits,
    async (counted) =>
      core.ledger.record(
        "denials.counted",
        counted.map(({ what: { code, caller }, count, firstAt, lastAt }) => ({
          ...core.envelope("denials_counted"),
          ...{ code, caller, count, first_at: firstAt, last_at: lastAt },
        })),
      ),
  );

  return {
    async record(denied, { caller, runId, callId, action, before }) {
      const { code } = denied;
      placeDenied(denied, {
        ...(runId === null ? {} : { runId }),
        ...(callId === null ? {} : { callId }),
        action,
      });
      const payer = payerOf(caller.uid);
      if (!gate.pass(payer, `${caller.uid} ${code}`, { code, caller: payer }, payer)) {
        placeDenied(denied, { recordedAs: "counted" });
        return;
      }
      const { runId: run } = denied.circumstance;
      const envelope = core.envelope("call_denied");
      placeDenied(denied, { recordedAs: { eventId: envelope.event_id } });
      const event = {
        ...envelope,
        ...(run === undefined ? {} : { run_id: run }),
        ...(callId === null ? {} : { call_id: callId }),
        code,
        action,
        caller: nameCaller(caller),
        reason: denied.message,
      };
      const events = [...(before?.() ?? []), event];
      core.volume.charge(payer, bytesOf(events));
      // A denial stands even when it can no longer be written: nothing is sent either way.
      await core.ledger.record("call.denied", events).catch(() => undefined);
    },
  };
}
