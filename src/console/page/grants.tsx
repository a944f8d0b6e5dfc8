import { useEffect, useState } from "preact/hooks";
import { showIdentifier } from "../../kernel/display.ts";
import type { GrantUse, PolicyShown } from "../policy.ts";
import { ask } from "./api.ts";
import { Button, Chip, Empty, Problem, Time } from "./parts.tsx";
import { useRoom } from "./room.ts";
import { useMeant } from "./secret.tsx";

/** Decisions made ahead: what passes without a card, for whom, and when it last did. */
export function Grants() {
  const { shown, busy, said, problem, work } = useRoom<PolicyShown>("/api/policy");
  const [uses, setUses] = useState<Uses>("reading");
  const { meant, dialog } = useMeant();
  useEffect(() => {
    ask("GET", "/api/grants").then(
      (found) => setUses(found as Readonly<Record<string, GrantUse>>),
      () => setUses("unknown"),
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
              <Standing use={useOf(uses, name)} until={until} />
            </p>
            {lines.map((line) => (
              <p key={line}>
                <code>{line.trim()}</code>
              </p>
            ))}
            <p class="muted">
              until <Time at={until} />; <LastUse use={useOf(uses, name)} />
            </p>
          </li>
        ))}
      </ul>
      {dialog}
    </section>
  );
}

type Uses = Readonly<Record<string, GrantUse>> | "reading" | "unknown";

function useOf(uses: Uses, name: string): GrantUse | "reading" | "unknown" {
  return typeof uses === "string" ? uses : (uses[name] ?? "reading");
}

interface Shown {
  readonly use: GrantUse | "reading" | "unknown";
}

function Standing({ use, until }: Shown & { readonly until: string }) {
  const over = typeof use === "string" ? Date.parse(until) <= Date.now() : use.over;
  return over ? <Chip kind="plain">over: it lets nothing pass</Chip> : <Chip kind="acts">passes without a card</Chip>;
}

function LastUse({ use }: Shown) {
  if (use === "reading") return <>reading the log for its last use…</>;
  if (use === "unknown") return <>its last use could not be read from the log</>;
  const ended = Date.parse(use.ends_unused_at) <= Date.now();
  return (
    <>
      {use.last_used_at === null ? (
        "never used"
      ) : (
        <>
          last used <Time at={use.last_used_at} />
        </>
      )}
      ; {ended ? "ended unused" : "ends unused"} <Time at={use.ends_unused_at} />
    </>
  );
}
