import type { AttestationOffer } from "../../audit/attestation.ts";
import {
  type DecisionStatement,
  type RevocationStatement,
  type SettlementStatement,
  signStatement,
} from "../../conventions/approval/decision.ts";
import type { OperationDetail } from "../../conventions/operation/summary.ts";
import type { Assertion } from "../../conventions/passkey/assertion.ts";
import type { JsonSchema } from "../../conventions/request/schema.ts";
import type { ProbeResult } from "../../conventions/ssh/probe.ts";
import type { SignedDecision } from "../../conventions/upgrade/decision/statement.ts";
import type { ProbeExchange, ProbeRequest } from "../../conventions/upgrade/probe/exchange.ts";
import type { Digest } from "../../kernel/canonical-json.ts";
import { type Clock, isoTime } from "../../kernel/clock.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { OpenOperator } from "../../vault/operator.ts";
import {
  adoptionAnswer,
  headAnswer,
  hostKeysAnswer,
  offerAnswer,
  probeAnswer,
  revokedAnswer,
  suspendedAnswer,
  waitingKeyAnswer,
} from "../operator/answers.ts";
import type { HostToCheck } from "../operator/steward.ts";
import type { Door } from "../place/place.ts";
import { askStrictly } from "./ask-strictly.ts";
import { type Decision, draftDecision } from "./draft-decision.ts";
import { handOver, type ServerCheck } from "./hand-over.ts";
import { signerOf } from "./login.ts";
import {
  type ApprovalView,
  approvalPath,
  openReading,
  operationPath,
  type ReadingClient,
  type TicketView,
  type TokenView,
  ticketPath,
} from "./reading.ts";

/** What the plane takes in one request. */
const DECISIONS_AT_ONCE = 50;

/** An operator at work. Every signature is made here, in the operator's own process. */
export interface OperatorClient extends ReadingClient {
  /** Hands over the service key, once the gateway has been proven. */
  unlock(check: ServerCheck): Promise<JsonObject>;
  lock(reason: string): Promise<JsonObject>;
  resume(): Promise<JsonObject>;
  /** A signed change of a home that this user cannot write. */
  changeHome(change: JsonValue): Promise<void>;
  /** The public halves of the host's own keys, as base64url. */
  hostKeys(): Promise<{ readonly identity_key: string; readonly lending_key: string }>;
  /** What it asks with on a hub while it is locked. */
  waitingKey(): Promise<{ readonly signing_key: string; readonly reading_key: string }>;
  /** Makes the gateway read its signed files now. */
  reload(): Promise<JsonObject>;
  decide(approval: ApprovalView, decision: Decision): Promise<ApprovalView>;
  /** What would be signed, for whoever has a passkey answer to it first. */
  draft(approval: ApprovalView, decision: Decision): Promise<DecisionStatement>;
  /** Signs it, and sends it with the passkey's answer where there is one. */
  submit(statement: DecisionStatement, assertion: Assertion | null): Promise<ApprovalView>;
  extend(approvalId: string, seconds: number): Promise<ApprovalView>;
  revoke(sessionId: string, reason: string | null): Promise<void>;
  /** What a host lets the credential do beyond its one operation; the gateway tries it with the real key. */
  checkHost(target: HostToCheck): Promise<readonly ProbeResult[]>;
  /** Gets a token in exchange for a credential, now. */
  testCredential(label: string): Promise<TokenView>;
  /** Has the provider forget its refresh token; false where it was not told, or did not. */
  revokeCredential(label: string): Promise<boolean>;
  cancelOperation(operationId: string, reason: string): Promise<OperationDetail>;
  resumeOperation(operationId: string, reason: string): Promise<OperationDetail>;
  reconcileOperation(operationId: string): Promise<OperationDetail>;
  /** Takes over what another gateway of the hub had under way. Says how many operations that are. */
  adoptOperations(gateway: string): Promise<number>;
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
  attest(statement: Buffer): Promise<JsonObject>;
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
  const post = async (path: string, body?: JsonValue): Promise<JsonValue> =>
    (await connection.ask("POST", path, body === undefined ? { headers } : { headers, body })).body;

  const postFor = <const Schema extends JsonSchema>(answer: Schema, path: string, body?: JsonValue) =>
    askStrictly(connection, answer, "POST", path, body === undefined ? { headers } : { headers, body });

  async function draft(approval: ApprovalView, decision: Decision): Promise<DecisionStatement> {
    const { log } = await askStrictly(connection, headAnswer, "GET", "/v1/status", { headers });
    return await draftDecision(approval, decision, operator, log, clock);
  }

  async function submit(statement: DecisionStatement, assertion: Assertion | null): Promise<ApprovalView> {
    const signed = signStatement(statement, operator.approver);
    const given = (assertion === null ? signed : { ...signed, assertion }) as unknown as JsonValue;
    return (await post(`${approvalPath(statement.approval_id)}/decision`, given)) as unknown as ApprovalView;
  }

  return {
    ...reading,
    unlock: (check) => handOver(door, operator, check),
    lock: async (reason) => (await post("/v1/lock", { reason })) as JsonObject,
    resume: async () => (await post("/v1/resume")) as JsonObject,
    changeHome: async (change) => void (await post("/v1/home", change)),
    hostKeys: () => postFor(hostKeysAnswer, "/v1/home/keys"),
    waitingKey: () => postFor(waitingKeyAnswer, "/v1/home/waiting-key"),
    reload: async () => (await post("/v1/reload")) as JsonObject,
    decide: async (approval, decision) => submit(await draft(approval, decision), null),
    draft,
    submit,
    extend: async (id, seconds) => (await post(`${approvalPath(id)}/extend`, { seconds })) as unknown as ApprovalView,
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
      await post(`/v1/sessions/${encodeURIComponent(sessionId)}/revoke`, signed);
    },
    async settleOperation({ operation_id, request_fingerprint }, { happened, reason, although }, show) {
      const statement: SettlementStatement = {
        format: "gw.settlement/v1",
        vault_id: operator.vaultId,
        operation_id,
        request_fingerprint,
        happened,
        reason,
        although,
        ...who,
        decided_at: isoTime(clock.wallMs()),
      };
      show(statement);
      const signed = signStatement(statement, operator.approver) as unknown as JsonValue;
      return (await post(`${operationPath(operation_id)}/settle`, signed)) as unknown as OperationDetail;
    },
    async checkHost({ host, port, user, hostKey, credential }) {
      const rows = await post("/v1/ssh/check", { host, port, user, host_key: hostKey, credential });
      return rows as unknown as readonly ProbeResult[];
    },
    testCredential: async (label) => (await post("/v1/credentials/test", { label })) as unknown as TokenView,
    revokeCredential: async (label) => (await postFor(revokedAnswer, "/v1/credentials/revoke", { label })).revoked,
    cancelOperation: async (id, reason) =>
      (await post(`${operationPath(id)}/cancel`, { reason })) as unknown as OperationDetail,
    resumeOperation: async (id, reason) =>
      (await post(`${operationPath(id)}/resume`, { reason })) as unknown as OperationDetail,
    adoptOperations: async (gateway) =>
      (await postFor(adoptionAnswer, "/v1/custody/adoptions", { gateway })).operations,
    reconcileOperation: async (id) => (await post(`${operationPath(id)}/reconcile`)) as unknown as OperationDetail,
    attachTicket: async (runId, context) => (await post(ticketPath(runId), { context })) as unknown as TicketView,
    async recordDecisions(decisions) {
      for (let at = 0; at < decisions.length; at += DECISIONS_AT_ONCE)
        await post("/v1/upgrade/decisions", {
          decisions: decisions.slice(at, at + DECISIONS_AT_ONCE) as unknown as JsonValue,
        });
    },
    async suspendCredentials(labels, reason) {
      return (await postFor(suspendedAnswer, "/v1/credentials/suspend", { labels, reason })).suspended;
    },
    async openProbe(opening) {
      return (await postFor(probeAnswer, "/v1/upgrade/probes", opening)).run_id;
    },
    async sendProbe(runId, { caseId, method, url, headers, body, credential, sideEffect }) {
      const exchange = (await post(`/v1/upgrade/probes/${runId}/send`, {
        case_id: caseId,
        method,
        url,
        headers,
        body_json: body === undefined ? null : JSON.stringify(body),
        credential,
        side_effect: sideEffect,
      })) as unknown as ProbeExchange & { readonly body?: string };
      return exchange.kind === "answered"
        ? { ...exchange, body: Buffer.from(exchange.body as unknown as string, "base64") }
        : exchange;
    },
    closeProbe: async (runId, result_digest) =>
      void (await post(`/v1/upgrade/probes/${runId}/close`, { result_digest })),
    async offerAttestation() {
      const offer = await postFor(offerAnswer, "/v1/log/attestation/offer");
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
    attest: async (statement) =>
      (await post("/v1/log/attestation", { statement: statement.toString("base64") })) as JsonObject,
    noteArchived: async (cut) => void (await post("/v1/log/archived", { cut })),
  };
}
