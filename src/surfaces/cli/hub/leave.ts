import { readHubAddress } from "../../../hub/address.ts";
import { connectHub } from "../../../hub/connect.ts";
import { HUB_SCHEMA } from "../../../hub/schema.ts";
import { type LeaveStatement, signHub } from "../../../hub/statement.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { Denied } from "../../../kernel/failure.ts";
import { hubKeyOf, openHubSecrets } from "../../../vault/hub-secrets.ts";
import type { HubMembership } from "../../../vault/policy/policy.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import type { OperatorOptions } from "../options.ts";
import { applyPolicyChange, say, type VaultSession, withOperator } from "../vault/session.ts";

/** `gw hub leave`: nothing goes there any more; what is there stays provable. A hub that is away is left all the same. */
export function runHubLeave(options: OperatorOptions, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  return answering(io, () =>
    withOperator(options, io, deps.vault, async (session) => {
      const vault = session.home.readVault();
      const { hub } = session.home.readPolicy(vault);
      if (hub === null) throw new Denied("hub_not_joined", "This gateway belongs to no hub.");
      const secrets = openHubSecrets(hubKeyOf(session.operator.serviceKey, vault), hub);
      secrets.identity.wipe();
      await applyPolicyChange(session, deps.vault, { what: "hub_left", subject: hub.gateway }, (policy) => ({
        ...policy,
        hub: null,
      }));
      let told = true;
      try {
        const login = {
          address: readHubAddress(secrets.url),
          password: secrets.password,
          authority: secrets.authority,
        };
        await sayGoodbye(session, login, hub, deps);
      } catch (error) {
        if (!(error instanceof Denied)) throw error;
        told = false;
        io.err(`warning: ${error.code}: ${error.message} The hub was not told, and will call ${hub.gateway} silent.`);
      } finally {
        secrets.password?.wipe();
      }
      say(
        io,
        options.json,
        { hub_id: hub.hubId, gateway: hub.gateway, told },
        `${hub.gateway} left ${hub.hubId}. Its log there stays.`,
      );
      return exits.done;
    }),
  );
}

async function sayGoodbye(
  { operator }: VaultSession,
  login: Parameters<typeof connectHub>[0],
  { hubId, gateway, identityKey, joinedAt }: HubMembership,
  { clock }: CliDeps,
): Promise<void> {
  const connection = await connectHub(login, hubId);
  try {
    const statement: LeaveStatement = {
      format: "gw.hub-leave/v1",
      hub_id: hubId,
      gateway,
      identity_key: identityKey.toString("base64url"),
      joined_at: joinedAt,
      vault_id: operator.vaultId,
      operator: operator.name,
      operator_key_id: operator.keyId,
      signed_at: isoTime(clock.wallMs()),
    };
    const { text, signature } = signHub(statement, (bytes) => operator.approver.sign(bytes));
    await connection.ask(`update ${HUB_SCHEMA}.gateways set leave = $2, leave_signature = $3 where name = $1`, [
      gateway,
      text,
      signature,
    ]);
  } finally {
    await connection.close();
  }
}
