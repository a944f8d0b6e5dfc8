import {
  type DecisionStatement,
  ERRAND_UNDER_WAY,
  type ExtensionStatement,
  signStatement,
} from "../../../conventions/approval/decision.ts";
import { approvalStates } from "../../../conventions/approval/state.ts";
import type { OperationErrand } from "../../../conventions/operation/errand.ts";
import { operationStates } from "../../../conventions/operation/state.ts";
import { needsPerson, type OperationDetail } from "../../../conventions/operation/summary.ts";
import type { Assertion } from "../../../conventions/passkey/assertion.ts";
import { connectHub, type HubLogin } from "../../../hub/connect.ts";
import type { Speaker } from "../../../hub/speaker.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { Unreachable } from "../../client/connection.ts";
import { type Decision, draftDecision } from "../../client/draft-decision.ts";
import { settlementOf } from "../../client/settlement.ts";
import type { ApprovalRecord, ApprovalView } from "../../operator/answers.ts";
import type { CliDeps } from "../commands/deps.ts";
import type { VaultSession } from "../vault/session.ts";
import type { PageClient } from "../watch/feed.ts";
import { cardName, type FoundCard, findCards, findEndings, findOperations, findSessions, UNSAID } from "./cards.ts";
import { findSpeakers, knownTo } from "./hub-session.ts";
import { askErrand, findShown, requireSame } from "./operations.ts";
import { revokeOnHub } from "./revoke.ts";
import { say } from "./say.ts";

type HubOperation = OperationDetail & { readonly gateway: string };

/** A card that was told of, and when it was last seen. */
interface Told {
  readonly card: FoundCard;
  readonly version: string;
  readonly seenMs: number;
}

/** What a live screen or a page asks of a gateway, asked of all gateways of a vault on a hub. */
export async function connectHubClient(login: HubLogin, session: VaultSession, deps: CliDeps): Promise<PageClient> {
  const { operator } = session;
  const [connection, orders] = await connectBoth(login);
  const close = (): void => {
    void connection.close();
    void orders.close();
  };
  let speakers: readonly Speaker[] = await findSpeakers(connection, session).catch((error: unknown) => {
    close();
    throw error;
  });
  let known: readonly FoundCard[] = [];
  /** What the last look had no room for. */
  let unread: readonly string[] = [];
  const io = { ...deps.io, err: () => undefined };

  async function look(): Promise<readonly FoundCard[]> {
    speakers = await findSpeakers(connection, session);
    const lines: string[] = [];
    const beside = { ...UNSAID, unread: (line: string) => void lines.push(line) };
    const found = await findCards({ connection, speakers, operator }, deps.clock, beside);
    [known, unread] = [found, lines];
    return found;
  }

  async function operations(): Promise<readonly HubOperation[]> {
    const found = await findOperations({ connection, speakers, operator }, UNSAID);
    // A host that died still shows what another has by now.
    return found
      .filter(({ takenBy }) => takenBy === null)
      .map(({ speaker: { gateway }, operation }) => ({ ...operation, gateway }));
  }

  async function draft(approval: ApprovalView, decision: Decision): Promise<DecisionStatement> {
    const card = shownCard(known, approval);
    return await draftDecision(card.approval, decision, operator, card.log, deps.clock, knownTo(session));
  }

  async function submit(
    statement: DecisionStatement,
    assertion: Assertion | null,
    shown: ApprovalView,
  ): Promise<ApprovalRecord> {
    const { speaker } = shownCard(known, shown);
    const signed = signStatement(statement, operator.approver);
    const said = await order([speaker], JSON.stringify(assertion === null ? signed : { ...signed, assertion }));
    const state = approvalStates.find((one) => one === said) ?? noState();
    const decided_by = state === "pending" ? null : operator.name;
    return { ...shown, state, decided_by, reason: statement.reason };
  }

  /** The card that its gateway then shows has another digest: whoever decided about the old one reads it again. */
  async function extend(shown: ApprovalView, seconds: number): Promise<ApprovalRecord> {
    const { speaker } = shownCard(known, shown);
    const statement: ExtensionStatement = {
      format: "gw.extension/v1",
      vault_id: operator.vaultId,
      approval_id: shown.approval_id,
      card_digest: shown.card_digest,
      seconds,
      operator: operator.name,
      operator_key_id: operator.keyId,
      decided_at: isoTime(deps.clock.wallMs()),
    };
    const left = await order([speaker], JSON.stringify(signStatement(statement, operator.approver)));
    return /^\d{1,9}$/.test(left) ? { ...shown, expires_in_ms: Number(left) * 1000 } : noState();
  }

  async function order(to: readonly Speaker[], body: string): Promise<string> {
    return answerOf(await say({ connection: orders, speakers: to }, body, deps));
  }

  async function askOperation(what: OperationErrand, id: string, reason = "no reason given"): Promise<HubOperation> {
    const hub = { connection: orders, speakers, operator };
    const { operation, gateway, state } = await askErrand(hub, what, id, reason, {
      ...deps,
      io,
    });
    const said = answerOf(state);
    // A provider that takes its time leaves it as it was.
    if (said === ERRAND_UNDER_WAY) return { ...operation, gateway };
    return { ...operation, gateway, state: operationStates.find((one) => one === said) ?? noState() };
  }

  return {
    // A machine of its own is no gateway for all users: a decision asks for the PIN.
    status: () => Promise.resolve({ mode: "guard-rail", locked: false, uid: -1, unread }),
    approvals: async () => (await look()).map(shownOn),
    async *watch(signal) {
      const told = new Map<string, Told>();
      for (let woken = new AbortController(); !signal.aborted; ) {
        await connection.listen(() => woken.abort());
        for (; !signal.aborted; woken = new AbortController()) {
          const nowMs = deps.clock.bootMs();
          for (const card of await look()) {
            const { approval_id, card_digest, given } = card.approval;
            const version = `${card_digest} ${given.length}`;
            const name = cardName(card.speaker, approval_id);
            const before = told.get(name)?.version;
            told.set(name, { card, version, seenMs: nowMs });
            if (before !== version) yield { kind: "approval", view: shownOn(card) };
          }
          const over = [...told].filter(([, { seenMs }]) => seenMs < nowMs);
          const endings = over.length === 0 ? null : await findEndings({ connection, speakers, operator }, UNSAID);
          for (const [name, { card, seenMs }] of over) {
            const ending = endings?.get(name);
            if (ending !== undefined) yield { kind: "approval", view: { ...shownOn(card), ...ending } };
            // A gateway takes a card away before it says how it ended, and may never say it.
            if (ending !== undefined || nowMs - seenMs > defaults.hubSilentMs) told.delete(name);
          }
          const shown = await operations();
          const open = shown.filter(({ settled }) => !settled);
          const needs_person = open.filter((one) => needsPerson(one)).length;
          yield { kind: "operations", board: { open: open.length, needs_person, shown, ended: [] } };
          // Whoever tells all the time is not looked at all the time.
          await deps.sleep.sleep(defaults.hubAgainMs, signal);
          await deps.sleep.sleep(defaults.hubBeatMs, AbortSignal.any([signal, woken.signal]));
        }
      }
    },
    decide: async (approval, decision) => submit(await draft(approval, decision), null, approval),
    async approval(id, gateway) {
      const found = (await look()).find(
        ({ speaker, approval }) => approval.approval_id === id && speaker.gateway === gateway,
      );
      return found === undefined ? over() : shownOn(found);
    },
    draft,
    submit,
    async settleOperation({ operation_id: id, request_fingerprint }, said, show) {
      const shown = await findShown({ connection, speakers, operator }, id, { io });
      const operation = requireSame(shown);
      if (operation.request_fingerprint !== request_fingerprint)
        throw new Denied("card_mismatch", "It shows another request by now. Nothing was signed: look at it again.");
      const statement = settlementOf(operation, said, operator, deps.clock);
      show(statement);
      const body = JSON.stringify(signStatement(statement, operator.approver));
      const state = await order(
        shown.map(({ speaker }) => speaker),
        body,
      );
      return { ...operation, state: operationStates.find((one) => one === state) ?? noState() };
    },
    async revoke(sessionId, reason) {
      answerOf(await revokeOnHub({ connection: orders, speakers, operator }, sessionId, reason, deps));
    },
    sessions: () => findSessions({ connection, speakers, operator }, UNSAID),
    async operation(id) {
      const found = (await operations()).find(({ operation_id }) => operation_id === id);
      return found ?? noOperation();
    },
    extend,
    askOperation,
    close,
  };
}

/** Both or none: a database with room for one more would have it filled by whoever tries again. */
async function connectBoth(login: HubLogin) {
  const connection = await connectHub(login, null);
  try {
    return [connection, await connectHub(login, null)] as const;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** The very one that a person has before them: another gateway may show something else under the same name. */
export function shownCard(
  known: readonly FoundCard[],
  shown: Pick<ApprovalView, "gateway" | "approval_id" | "card_digest">,
): FoundCard {
  const found = known.find(
    ({ speaker, approval }) =>
      speaker.gateway === shown.gateway &&
      approval.approval_id === shown.approval_id &&
      approval.card_digest === shown.card_digest,
  );
  return found ?? over();
}

function answerOf(state: string | null): string {
  if (state !== null) return state;
  throw new Unreachable("It is signed and on the hub, and its gateway has not answered yet.");
}

/** An owned gateway signs whatever it likes. */
function noState(): never {
  throw new Denied(
    "hub_refused",
    "Its gateway answered with what is no state of what was asked about. See gw activity --hub URL.",
  );
}

function over(): never {
  throw new Denied(
    "not_found",
    "This question does not wait on the hub any more, or asks something else by now. Nothing was signed. See what waits, and gw activity --hub URL for what came of it.",
  );
}

function shownOn({ speaker, approval }: FoundCard): ApprovalView {
  return { ...approval, gateway: speaker.gateway };
}

function noOperation(): never {
  throw new Denied("not_found", "No gateway shows this operation on the hub any more. See: gw activity --hub URL");
}
