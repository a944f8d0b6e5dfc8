import type { AgentState } from "../../../conventions/ssh/agent.ts";
import type { SshEnding, SshEvidence } from "../../../conventions/ssh/evidence.ts";
import {
  createFrameReader,
  type FinishedFrame,
  type Frame,
  type RefusedFrame,
} from "../../../conventions/ssh/frames.ts";
import type { OutboundSsh } from "../../../conventions/ssh/outbound.ts";
import { writeRequest } from "../../../conventions/ssh/request.ts";
import type { SendLimits } from "../../../gateway/ports.ts";
import { calledOff } from "../called-off.ts";
import { keepDiagnostics } from "./diagnostics.ts";
import type { SshTransportOptions } from "./options.ts";
import type { OutputKeeper } from "./output.ts";
import type { OutputPlace } from "./place.ts";
import type { Session } from "./session.ts";
import type { HelperReport } from "./start-helper.ts";

/** After the last frame the connection should end by itself; a host that holds it open gets this long. */
const LAST_FRAME_GRACE_MS = 500;
/** All that a manifest may let through, as frames, and what is dropped here; beyond this a host only wants to fill us. */
const FLOOD_FACTOR = 4;
const FLOOD_FLOOR_BYTES = 8_388_608;

/** Waits for `ready`, releases the request, reads frames to the end. Returns what was seen; never throws. */
export async function exchange(
  options: SshTransportOptions,
  session: Session,
  request: OutboundSsh,
  limits: SendLimits,
  keeper: OutputKeeper,
  place: OutputPlace,
): Promise<Omit<SshEvidence, "elapsedMs">> {
  const { helper, agent } = session;
  const frames = createFrameReader(request.requestId);
  let payloadLeft = false;
  let last: RefusedFrame | FinishedFrame | null = null;
  const diagnostics = keepDiagnostics(helper.diagnostics);
  const ended = await new Promise<SshEnding>((settle) => {
    let received = 0;
    let over = false;
    const stop = new AbortController();
    const end = (ending: SshEnding): void => {
      if (over) return;
      over = true;
      stop.abort();
      limits.signal?.removeEventListener("abort", abort);
      settle(ending);
    };
    const endAfter = (ms: number, ending: SshEnding) =>
      void options.sleep.sleep(ms, stop.signal).then(() => end(ending));
    const abort = () => end({ kind: "aborted" });
    /** On whichever of the client's two ways it comes: a host writes on both. */
    const count = ({ length }: Buffer): void => {
      received += length;
      if (received > limits.responseBytes * FLOOD_FACTOR + FLOOD_FLOOR_BYTES) end({ kind: "flooded" });
    };
    const release = (nonce: string): void => {
      let bytes: Buffer;
      try {
        const over = calledOff(limits);
        if (over !== null) {
          end({ kind: "called_off", detail: over });
          return;
        }
        bytes = writeRequest(request, { hostKey: session.hostKey, nonce }, options.signRequest);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        end({ kind: "helper_failed", detail: `the request could not be signed: ${why}` });
        return;
      }
      payloadLeft = true;
      helper.input.end(bytes);
    };
    const take = (frame: Frame): void => {
      switch (frame.kind) {
        case "ready":
          // Whoever bent the client's files or accepted it without a key is not the session that was approved.
          if (!isOpenedByUs(agent.state)) end({ kind: "cut" });
          else release(frame.nonce);
          break;
        case "started":
          // Nobody can have started what has not left: this host does not speak the truth.
          if (!payloadLeft) end({ kind: "cut" });
          else limits.started?.();
          break;
        case "output":
          keeper.take(frame);
          break;
        case "refused":
        case "finished":
          last = frame;
          endAfter(LAST_FRAME_GRACE_MS, { kind: "cut" });
          break;
      }
    };
    endAfter(limits.timeoutMs, { kind: "deadline" });
    limits.signal?.addEventListener("abort", abort, { once: true });
    if (limits.signal?.aborted === true) abort();
    helper.output.on("data", (chunk: Buffer) => {
      if (over) return;
      count(chunk);
      if (over) return;
      for (const frame of frames.push(chunk)) take(frame);
      if (last === null) place.need(keeper, helper.output);
      if (frames.violation !== null) end({ kind: "cut" });
    });
    helper.diagnostics.on("data", count);
    helper.output.on("end", () => {
      frames.end();
      if (last !== null) end({ kind: "cut" });
    });
    void helper.ended.then((report) => end(endingOf(report)));
  });
  const { state } = agent;
  return {
    ended,
    bound: state.sessionId !== null,
    signed: isOpenedByUs(state),
    offence: state.offence,
    payloadLeft,
    progress: frames.progress,
    violation: frames.violation,
    last,
    stdout: keeper.stdout,
    stderr: keeper.stderr,
    truncated: keeper.truncated,
    diagnostics: diagnostics(),
  };
}

/** The pinned host proved its key to our agent, and our agent signed for this session, and for nothing else. */
function isOpenedByUs(state: AgentState): boolean {
  return state.sessionId !== null && state.signed && state.offence === null;
}

function endingOf(report: HelperReport): SshEnding {
  switch (report.kind) {
    case "exited":
      return report;
    case "failed":
      return { kind: "helper_failed", detail: report.detail };
    case "lost":
      return { kind: "helper_lost" };
  }
}
