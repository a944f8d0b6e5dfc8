import type { HubConnection } from "./connect.ts";
import { readPeerHead } from "./fetch-log.ts";
import { HUB_SCHEMA, shortBytes, shortText } from "./schema.ts";

/** The newest signed files that these gateways say they follow, each with its own key. */
export async function knownToPeers(
  connection: HubConnection,
  hubId: string,
  peers: readonly { readonly gateway: string; readonly identityKey: Buffer }[],
): Promise<{ readonly vault: number; readonly policy: number; readonly by: string }> {
  const rows = await connection.ask<{ gateway: string; statement: string | null; signature: Buffer | null }>(
    `select gateway, ${shortText("statement")}, ${shortBytes("signature")} from ${HUB_SCHEMA}.log_head where gateway = any($1)`,
    [peers.map((one) => one.gateway)],
  );
  return rows.reduce(
    (most, row) => {
      const key = peers.find((one) => one.gateway === row.gateway)?.identityKey;
      if (key === undefined || row.statement === null || row.signature === null) return most;
      const given = { text: row.statement, signature: row.signature };
      const head = readPeerHead(given, { hubId, gateway: row.gateway, identityKey: key });
      const { vault = 0, policy = 0 } = head?.knows ?? {};
      if (vault <= most.vault && policy <= most.policy) return most;
      return { vault: Math.max(vault, most.vault), policy: Math.max(policy, most.policy), by: row.gateway };
    },
    { vault: 0, policy: 0, by: "" },
  );
}
