import { join } from "node:path";
import { signAttestation } from "../../../audit/attestation.ts";
import { verifyLog } from "../../../audit/verify/verify.ts";
import { connectOperator, type OperatorClient } from "../../client/operator.ts";
import type { CliDeps } from "../commands/deps.ts";
import type { Exit } from "../io.ts";
import { type OperatorOptions, operatorDoor } from "../options.ts";
import { type VaultSession, withOperator } from "../vault/session.ts";
import { readHead, writeHead } from "./remembered-head.ts";

export interface GatewaySession extends VaultSession {
  readonly client: OperatorClient;
}

/** Unlocks an operator in this process and logs in to the running gateway with their key. */
export function withGateway(
  options: OperatorOptions & { readonly attest?: boolean },
  deps: CliDeps,
  work: (session: GatewaySession) => Promise<Exit>,
): Promise<Exit> {
  return withOperator(options, deps.io, deps.vault, async (session) => {
    const client = await connectOperator(operatorDoor(options), session.operator, deps.clock);
    try {
      // A log that has stopped takes no attestation.
      if (options.attest !== false) await attestLog(options, deps, session, client);
      return await work({ ...session, client });
    } finally {
      client.close();
    }
  });
}

/**
 * Vouches for what the live gateway wrote, after seeing that the log extends the head this operator remembers. A log that
 * does not is never attested; the person is told, and what they came for still works.
 */
export async function attestLog(
  { home }: OperatorOptions,
  { io, clock, stateFolder }: CliDeps,
  { operator }: VaultSession,
  client: OperatorClient,
): Promise<void> {
  const remembered = readHead(stateFolder, operator.vaultId);
  const report = await verifyLog({
    folder: join(home, "audit"),
    allowUnattested: true,
    ...(remembered === null ? {} : { heads: [remembered] }),
  });
  if (report.exit !== 0) {
    const seen = remembered === null ? "" : `; you last saw frame ${remembered.frame}`;
    io.err(
      `WARNING: the log does not hold (${report.firstBreach?.code ?? "unreadable"}${seen}). It was not attested. Look at it with: gw audit verify`,
    );
    return;
  }
  const offer = await client.offerAttestation();
  const statement = signAttestation(offer, operator.name, operator.approver.key, Math.floor(clock.wallMs() / 1000));
  await client.attest(statement);
  writeHead(stateFolder, operator.vaultId, { frame: offer.headFrame, link: offer.headLink.toString("hex") });
}
