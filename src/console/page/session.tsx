import { showBounded, showIdentifier, showText } from "../../kernel/display.ts";
import { Button, Chip, Id, Meter, Time } from "./parts.tsx";

export interface Session {
  /** Whose it is, where a hub shows several. */
  readonly gateway?: string;
  readonly session_id: string;
  readonly run_id: string;
  readonly state: string;
  readonly caller: {
    readonly path_observed?: string | null;
    readonly process?: { readonly pid: number; readonly uid: number };
  };
  readonly scope_granted: { readonly actions: readonly string[]; readonly where?: readonly string[] };
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
  readonly purpose: string | null;
  /** Of a wrapper: what it said that it would start; null for everybody else. */
  readonly command: readonly string[] | null;
  /** Of what a wrapper started: the processes between, the wrapper last. */
  readonly parents: readonly number[];
  readonly approved_by: string;
  readonly approved_at: string;
  readonly end_reason: string | null;
}

/** One who may act, what is left of its budget, and what it started. */
export function SessionTile(props: {
  readonly session: Session;
  readonly below: readonly Session[];
  readonly onRevoke: (session: Session) => void;
}) {
  const { session, below, onRevoke } = props;
  const { caller, scope_granted, command } = session;
  const process = caller.process;
  return (
    <li class="tile">
      <header>
        <b>{showBounded(caller.path_observed ?? "a program", 60)}</b>
        <Button class="no small" onClick={() => onRevoke(session)}>
          Revoke
        </Button>
      </header>
      {session.purpose !== null && <p>“{showBounded(session.purpose, 120)}”</p>}
      {session.gateway !== undefined && (
        <p>
          on <b>{showIdentifier(session.gateway)}</b>
        </p>
      )}
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
      {scope_granted.where?.map((words) => (
        <p key={words}>
          only where <code>{showBounded(words, 200)}</code>
        </p>
      ))}
      <Meters session={session} />
      {command !== null && (
        <>
          <p>
            holds what it starts: <code>{showBounded(command.map(showText).join(" "), 120)}</code>
          </p>
          {below.length === 0 ? (
            <p class="muted">Nothing that it started has acted yet.</p>
          ) : (
            <Tree all={below} under={process?.pid ?? 0} onRevoke={onRevoke} />
          )}
        </>
      )}
      <p class="muted">
        <Id text={session.session_id} /> <a href={`#/activity?q=${session.run_id}`}>what it did</a>
      </p>
    </li>
  );
}

/** The processes of a `gw run` that act in it, each below the nearest that does as well. */
function Tree(props: {
  readonly all: readonly Session[];
  readonly under: number;
  readonly onRevoke: (session: Session) => void;
}) {
  const { all, under, onRevoke } = props;
  const pids = new Set(all.map(pidOf));
  const parentOf = ({ parents }: Session): number => parents.find((pid) => pids.has(pid)) ?? parents.at(-1) ?? under;
  const here = all.filter((one) => parentOf(one) === under && pidOf(one) !== under);
  if (here.length === 0) return null;
  return (
    <ul class="tree">
      {here.map((one) => (
        <li key={one.session_id}>
          <span>
            <code>{pidOf(one)}</code> {showBounded(one.caller.path_observed ?? "a program", 40)}
          </span>{" "}
          <Button class="link" onClick={() => onRevoke(one)} aria-label={`Revoke process ${pidOf(one)}`}>
            Revoke
          </Button>
          <Tree all={all} under={pidOf(one)} onRevoke={onRevoke} />
        </li>
      ))}
    </ul>
  );
}

function pidOf({ caller }: Session): number {
  return caller.process?.pid ?? 0;
}

function Meters({ session: { budget_granted: most, budget_used: used, deadline_at } }: { readonly session: Session }) {
  if (most === null || used === null) return null;
  const leftSeconds = deadline_at === null ? null : Math.round((Date.parse(deadline_at) - Date.now()) / 1000);
  const minutes = Math.ceil(most.duration_seconds / 60);
  return (
    <div class="meters">
      <Meter label="Attempts" used={used.attempts} limit={most.attempts} />
      <Meter label="Side effects" used={used.side_effects} limit={most.side_effects} />
      {leftSeconds !== null && (
        <Meter
          label="Time"
          used={Math.min(minutes, Math.max(0, minutes - Math.ceil(leftSeconds / 60)))}
          limit={minutes}
          unit=" min"
        />
      )}
      {most.spend_cents > 0 && <Meter label="Money" used={used.spend_cents} limit={most.spend_cents} unit=" cents" />}
    </div>
  );
}
