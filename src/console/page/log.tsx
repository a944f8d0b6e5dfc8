import { useState } from "preact/hooks";
import type { VerifyReport } from "../../audit/verify/report.ts";
import { showText } from "../../kernel/display.ts";
import { save } from "./activity.tsx";
import { askText, stream } from "./api.ts";
import { Words } from "./card.tsx";
import { Chain } from "./chain.tsx";
import { Button, Chip, Id, Problem, Time } from "./parts.tsx";

/** The log itself: whether it is whole, and a note about its head to keep elsewhere. */
export function Log({ remote }: { readonly remote: boolean }) {
  const [progress, setProgress] = useState<{ readonly done: number; readonly total: number } | null>(null);
  const [result, setResult] = useState<{ readonly report: VerifyReport; readonly words: readonly string[] } | null>(
    null,
  );
  const [problem, setProblem] = useState<string | null>(null);
  const [compared, setCompared] = useState<string | null>(null);

  async function compare(file: File | undefined): Promise<void> {
    if (file === undefined) return;
    if (file.size > 2_000) return setProblem("That is no checkpoint: it is larger than one can be.");
    await verify({ name: file.name, text: await file.text() });
  }
  async function verify(note: { readonly name: string; readonly text: string } | null): Promise<void> {
    setResult(null);
    setProblem(null);
    setProgress({ done: 0, total: 1 });
    setCompared(note?.name ?? null);
    try {
      await stream(
        "POST",
        "/api/log/verify",
        (event, data) => {
          if (event === "progress") setProgress(data);
          if (event === "report") setResult(data);
        },
        { checkpoint: note?.text ?? null },
      );
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
        <Button class="yes" onClick={() => void verify(null)} aria-disabled={progress !== null}>
          Verify it
        </Button>
        {!remote && (
          <Button class="plain" onClick={() => void checkpoint()}>
            Download a signed checkpoint
          </Button>
        )}
      </div>
      <label
        class="drop"
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          void compare(event.dataTransfer?.files[0]);
        }}
      >
        Compare with a checkpoint that you kept elsewhere: drop it here, or choose it{" "}
        <input
          type="file"
          onChange={({ currentTarget }) => {
            void compare(currentTarget.files?.[0]);
            currentTarget.value = "";
          }}
        />
      </label>
      {progress !== null && (
        <p>
          <progress max={progress.total} value={progress.done} aria-label="Verifying" /> checking…
        </p>
      )}
      <Problem text={problem} />
      {result !== null && <Report {...result} compared={compared} />}
    </section>
  );
}

function Report({
  report,
  words,
  compared,
}: {
  readonly report: VerifyReport;
  readonly words: readonly string[];
  readonly compared: string | null;
}) {
  const intact = report.verdict === "intact";
  const same = report.checkpoint?.held === true && report.checkpoint.signed;
  return (
    <div class="report" role="status">
      <h3>
        <Chip kind={intact ? "good" : "grave"}>{report.verdict.replaceAll("_", " ")}</Chip>{" "}
        {compared !== null && (
          <Chip kind={same ? "good" : "grave"}>
            {same
              ? `this is the log that ${showText(compared)} was made of`
              : `not the log that ${showText(compared)} was made of`}
          </Chip>
        )}
      </h3>
      <Chain report={report} />
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
