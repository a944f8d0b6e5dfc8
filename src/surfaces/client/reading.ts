import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { OperationBoard, OperationDetail } from "../../conventions/operation/summary.ts";
import { Denied } from "../../kernel/failure.ts";
import {
  type ApprovalRecord,
  type ApprovalView,
  approvalAnswer,
  approvalsAnswer,
  type CredentialUse,
  newsAnswers,
  operationAnswer,
  operationsAnswer,
  type SessionRecord,
  type Status,
  sessionsAnswer,
  statusAnswer,
  type TicketView,
  ticketAnswer,
  usesAnswer,
} from "../operator/answers.ts";
import type { Door } from "../place/place.ts";
import { type Connection, openConnection } from "./connection.ts";
import { type LoginSigner, logIn } from "./login.ts";

/** What the operator plane tells whoever watches: every change of a question, and how all operations stand. */
export type OperatorNews =
  | { readonly kind: "approval"; readonly view: ApprovalRecord }
  | { readonly kind: "operations"; readonly board: OperationBoard };

/** What the operator plane shows to whoever may look. */
export interface ReadingClient {
  status(): Promise<Status>;
  approvals(): Promise<readonly ApprovalView[]>;
  approval(approvalId: string): Promise<ApprovalView>;
  watch(signal: AbortSignal): AsyncGenerator<OperatorNews>;
  sessions(): Promise<readonly SessionRecord[]>;
  operations(): Promise<readonly OperationDetail[]>;
  operation(operationId: string): Promise<OperationDetail>;
  ticket(runId: string): Promise<TicketView>;
  credentialUses(): Promise<readonly CredentialUse[]>;
  close(): void;
}

export const approvalPath = (id: string): string => `/v1/approvals/${encodeURIComponent(id)}`;
export const operationPath = (id: string): string => `/v1/custody/operations/${encodeURIComponent(id)}`;
export const ticketPath = (runId: string): string => `/v1/runs/${encodeURIComponent(runId)}/ticket`;

/** Logs in and reads; what else may be asked on the connection depends on who signed the login. */
export async function openReading(
  door: Door,
  signer: LoginSigner,
): Promise<{
  readonly connection: Connection;
  readonly headers: Record<string, string>;
  readonly reading: ReadingClient;
}> {
  const connection = openConnection(door);
  const token = await logIn(connection, signer).catch((error: unknown) => {
    connection.close();
    throw error;
  });
  const headers = { authorization: `Bearer ${token}` };
  const get = <const Schema extends JsonSchema>(answer: Schema, path: string) =>
    connection.ask(answer, "GET", path, { headers });
  const reading: ReadingClient = {
    status: () => get(statusAnswer, "/v1/status"),
    approvals: () => get(approvalsAnswer, "/v1/approvals"),
    approval: async (id) => requireCard(await get(approvalAnswer, approvalPath(id))),
    async *watch(signal) {
      for await (const news of connection.stream(newsAnswers, "/v1/events", { headers, signal })) {
        if (news.event === "approval") yield { kind: "approval", view: news.data };
        else yield { kind: "operations", board: news.data };
      }
    },
    sessions: () => get(sessionsAnswer, "/v1/sessions"),
    operations: () => get(operationsAnswer, "/v1/custody/operations"),
    operation: (id) => get(operationAnswer, operationPath(id)),
    ticket: (runId) => get(ticketAnswer, ticketPath(runId)),
    credentialUses: () => get(usesAnswer, "/v1/credentials/uses"),
    close: () => connection.close(),
  };
  return { connection, headers, reading };
}

/** Whether there is something that a person could have seen and signed. */
export function hasCard(approval: ApprovalRecord): approval is ApprovalView {
  return approval.card !== null && approval.card_digest !== null;
}

function requireCard(approval: ApprovalRecord): ApprovalView {
  if (hasCard(approval)) return approval;
  throw new Denied(
    "approval_not_pending",
    "This question waits in line and has no card yet. Decide the open card of the same caller first: gw approvals.",
  );
}
