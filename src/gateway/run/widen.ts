import type { ActionReach, Scope } from "../../conventions/scope/scope.ts";
import { isoTime } from "../../kernel/clock.ts";
import type { ApprovalId } from "../../kernel/ids.ts";
import { type Outbound, reachOf } from "../outbound/outbound.ts";
import type { Way } from "../prepare.ts";
import type { RunNeeds } from "./needs.ts";
import type { Run, Session } from "./run.ts";

/** What a session needs for this call and does not have yet. A preview is of no use without what carries it out. */
export function lackedBy({ scope }: Session, outbound: Outbound, way: Way): readonly ActionReach[] {
  const needed = way.kind === "preview" ? [outbound.reach, reachOf(way.executes)] : [outbound.reach];
  const had = new Set(scope.actions.map(({ action }) => action));
  return needed.filter(({ action }) => !had.has(action));
}

/** By a person's card, or by the grant that covers the call which needs it. */
export async function widen(
  core: Pick<RunNeeds, "envelope" | "ledger" | "ports">,
  run: Run,
  session: Session,
  more: Scope["actions"],
  approved: { readonly approvalId: ApprovalId | null; readonly by: string },
): Promise<void> {
  // Recorded before anything can use it.
  await core.ledger.record("session.widened", [
    {
      ...core.envelope("session_widened"),
      run_id: run.id,
      session_id: session.id,
      approval_id: approved.approvalId ?? "none",
      scope: more.map(({ action }) => action),
      approved_by: approved.by,
      approved_at: isoTime(core.ports.clock.wallMs()),
    },
  ]);
  const had = new Set(session.scope.actions.map(({ action }) => action));
  const fresh = more.filter(({ action }) => !had.has(action));
  session.scope = { ...session.scope, actions: [...session.scope.actions, ...fresh] };
}
