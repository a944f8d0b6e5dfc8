import { useEffect, useState } from "preact/hooks";
import { showBounded, showIdentifier, showText } from "../../kernel/display.ts";
import { ask } from "./api.ts";
import type { OperationBoard } from "./model.ts";
import { type Asked, OperationTile } from "./operation.tsx";
import { Button, Chip, Empty, Id, Meter, Problem, Time } from "./parts.tsx";
import { ReasonDialog } from "./reason.tsx";
import { useMeant } from "./secret.tsx";

interface Session {
  readonly session_id: string;
  readonly run_id: string;
  readonly state: string;
  readonly caller: {
    readonly path_observed?: string | null;
    readonly process?: { readonly pid: number; readonly uid: number };
  };
  readonly scope_granted: { readonly actions: readonly string[] };
  readonly budget_granted: {
    readonly attempts: number;
    readonly side_effects: number;
    readonly duration_seconds: number;
    readonly spend_cents: number;
  } | null;
  readonly budget_used: {
    readonly attempts: number;
    readonly side_effects: number;
    readonly spend_cents: number;
  } | null;
  readonly deadline_at: string | null;
  readonly approved_by: string;
  readonly approved_at: string;
  readonly end_reason: string | null;
}

/** Who may act now, and what is under way at providers. */
export function Now({ board }: { readonly board: OperationBoard }) {
  const [sessions, setSessions] = useState<readonly Session[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [said, setSaid] = useState("");
  const { meant, dialog } = useMeant();
  const [asking, setAsking] = useState<Asked | null>(null);

  async function load(): Promise<void> {
    try {
      setSessions((await ask("GET", "/api/sessions")) as readonly Session[]);
      setProblem(null);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  }
  useEffect(() => {
    void load();
    const timer = setInterval(() => void load(), 2_000);
    return () => clearInterval(timer);
  }, []);

  async function act(work: () => Promise<void>): Promise<void> {
    setAsking(null);
    try {
      await work();
      await load();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  }

  const live = (sessions ?? []).filter(({ state }) => state !== "ended");
  const ended = (sessions ?? [])
    .filter(({ state }) => state === "ended")
    .reverse()
    .slice(0, 10);
  const revoke = (one: Session): void =>
    setAsking({
      title: "End this session now",
      verb: "Revoke",
      run: async (reason) => {
        await ask("POST", `/api/sessions/${one.session_id}/revoke`, { reason });
        setSaid(`${showIdentifier(one.session_id)} has ended. It sends nothing more; what it sent already stands.`);
      },
    });
  return (
    <>
      <p class="said" role="status">
        {said}
      </p>
      <Problem text={problem} />
      <section aria-labelledby="sessions">
        <h2 id="sessions">Sessions</h2>
        {sessions !== null && live.length === 0 && (
          <Empty title="Nobody may act">
            A session stands from the moment you approve it until it ends or you revoke it.
          </Empty>
        )}
        <ul class="tiles">
          {live.map((one) => (
            <SessionTile key={one.session_id} session={one} onRevoke={() => revoke(one)} />
          ))}
        </ul>
        {ended.length > 0 && (
          <details>
            <summary>{ended.length} that ended lately</summary>
            <ul class="plain-list">
              {ended.map((one) => (
                <li key={one.session_id}>
                  <Id text={one.session_id} /> {showText(one.end_reason ?? "")} <Time at={one.approved_at} />
                </li>
              ))}
            </ul>
          </details>
        )}
      </section>
      <section aria-labelledby="operations">
        <h2 id="operations">Operations</h2>
        {board.shown.length === 0 && board.ended.length === 0 && (
          <Empty title="Nothing is under way">
            Jobs at providers, and calls whose end is not known, appear here until they are settled.
          </Empty>
        )}
        <ul class="tiles">
          {[...board.shown, ...board.ended].map((one) => (
            <OperationTile
              key={one.operation_id}
              operation={one}
              onAsk={setAsking}
              onSaid={setSaid}
              act={act}
              meant={meant}
            />
          ))}
        </ul>
      </section>
      {asking !== null && (
        <ReasonDialog
          key={asking.title}
          title={asking.title}
          words="Why? The log keeps it."
          verb={asking.verb}
          onClose={() => setAsking(null)}
          onReason={(reason) => void act(() => asking.run(reason))}
        />
      )}
      {dialog}
    </>
  );
}

function SessionTile({ session, onRevoke }: { readonly session: Session; readonly onRevoke: () => void }) {
  const { caller, scope_granted, budget_granted, budget_used } = session;
  const process = caller.process;
  return (
    <li class="tile">
      <header>
        <b>{showBounded(caller.path_observed ?? "a program", 60)}</b>
        <Button class="no small" onClick={onRevoke}>
          Revoke
        </Button>
      </header>
      <p class="muted">
        process {process?.pid ?? "?"} of user {process?.uid ?? "?"}, approved by {showIdentifier(session.approved_by)}{" "}
        <Time at={session.approved_at} />
      </p>
      <p class="chips">
        {scope_granted.actions.slice(0, 6).map((action) => (
          <Chip key={action} kind="plain">
            {showIdentifier(action)}
          </Chip>
        ))}
        {scope_granted.actions.length > 6 && <Chip kind="plain">{scope_granted.actions.length - 6} more</Chip>}
      </p>
      {budget_granted !== null && budget_used !== null && (
        <div class="meters">
          <Meter label="Attempts" used={budget_used.attempts} limit={budget_granted.attempts} />
          <Meter label="Side effects" used={budget_used.side_effects} limit={budget_granted.side_effects} />
          {budget_granted.spend_cents > 0 && (
            <Meter label="Money" used={budget_used.spend_cents} limit={budget_granted.spend_cents} unit=" cents" />
          )}
        </div>
      )}
      {session.deadline_at !== null && (
        <p class="muted">
          ends by itself <Time at={session.deadline_at} />
        </p>
      )}
      <p class="muted">
        <Id text={session.session_id} /> <a href={`#/activity?q=${session.run_id}`}>what it did</a>
      </p>
    </li>
  );
}
