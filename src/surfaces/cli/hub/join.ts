import { hostname } from "node:os";
import { connectHub, type HubConnection } from "../../../hub/connect.ts";
import { HUB_SCHEMA } from "../../../hub/schema.ts";
import { type EnrolmentStatement, peekEnrolment, signHub } from "../../../hub/statement.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonObject } from "../../../kernel/json.ts";
import { Secret } from "../../../kernel/secret.ts";
import {
  type HubSecrets,
  hubKeyOf,
  identityKeyOf,
  openHubSecrets,
  sealHubSecrets,
} from "../../../vault/hub-secrets.ts";
import { RAW_KEY_BYTES, rawPublicOf } from "../../../vault/keys.ts";
import { GATEWAY_NAME } from "../../../vault/policy/hub-entries.ts";
import { type HubMembership, NO_HUB_RULES } from "../../../vault/policy/policy.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import { type GatewaySession, withGateway } from "../operator/session.ts";
import type { OperatorOptions } from "../options.ts";
import { applyPolicyChange, say } from "../vault/session.ts";
import { type HubLoginOptions, takeHubLogin } from "./login.ts";

export interface JoinOptions extends OperatorOptions, HubLoginOptions {
  readonly name?: string;
}

/**
 * `gw hub join URL`: a key for this host, an operator's signature that it speaks for it, and the way there, sealed, in signed
 * policy. Said again with the same name it keeps the key, and says that a person has looked at a hub that was put back.
 */
export function runHubJoin(url: string, options: JoinOptions, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  return answering(io, async () => {
    const gateway = readName(options.name);
    const login = await takeHubLogin(url, options, io);
    return await withGateway(options, deps, async (session) => {
      const logId = logOf(await session.client.status());
      const connection = await connectHub(login, null);
      try {
        const secrets = secretsFor(session, connection.hubId, gateway, deps);
        using identity = secrets;
        const joined = await enrol(session, connection, { gateway, logId, identity, deps });
        const way = { ...login, url: login.address.url, identity };
        await signMembership(session, deps, connection.hubId, gateway, joined, way);
        say(
          io,
          options.json,
          { hub_id: connection.hubId, gateway, joined_at: joined },
          `${gateway} belongs to ${connection.hubId}. Its log goes there from now on; see gw status.`,
        );
        return exits.done;
      } finally {
        await connection.close();
        login.password?.wipe();
      }
    });
  });
}

/** The key that this name had on this hub before, or a new one. */
function secretsFor({ home, operator }: GatewaySession, hubId: string, gateway: string, { random }: CliDeps): Secret {
  const vault = home.readVault();
  const { hub } = home.readPolicy(vault);
  if (hub === null || hub.hubId !== hubId || hub.gateway !== gateway) return Secret.take(random.bytes(RAW_KEY_BYTES));
  const before = openHubSecrets(hubKeyOf(operator.serviceKey, vault), hub);
  before.password?.wipe();
  return before.identity;
}

interface Enrolling {
  readonly gateway: string;
  readonly logId: string;
  readonly identity: Secret;
  readonly deps: CliDeps;
}

async function enrol(
  { home, operator }: GatewaySession,
  connection: HubConnection & { readonly hubId: string },
  { gateway, logId, identity, deps }: Enrolling,
): Promise<string> {
  const signedAt = isoTime(deps.clock.wallMs());
  const statement: EnrolmentStatement = {
    format: "gw.hub-gateway/v1",
    hub_id: connection.hubId,
    gateway,
    identity_key: rawPublicOf(identityKeyOf({ identity })).toString("base64url"),
    log_id: logId,
    vault_id: operator.vaultId,
    operator: operator.name,
    operator_key_id: operator.keyId,
    signed_at: signedAt,
  };
  await requireFree(connection, statement);
  requireAlone(home.readPolicy(home.readVault()).hub, statement);
  const { text, signature } = signHub(statement, (bytes) => operator.approver.sign(bytes));
  await connection.ask(
    `insert into ${HUB_SCHEMA}.gateways (name, login, enrolment, enrolment_signature) values ($1, current_user, $2, $3)
     on conflict (name) do update set enrolment = $2, enrolment_signature = $3, leave = null, leave_signature = null`,
    [gateway, text, signature],
  );
  return signedAt;
}

/** A name is one key and one log for good: what was written under it must stay provable. */
async function requireFree(connection: HubConnection, wanted: EnrolmentStatement): Promise<void> {
  const [row] = await connection.ask<{ enrolment: string; own: boolean; tick: string | null }>(
    `select g.enrolment, g.login = current_user as own, h.tick from ${HUB_SCHEMA}.gateways g
       left join ${HUB_SCHEMA}.log_head h on h.gateway = g.name where g.name = $1`,
    [wanted.gateway],
  );
  if (row === undefined) return;
  const { identity_key, log_id } = peekEnrolment(row.enrolment);
  const same = identity_key === wanted.identity_key && log_id === wanted.log_id;
  if (row.own && (same || Number(row.tick ?? 0) === 0)) return;
  throw new Denied(
    "hub_name_taken",
    `${wanted.gateway} is on this hub already, with another ${row.own ? "key or log" : "login"}. Choose another name: --name NAME`,
  );
}

/** Two at once would leave the first one silent, and nobody would have said that it left. */
function requireAlone(hub: HubMembership | null, { hub_id, gateway }: EnrolmentStatement): void {
  if (hub === null || (hub.hubId === hub_id && hub.gateway === gateway)) return;
  throw new Denied("hub_joined", `This gateway is ${hub.gateway} on ${hub.hubId}. Leave that one first: gw hub leave`);
}

async function signMembership(
  session: GatewaySession,
  deps: CliDeps,
  hubId: string,
  gateway: string,
  joinedAt: string,
  secrets: HubSecrets,
): Promise<void> {
  const vault = session.home.readVault();
  const identityKey = rawPublicOf(identityKeyOf(secrets));
  const membership = { hubId, gateway, identityKey, joinedAt };
  const sealed = sealHubSecrets(hubKeyOf(session.operator.serviceKey, vault), membership, secrets, deps.random);
  await applyPolicyChange(session, deps.vault, { what: "hub_joined", subject: gateway }, (policy) => ({
    ...policy,
    hub: { ...membership, sealed, rules: policy.hub?.hubId === hubId ? policy.hub.rules : NO_HUB_RULES },
  }));
}

function readName(given: string | undefined): string {
  const name = given ?? hostname().toLowerCase().split(".")[0] ?? "";
  if (GATEWAY_NAME.test(name)) return name;
  throw new Denied(
    "value_not_allowed",
    `A gateway's name on a hub is 1 to 63 letters a to z, digits, dots and hyphens: --name NAME${given === undefined ? ` (this machine's own, ${name}, is not)` : ""}`,
  );
}

function logOf(status: JsonObject): string {
  const { log } = status;
  const id = isJsonObject(log) ? log["log_id"] : undefined;
  if (typeof id !== "string") throw new Denied("log_unreadable", "The gateway does not say which log it writes.");
  return id;
}
