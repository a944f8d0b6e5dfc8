import { useEffect, useState } from "preact/hooks";
import { showIdentifier, showText } from "../../kernel/display.ts";
import type { ReviewShown } from "../packs.ts";
import { Button, Chip, Problem } from "./parts.tsx";
import { ReasonDialog } from "./reason.tsx";
import { useRoom } from "./room.ts";
import { useMeant } from "./secret.tsx";

type Row = ReviewShown["differences"][number];
type Asked = { readonly row: Row; readonly verdict: "accepted" | "rejected" } | null;

const CHANGE: Readonly<Record<Row["change"], string>> = { widens: "grave", shifts: "acts", narrows: "calm" };
const STATE: Readonly<Record<string, string>> = { accepted: "good", narrowed: "good", rejected: "grave", open: "acts" };

/** One whose signature does not hold decides nothing. */
const isOpen = ({ state }: Row): boolean => state === "open" || state === "unverified";

/** A changed pack, difference by difference. Each decision is signed and in the log before it stands here; a later one counts instead. */
export function Review({ pack, onVerdict }: { readonly pack: string; onVerdict(finished: boolean): void }) {
  const path = `/api/packs/${encodeURIComponent(pack)}`;
  const { shown, busy, said, problem, work } = useRoom<ReviewShown>(`${path}/review`);
  const { meant, dialog } = useMeant();
  const [asked, setAsked] = useState<Asked>(null);
  const rows = (shown?.differences ?? []).filter(({ kind }) => kind !== "whole_review");
  const whole = (shown?.differences ?? []).find(({ kind }) => kind === "whole_review");
  const finished = shown?.verdict === "finished";
  useEffect(() => onVerdict(finished), [finished]);
  const ready = rows.every(({ state }) => state === "accepted" || state === "narrowed");
  const decide = ({ row, verdict }: NonNullable<Asked>, reason: string): void => {
    setAsked(null);
    void work(`${row.kind === "whole_review" ? "The whole review" : row.id} is ${verdict}, and signed.`, () =>
      meant(`${path}/decide`, { id: row.id, verdict, reason, finish: row.kind === "whole_review" }),
    );
  };
  return (
    <section class="review" aria-labelledby="review">
      <h3 id="review">Review</h3>
      <p class="muted wide">
        The version that is trusted serves until every difference is accepted, the whole is signed and the new version
        is trusted. Who has the provider's documents or a probe reviews with them in a terminal:{" "}
        <code>gw upgrade review</code>.
      </p>
      <p class="said" role="status">
        {said}
      </p>
      <Problem text={problem} />
      <ul class="differences">
        {rows.map((row) => (
          <li key={row.id} class="tile">
            <header>
              <b>{showText(`${row.subject} ${row.at}`.trim())}</b>
              <span class="chips">
                <Chip kind={CHANGE[row.change]}>{row.change}</Chip>
                <Chip kind={STATE[row.state] ?? "plain"}>{row.state}</Chip>
              </span>
            </header>
            <p>{showText(row.says)}</p>
            <Sides before={row.before} after={row.after} />
            {row.notes.map((note) => (
              <p key={note} class="muted">
                {showText(note)}
              </p>
            ))}
            {row.reason !== null && <p class="muted">“{showText(row.reason)}”</p>}
            <div class="buttons">
              {(isOpen(row) || row.state === "rejected") && (
                <Button
                  class="plain small"
                  aria-disabled={busy}
                  onClick={() => setAsked({ row, verdict: "accepted" })}
                  aria-label={`Accept ${row.id}`}
                >
                  {isOpen(row) ? "Accept" : "Accept it after all"}
                </Button>
              )}
              {row.state !== "rejected" && (
                <Button
                  class="no small"
                  aria-disabled={busy}
                  onClick={() => setAsked({ row, verdict: "rejected" })}
                  aria-label={`Reject ${row.id}`}
                >
                  {isOpen(row) ? "Reject" : "Reject it after all"}
                </Button>
              )}
            </div>
          </li>
        ))}
      </ul>
      {whole !== undefined && isOpen(whole) && (
        <div class="buttons">
          <Button
            class="plain"
            aria-disabled={busy || !ready}
            onClick={() => ready && setAsked({ row: whole, verdict: "accepted" })}
          >
            Sign the whole review, without documents or a probe
          </Button>
        </div>
      )}
      {whole !== undefined && !isOpen(whole) && (
        <p>
          <Chip kind={STATE[whole.state] ?? "plain"}>the whole review is {whole.state}</Chip>
        </p>
      )}
      {asked !== null && (
        <ReasonDialog
          title={
            asked.row.kind === "whole_review"
              ? "Sign the whole review"
              : `${asked.verdict === "accepted" ? "Accept" : "Reject"} it`
          }
          words={`Why? It is signed with ${showIdentifier(asked.row.id)}, and the log keeps it.`}
          verb="Sign it"
          kind={asked.verdict === "accepted" ? "yes" : "no"}
          onReason={(reason) => decide(asked, reason)}
          onClose={() => setAsked(null)}
        />
      )}
      {dialog}
    </section>
  );
}

/** What was and what will be, side by side; the sign tells, the colour repeats it. */
export function Sides({ before, after }: { readonly before: string | null; readonly after: string | null }) {
  if (before === null && after === null) return null;
  return (
    <div class="sides">
      <del>{before === null ? "" : `- ${showText(before)}`}</del>
      <ins>{after === null ? "" : `+ ${showText(after)}`}</ins>
    </div>
  );
}
