import { useEffect, useState } from "preact/hooks";
import { showIdentifier } from "../../kernel/display.ts";
import type { PolicyShown } from "../policy.ts";
import { ask } from "./api.ts";
import { Button, Chip, Empty, Problem, Time } from "./parts.tsx";
import { useRoom } from "./room.ts";
import { useMeant } from "./secret.tsx";

/** Decisions made ahead: what passes without a card, for whom, and when it last did. */
export function Grants() {
  const { shown, busy, said, problem, work } = useRoom<PolicyShown>("/api/policy");
  const [uses, setUses] = useState<Readonly<Record<string, string>> | null>(null);
  const { meant, dialog } = useMeant();
  useEffect(() => {
    ask("GET", "/api/grants").then(
      (found) => setUses(found as Readonly<Record<string, string>>),
      () => setUses({}),
    );
  }, []);
  return (
    <section aria-labelledby="grants">
      <h2 id="grants">Grants</h2>
      <p class="muted wide">
        A grant lets calls pass without a card. Make one beside the card that it would have answered:{" "}
        <b>Approve and grant</b> under Waiting, or <code>gw grant add</code>.
      </p>
      <p class="said" role="status">
        {said}
      </p>
      <Problem text={problem} />
      {shown?.grants.length === 0 && <Empty title="None">A person is asked about every session.</Empty>}
      <ul class="tiles">
        {(shown?.grants ?? []).map(({ name, until, lines }) => (
          <li key={name} class="tile">
            <header>
              <b>{showIdentifier(name)}</b>
              <Button
                class="no small"
                aria-disabled={busy}
                onClick={() =>
                  void work(`${name} is removed. Sessions that stand on it send nothing more.`, () =>
                    meant(`/api/grants/${name}/remove`),
                  )
                }
              >
                Remove
              </Button>
            </header>
            <p class="chips">
              {Date.parse(until) <= Date.now() ? (
                <Chip kind="plain">over</Chip>
              ) : (
                <Chip kind="acts">passes without a card</Chip>
              )}
            </p>
            {lines.map((line) => (
              <p key={line}>
                <code>{line.trim()}</code>
              </p>
            ))}
            <p class="muted">
              until <Time at={until} />;{" "}
              {uses === null ? (
                "…"
              ) : uses[name] === undefined ? (
                "never used"
              ) : (
                <>
                  last used <Time at={uses[name]} />
                </>
              )}
            </p>
          </li>
        ))}
      </ul>
      {dialog}
    </section>
  );
}
