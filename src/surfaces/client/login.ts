import { type LoginStatement, signStatement } from "../../conventions/approval/decision.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import type { OpenOperator } from "../../vault/operator.ts";
import type { Connection } from "./connection.ts";

/** Answers the plane's challenge with the operator's key; the token lives in this process. */
export async function logIn(connection: Connection, operator: OpenOperator): Promise<string> {
  const { body } = await connection.ask("POST", "/v1/login/challenge");
  const { challenge, vault_id } = body as { readonly challenge: string; readonly vault_id: string };
  if (vault_id !== operator.vaultId) {
    throw new Denied("vault_foreign", "The gateway at this socket works with another vault than the one in this home.");
  }
  const who = { operator: operator.name, operator_key_id: operator.keyId } as const;
  const statement: LoginStatement = { format: "gw.login/v1", vault_id, challenge, ...who };
  const signed = signStatement(statement, operator.approver);
  const reply = await connection.ask("POST", "/v1/login", { body: signed as unknown as JsonValue });
  return (reply.body as { readonly token: string }).token;
}
