import type { Narrowing } from "../../../conventions/approval/decision.ts";
import { requireNarrowable } from "../../../conventions/approval/narrowing.ts";
import { renderCard, renderEssential } from "../../../conventions/approval/render.ts";
import { narrowingWords } from "../../../conventions/approval/render-narrowing.ts";
import { proposeGrant } from "../../../conventions/grant/propose.ts";
import { isTicketReference } from "../../../conventions/ticket/context.ts";
import { showIdentifier, showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { readId } from "../../../kernel/ids.ts";
import type { VaultHome } from "../../../vault/files/home.ts";
import type { Decision, TicketEntered } from "../../client/draft-decision.ts";
import { ordersOf } from "../../client/orders.ts";
import type { ReadingClient } from "../../client/reading.ts";
import type { ApprovalRecord, ApprovalView } from "../../operator/answers.ts";
import { answering } from "../answer.ts";
import { type BudgetOptions, budgetAsked } from "../commands/budget-options.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type GrantPlace, placeIn, signGrantLine } from "../grant/grant.ts";
import { NOT_NAMED, writeGrantLine } from "../grant/line.ts";
import { type Exit, exits } from "../io.ts";
import { type OperatorOptions, operatorDoor } from "../options.ts";
import { hangOf, sayProse } from "../say-prose.ts";
import { type VaultSession, withOperator } from "../vault/session.ts";
import { lookFirst, requireSomebody, withGateway, withReadingGateway } from "./session.ts";
import { emergencyOf } from "./ticket.ts";
import { readWhere, splitWhere } from "./where.ts";

/** Whether the part of a card that is folded in gw watch is printed too. */
export interface EvidenceOption {
  readonly evidence?: boolean;
}

export interface ApproveOptions extends OperatorOptions, BudgetOptions, EvidenceOption {
  readonly only?: readonly string[];
  /** `ACTION CONDITION`: what the arguments of an action have to be. */
  readonly where?: readonly string[];
  /** Also sign a grant for such calls. */
  readonly grant?: boolean;
  readonly reason?: string;
  /** SYSTEM:REF, for a call that needs a ticket or as the work of a new run. */
  readonly ticket?: string;
  readonly ticketState?: string;
  readonly target?: readonly string[];
  readonly emergency?: boolean;
  readonly openedAt?: string;
}

/** `gw approvals`. */
export function runApprovals(options: OperatorOptions & EvidenceOption, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  return answering(io, () =>
    withReadingGateway(options, deps, async ({ client }) => {
      const waiting = await client.approvals();
      if (options.json) io.out(JSON.stringify(waiting, null, 2));
      else if (waiting.length === 0) io.out("Nothing waits for a decision.");
      else
        for (const approval of waiting)
          for (const line of approvalLines(approval, options)) sayProse(io, line, hangOf(line));
      return exits.done;
    }),
  );
}

/** `gw approve ID` and `gw deny ID`: a signature over exactly the card that is printed. */
export function runDecide(
  id: string | undefined,
  decision: "approve" | "deny",
  options: ApproveOptions,
  deps: CliDeps,
): Promise<Exit> {
  return answering(deps.io, () => decide(id, decision, options, deps));
}

/** `gw revoke SESSION`. */
export function runRevoke(id: string, options: ApproveOptions, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  const inSession = async ({ operator }: VaultSession): Promise<Exit> => {
    await ordersOf(operatorDoor(options), operator, deps).revoke(id, options.reason ?? null);
    if (options.json) io.out(JSON.stringify({ session_id: id, state: "ended" }));
    else io.out(`Session ${showIdentifier(id)} has ended.`);
    return exits.done;
  };
  return answering(io, async () => {
    if (readId("ses", id) === undefined)
      throw new Denied("not_found", `"${showText(id)}" is no session. See them with: gw sessions`);
    await requireSomebody(options);
    // What takes power away works on an old home too.
    return await withOperator(options, io, deps.vault, inSession, { goingBack: "told" });
  });
}

async function decide(
  named: string | undefined,
  decision: "approve" | "deny",
  options: ApproveOptions,
  deps: CliDeps,
): Promise<Exit> {
  // A script names what it signs: whatever waits by now may be something else.
  if (named === undefined && isUnseen(options, deps))
    throw new Denied("value_not_allowed", "Name the card: gw approve ID. See: gw approvals");
  if (named !== undefined && readId("apr", named) === undefined)
    throw new Denied("not_found", `"${showText(named)}" is no card. See those that wait: gw approvals`);
  if (decision === "approve") requireReadable(options);
  const find = async (client: ReadingClient): Promise<ApprovalView> => {
    const found = await client.approval(named ?? onlyOne(await client.approvals()));
    if (found.state === "pending") return found;
    const id = showIdentifier(found.approval_id);
    throw new Denied("approval_not_pending", `${id} is ${found.state}; nothing was changed.`);
  };
  // Where a login may look, before a PIN is typed.
  await lookFirst(options, deps, async (client) => void (await find(client)));
  return await withGateway(options, deps, async (session) => {
    const { client } = session;
    const approval = await find(client);
    const id = approval.approval_id;
    if (!options.json) for (const line of approvalLines(approval, options)) deps.io.err(line);
    // Whatever is wrong with it is said before anything is asked or a grant is signed.
    const word = wordOn(approval, decision, options, session.home);
    if (!options.json) for (const line of assignedLines(word)) deps.io.err(line);
    if (decision === "approve" && !(await isMeant(options, deps))) {
      deps.io.err(`Nothing was signed. ${showIdentifier(id)} still waits.`);
      return exits.denied;
    }
    if (options.grant === true) await signProposed(approval, placeIn(session, deps.vault), options, deps);
    const decided = await client.decide(approval, word);
    if (options.json) deps.io.out(JSON.stringify(decided, null, 2));
    else deps.io.out(`${showIdentifier(id)} is ${decided.state}${stillWanted(decided)}.`);
    return exits.done;
  });
}

/** What can be seen to be wrong with the command line alone. */
export function requireReadable(options: ApproveOptions): void {
  const { ticket, ticketState, target = [] } = options;
  if (emergencyOf(options) === null && ticket === undefined && (ticketState !== undefined || target.length > 0))
    throw new Denied("ticket_invalid", "--ticket-state and --target go with --ticket SYSTEM:REF.");
  for (const where of options.where ?? []) splitWhere(where);
  if (ticket !== undefined && !isTicketReference(ticket))
    throw new Denied("ticket_invalid", "A ticket is named SYSTEM:REF, such as --ticket jira:OPS-17.");
}

/** What the person says to this card, with all that the command line adds to it. */
export function wordOn(
  approval: ApprovalView,
  decision: "approve" | "deny",
  options: ApproveOptions,
  home: VaultHome,
): Decision {
  if (decision === "deny") return { decision, reason: options.reason ?? null, narrow: null };
  if (approval.card.decide?.passkey === true) {
    const where = approval.card.decide.where.map(showIdentifier).join(" or ");
    throw new Denied(
      "passkey_needed",
      `A yes to this needs a passkey${where === "" ? "" : `, at ${where}`}. Open it with: gw console. Nothing was signed; a no needs none: gw deny ${showIdentifier(approval.approval_id)}`,
    );
  }
  return { decision, reason: null, narrow: narrowing(approval, options, home), ticket: ticketFor(approval, options) };
}

/** A person reads the card before anything is signed. A script, which has its passphrase in a file, has decided already. */
export async function isMeant(options: ApproveOptions, deps: CliDeps): Promise<boolean> {
  if (isUnseen(options, deps)) return true;
  return (await deps.io.ask("Sign this? y for yes, anything else leaves it waiting: ")).trim() === "y";
}

function isUnseen({ json, passphraseFile }: ApproveOptions, { io }: CliDeps): boolean {
  return json || passphraseFile !== undefined || !io.isTty;
}

/** The card that waits, where it is the only one. It is shown before anything is signed. */
function onlyOne(waiting: readonly ApprovalView[]): string {
  const [first, second] = waiting;
  if (first === undefined) throw new Denied("not_found", "Nothing waits for a decision.");
  if (second === undefined) return first.approval_id;
  const ids = waiting.map(({ approval_id }) => showIdentifier(approval_id)).join(", ");
  throw new Denied("value_not_allowed", `${waiting.length} cards wait: ${ids}. Name one: gw approve ID`);
}

/** The narrowest grant that would have covered it, as the person leaves it. It is signed first: where it does not hold, nothing is approved. */
export async function signProposed(
  { card }: ApprovalView,
  place: GrantPlace,
  options: ApproveOptions,
  { io, vault }: CliDeps,
): Promise<void> {
  const proposal = proposeGrant(card);
  if (proposal.kind === "none") {
    throw new Denied("grant_invalid", `No grant could cover this: ${proposal.why}. Nothing was approved.`);
  }
  io.err(NOT_NAMED);
  const line = await io.ask("gw grant add ", writeGrantLine(proposal.words));
  const { name } = await signGrantLine(line, place, options, vault);
  io.err(`Signed: ${name} lets such calls pass without a card, from now on.`);
}

/** Two people have to approve it, and this was the first. */
function stillWanted({ state, given }: ApprovalRecord): string {
  return state === "pending" && given.length > 0
    ? "; your yes is on record, and a second operator has to approve it"
    : "";
}

/** What is signed beside the card: it came from the command line, and no card shows it. */
function assignedLines(word: Decision): readonly string[] {
  const ticket = word.decision === "approve" ? (word.ticket ?? null) : null;
  if (ticket === null) return [];
  const { ref, emergency, covers } = ticket;
  const { operations, targets } = covers ?? { operations: ["exactly this call"], targets: [] };
  return [
    "  You sign with it",
    ...(emergency === null ? [] : [`    EMERGENCY   "${showText(emergency.reason)}"`]),
    `    ticket      ${ref === null ? "none" : showIdentifier(ref)}`,
    ...operations.map((one) => `    covers      ${showIdentifier(one)}`),
    ...targets.map((one) => `    at target   ${showIdentifier(one)}`),
    "",
  ];
}

/** What the operator assigns with this approval; null where the card asks for none and none was given. */
function ticketFor({ approval_id, card, given: before }: ApprovalView, options: ApproveOptions): TicketEntered | null {
  const { ticket, ticketState, target = [], only } = options;
  const emergency = emergencyOf(options);
  const given = ticket !== undefined || emergency !== null;
  if (!given) {
    const another = card.decide?.approvers === 2 && before.length === 0;
    if (card.ticket_needed !== undefined && !another) {
      throw new Denied(
        "approval_needs_ticket",
        `This call needs a ticket. Approve it with: gw approve ${approval_id} --ticket SYSTEM:REF`,
      );
    }
    return null;
  }
  const entered = { ref: ticket ?? null, state: ticketState ?? null, emergency };
  if (card.ticket_needed !== undefined) {
    if (target.length === 0) return entered;
    throw new Denied("ticket_invalid", "The card names the target of this call itself; leave --target out.");
  }
  if (card.asks !== "session" || card.scope === null || target.length === 0) {
    throw new Denied(
      "ticket_invalid",
      "A ticket goes with a call that needs one, or with a new session and at least one --target URL.",
    );
  }
  return { ...entered, covers: { operations: only ?? card.scope.actions, targets: target } };
}

function narrowing({ card, mode }: ApprovalView, options: ApproveOptions, home: VaultHome): Narrowing | null {
  const { only, where = [] } = options;
  const budget = budgetAsked(options);
  const narrows = Object.keys(budget).length > 0;
  if (only === undefined && where.length === 0 && !narrows) return null;
  const narrowed = {
    actions: only ?? null,
    request_bytes: null,
    budget: narrows ? { ...card.run.budget, ...budget } : null,
    ...readWhere(where.map(splitWhere), options.home, home, card),
  };
  requireNarrowable(mode, card, narrowed);
  return narrowed;
}

/** What has to be read; the evidence, which is signed with it, where it is asked for. */
export function approvalLines(approval: ApprovalView, { evidence }: EvidenceOption): readonly string[] {
  const lines = evidence === true ? renderCard(approval.card) : renderEssential(approval.card);
  return [
    `${approval.approval_id}  ${approval.state}, ${Math.ceil(approval.expires_in_ms / 1000)} s left, ${showText(approval.run_id)}`,
    ...approval.given.map(
      ({ operator, narrow }) =>
        `  approved by ${showText(operator)}${narrow === null ? "" : `, narrowed to ${narrowingWords(narrow)}`}`,
    ),
    ...lines.map((line) => `  ${line}`),
    "",
  ];
}
