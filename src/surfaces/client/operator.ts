import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import type { AttestationOffer } from "../../audit/attestation.ts";
import {
  type DecisionStatement,
  type RevocationStatement,
  type SettlementStatement,
  signStatement,
} from "../../conventions/approval/decision.ts";
import { isJobErrand, type OperationErrand } from "../../conventions/operation/errand.ts";
import type { OperationDetail } from "../../conventions/operation/summary.ts";
import type { Assertion } from "../../conventions/passkey/assertion.ts";
import type { ProbeResult } from "../../conventions/ssh/probe.ts";
import type { SignedDecision } from "../../conventions/upgrade/decision/statement.ts";
import type { ProbeExchange, ProbeRequest } from "../../conventions/upgrade/probe/exchange.ts";
import type { Digest } from "../../kernel/canonical-json.ts";
import { type Clock, isoTime } from "../../kernel/clock.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { OpenOperator } from "../../vault/operator.ts";
import {
  type ApprovalRecord,
  type ApprovalView,
  type Attested,
  adoptionAnswer,
  approvalAnswer,
  attestedAnswer,
  exchangeAnswer,
  hostCheckAnswer,
  hostKeysAnswer,
  offerAnswer,
  operationAnswer,
  probeAnswer,
  revokedAnswer,
  type Status,
  statusAnswer,
  suspendedAnswer,
  type TicketView,
  type TokenView,
  ticketAnswer,
  tokenFactsAnswer,
  waitingKeyAnswer,
} from "../operator/answers.ts";
import type { HostToCheck } from "../operator/steward.ts";
import type { Door } from "../place/place.ts";
import { type Decision, draftDecision } from "./draft-decision.ts";
import { handOver, type ServerCheck } from "./hand-over.ts";
import { signerOf } from "./login.ts";
import { approvalPath, openReading, operationPath, type ReadingClient, ticketPath } from "./reading.ts";
import { settlementOf } from "./settlement.ts";

/** What the plane takes in one request. */
const DECISIONS_AT_ONCE = 50;

/** An operator at work. Every signature is made here, in the operator's own process. */
export interface OperatorClient extends ReadingClient {
  /** Hands over the service key, once the gateway has been proven. */
  unlock(check: ServerCheck): Promise<Status>;
  lock(reason: string): Promise<Status>;
  resume(): Promise<Status>;
  /** A signed change of a home that this user cannot write. */
  changeHome(change: JsonValue): Promise<void>;
  /** The public halves of the host's own keys, as base64url. */
  hostKeys(): Promise<{ readonly identity_key: string; readonly lending_key: string }>;
  /** What it asks with on a hub while it is locked. */
  waitingKey(): Promise<{ readonly signing_key: string; readonly reading_key: string }>;
  /** Makes the gateway read its signed files now. */
  reload(): Promise<Status>;
  decide(approval: ApprovalView, decision: Decision): Promise<ApprovalRecord>;
  /** What would be signed, for whoever has a passkey answer to it first. */
  draft(approval: ApprovalView, decision: Decision): Promise<DecisionStatement>;
  /** Signs it, and sends it with the passkey's answer where there is one. */
  submit(statement: DecisionStatement, assertion: Assertion | null): Promise<ApprovalRecord>;
  extend(approval: Pick<ApprovalView, "approval_id">, seconds: number): Promise<ApprovalRecord>;
  revoke(sessionId: string, reason: string | null): Promise<void>;
  /** What a host lets the credential do beyond its one operation; the gateway tries it with the real key. */
  checkHost(target: HostToCheck): Promise<readonly ProbeResult[]>;
  /** Gets a token in exchange for a credential, now. */
  testCredential(label: string): Promise<TokenView>;
  /** Has the provider forget its refresh token; false where it was not told, or did not. */
  revokeCredential(label: string): Promise<boolean>;
  /** A read alone takes no reason. */
  askOperation(errand: OperationErrand, operationId: string, reason?: string): Promise<OperationDetail>;
  /** Takes over what another gateway of the hub had under way. */
  adoptOperations(gateway: string): Promise<FromSchema<typeof adoptionAnswer>>;
  /** Signs what the person says became of it; `show` gets the statement before it is signed. */
  settleOperation(
    operation: Pick<OperationDetail, "operation_id" | "request_fingerprint">,
    said: Pick<SettlementStatement, "happened" | "reason" | "although">,
    show: (statement: SettlementStatement) => void,
  ): Promise<OperationDetail>;
  attachTicket(runId: string, context: string): Promise<TicketView>;
  /** Into the log, durable when this resolves. */
  recordDecisions(decisions: readonly SignedDecision[]): Promise<void>;
  suspendCredentials(labels: readonly string[], reason: string): Promise<readonly string[]>;
  openProbe(opening: JsonObject): Promise<string>;
  sendProbe(runId: string, request: ProbeRequest): Promise<ProbeExchange>;
  closeProbe(runId: string, resultDigest: Digest | null): Promise<void>;
  offerAttestation(): Promise<AttestationOffer>;
  attest(statement: Buffer): Promise<Attested>;
  /** Tells the log that its older segments are moved away, by the signed cut. */
  noteArchived(cut: string): Promise<void>;
}

export async function connectOperator(
  door: Door,
  operator: OpenOperator,
  clock: Pick<Clock, "wallMs">,
): Promise<OperatorClient> {
  const { connection, headers, reading } = await openReading(door, signerOf(operator));
  const who = { operator: operator.name, operator_key_id: operator.keyId } as const;
  const post = <const Schema extends JsonSchema>(answer: Schema, path: string, body?: JsonValue) =>
    connection.ask(answer, "POST", path, body === undefined ? { headers } : { headers, body });
  const tell = (path: string, body: JsonValue): Promise<void> => connection.tell(path, { headers, body });

  async function draft(approval: ApprovalView, decision: Decision): Promise<DecisionStatement> {
    const { log } = await reading.status();
    return await draftDecision(approval, decision, operator, log, clock);
  }

  async function submit(statement: DecisionStatement, assertion: Assertion | null): Promise<ApprovalRecord> {
    const signed = signStatement(statement, operator.approver);
    const given = (assertion === null ? signed : { ...signed, assertion }) as unknown as JsonValue;
    return post(approvalAnswer, `${approvalPath(statement.approval_id)}/decision`, given);
  }

  return {
    ...reading,
    unlock: (check) => handOver(door, operator, check),
    lock: (reason) => post(statusAnswer, "/v1/lock", { reason }),
    resume: () => post(statusAnswer, "/v1/resume"),
    changeHome: (change) => tell("/v1/home", change),
    hostKeys: () => post(hostKeysAnswer, "/v1/home/keys"),
    waitingKey: () => post(waitingKeyAnswer, "/v1/home/waiting-key"),
    reload: () => post(statusAnswer, "/v1/reload"),
    decide: async (approval, decision) => submit(await draft(approval, decision), null),
    draft,
    submit,
    extend: ({ approval_id }, seconds) => post(approvalAnswer, `${approvalPath(approval_id)}/extend`, { seconds }),
    async revoke(sessionId, reason) {
      const statement: RevocationStatement = {
        format: "gw.revocation/v1",
        vault_id: operator.vaultId,
        session_id: sessionId,
        reason,
        ...who,
        decided_at: isoTime(clock.wallMs()),
      };
      const signed = signStatement(statement, operator.approver) as unknown as JsonValue;
      await tell(`/v1/sessions/${encodeURIComponent(sessionId)}/revoke`, signed);
    },
    async settleOperation(operation, said, show) {
      const statement = settlementOf(operation, said, operator, clock);
      show(statement);
      const signed = signStatement(statement, operator.approver) as unknown as JsonValue;
      return post(operationAnswer, `${operationPath(operation.operation_id)}/settle`, signed);
    },
    checkHost: ({ host, port, user, hostKey, credential }) =>
      post(hostCheckAnswer, "/v1/ssh/check", { host, port, user, host_key: hostKey, credential }),
    testCredential: (label) => post(tokenFactsAnswer, "/v1/credentials/test", { label }),
    revokeCredential: async (label) => (await post(revokedAnswer, "/v1/credentials/revoke", { label })).revoked,
    askOperation: (errand, id, reason) =>
      post(
        operationAnswer,
        `${operationPath(id)}/${errand}`,
        isJobErrand(errand) ? { reason: reason ?? "" } : undefined,
      ),
    adoptOperations: (gateway) => post(adoptionAnswer, "/v1/custody/adoptions", { gateway }),
    attachTicket: (runId, context) => post(ticketAnswer, ticketPath(runId), { context }),
    async recordDecisions(decisions) {
      for (let at = 0; at < decisions.length; at += DECISIONS_AT_ONCE)
        await tell("/v1/upgrade/decisions", {
          decisions: decisions.slice(at, at + DECISIONS_AT_ONCE) as unknown as JsonValue,
        });
    },
    async suspendCredentials(labels, reason) {
      return (await post(suspendedAnswer, "/v1/credentials/suspend", { labels, reason })).suspended;
    },
    async openProbe(opening) {
      return (await post(probeAnswer, "/v1/upgrade/probes", opening)).run_id;
    },
    async sendProbe(runId, { caseId, method, url, headers, body, credential, sideEffect }) {
      const exchange = await post(exchangeAnswer, `/v1/upgrade/probes/${runId}/send`, {
        case_id: caseId,
        method,
        url,
        headers,
        body_json: body === undefined ? null : JSON.stringify(body),
        credential,
        side_effect: sideEffect,
      });
      return exchange.kind === "answered" ? { ...exchange, body: Buffer.from(exchange.body, "base64") } : exchange;
    },
    closeProbe: (runId, result_digest) => tell(`/v1/upgrade/probes/${runId}/close`, { result_digest }),
    async offerAttestation() {
      const offer = await post(offerAnswer, "/v1/log/attestation/offer");
      return {
        logId: Buffer.from(offer.log_id, "hex"),
        openFrame: offer.open_frame,
        openLink: Buffer.from(offer.open_link, "hex"),
        headFrame: offer.head_frame,
        headLink: Buffer.from(offer.head_link, "hex"),
        beforeFrame: offer.before_frame,
        beforeLink: Buffer.from(offer.before_link, "hex"),
        unclean: offer.unclean,
      };
    },
    attest: (statement) => post(attestedAnswer, "/v1/log/attestation", { statement: statement.toString("base64") }),
    noteArchived: (cut) => tell("/v1/log/archived", { cut }),
  };
}
