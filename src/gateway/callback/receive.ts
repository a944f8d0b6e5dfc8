/**
 * Callbacks from providers, from the raw request to a hint: verified with the pack's secret, deduplicated, matched to
 * operations by the job they name, recorded. The most that one can bring about is that a read of the state comes sooner.
 */
import type { NewEvent } from "../../audit/event.ts";
import type { ReceivedCallback } from "../../conventions/callback/callback.ts";
import type { Hint } from "../../conventions/callback/hint.ts";
import { isSettled } from "../../conventions/operation/state.ts";
import { digestBytes } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied, placeDenied } from "../../kernel/failure.ts";
import type { Observer } from "../operation/observe.ts";
import type { Operation } from "../operation/operations.ts";
import { type CallbackMemory, packOf } from "./memory.ts";
import type { CallbackNeeds } from "./needs.ts";
import { createCallbackRecorder } from "./recorder.ts";
import { type VerifiedCallback, verify } from "./verify.ts";

export interface IncomingCallback extends ReceivedCallback {
  /** The name of a pack, as the sender wrote it. */
  readonly pack: string;
  /** The address it came from: often a proxy's. */
  readonly peer: string;
  /** As the answer to it is named. */
  readonly correlationId: string;
}

export interface Callbacks {
  /**
   * Resolves when the callback is recorded, whatever it brought about. Throws `callback_refused` for whoever is not the
   * provider, without saying why, and `callback_unreadable` where the provider itself sent what cannot be read.
   */
  receive(callback: IncomingCallback): Promise<void>;
}

type Effect = Extract<NewEvent, { readonly event_type: "callback_received" }>["effect"];

interface Outcome {
  readonly effect: Effect;
  readonly operation: Operation | null;
}

export function createCallbacks(core: CallbackNeeds, memory: CallbackMemory, observer: Observer): Callbacks {
  const recorder = createCallbackRecorder(core);

  return {
    async receive(callback) {
      const about = {
        pack: callback.pack,
        peer: callback.peer,
        body_digest: digestBytes(callback.body),
        body_bytes: callback.body.length,
      };
      let verified: VerifiedCallback;
      try {
        verified = verify(core, callback.pack, callback);
      } catch (error) {
        if (!(error instanceof Denied)) throw error;
        const known = error.code === "callback_pack_unknown" ? null : callback.pack;
        const recordedAs = await recorder.refused({
          ...about,
          pack: known,
          code: error.code,
          correlation_id: callback.correlationId,
        });
        const told =
          error.code === "callback_unreadable" ? error : new Denied("callback_refused", "The callback was not taken.");
        placeDenied(told, { recordedAs });
        throw told;
      }
      const { notice } = verified;
      const said = { ...about, provider_event_id: notice.eventId, remote_job_id: notice.jobId };
      const seen = memory.seenOf(callback.pack);
      const event = seen.add(notice.key);
      if (event === null) return recorder.received({ ...said, effect: "repeated" }, []);
      try {
        const outcomes = hintAll(core, memory, observer, verified);
        const rows = [memory.row(callback.pack, event)];
        for (const { effect, operation } of outcomes) {
          await recorder.received({ ...said, effect, ...linksOf(operation) }, rows.splice(0));
        }
      } catch (error) {
        seen.drop(event);
        throw error;
      }
    },
  };
}

function hintAll(
  core: Pick<CallbackNeeds, "operations" | "ports">,
  memory: CallbackMemory,
  observer: Observer,
  verified: VerifiedCallback,
): readonly Outcome[] {
  const { pack, notice } = verified;
  const { jobId } = notice;
  if (jobId === null) return [{ effect: "job_unnamed", operation: null }];
  const ours = core.operations.all().filter((one) => isOurs(one, verified));
  const about = ours.filter(({ remoteJobId }) => remoteJobId === jobId).slice(-defaults.callbackOperations);
  if (about.length > 0) {
    return about.map((operation) => ({ effect: effectOf(observer.hint(operation)), operation }));
  }
  // The provider may tell of a job before it has answered the request that started it.
  const unnamed = ours.some(
    ({ kind, state, remoteJobId }) => kind === "job" && remoteJobId === null && !isSettled(state),
  );
  if (!unnamed) return [{ effect: "job_unknown", operation: null }];
  memory.keepEarly(pack.name, jobId, core.ports.clock.bootMs());
  return [{ effect: "kept_for_creation", operation: null }];
}

/** The same pack and the same account at the provider: job names mean something only there. */
function isOurs({ action, credential }: Operation, { pack }: VerifiedCallback): boolean {
  return packOf(action) === pack.name && credential === (pack.provider?.credential ?? null);
}

function effectOf({ kind }: Hint): Effect {
  return kind;
}

function linksOf(operation: Operation | null) {
  if (operation === null) return {};
  return { run_id: operation.purse.id, call_id: operation.callId, operation_id: operation.id };
}
