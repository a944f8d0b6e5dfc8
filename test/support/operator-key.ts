import { readFileSync } from "node:fs";
import { systemRandom } from "../../src/adapters/platform/system.ts";
import { type LoginStatement, signStatement } from "../../src/conventions/approval/decision.ts";
import { Secret } from "../../src/kernel/secret.ts";
import { openHome } from "../../src/vault/files/home.ts";
import { unlockOperator } from "../../src/vault/operator.ts";
import type { Home, Json, Plane, Reply } from "./home.ts";

/** The operator of a home with the keys that their passphrase opens, for what no command of theirs would do. */
export async function operatorOf(home: Home, name?: string) {
  const vault = openHome(home.folder, systemRandom).readVault();
  const passphrase = Secret.fromText(readFileSync(home.passphraseFile, "utf8").trim());
  return { vault, operator: await unlockOperator(vault, name, passphrase) };
}

type Operator = Awaited<ReturnType<typeof operatorOf>>["operator"];

/** Answers a challenge on the operator plane, as their client does. */
export function answerChallenge(plane: Plane, operator: Operator, challenge: string): Promise<Reply> {
  const statement: LoginStatement = {
    format: "gw.login/v1",
    vault_id: operator.vaultId,
    challenge,
    operator: operator.name,
    operator_key_id: operator.keyId,
  };
  return plane.ask("POST", "/v1/login", signStatement(statement, operator.approver) as unknown as Json);
}
