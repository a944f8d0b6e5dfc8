import { useState } from "preact/hooks";
import type { VerifyReport } from "../../audit/verify/report.ts";
import { save } from "./activity.tsx";
import { askText, stream } from "./api.ts";
import { Words } from "./card.tsx";
import { Button, Chip, Id, Problem, Time } from "./parts.tsx";

/** The log itself: whether it is whole, and a note about its head to keep elsewhere. */
export function Log() {
  const [progress, setProgress] = useState<{ readonly done: number; readonly total: number } | null>(null);
  const [result, setResult] = useState<{ readonly report: VerifyReport; readonly words: readonly string[] } | null>(
    null,
  );
  const [problem, setProblem] = useState<string | null>(null);

  async function verify(): Promise<void> {
    setResult(null);
    setProblem(null);
    setProgress({ done: 0, total: 1 });
    try {
      await stream("POST", "/api/log/verify", (event, data) => {
        if (event === "progress") setProgress(data);
        if (event === "report") setResult(data);
      });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    setProgress(null);
  }
  async function checkpoint(): Promise<void> {
    try {
      save("gw-head.note", "text/plain", await askText("/api/log/checkpoint"));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  }
  return (
    <section aria-labelledby="log">
      <h2 id="log">The log</h2>
      <p class="muted wide">
        Everything that was asked, decided and sent, sealed and chained. It is checked here, in your own program, from
        the files alone.
      </p>
      <div class="buttons">
        <Button class="yes" onClick={() => void verify()} aria-disabled={progress !== null}>
          Verify it
        </Button>
        <Button class="plain" onClick={() => void checkpoint()}>
          Download a signed checkpoint
        </Button>
      </div>
      {progress !== null && (
        <p>
          <progress max={progress.total} value={progress.done} aria-label="Verifying" /> checking…
        </p>
      )}
      <Problem text={problem} />
      {result !== null && <Report {...result} />}
    </section>
  );
}

function Report({ report, words }: { readonly report: VerifyReport; readonly words: readonly string[] }) {
  const intact = report.verdict === "intact";
  return (
    <div class="report" role="status">
      <h3>
        <Chip kind={intact ? "good" : "grave"}>{report.verdict.replaceAll("_", " ")}</Chip>
      </h3>
      <dl class="facts">
        <div>
          <dt>frames</dt>
          <dd>{report.frames.toLocaleString()}</dd>
        </div>
        <div>
          <dt>segments</dt>
          <dd>{report.segments}</dd>
        </div>
        <div>
          <dt>size</dt>
          <dd>{sizeOf(report.bytes)}</dd>
        </div>
        <div>
          <dt>attested by operators</dt>
          <dd>{report.attestations.length}</dd>
        </div>
        <div>
          <dt>unclean ends</dt>
          <dd>{report.uncleanEnds.length}</dd>
        </div>
        <div>
          <dt>sealed up to</dt>
          <dd>
            {report.sealed === null ? "–" : <Time at={new Date(report.sealed.timeSeconds * 1000).toISOString()} />}
          </dd>
        </div>
      </dl>
      {report.logId !== null && <Id text={report.logId} />}
      <Words label="The report, word by word" lines={words} />
    </div>
  );
}

function sizeOf(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
