import { readHubAddress } from "../../../hub/address.ts";
import { connectHub } from "../../../hub/connect.ts";
import { HUB_SCHEMA } from "../../../hub/schema.ts";
import { type LeaveStatement, signHub } from "../../../hub/statement.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { Denied } from "../../../kernel/failure.ts";
import { openHome, type VaultHome } from "../../../vault/files/home.ts";
import { openHubSecrets } from "../../../vault/hub-secrets.ts";
import { withoutGateway } from "../../../vault/policy/hub-entries.ts";
import type { HubGateway, HubMembership, HubPolicy } from "../../../vault/policy/policy.ts";
import { connectOperator } from "../../client/operator.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import { type OperatorOptions, operatorDoor } from "../options.ts";
import { applyPolicyChange, say, type VaultSession, withOperator } from "../vault/session.ts";

/** `gw hub leave [NAME]`: nothing goes there any more; what is there stays provable. A hub that is away is left all the same. */
export function runHubLeave(name: string | undefined, options: OperatorOptions, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  return answering(io, () => {
    const before = requireHub(openHome(options.home, deps.random));
    if (name !== undefined) requireGateway(before, name, ({ gateway }) => gateway === name);
    return withOperator(options, io, deps.vault, async (session) => {
      const hub = requireHub(session.home);
      const leaving = { hubId: hub.hubId, ...(await whoLeaves(name, hub, session, options, deps)) };
      const { hubId, gateway } = leaving;
      await applyPolicyChange(session, deps.vault, { what: "hub_left", subject: gateway }, (policy) => ({
        ...policy,
        hub: policy.hub === null ? null : withoutGateway(policy.hub, gateway),
      }));
      let told = true;
      try {
        await sayGoodbye(session, leaving, deps);
      } catch (error) {
        if (!(error instanceof Denied)) throw error;
        told = false;
        io.err(
          `warning: ${error.code}: ${error.message} The hub was not told: gw status --hub goes on calling ${gateway} silent.`,
        );
      }
      const left = `${gateway} left ${hubId}. Its log there stays. Drop its login in the database too: it can still read what is sealed for all hosts of this vault.`;
      say(io, options.json, { hub_id: hubId, gateway, told }, left);
      return exits.done;
    });
  });
}

function requireHub(home: VaultHome): HubPolicy {
  const { hub } = home.readPolicy(home.readVault());
  if (hub === null) throw new Denied("hub_not_joined", "No gateway of this vault is on a hub: there is none to leave.");
  return hub;
}

function requireGateway({ gateways }: HubPolicy, name: string, isMeant: (gateway: HubGateway) => boolean): HubGateway {
  const found = gateways.find(isMeant);
  if (found !== undefined) return found;
  const names = gateways.map(({ gateway }) => gateway).join(", ");
  throw new Denied("hub_not_joined", `${name} is not on the hub. These are: ${names}`);
}

/** The one that was named, the only one, or the gateway that runs here. */
async function whoLeaves(
  name: string | undefined,
  hub: HubPolicy,
  { operator }: VaultSession,
  options: OperatorOptions,
  deps: CliDeps,
): Promise<HubGateway> {
  if (name !== undefined) return requireGateway(hub, name, ({ gateway }) => gateway === name);
  const [first, second] = hub.gateways;
  if (first !== undefined && second === undefined) return first;
  const client = await connectOperator(operatorDoor(options), operator, deps.clock);
  try {
    const own = Buffer.from((await client.hostKeys()).identity_key, "base64url");
    return requireGateway(hub, "This gateway", ({ identityKey }) => identityKey.equals(own));
  } finally {
    client.close();
  }
}

async function sayGoodbye({ operator }: VaultSession, leaving: HubMembership, { clock }: CliDeps): Promise<void> {
  const { hubId, gateway, identityKey, joinedAt } = leaving;
  const { url, password, authority } = openHubSecrets(operator.readingKey, leaving);
  using _wiped = password;
  const connection = await connectHub({ address: readHubAddress(url), password, authority }, hubId);
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
