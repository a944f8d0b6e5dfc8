import type { Card } from "../conventions/approval/card.ts";
import {
  type DecisionStatement,
  type Narrowing,
  statementBytes,
  verifyHand,
} from "../conventions/approval/decision.ts";
import { challengeFor } from "../conventions/passkey/assertion.ts";
import type { EnrolledPasskey } from "../conventions/passkey/passkey.ts";
import { isTicketReference } from "../conventions/ticket/context.ts";
import type { Clock, Random } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../kernel/json.ts";
import type { WhereWords } from "../surfaces/cli/operator/where.ts";
import type { PageClient } from "../surfaces/cli/watch/feed.ts";
import type { TicketEntered } from "../surfaces/client/draft-decision.ts";
import type { ApprovalRecord, ApprovalView } from "../surfaces/operator/answers.ts";
import { readAssertion } from "./assertion.ts";
import { textOf, textOrNull } from "./http.ts";
import type { OwnSecret } from "./own-secret.ts";

/** What a page still has to bring before its decision is signed. */
export interface Drafted {
  readonly draft: string;
  /** For a yes: the passkeys that may answer, and what they answer for. */
  readonly passkey: {
    readonly challenge: string;
    readonly rp_id: string;
    readonly credentials: readonly string[];
  } | null;
}

export interface DecisionPorts {
  readonly clock: Pick<Clock, "bootMs">;
  readonly random: Random;
  client(): Pick<PageClient, "approval" | "draft" | "submit">;
  /** Those of the operator at this console that can answer at its place. */
  passkeys(): readonly EnrolledPasskey[];
  /** What was typed about the arguments of single actions, typed against the trusted packs. */
  readWhere(said: readonly WhereWords[], card: Card): Pick<Narrowing, "where">;
  /** For a yes without a passkey in guard-rail mode, as in gw watch. */
  readonly secret: Pick<OwnSecret, "require">;
  /** Where nothing else says yes: at a console that listens beyond this machine. */
  readonly passkeysOnly: boolean;
}

/**
 * A decision in two steps: what will be signed is drafted from the card as the gateway has it, and has to be the very one that the
 * page showed; a passkey answers for that draft; then it is signed and sent. A draft is used once.
 */
export function createDecisions(ports: DecisionPorts) {
  const drafts = new Map<
    string,
    {
      readonly shown: ApprovalView;
      readonly statement: DecisionStatement;
      readonly untilMs: number;
      readonly wants: Drafted["passkey"];
    }
  >();

  function keep(shown: ApprovalView, statement: DecisionStatement, passkey: Drafted["passkey"]): Drafted {
    const nowMs = ports.clock.bootMs();
    for (const [id, { untilMs }] of drafts)
      if (untilMs <= nowMs || drafts.size > defaults.consoleDrafts) drafts.delete(id);
    const draft = ports.random.bytes(16).toString("base64url");
    drafts.set(draft, { shown, statement, untilMs: nowMs + defaults.consoleDraftMs, wants: passkey });
    return { draft, passkey };
  }

  return {
    async draft(approvalId: string, body: JsonObject): Promise<Drafted> {
      const decision = body["decision"] === "approve" ? "approve" : "deny";
      const approval = await ports.client().approval(approvalId, textOrNull(body, "gateway"));
      requireShown(approval, body);
      const reason = decision === "deny" ? textOrNull(body, "reason") : null;
      const narrow = decision === "approve" ? readNarrowing(body["narrow"], approval, ports.readWhere) : null;
      const ticket = decision === "approve" ? readTicket(body) : null;
      const statement = await ports.client().draft(approval, { decision, reason, narrow, ticket });
      if (decision === "deny") return keep(approval, statement, null);
      const usable = ports.passkeys();
      const first = usable[0];
      if (first === undefined) {
        if (ports.passkeysOnly) throw new Denied("passkey_needed", "Here a yes is given with a passkey alone.");
        return keep(approval, statement, null);
      }
      const challenge = challengeFor(statementBytes(statement)).toString("base64url");
      const credentials = usable.map(({ credentialId }) => credentialId);
      return keep(approval, statement, { challenge, rp_id: first.rpId, credentials });
    },
    async give(body: JsonObject): Promise<ApprovalRecord> {
      const id = textOf(body, "draft", 100);
      const found = drafts.get(id);
      if (found === undefined || found.untilMs <= ports.clock.bootMs()) {
        throw new Denied("console_draft_gone", "That took too long, or was decided already. Decide again.");
      }
      const { shown, statement, wants } = found;
      if (wants === null && statement.decision === "approve") await ports.secret.require(body);
      const assertion = wants === null ? null : readAssertion(body["assertion"]);
      // Before anything is signed: a yes of this key would otherwise exist with no hand behind it. What the counter said last, the gateway knows.
      if (assertion !== null) verifyHand({ statement }, assertion, ports.passkeys(), ({ counter }) => counter - 1);
      drafts.delete(id);
      return ports.client().submit(statement, assertion, shown);
    },
  };
}

/** What the person saw, or nothing: the card may have been written anew since. */
export function requireShown({ card_digest }: Pick<ApprovalView, "card_digest">, body: JsonObject): void {
  if (card_digest === textOf(body, "card_digest", 100)) return;
  throw new Denied("card_mismatch", "The card has changed since it was shown. Read it again, then decide.");
}

/** Where the card needs one: by its reference alone, as in gw watch. */
function readTicket(body: JsonObject): TicketEntered | null {
  const ref = textOrNull(body, "ticket");
  if (ref === null) return null;
  if (!isTicketReference(ref)) {
    throw new Denied("ticket_invalid", "A ticket is named SYSTEM:REF, such as jira:OPS-17. Nothing was decided.");
  }
  return { ref, state: null, emergency: null };
}

/** Less than the card asks for, never more. */
function readNarrowing(
  value: unknown,
  { card, mode }: ApprovalView,
  readWhere: DecisionPorts["readWhere"],
): Narrowing | null {
  if (value === null || value === undefined) return null;
  const given = value as { readonly actions?: unknown; readonly budget?: unknown; readonly where?: unknown };
  const asked = card.scope?.actions ?? [];
  const actions = Array.isArray(given.actions)
    ? asked.filter((name) => (given.actions as unknown[]).includes(name))
    : null;
  if (actions?.length === 0)
    throw new Denied("value_not_allowed", "Nothing would be left to approve. Deny it instead.");
  const where = readWhere(
    wordsOf(given.where).filter(({ action }) => (actions ?? asked).includes(action)),
    card,
  );
  // The budget is the run's: whoever joins one later, or wants more for a session, takes nothing of it away.
  const limits = (mode === "session" ? (given.budget ?? {}) : {}) as Readonly<Record<string, unknown>>;
  const { budget } = card.run;
  const least = (name: keyof typeof budget): number => {
    const wanted = limits[name];
    return typeof wanted === "number" && Number.isSafeInteger(wanted) && wanted >= 0
      ? Math.min(wanted, budget[name])
      : budget[name];
  };
  const narrowed = {
    attempts: least("attempts"),
    side_effects: least("side_effects"),
    duration_seconds: least("duration_seconds"),
    spend_cents: least("spend_cents"),
  };
  const less = (Object.keys(narrowed) as (keyof typeof narrowed)[]).some((name) => narrowed[name] !== budget[name]);
  const fewer = actions !== null && actions.length < asked.length;
  if (!less && !fewer && where.where === undefined) return null;
  return { actions: fewer ? actions : null, request_bytes: null, budget: less ? narrowed : null, ...where };
}

const CONDITIONS = 64;

function wordsOf(value: unknown): readonly WhereWords[] {
  if (!Array.isArray(value)) return [];
  if (value.length > CONDITIONS) throw new Denied("value_not_allowed", `${CONDITIONS} conditions at most.`);
  return value.map((one: JsonValue) => {
    const words = isJsonObject(one) ? one : {};
    return { action: textOf(words, "action", 200), text: textOf(words, "text", 1_200) };
  });
}
