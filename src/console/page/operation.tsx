import { useState } from "preact/hooks";
import type { JobErrand } from "../../conventions/operation/errand.ts";
import type { OperationDetail, OperationSummary } from "../../conventions/operation/summary.ts";
import { showIdentifier, showText } from "../../kernel/display.ts";
import { ask, Refused } from "./api.ts";
import { Button, Chip, Id, Time } from "./parts.tsx";

/** What is asked before an operation or a session is acted on. */
export interface Asked {
  readonly title: string;
  readonly verb: string;
  readonly run: (reason: string) => Promise<void>;
}

const ERRANDS: Readonly<Record<JobErrand, Pick<Asked, "title" | "verb"> & { readonly asked: string }>> = {
  cancel: { title: "Ask the provider to stop it", verb: "Cancel it", asked: "stop" },
  resume: { title: "Ask the provider to go on with it", verb: "Resume it", asked: "go on" },
};

/** One piece of work at a provider, and what a person can do about it. */
export function OperationTile(props: {
  readonly operation: OperationSummary;
  /** Whose it is, where a hub shows several. */
  readonly gateway: string | null;
  /** Nothing is typed or signed from afar but decisions. */
  readonly remote: boolean;
  readonly onAsk: (asked: Asked) => void;
  readonly onSaid: (text: string) => void;
  readonly act: (work: () => Promise<void>) => Promise<void>;
  readonly meant: (path: string, body?: object) => Promise<unknown>;
}) {
  const { operation, gateway, remote, onAsk, onSaid, act, meant } = props;
  const { operation_id: id, state, progress, problem } = operation;
  const [detail, setDetail] = useState<OperationDetail | null>(null);
  const settled = state === "succeeded" || state === "failed" || state === "cancelled";
  const path = `/api/operations/${encodeURIComponent(id)}`;
  const errand = (verb: string, words: string): Promise<void> =>
    act(async () => {
      setDetail((await meant(`${path}/${verb}`)) as OperationDetail);
      onSaid(words);
    });
  const sign = async (said: { happened: boolean; reason: string; although: string | null }): Promise<void> => {
    try {
      await meant(`${path}/settle`, said);
      onSaid("Settled by your signed word. It cannot be taken back; the log keeps it.");
    } catch (error) {
      const looks = error instanceof Refused && error.code === "operation_evidence_pending" && said.although === null;
      if (!looks) throw error;
      onAsk({
        title: "The gateway still looks by itself: say why not to wait",
        verb: "Sign it all the same",
        run: (although) => sign({ ...said, although }),
      });
    }
  };
  const settle = (happened: boolean): void =>
    onAsk({
      title: happened ? "It happened: say how you know" : "It did not happen: say how you know",
      verb: "Sign it",
      run: (reason) => sign({ happened, reason, although: null }),
    });
  const send = (errand: JobErrand): void =>
    onAsk({
      ...ERRANDS[errand],
      run: async (reason) => {
        await meant(`${path}/${errand}`, { reason });
        onSaid(`The provider was asked to ${ERRANDS[errand].asked}. How it ends is read afterwards.`);
      },
    });
  const open = async (): Promise<void> => act(async () => setDetail((await ask("GET", path)) as OperationDetail));
  return (
    <li class="tile">
      <header>
        <b>{showIdentifier(operation.action)}</b>
        {gateway !== null && <Chip kind="plain">{showIdentifier(gateway)}</Chip>}
        <Chip kind={problem !== null ? "grave" : settled ? "calm" : "acts"}>{state.replaceAll("_", " ")}</Chip>
      </header>
      <p class="muted">
        started <Time at={operation.created_at} /> by {showText(operation.started_by)}, allowed by{" "}
        {showText(operation.authorized_by)}
      </p>
      {progress !== null && (
        <p>
          <progress max={progress.total} value={progress.completed} aria-label="Progress" /> {progress.completed} of{" "}
          {progress.total}
        </p>
      )}
      {!settled && (
        <p class="muted">
          {operation.next_poll_in_ms === null
            ? "nobody looks by itself"
            : `the gateway looks again in ${Math.max(0, Math.round(operation.next_poll_in_ms / 1000))} s`}
          {operation.cancel !== null && `; ${showIdentifier(operation.cancel.actor)} asked to stop it`}
        </p>
      )}
      {problem !== null && (
        <p class="problem">
          {showIdentifier(problem.code)}: {showText(problem.detail)}
        </p>
      )}
      {!settled && !remote && (
        <div class="buttons">
          <Button
            class="plain small"
            onClick={() => void errand("reconcile", "The provider was asked what became of it.")}
          >
            Look now
          </Button>
          <Button class="plain small" onClick={() => send("cancel")}>
            Cancel
          </Button>
          <Button class="plain small" onClick={() => settle(true)}>
            It happened
          </Button>
          <Button class="plain small" onClick={() => settle(false)}>
            It did not
          </Button>
        </div>
      )}
      {state === "failed" && operation.kind === "job" && !remote && (
        <div class="buttons">
          <Button class="plain small" onClick={() => send("resume")}>
            Resume
          </Button>
        </div>
      )}
      {detail === null ? (
        <Button class="link" onClick={() => void open()}>
          History and evidence
        </Button>
      ) : (
        <>
          <p class="muted">
            looks that said “still running”: {detail.checks}; that said nothing: {detail.faults}
            {detail.result_digest !== null && (
              <>
                ; its result <Id text={detail.result_digest} />
              </>
            )}
          </p>
          <ol class="timeline">
            {detail.history.map((one) => (
              <li key={`${one.at} ${one.to}`}>
                <Time at={one.at} /> <b>{one.to.replaceAll("_", " ")}</b>{" "}
                <span class="muted">
                  {showText(one.cause)}, by {showText(one.actor)}
                </span>
              </li>
            ))}
          </ol>
        </>
      )}
      <p class="muted">
        <Id text={id} />
      </p>
    </li>
  );
}
