import { type RevocationStatement, signStatement } from "../../../conventions/approval/decision.ts";
import type { OperationDetail } from "../../../conventions/operation/summary.ts";
import { connectHub, type HubLogin } from "../../../hub/connect.ts";
import type { Speaker } from "../../../hub/speaker.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { Unreachable } from "../../client/connection.ts";
import { draftDecision } from "../../client/draft-decision.ts";
import type { ApprovalView } from "../../operator/answers.ts";
import type { CliDeps } from "../commands/deps.ts";
import type { VaultSession } from "../vault/session.ts";
import type { WatchClient } from "../watch/feed.ts";
import { type FoundCard, findCards, findOperations } from "./cards.ts";
import { findSpeakers, knownTo } from "./hub-session.ts";
import { say } from "./say.ts";

/** What a live screen asks of a gateway, asked of all gateways of a vault on a hub. */
export async function connectHubClient(login: HubLogin, session: VaultSession, deps: CliDeps): Promise<WatchClient> {
  const { operator } = session;
  const [connection, orders] = await Promise.all([connectHub(login, null), connectHub(login, null)]);
  let speakers: readonly Speaker[] = await findSpeakers(connection, session);
  let known: readonly FoundCard[] = [];
  /** A screen says nothing beside itself: what is not from its gateway is told by `gw approvals --hub`. */
  const unsaid = (): void => undefined;

  async function look(): Promise<readonly FoundCard[]> {
    speakers = await findSpeakers(connection, session);
    const found = await findCards({ connection, speakers, operator }, deps.clock, unsaid);
    known = found;
    return found;
  }

  async function operations(): Promise<readonly OperationDetail[]> {
    return (await findOperations({ connection, speakers, operator }, unsaid)).map(({ operation }) => operation);
  }

  async function order(to: readonly Speaker[], body: string): Promise<string> {
    const state = await say({ connection: orders, speakers: to }, body, deps);
    if (state === null) throw new Unreachable("It is signed and on the hub, and its gateway has not answered yet.");
    return state;
  }

  return {
    // A machine of its own is no gateway for all users: a decision asks for the PIN.
    status: () => Promise.resolve({ mode: "guard_rail", locked: false, uid: -1 }),
    approvals: async () => (await look()).map(shownOn),
    async *watch(signal) {
      const told = new Map<string, string>();
      for (let woken = new AbortController(); !signal.aborted; ) {
        await connection.listen(() => woken.abort());
        for (; !signal.aborted; woken = new AbortController()) {
          for (const card of await look()) {
            const { approval_id, card_digest, given } = card.approval;
            const version = `${card_digest} ${given.length}`;
            if (told.get(approval_id) === version) continue;
            told.set(approval_id, version);
            yield { kind: "approval", view: shownOn(card) };
          }
          const shown = await operations();
          yield { kind: "operations", board: { open: shown.length, needs_person: 0, shown, ended: [] } };
          await deps.sleep.sleep(defaults.hubBeatMs, AbortSignal.any([signal, woken.signal]));
        }
      }
    },
    async decide(approval, decision) {
      const card = shownCard(known, approval);
      const statement = await draftDecision(card.approval, decision, operator, card.log, deps.clock, knownTo(session));
      const state = await order([card.speaker], JSON.stringify(signStatement(statement, operator.approver)));
      return { ...approval, state: state as ApprovalView["state"] };
    },
    async revoke(sessionId, reason) {
      const statement: RevocationStatement = {
        format: "gw.revocation/v1",
        vault_id: operator.vaultId,
        session_id: sessionId,
        reason,
        operator: operator.name,
        operator_key_id: operator.keyId,
        decided_at: isoTime(deps.clock.wallMs()),
      };
      await order(speakers, JSON.stringify(signStatement(statement, operator.approver)));
    },
    sessions: () => Promise.resolve([]),
    async operation(id) {
      const found = (await operations()).find(({ operation_id }) => operation_id === id);
      return found ?? notHere();
    },
    extend: notHere,
    cancelOperation: notHere,
    reconcileOperation: notHere,
    close() {
      void connection.close();
      void orders.close();
    },
  };
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
  if (found !== undefined) return found;
  throw new Denied("not_found", "This question does not wait on the hub any more, or asks something else by now.");
}

function shownOn({ speaker, approval }: FoundCard): ApprovalView {
  return { ...approval, gateway: speaker.gateway };
}

function notHere(): never {
  throw new Denied("value_not_allowed", "This is done on the host itself, not by way of the hub.");
}
