import { readFileSync } from "node:fs";
import { systemRandom } from "../../src/adapters/platform/system.ts";
import { type LoginStatement, signStatement } from "../../src/conventions/approval/decision.ts";
import { Denied } from "../../src/kernel/failure.ts";
import { Secret } from "../../src/kernel/secret.ts";
import { connectOperator, type OperatorClient } from "../../src/surfaces/client/operator.ts";
import { openHome } from "../../src/vault/files/home.ts";
import { unlockOperator } from "../../src/vault/operator.ts";
import { type Exited, Home, type Json, type Members, type Plane, type Reply } from "./home.ts";
import { whole } from "./whole.ts";

/** The operator of a home with the keys that their passphrase opens, for what no command of theirs would do. */
export async function operatorOf(home: Pick<Home, "folder" | "passphraseFile">, name?: string) {
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

/** The questions that wait, for who cannot wait for a command that verifies the log before it asks. */
export async function waitingOn(plane: Plane, operator: Operator): Promise<readonly Members[]> {
  const { body } = await plane.ask("POST", "/v1/login/challenge");
  const login = await answerChallenge(plane, operator, String(body["challenge"]));
  const headers = { authorization: `Bearer ${login.body["token"]}` };
  return (await plane.ask("GET", "/v1/approvals", undefined, headers)).body as unknown as readonly Members[];
}

/**
 * A home whose operator says yes and tries a credential in this process, by the client of the product: the command around it first verifies
 * a log that grows with every command, which is a tenth of a second of a processor where that is only the way to something else.
 */
export class QuickHome extends Home {
  override async approve(id: string, extra: readonly string[] = []): Promise<void> {
    if (whole || extra.length > 0) return super.approve(id, extra);
    await this.#ask(async (client) => {
      await client.decide(await client.approval(id), { decision: "approve", reason: null, narrow: null });
    });
  }

  /** `gw credential test`, which says on standard error why there is no token. */
  async testCredential(label: string): Promise<Exited> {
    if (whole) return this.operator(["credential", "test", label]);
    try {
      await this.#ask((client) => client.testCredential(label));
    } catch (error) {
      return { code: 1, out: "", err: error instanceof Denied ? `${error.code}: ${error.message}` : String(error) };
    }
    return { code: 0, out: "", err: "" };
  }

  async #ask<Answer>(work: (client: OperatorClient) => Promise<Answer>): Promise<Answer> {
    const { operator } = await operatorOf(this);
    try {
      const door = { path: this.operatorSocket, requireServer: () => undefined };
      const client = await connectOperator(door, operator, { wallMs: () => Date.now() });
      try {
        return await work(client);
      } finally {
        client.close();
      }
    } finally {
      operator.wipe();
    }
  }
}
