import { signStatement } from "../../../conventions/approval/decision.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { type ApprovalId, readId } from "../../../kernel/ids.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { draftDecision } from "../../client/draft-decision.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { FOR_EACH_HOST } from "../grant/line.ts";
import { type Exit, exits } from "../io.ts";
import {
  type ApproveOptions,
  approvalLines,
  type EvidenceOption,
  isMeant,
  requireReadable,
  signProposed,
  wordOn,
} from "../operator/decide.ts";
import type { OperatorOptions } from "../options.ts";
import { hangOf, sayProse } from "../say-prose.ts";
import { besideOf, findCard, findCards } from "./cards.ts";
import { warnOpen } from "./grant.ts";
import { knownTo, type OnHub, onHub, readingHub } from "./hub-session.ts";
import { readPolicyOnHub } from "./policy.ts";
import { revokeOnHub, unknownSession } from "./revoke.ts";
import { type Answered, say } from "./say.ts";

/** `gw approvals --hub URL`. */
export function runHubApprovals(options: OperatorOptions & EvidenceOption & OnHub, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  return readingHub(options, deps, async (session) => {
    const cards = await findCards(session, deps.clock, besideOf(deps.io));
    if (options.json) {
      io.out(
        JSON.stringify(
          cards.map(({ speaker, approval }) => ({ gateway: speaker.gateway, ...approval })),
          null,
          2,
        ),
      );
    } else if (cards.length === 0) io.out("Nothing waits for a decision.");
    for (const { speaker, approval } of options.json ? [] : cards) {
      io.out(`on ${speaker.gateway}`);
      for (const line of approvalLines(approval, options)) sayProse(io, line, hangOf(line));
    }
    return exits.done;
  });
}

/** `gw approve ID --hub URL` and `gw deny ID --hub URL`: the same signature over the same card, by another way. */
export function runHubDecide(
  id: string,
  decision: "approve" | "deny",
  options: ApproveOptions & OnHub,
  deps: CliDeps,
): Promise<Exit> {
  return answering(deps.io, () => {
    const approvalId = readId("apr", id);
    if (approvalId === undefined)
      throw new Denied("not_found", `Name the card: gw ${decision} ID --hub URL. What waits: gw approvals --hub URL`);
    if (decision === "approve") requireReadable(options);
    return decideOnHub(approvalId, decision, options, deps);
  });
}

function decideOnHub(
  id: ApprovalId,
  decision: "approve" | "deny",
  options: ApproveOptions & OnHub,
  deps: CliDeps,
): Promise<Exit> {
  return onHub(options, deps, async (session) => {
    const found = await findCard(session, id, deps.clock, besideOf(deps.io));
    if (found === undefined) {
      throw new Denied(
        "not_found",
        `${showIdentifier(id)} does not wait on this hub, or not for you: it was decided, expired, or its gateway has not shown it. Nothing was signed. What waits: gw approvals --hub URL; what was decided: gw sessions --hub URL`,
      );
    }
    const { approval, speaker, log } = found;
    if (!options.json) for (const line of approvalLines(approval, options)) deps.io.err(line);
    const word = wordOn(approval, decision, options, session.home);
    if (decision === "approve" && !(await isMeant(options, deps))) {
      deps.io.err(`Nothing was signed. ${showIdentifier(id)} still waits.`);
      return exits.denied;
    }
    // It is signed first: where it does not hold, nothing is approved.
    if (options.grant === true) {
      deps.io.err(FOR_EACH_HOST);
      const tell = (answered: readonly Answered[]): void => warnOpen(answered, deps);
      await signProposed(approval, await readPolicyOnHub(session, deps, { tell }), options, deps);
    }
    const statement = await draftDecision(approval, word, session.operator, log, deps.clock, knownTo(session));
    const body = JSON.stringify(signStatement(statement, session.operator.approver));
    const state = await say({ ...session, speakers: [speaker] }, body, deps);
    return tell(options, deps, { approval_id: id, gateway: speaker.gateway, state }, `${showIdentifier(id)} is`, state);
  });
}

/** `gw revoke SESSION --hub URL`: wherever in the vault the session is. */
export function runHubRevoke(id: string, options: ApproveOptions & OnHub, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, () => {
    if (readId("ses", id) === undefined) throw unknownSession();
    return onHub(options, deps, async (session) => {
      const state = await revokeOnHub(session, id, options.reason ?? null, deps);
      return tell(options, deps, { session_id: id, state }, `Session ${showIdentifier(id)} has`, state);
    });
  });
}

function tell(
  { json }: OperatorOptions,
  { io }: CliDeps,
  record: JsonObject,
  what: string,
  state: string | null,
): Exit {
  if (json) io.out(JSON.stringify(record, null, 2));
  else if (state !== null) io.out(`${what} ${showIdentifier(state)}.`);
  else
    io.err(
      "It is signed and on the hub, and the gateway has not answered yet. It takes it when it is back, unless time runs out.",
    );
  return state === null ? exits.pending : exits.done;
}
