import { type LoginStatement, type Signed, signStatement } from "../../conventions/approval/decision.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import type { OpenOperator } from "../../vault/operator.ts";
import { challengeAnswer, tokenAnswer } from "../operator/answers.ts";
import type { Connection } from "./connection.ts";

/** Who answers the plane's challenge: an operator whose keys are open here, or the program behind `gw login`. */
export interface LoginSigner {
  readonly vaultId: string;
  signLogin(challenge: string): Promise<Signed<LoginStatement>>;
}

export function signerOf({ name, keyId, vaultId, approver }: OpenOperator): LoginSigner {
  const who = { operator: name, operator_key_id: keyId } as const;
  return {
    vaultId,
    signLogin: async (challenge) =>
      signStatement({ format: "gw.login/v1", vault_id: vaultId, challenge, ...who }, approver),
  };
}

/** Answers the plane's challenge with the operator's key; the token lives in this process. */
export async function logIn(connection: Pick<Connection, "ask">, signer: LoginSigner): Promise<string> {
  const { challenge, vault_id } = await connection.ask(challengeAnswer, "POST", "/v1/login/challenge");
  if (vault_id !== signer.vaultId) {
    throw new Denied("vault_foreign", "The gateway at this socket works with another vault than the one in this home.");
  }
  const signed = await signer.signLogin(challenge);
  const body = signed as unknown as JsonValue;
  return (await connection.ask(tokenAnswer, "POST", "/v1/login", { body })).token;
}
