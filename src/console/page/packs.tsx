import { useState } from "preact/hooks";
import { showIdentifier, showText } from "../../kernel/display.ts";
import type { PackRow, PackShown } from "../packs.ts";
import { EffectChip, Words } from "./card.tsx";
import { Button, Chip, Empty, Id, Problem } from "./parts.tsx";
import { Review } from "./review.tsx";
import { useRoom } from "./room.ts";
import { useMeant } from "./secret.tsx";

/** What agents may ask for. Nothing of a pack counts before an operator has signed for its exact bytes. */
export function Packs() {
  const { shown, problem } = useRoom<readonly PackRow[]>("/api/packs");
  return (
    <section aria-labelledby="packs">
      <h2 id="packs">Packs</h2>
      <Problem text={problem} />
      {shown?.length === 0 && (
        <Empty title="None yet">
          A pack says what agents may ask for. Put one beside your vault with <code>gw pack add FILE</code>; it is read
          and trusted here.
        </Empty>
      )}
      <ul class="tiles">
        {(shown ?? []).map((row) => (
          <li key={row.pack} class="tile">
            <header>
              <b>
                <a href={`#/packs/${row.pack}`}>{showIdentifier(row.pack)}</a>
              </b>
              <PackState row={row} />
            </header>
            {row.trouble === null ? (
              <p class="muted">
                {row.actions} {row.actions === 1 ? "action" : "actions"}
              </p>
            ) : (
              <p class="problem">{showText(row.trouble)}</p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function PackState({ row }: { readonly row: { readonly state: string; readonly trusted: boolean } }) {
  if (row.trusted) return <Chip kind="good">trusted</Chip>;
  return row.state.startsWith("NEW VERSION") ? (
    <Chip kind="acts">a new version waits</Chip>
  ) : (
    <Chip kind="grave">not trusted</Chip>
  );
}

/** One pack: where it goes and with what, what each action does, what is odd about it, what changed, and the signature. */
export function Pack({ name }: { readonly name: string }) {
  const { shown, busy, said, problem, work } = useRoom<PackShown>(`/api/packs/${encodeURIComponent(name)}`);
  const { meant, dialog } = useMeant();
  const [removed, setRemoved] = useState(false);
  const [reviewed, setReviewed] = useState(false);
  const changed = shown?.state.startsWith("NEW VERSION") === true;
  const waits = changed && !reviewed;
  const trust = ({ digest }: PackShown): void =>
    void work(`${name} is trusted at exactly these bytes. Your key signed for it.`, () =>
      meant(`/api/packs/${encodeURIComponent(name)}/trust`, { digest }),
    );
  const remove = (): void =>
    void work("", async () => {
      await meant(`/api/packs/${encodeURIComponent(name)}/remove`);
      setRemoved(true);
    });
  // Beside what was pressed, which may be far below the name.
  const told = (
    <>
      <p class="said" role="status">
        {said}
      </p>
      <Problem text={problem} />
    </>
  );
  if (removed) {
    return (
      <section aria-labelledby="pack">
        <h2 id="pack">{showIdentifier(name)}</h2>
        <p class="said" role="status">
          It is no longer trusted, and its file is gone. Put it back with gw pack add FILE.
        </p>
        <a href="#/packs">All packs</a>
      </section>
    );
  }
  return (
    <section aria-labelledby="pack">
      <a class="back always" href="#/packs">
        All packs
      </a>
      <h2 id="pack">{showIdentifier(name)}</h2>
      {shown === null && told}
      {shown !== null && (
        <>
          <p class="chips">
            <PackState row={shown} />
            {shown.origin !== null && <Chip kind="plain">reaches {showText(shown.origin)}</Chip>}
            {shown.credentials.map(({ label, held }) => (
              <Chip key={label} kind={held ? "plain" : "grave"}>
                {held ? "with" : "missing in the vault:"} {showIdentifier(label)}
              </Chip>
            ))}
          </p>
          {shown.description !== null && <p class="wide">{showText(shown.description)}</p>}
          <p class="muted">
            <Id text={shown.digest} />
          </p>
          <Findings findings={shown.findings} />
          {shown.changes !== null && (
            <>
              <h3>Against the trusted version</h3>
              <Words label="Against the trusted version" lines={shown.changes} />
            </>
          )}
          {changed && <Review pack={name} onVerdict={setReviewed} />}
          {told}
          {waits && (
            <p class="muted" id="unreviewed">
              It can be trusted once every difference above is accepted and the whole review is signed.
            </p>
          )}
          <div class="buttons">
            {!shown.trusted && (
              <Button
                class="yes"
                aria-disabled={busy || waits}
                aria-describedby={waits ? "unreviewed" : undefined}
                onClick={() => trust(shown)}
              >
                Trust exactly this
              </Button>
            )}
            <Button class="no" aria-disabled={busy} onClick={remove}>
              Take its trust and its file away
            </Button>
          </div>
          <h3>Actions</h3>
          <div class="wide-table">
            <table class="table">
              <thead>
                <tr>
                  <th scope="col">Action</th>
                  <th scope="col">Effect</th>
                  <th scope="col">Request</th>
                </tr>
              </thead>
              <tbody>
                {shown.actions.map(({ action, effect, request }) => (
                  <tr key={action}>
                    <th scope="row">{showIdentifier(action)}</th>
                    <td>
                      <EffectChip effect={effect} />
                    </td>
                    <td>
                      <code>{request}</code>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
      {dialog}
    </section>
  );
}

function Findings({ findings }: Pick<PackShown, "findings">) {
  if (findings.length === 0) return <p class="muted">The lint has nothing to say against it.</p>;
  return (
    <>
      <h3>What the lint says</h3>
      <ul class="plain-list">
        {findings.map(({ severity, code, line, column, path, message }) => (
          <li key={`${line} ${column} ${code} ${path}`}>
            <Chip kind={severity === "error" ? "grave" : "acts"}>{severity}</Chip>{" "}
            <code>
              {line}:{column} {showText(path)}
            </code>{" "}
            {showText(message)}
          </li>
        ))}
      </ul>
    </>
  );
}
