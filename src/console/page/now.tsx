import { useEffect, useState } from "preact/hooks";
import { showIdentifier, showText } from "../../kernel/display.ts";
import { ask } from "./api.ts";
import { Gateways } from "./gateways.tsx";
import type { OperationBoard } from "./model.ts";
import { type Asked, OperationTile } from "./operation.tsx";
import { Empty, Id, Problem, Time } from "./parts.tsx";
import { ReasonDialog } from "./reason.tsx";
import { useMeant } from "./secret.tsx";
import { type Session, SessionTile } from "./session.tsx";

/** Who may act now, and what is under way at providers. */
export function Now(props: { readonly board: OperationBoard; readonly remote: boolean; readonly hub: string | null }) {
  const { board, remote, hub } = props;
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
      {hub !== null && <Gateways url={hub} />}
      <section aria-labelledby="sessions">
        <h2 id="sessions">Sessions</h2>
        {sessions !== null && live.length === 0 && (
          <Empty title="Nobody may act">
            A session stands from the moment you approve it until it ends or you revoke it.
          </Empty>
        )}
        <ul class="tiles">
          {live
            .filter((one) => !live.some((other) => isBelow(one, other)))
            .map((one) => (
              <SessionTile
                key={`${one.session_id} ${one.gateway ?? ""}`}
                session={one}
                below={live.filter((other) => isBelow(other, one))}
                onRevoke={revoke}
              />
            ))}
        </ul>
        {ended.length > 0 && (
          <details>
            <summary>{ended.length} that ended lately</summary>
            <ul class="plain-list">
              {ended.map((one) => (
                <li key={`${one.session_id} ${one.gateway ?? ""}`}>
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
              key={`${one.operation_id} ${gatewayOf(one)}`}
              operation={one}
              gateway={gatewayOf(one)}
              remote={remote}
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

/** Whose it is, where a hub shows several. */
function gatewayOf(one: object): string | null {
  return "gateway" in one && typeof one.gateway === "string" ? one.gateway : null;
}

/** Whether `gw run` started the one and is the other. */
function isBelow(one: Session, other: Session): boolean {
  const together = one.gateway === other.gateway && one.run_id === other.run_id;
  return together && one.command === null && other.command !== null;
}
