import { parseJson } from "../../../../packages/request/src/json/parse.ts";
import { compileSchema, type SchemaCheck } from "../../../../packages/request/src/schema.ts";
import type { AuditLog } from "../../../audit/audit-log.ts";
import {
  type DecisionStatement,
  ERRAND_UNDER_WAY,
  type ErrandStatement,
  type ExtensionStatement,
  type GivenDecision,
  type RevocationStatement,
  type SettlementStatement,
  type Signed,
} from "../../../conventions/approval/decision.ts";
import { TAKEN_AWAY } from "../../../conventions/operation/record.ts";
import { compareUrgency, type OperationDetail } from "../../../conventions/operation/summary.ts";
import type { Gateway } from "../../../gateway/gateway.ts";
import type { Answering } from "../../../hub/answer-statements.ts";
import type { WaitingCard } from "../../../hub/queue.ts";
import { BOARD, ENDINGS, SESSIONS } from "../../../hub/schema.ts";
import { digestText } from "../../../kernel/canonical-json.ts";
import type { Clock, Sleep } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import type { SessionRecord } from "../../../surfaces/operator/answers.ts";
import { extensionSchema, givenSchema } from "../../../surfaces/operator/approval-routes.ts";
import type { OperationRecords } from "../../../surfaces/operator/operation-records.ts";
import { errandSchema, settlementSchema } from "../../../surfaces/operator/operation-routes.ts";
import { approvalRecord, sessionRecord } from "../../../surfaces/operator/records.ts";
import { signedSchema } from "../../../surfaces/operator/schemas.ts";
import { revocationSchema } from "../../../surfaces/operator/session-routes.ts";
import type { Trust } from "../trust.ts";

/** The desk as the hub sees it: the same records, the same shapes and the same checks of signatures as on the operator plane. */
export interface HubDesk {
  waiting(): readonly WaitingCard[];
  /** What became of it, in a word; Denied as the plane would deny it. `gateway` is this one's name on the hub. */
  take(body: string, gateway: string): Promise<string>;
  /** Whatever somebody put on the hub for this gateway and was refused is in its log, as what its planes refuse is. */
  readonly refuse: Answering["refuse"];
  watch(listener: () => void): void;
}

const checkDecision = compileSchema(givenSchema);
const checkRevocation = compileSchema(revocationSchema);
const checkSettlement = compileSchema(signedSchema(settlementSchema));
const checkErrand = compileSchema(signedSchema(errandSchema));
const checkExtension = compileSchema(signedSchema(extensionSchema));

interface HubDeskParts {
  readonly gateway: Gateway;
  readonly log: Pick<AuditLog, "head">;
  readonly clock: Clock;
  readonly sleep: Sleep;
  /** What is in force now. */
  readonly state: { readonly trust: Trust };
  /** As the operator plane shows them. */
  readonly operations: Pick<OperationRecords, "list">;
  correlationId(): string;
  onFault(error: unknown, correlationId: string): void;
}

export function createHubDesk(parts: HubDeskParts): HubDesk {
  const { gateway, log, clock, sleep, state, operations, correlationId, onFault } = parts;
  let ended: readonly JsonObject[] = [];
  gateway.desk.watch((approval) => {
    if (approval.state === "pending" || approval.card === null) return;
    const { approvalId: approval_id, state, decidedBy: decided_by, reason } = approval;
    ended = [...ended, { approval_id, state, decided_by, reason }].slice(-defaults.hubEndingsShown);
  });

  /** A yes that rests on files which this host does not have yet would be a yes under the old ones. */
  function requireFollowed({ decision, knows }: DecisionStatement): void {
    const { vault, policy } = state.trust;
    if (decision !== "approve" || knows === undefined) return;
    if (knows.vault <= vault.generation && knows.policy <= (policy?.version ?? 0)) return;
    throw new Denied(
      "gateway_behind",
      `Whoever signed this knows vault ${knows.vault} and policy ${knows.policy}; this gateway follows vault ${vault.generation} and policy ${policy?.version ?? 0}. Nothing was decided. See gw status there.`,
    );
  }

  /** A provider that takes its time keeps no revocation waiting: what comes of it then is in the operation itself. */
  async function begin(asked: ReturnType<Gateway["errand"]>): Promise<string> {
    const late = new AbortController();
    const state = asked.then((operation) => operation.state);
    state.catch((error: unknown) => {
      if (late.signal.aborted && !(error instanceof Denied)) onFault(error, correlationId());
    });
    const waited = sleep.sleep(defaults.hubErrandMs, late.signal).then(() => ERRAND_UNDER_WAY);
    try {
      return await Promise.race([state, waited]);
    } finally {
      late.abort();
    }
  }

  async function perform(body: string, name: string): Promise<string> {
    const { value, spelling } = parseJson(Buffer.from(body, "utf8"));
    const shaped = (check: SchemaCheck): void => {
      const errors = check(value, spelling);
      if (errors.length > 0)
        throw new Denied("value_not_allowed", "This is no statement that a gateway takes.", { errors });
    };
    if (formatOf(value) === "gw.revocation/v1") {
      shaped(checkRevocation);
      await gateway.revoke(value as unknown as Signed<RevocationStatement>);
      return "ended";
    }
    if (formatOf(value) === "gw.settlement/v1") {
      shaped(checkSettlement);
      return (await gateway.settle(value as unknown as Signed<SettlementStatement>)).state;
    }
    if (formatOf(value) === "gw.errand/v1") {
      shaped(checkErrand);
      const signed = value as unknown as Signed<ErrandStatement>;
      if (signed.statement.gateway !== name)
        throw new Denied("card_mismatch", "The statement was signed for another gateway than this one.");
      return await begin(gateway.errand(signed));
    }
    if (formatOf(value) === "gw.extension/v1") {
      shaped(checkExtension);
      const extended = await gateway.desk.extendAsSigned(value as unknown as Signed<ExtensionStatement>);
      return String(Math.ceil(approvalRecord(extended, clock.bootMs()).expires_in_ms / 1000));
    }
    shaped(checkDecision);
    const given = value as unknown as GivenDecision;
    requireFollowed(given.statement);
    return (await gateway.desk.decide(given)).state;
  }

  function questions(): readonly WaitingCard[] {
    return gateway.desk.list().flatMap((approval) => {
      if (approval.card === null || approval.state !== "pending") return [];
      const { approvalId, cardDigest, given, expiresBootMs } = approval;
      const { frame, link } = log.head();
      const content = () => ({ approval: approvalRecord(approval, clock.bootMs()), log: { frame, link } });
      return [{ approvalId, version: `${cardDigest} ${given.length} ${expiresBootMs}`, content }];
    });
  }

  /** The open operations beside the questions, the most urgent of them; what only times have changed in is no news. */
  function board(): readonly WaitingCard[] {
    const all = operations.list() as unknown as readonly OperationDetail[];
    // What another gateway has taken over is shown by that one.
    const here = all.filter(({ lease }) => lease?.expires_at !== TAKEN_AWAY).sort(compareUrgency);
    const open = here.filter(({ settled }) => !settled);
    // Failed work can go on, where its provider documents that.
    const failed = here.filter(({ kind, state }) => kind === "job" && state === "failed");
    if (open.length + failed.length === 0) return [];
    const shown = [...open, ...failed].slice(0, defaults.hubOperationsShown);
    const said = shown.map(({ next_poll_in_ms: _next, result_in_ms: _due, ...rest }) => rest);
    const content = () => ({ operations: shown as unknown as JsonValue, open: open.length });
    return [{ approvalId: BOARD, version: digestText(JSON.stringify([said, open.length])), content }];
  }

  /** Who may act, the newest of them. */
  function sessions(): readonly WaitingCard[] {
    const live = gateway.sessions().filter(({ state }) => state !== "ended");
    if (live.length === 0) return [];
    const shown = live.slice(-defaults.hubSessionsShown).map((one) => sessionRecord(one, gateway.runOf(one)));
    const content = () => ({ sessions: shown as unknown as JsonValue, live: live.length });
    return [{ approvalId: SESSIONS, version: digestText(JSON.stringify([shown.map(newsOf), live.length])), content }];
  }

  /** Whoever saw a question there learns what became of it, and by whom. */
  function endings(): readonly WaitingCard[] {
    if (ended.length === 0) return [];
    const content = { endings: ended };
    return [{ approvalId: ENDINGS, version: digestText(JSON.stringify(ended)), content: () => content }];
  }

  return {
    waiting: () => [...questions(), ...board(), ...sessions(), ...endings()],
    take: perform,
    async refuse(kind, body, error) {
      const id = correlationId();
      if (!(error instanceof Denied)) onFault(error, id);
      const denied = error instanceof Denied ? error : faulty();
      // A revocation is said to every gateway, and one of them has the session.
      if (kind === "order" && denied.code === "not_found") return denied;
      await gateway.requests.record({
        ...{ plane: "hub", who: "hub", principal: "hub", operator: null, traceparent: null },
        ...{ endpoint: kind, mediaType: null, requestDigest: null, correlationId: id },
        fields: kind === "order" ? claimsOf(body) : {},
        body: () => ({ digest: digestText(body), bytes: Buffer.byteLength(body) }),
        outcome: { kind: "denied", denied },
      });
      return denied;
    },
    watch(listener) {
      gateway.desk.watch(listener);
      gateway.operations.watch(listener);
    },
  };
}

function faulty(): Denied {
  return new Denied("internal_fault", "The gateway met a fault of its own with this; its journal says which.");
}

/** Every call uses something: what is told is each eighth of a budget. */
function newsOf({ session_id, state, budget_granted: most, budget_used: used }: SessionRecord): readonly unknown[] {
  const eighth = (part = 0, all = 0): number => (all === 0 ? 0 : Math.floor((8 * part) / all));
  return [
    ...[session_id, state],
    ...[eighth(used?.attempts, most?.attempts), eighth(used?.side_effects, most?.side_effects)],
    eighth(used?.spend_cents, most?.spend_cents),
  ];
}

/** Who a statement says that it is of, and what it is about. Whether that is so nobody knows: it was refused. */
const CLAIMED = ["format", "operator", "operator_key_id", "approval_id", "session_id", "operation_id", "gateway"];

function claimsOf(body: string): JsonObject {
  try {
    const statement = statementIn(parseJson(Buffer.from(body, "utf8")).value) ?? {};
    return Object.fromEntries(
      Object.entries(statement).filter(([name, said]) => CLAIMED.includes(name) && typeof said === "string"),
    );
  } catch (error) {
    if (error instanceof Denied) return {};
    throw error;
  }
}

function formatOf(value: JsonValue): JsonValue | undefined {
  return statementIn(value)?.["format"];
}

function statementIn(value: JsonValue): JsonObject | null {
  const statement = isJsonObject(value) ? value["statement"] : undefined;
  return isJsonObject(statement) ? statement : null;
}
