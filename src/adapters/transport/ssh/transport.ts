import type { NeverSent, TransportObservation } from "../../../conventions/outcome/observation.ts";
import { observeSsh } from "../../../conventions/ssh/evidence.ts";
import type { OutboundSsh, SshSigner } from "../../../conventions/ssh/outbound.ts";
import { findUnsendable } from "../../../conventions/ssh/request.ts";
import type { IntentReceipt, SendLimits } from "../../../gateway/ports.ts";
import { exchange } from "./exchange.ts";
import type { SshTransportOptions } from "./options.ts";
import { createOutputKeeper } from "./output.ts";
import { createOutputPlace } from "./place.ts";
import { openSession, planSession } from "./session.ts";
import { createSpareHelper } from "./spare-helper.ts";

/**
 * The SSH transport: one helper, one client, one signature, one request. What it returns is decided by evidence of the
 * gateway's own (did we sign, did the payload leave, which frames came), never by how the client says that it ended.
 */
export interface SshTransport {
  send(
    receipt: IntentReceipt,
    request: OutboundSsh,
    signer: SshSigner,
    limits: SendLimits,
  ): Promise<TransportObservation>;
  /** Ends the helper that stands ready. Connections under way are ended by their own signals. */
  close(): void;
}

export function createSshTransport(options: SshTransportOptions): SshTransport {
  const spare = createSpareHelper(options.helper, options.spareHelperMs);
  let closed = false;
  return {
    async send(_receipt, request, signer, limits) {
      const start = options.clock.bootMs();
      const elapsedMs = () => options.clock.bootMs() - start;
      const plan = planSession(options, request, signer, "run");
      if (typeof plan === "string") return notTried("helper_failed", plan, elapsedMs());
      const unsendable = findUnsendable(request);
      if (unsendable !== undefined) return notTried("helper_failed", unsendable, elapsedMs());
      if (limits.signal?.aborted === true)
        return notTried("aborted", "the attempt was stopped before it began", elapsedMs());
      const session = await openSession(options, plan, spare.take);
      if (typeof session === "string") return notTried("helper_failed", session, elapsedMs());
      const recordingBytes = request.recording === "on" && options.recorder !== null ? options.recordingBytes : 0;
      const keeper = createOutputKeeper({ bodyBytes: limits.responseBytes, recordingBytes }, elapsedMs);
      const place = createOutputPlace(limits, options.sleep, elapsedMs);
      let answerBytes = 0;
      try {
        const seen = await exchange(options, session, request, limits, keeper, place);
        const observation = observeSsh({ ...seen, elapsedMs: elapsedMs() });
        if (observation.kind === "answered") answerBytes = observation.body.length;
        // Where nothing left there is nothing to record. What happened on the host stands, whether or not its recording
        // could be kept: null says that it could not.
        if (recordingBytes === 0 || options.recorder === null || observation.kind === "never_sent") return observation;
        const sealing = options.recorder.seal(keeper.recording(request.requestId));
        return { ...observation, recordingDigest: await sealing.catch(() => null) };
      } finally {
        place.settle(answerBytes);
        session.close();
        if (!closed) spare.refill();
      }
    },
    close() {
      closed = true;
      spare.close();
    },
  };
}

function notTried(reason: "helper_failed" | "aborted", detail: string, elapsedMs: number): NeverSent {
  return { kind: "never_sent", reason, detail, elapsedMs, connected: false };
}
