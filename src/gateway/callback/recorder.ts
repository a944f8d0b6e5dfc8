import type { NewEvent } from "../../audit/event.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { Circumstance } from "../../kernel/failure.ts";
import type { StateRow } from "../ports.ts";
import { createFloodGate } from "../record/flood-gate.ts";
import { bytesOf } from "../record/written.ts";
import type { CallbackNeeds } from "./needs.ts";

const STRANGERS = "strangers";

type Fields<Type extends NewEvent["event_type"]> = Omit<
  Extract<NewEvent, { readonly event_type: Type }>,
  "event_id" | "event_type" | "occurred_at"
>;

/** Every callback is in the log, one by one or counted: strangers share one allowance, each pack has its own. */
export interface CallbackRecorder {
  /** The rows are kept either way. */
  received(fields: Fields<"callback_received">, rows: readonly StateRow[]): Promise<void>;
  /** How it was told: by an event, or counted. */
  refused(fields: Fields<"callback_refused">): Promise<NonNullable<Circumstance["recordedAs"]>>;
}

export function createCallbackRecorder(core: CallbackNeeds): CallbackRecorder {
  const limits = { burst: defaults.denialsBurst, perSecond: defaults.denialsPerSecond };
  const gate = createFloodGate<{ readonly pack: string | null; readonly what: string }>(
    { ...core.ports, volume: core.volume, hasRoom: core.ledger.hasRoom },
    limits,
    (counted) =>
      core.ledger.note(
        counted.map(({ what: { pack, what }, count, firstAt, lastAt }) => ({
          ...core.envelope("callbacks_counted"),
          ...{ pack, what, count, first_at: firstAt, last_at: lastAt },
        })),
      ),
  );
  return {
    async received(fields, rows) {
      const { pack, effect } = fields;
      const payer = `pack ${pack}`;
      const alone = gate.pass(payer, `${pack} ${effect}`, { pack, what: effect }, payer);
      if (!alone && rows.length === 0) return;
      const events = alone ? [{ ...core.envelope("callback_received"), ...fields }] : [];
      core.volume.charge(payer, bytesOf(events));
      await core.ledger.record("callback.taken", events, rows);
    },
    async refused(fields) {
      const { pack, code } = fields;
      if (!gate.pass(STRANGERS, `${pack ?? ""} ${code}`, { pack, what: code }, STRANGERS)) return "counted";
      const event = { ...core.envelope("callback_refused"), ...fields };
      core.volume.charge(STRANGERS, bytesOf([event]));
      // A refusal stands even when it can no longer be written.
      await core.ledger.note([event]).catch(() => undefined);
      return { eventId: event.event_id };
    },
  };
}
