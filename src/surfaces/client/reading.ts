import type { Card } from "../../conventions/approval/card.ts";
import type { Narrowing } from "../../conventions/approval/decision.ts";
import type { OperationBoard, OperationDetail } from "../../conventions/operation/summary.ts";
import type { WorkContext } from "../../conventions/ticket/context.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { Door } from "../place/place.ts";
import { type Connection, openConnection } from "./connection.ts";
import { type LoginSigner, logIn } from "./login.ts";

/** An approval as the operator plane shows it. */
export interface ApprovalView {
  readonly approval_id: string;
  readonly state: "pending" | "approved" | "denied" | "expired" | "withdrawn";
  readonly run_id: string;
  readonly call_id: string | null;
  readonly mode: string;
  readonly action: string | null;
  readonly expires_in_ms: number;
  readonly decided_by: string | null;
  readonly reason: string | null;
  readonly card_digest: string;
  /** Who said yes already, where two people have to. */
  readonly given: readonly {
    readonly operator: string;
    readonly decided_at: string;
    readonly narrow: Narrowing | null;
  }[];
  readonly card: Card;
  /** Which gateway asks, where the card came by way of a hub. */
  readonly gateway?: string;
}

/** What the operator plane tells whoever watches: every change of a question, and how all operations stand. */
export type OperatorNews =
  | { readonly kind: "approval"; readonly view: ApprovalView }
  | { readonly kind: "operations"; readonly board: OperationBoard };

/** A run and the work context attached to it. */
export interface TicketView {
  readonly run_id: string;
  readonly state: string;
  readonly deadline_at: string;
  readonly ticket: (WorkContext & { readonly scope_digest: string; readonly observed_at: string }) | null;
}

/** When a credential was last used since the unlock, and the token that it was last exchanged for. */
export interface CredentialUse {
  readonly label: string;
  readonly last_used_at: string | null;
  readonly token: TokenView | null;
}

export interface TokenView {
  readonly obtained_at: string;
  readonly expires_at: string;
  readonly scopes: readonly string[];
  readonly missing: readonly string[];
}

/** What the operator plane shows to whoever may look. */
export interface ReadingClient {
  status(): Promise<JsonObject>;
  approvals(): Promise<readonly ApprovalView[]>;
  approval(approvalId: string): Promise<ApprovalView>;
  watch(signal: AbortSignal): AsyncGenerator<OperatorNews>;
  sessions(): Promise<readonly JsonObject[]>;
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
  const get = async (path: string): Promise<JsonValue> => (await connection.ask("GET", path, { headers })).body;
  const reading: ReadingClient = {
    status: async () => (await get("/v1/status")) as JsonObject,
    approvals: async () => (await get("/v1/approvals")) as unknown as readonly ApprovalView[],
    approval: async (id) => requireCard((await get(approvalPath(id))) as unknown as ApprovalView),
    async *watch(signal) {
      for await (const { event, data } of connection.stream("/v1/events", { headers, signal })) {
        if (event === "approval") yield { kind: "approval", view: data as unknown as ApprovalView };
        if (event === "operations") yield { kind: "operations", board: data as unknown as OperationBoard };
      }
    },
    sessions: async () => (await get("/v1/sessions")) as unknown as readonly JsonObject[],
    operations: async () => (await get("/v1/custody/operations")) as unknown as readonly OperationDetail[],
    operation: async (id) => (await get(operationPath(id))) as unknown as OperationDetail,
    ticket: async (runId) => (await get(ticketPath(runId))) as unknown as TicketView,
    credentialUses: async () => (await get("/v1/credentials/uses")) as unknown as readonly CredentialUse[],
    close: () => connection.close(),
  };
  return { connection, headers, reading };
}

/** What waits in line has no card yet, so there is nothing a person could have seen and signed. */
function requireCard(approval: Omit<ApprovalView, "card"> & { readonly card: Card | null }): ApprovalView {
  const { card } = approval;
  if (card !== null) return { ...approval, card };
  throw new Denied(
    "approval_not_pending",
    "This question waits in line and has no card yet. Decide the open card of the same caller first: gw approvals.",
  );
}
