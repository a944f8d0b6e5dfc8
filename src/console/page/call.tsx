import { useEffect, useState } from "preact/hooks";
import { narrowingWords } from "../../conventions/approval/render-narrowing.ts";
import { showIdentifier, showText } from "../../kernel/display.ts";
import type { ApprovalRecord, AttemptRecord, DecisionRecord } from "../../surfaces/cli/audit/trace-record.ts";
import type { CallAnswer } from "../reading/asks.ts";
import { decisionStep, endStep } from "../reading/steps.ts";
import { ask } from "./api.ts";
import { Words } from "./card.tsx";
import { Chip, Id, Problem, Time } from "./parts.tsx";
import { Recording } from "./recording.tsx";

/** One call from its card to its end, in one column of time, with every digest and signature worked out again. */
export function Call({ id, gateway }: { readonly id: string; readonly gateway: string | null }) {
  const [answer, setAnswer] = useState<CallAnswer | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    const of = gateway === null ? "" : `?gateway=${encodeURIComponent(gateway)}`;
    ask("GET", `/api/calls/${encodeURIComponent(id)}${of}`).then(
      (found) => setAnswer(found as CallAnswer),
      (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
    );
  }, [id, gateway]);
  return (
    <section class="call" aria-labelledby="call">
      <a class="back always" href="#/activity">
        All activity
      </a>
      <h2 id="call">
        <Id text={id} />
      </h2>
      {gateway !== null && (
        <p class="muted">
          From the log of <b>{showIdentifier(gateway)}</b> on the hub. What was recorded of it stays on that host:{" "}
          <code>gw activity show {id} --recording</code>
        </p>
      )}
      <Problem text={problem} />
      {answer === null && problem === null && <p class="muted">Opening the log with your key…</p>}
      {answer !== null && (
        <>
          <ol class="timeline">
            {stepsOf(gateway === null ? answer : { ...answer, recordings: [] }).map(({ shown }) => shown)}
          </ol>
          <details open>
            <summary>All of it, word by word</summary>
            <Words label="The record, word by word" lines={answer.lines} />
          </details>
        </>
      )}
    </section>
  );
}

/** One of the things that happened. */
interface Step {
  readonly at: string;
  readonly step: string;
  readonly shown: preact.JSX.Element;
}

/** By their times, and those of the same moment in the order of the log. */
function stepsOf({ record, told, places, recordings }: CallAnswer): readonly Step[] {
  const placeOf = ({ step }: Step): number => places[step] ?? 0;
  const steps = [
    ...record.approvals.flatMap(approvalSteps),
    ...record.attempts.flatMap((one) => attemptSteps(one, recordings)),
    ...told.map(({ id, at, words }) => ({
      ...{ at, step: id },
      shown: (
        <li key={id} class="aside">
          <Time at={at} /> {words}
        </li>
      ),
    })),
  ];
  return steps.sort((one, other) => (one.at === other.at ? placeOf(one) - placeOf(other) : one.at < other.at ? -1 : 1));
}

function approvalSteps(approval: ApprovalRecord): readonly Step[] {
  const decisions = [...approval.given, ...(approval.decision === null ? [] : [approval.decision])];
  const asked = (
    <li key={approval.approval_id}>
      <Time at={approval.shown_at} /> <b>A card was shown</b>{" "}
      <Check good={approval.card_check === "matches"}>its digest {approval.card_check}</Check>
      <Id text={approval.approval_id} />
    </li>
  );
  return [
    { at: approval.shown_at ?? "", step: approval.approval_id, shown: asked },
    ...decisions.map((one) => {
      const step = decisionStep(approval.approval_id, one);
      return { at: one.at, step, shown: <Decision key={step} decision={one} /> };
    }),
  ];
}

function Decision({ decision }: { readonly decision: DecisionRecord }) {
  const { kind, operator, at, signature, passkey, reason, narrow } = decision;
  const who = operator === null ? "" : ` by ${showIdentifier(operator)}`;
  return (
    <li>
      <Time at={at} />{" "}
      <b>
        {DECIDED[kind]}
        {who}
      </b>
      {reason === null ? "" : ` “${showText(reason)}” `}
      {narrow === null ? "" : ` narrowed to ${narrowingWords(narrow)} `}
      {signature !== null && <Check good={signature === "verifies"}>signature {signature.replaceAll("_", " ")}</Check>}
      {passkey !== null && <Check good={passkey === "verifies"}>passkey {passkey.replaceAll("_", " ")}</Check>}
    </li>
  );
}

function attemptSteps(attempt: AttemptRecord, recordings: readonly string[]): readonly Step[] {
  const { attempt_id: id, outcome, status, response_digest: digest } = attempt;
  const sent = (
    <li key={id}>
      <Time at={attempt.at} /> <b>{attempt.dispatched ? SENT[attempt.sort] : "Intended, not sent"}</b>{" "}
      <code>
        {showIdentifier(attempt.method ?? "")} {showIdentifier(attempt.url ?? "")}
      </code>
      {attempt.credential_label !== null && <Chip kind="plain">with {showIdentifier(attempt.credential_label)}</Chip>}
      <Check good={attempt.request_check !== "differs"}>request {attempt.request_check.replaceAll("_", " ")}</Check>
    </li>
  );
  const end = (
    <li key={endStep(id)}>
      <Time at={attempt.ended_at} />{" "}
      <Chip kind={outcome === "succeeded" ? "good" : outcome === "failed" ? "grave" : "acts"}>{SAID[outcome]}</Chip>
      {status === null ? "" : ` status ${status}`} {attempt.reason === null ? "" : showText(attempt.reason)}
      {attempt.elapsed_ms === null ? "" : <span class="muted"> after {attempt.elapsed_ms} ms</span>}
      {digest !== null && (
        <span class="digest">
          <span class="muted">answer</span> <Id text={digest} />
        </span>
      )}
      {recordings.includes(id) && <Recording attemptId={id} />}
    </li>
  );
  return [
    { at: attempt.at, step: id, shown: sent },
    // What has no end yet comes last.
    { at: attempt.ended_at ?? "~", step: endStep(id), shown: end },
  ];
}

const SENT = {
  call: "Sent",
  redirect: "Followed the redirect to",
  again: "Sent again",
  read: "Looked with",
  further: "Then sent",
} as const;

const DECIDED = {
  given: "First of two approvals",
  approved: "Approved",
  denied: "Denied",
  expired: "Nobody answered",
  withdrawn: "Taken back",
} as const;

const SAID = {
  succeeded: "happened",
  failed: "did not happen",
  unknown: "may have happened",
  pending: "no end yet",
} as const;

function Check({ good, children }: { readonly good: boolean; readonly children: preact.ComponentChildren }) {
  return <Chip kind={good ? "good" : "grave"}>{children}</Chip>;
}
