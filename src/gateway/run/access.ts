import { quote } from "../../conventions/approval/render-line.ts";
import { narrowScope, type Scope } from "../../conventions/scope/scope.ts";
import { Denied } from "../../kernel/failure.ts";
import type { ApprovalId } from "../../kernel/ids.ts";
import { writeQuestion } from "../approval/cards.ts";
import { requireUnlocked } from "../core.ts";
import { requireLiveCaller, requireStanding } from "../outbound/admit.ts";
import { reachOf } from "../outbound/outbound.ts";
import type { LiveCaller } from "../ports.ts";
import type { RunNeeds } from "./needs.ts";
import type { Run } from "./run.ts";
import { widen } from "./widen.ts";

/** What an agent asks a person for beyond its session. The names are checked for shape before they come here. */
export interface AccessRequest {
  readonly actions: readonly string[];
  readonly credentials: readonly string[];
  /** The agent's own words. */
  readonly reason: string;
}

export interface Access {
  /** Null when there was nothing to ask: the session has all of it. */
  readonly approvalId: ApprovalId | null;
  readonly answer: Promise<AccessAnswer>;
}

export interface AccessAnswer {
  /** In the session's scope from now on. */
  readonly granted: readonly string[];
  /** A person agreed, and it still needs their hand: a pack to trust, a credential to add. */
  readonly noted: readonly string[];
}

/**
 * Widens a standing session by a card of its own. Only what a trusted pack defines can come in this way; for the rest
 * the person's answer is recorded and told, and nothing else changes.
 */
export function requestAccess(core: RunNeeds, run: Run, caller: LiveCaller, request: AccessRequest): Access {
  requireLiveCaller(caller);
  requireUnlocked(core);
  const session = run.sessions.get(caller.key);
  if (session === undefined) throw new Denied("session_ended", "There is no session to widen.");
  requireStanding(core, run, session);
  const had = new Set(session.scope.actions.map(({ action }) => action));
  const wanted = [...new Set(request.actions)].filter((name) => !had.has(name));
  const known = wanted.flatMap((name) => core.packs().find(name) ?? []);
  const names = new Set(known.map(({ action }) => action.qualifiedName));
  const foreign = wanted.filter((name) => !names.has(name));
  if (wanted.length === 0 && request.credentials.length === 0) {
    return { approvalId: null, answer: Promise.resolve({ granted: [...new Set(request.actions)], noted: [] }) };
  }
  const extra: Scope | null =
    known.length === 0 ? null : { actions: known.map(reachOf), requestBytes: session.scope.requestBytes };
  const ask = core.desk.ask(
    writeQuestion(core, {
      mode: "access",
      run,
      caller,
      scope: extra,
      call: null,
      says: request.reason,
      notes: notesOf(foreign, request.credentials),
    }),
  );
  const noted = [...foreign, ...request.credentials];
  const answer = ask.answer.then(async ({ statement }) => {
    requireStanding(core, run, session);
    const more = extra === null ? [] : narrowScope(extra, statement.narrow).actions;
    if (more.length > 0) await widen(core, run, session, more, { approvalId: ask.approvalId, by: statement.operator });
    return { granted: more.map(({ action }) => action), noted };
  });
  answer.catch(() => undefined);
  return { approvalId: ask.approvalId, answer };
}

function notesOf(foreign: readonly string[], credentials: readonly string[]): readonly string[] {
  const notes: string[] = [];
  if (foreign.length > 0) {
    notes.push(
      `no trusted pack defines what it calls ${foreign.map(quote).join(", ")}: to give it, trust a pack that does (gw pack trust)`,
    );
  }
  if (credentials.length > 0) {
    notes.push(
      `it asks for a credential that it calls ${credentials.map(quote).join(", ")}: to give it, add it (gw credential add)`,
    );
  }
  if (notes.length > 0) notes.push("approving those alone changes nothing; your answer is told to the agent");
  return notes;
}
