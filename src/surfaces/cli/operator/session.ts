import { join } from "node:path";
import { connectOperator, type OperatorClient } from "../../client/operator.ts";
import type { CliDeps, OperatorOptions } from "../commands/deps.ts";
import type { Exit } from "../io.ts";
import { type VaultSession, withOperator } from "../vault/session.ts";

export interface GatewaySession extends VaultSession {
  readonly client: OperatorClient;
}

/** Unlocks an operator in this process and logs in to the running gateway with their key. */
export function withGateway(
  options: OperatorOptions,
  deps: CliDeps,
  work: (session: GatewaySession) => Promise<Exit>,
): Promise<Exit> {
  return withOperator(options, deps.io, deps.vault, async (session) => {
    const client = await connectOperator(join(options.home, "operator.sock"), session.operator, deps.clock);
    try {
      return await work({ ...session, client });
    } finally {
      client.close();
    }
  });
}
