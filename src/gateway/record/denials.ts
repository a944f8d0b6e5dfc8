import type { NewEvent } from "../../audit/event.ts";
import { defaults } from "../../kernel/defaults.ts";
import { type Denied, placeDenied } from "../../kernel/failure.ts";
import type { Core } from "../core.ts";
import type { LiveCaller } from "../ports.ts";
import { createFloodGate } from "./flood-gate.ts";
import { nameCaller } from "./record.ts";

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
 * event a second, so that nobody can fill the disk with refusals.
 */
export interface DenialRecorder {
  record(denied: Denied, context: DenialContext): Promise<void>;
}

export function createDenialRecorder(core: Core): DenialRecorder {
  const limits = { burst: defaults.denialsBurst, perSecond: defaults.denialsPerSecond };
  const gate = createFloodGate<{ readonly code: Denied["code"]; readonly caller: string }>(
    core.ports,
    limits,
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
      const alone = core.ports.space?.low() !== true;
      if (!gate.pass(`uid ${caller.uid}`, `${caller.uid} ${code}`, { code, caller: `uid ${caller.uid}` }, alone)) {
        placeDenied(denied, { recordedAs: "counted" });
        return;
      }
      const { runId: run } = denied.circumstance;
      const envelope = core.envelope("call_denied");
      placeDenied(denied, { recordedAs: { eventId: envelope.event_id } });
      await core.ledger
        .record("call.denied", [
          ...(before?.() ?? []),
          {
            ...envelope,
            ...(run === undefined ? {} : { run_id: run }),
            ...(callId === null ? {} : { call_id: callId }),
            code,
            action,
            caller: nameCaller(caller),
            reason: denied.message,
          },
        ])
        // A denial stands even when it can no longer be written: nothing is sent either way.
        .catch(() => undefined);
    },
  };
}
