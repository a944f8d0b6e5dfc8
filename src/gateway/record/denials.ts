import type { NewEvent } from "../../audit/event.ts";
import { defaults } from "../../kernel/defaults.ts";
import { type Denied, placeDenied } from "../../kernel/failure.ts";
import type { LiveCaller } from "../ports.ts";
import { createFloodGate, type FloodPorts } from "./flood-gate.ts";
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

/** Whether a refusal of this user is told by itself; otherwise it is counted, past too many users under the name of all others. */
export function createDenialGate({
  ports,
  volume,
  ledger,
  envelope,
}: DenialNeeds): (code: Denied["code"], uid: number) => boolean {
  const gate = createFloodGate<{ readonly code: Denied["code"]; readonly caller: string }>(
    { ...ports, volume, hasRoom: ledger.hasRoom },
    {
      burst: defaults.denialsBurst,
      perSecond: defaults.denialsPerSecond,
      others: ({ code }) => ({ code, caller: "others" }),
    },
    (counted) =>
      ledger.record(
        "denials.counted",
        counted.map(({ what: { code, caller }, count, firstAt, lastAt }) => ({
          ...envelope("denials_counted"),
          ...{ code, caller, count, first_at: firstAt, last_at: lastAt },
        })),
      ),
  );
  return (code, uid) => gate.pass(payerOf(uid), `${uid} ${code}`, { code, caller: payerOf(uid) }, payerOf(uid));
}

interface DenialNeeds extends Pick<RecordNeeds, "volume" | "ledger" | "envelope"> {
  readonly ports: Omit<FloodPorts, "volume" | "hasRoom">;
}

export function createDenialRecorder(core: RecordNeeds): DenialRecorder {
  const isTold = createDenialGate(core);

  return {
    async record(denied, { caller, runId, callId, action, before }) {
      const { code } = denied;
      placeDenied(denied, {
        ...(runId === null ? {} : { runId }),
        ...(callId === null ? {} : { callId }),
        action,
      });
      if (!isTold(code, caller.uid)) {
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
      core.volume.charge(payerOf(caller.uid), bytesOf(events));
      // A denial stands even when it can no longer be written: nothing is sent either way.
      await core.ledger.record("call.denied", events).catch(() => undefined);
    },
  };
}
