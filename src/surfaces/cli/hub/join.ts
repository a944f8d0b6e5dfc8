import { hostname } from "node:os";
import type { HubConnection } from "../../../hub/connect.ts";
import { knownToPeers } from "../../../hub/peer-heads.ts";
import { HUB_SCHEMA, shortText } from "../../../hub/schema.ts";
import { type EnrolmentStatement, peekEnrolment, signHub } from "../../../hub/statement.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { Denied } from "../../../kernel/failure.ts";
import { type HubSecrets, sealHubSecrets } from "../../../vault/hub-secrets.ts";
import { GATEWAY_NAME, membershipOf, withGatewayIn } from "../../../vault/policy/hub-entries.ts";
import type { HubMembership, HubPolicy } from "../../../vault/policy/policy.ts";
import { WAITING_KEY_FILE } from "../../../vault/waiting-key.ts";
import { readStatus } from "../../client/read-status.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import { type GatewaySession, withGateway } from "../operator/session.ts";
import { type OperatorOptions, operatorDoor } from "../options.ts";
import { applyPolicyChange, say } from "../vault/session.ts";
import { findSpeakers, knownTo, withConnection } from "./hub-session.ts";
import { type HubLoginOptions, takeHubLogin } from "./login.ts";

export interface JoinOptions extends OperatorOptions, HubLoginOptions {
  readonly name?: string;
  readonly group?: readonly string[];
  readonly unlockByHub?: boolean;
  /** Gateways whose word on what they follow is not believed. */
  readonly despite?: readonly string[];
}

/**
 * `gw hub join URL`: an operator's signature that this host's own key speaks for it, and the way there, sealed for it, in signed
 * policy. Said again with the same name it says that a person has looked at a hub that was put back.
 */
export function runHubJoin(url: string, options: JoinOptions, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  return answering(io, async () => {
    const gateway = readName(options.name);
    const groups = [...new Set(options.group ?? [])].map((group) => readWord(group, "A group's name", "")).sort();
    // Whether there is a gateway to join, before a password is typed.
    await readStatus(operatorDoor(options));
    const login = await takeHubLogin(url, options, io);
    using _wiped = login.password;
    return await withConnection(login, (connection) =>
      withGateway(options, deps, async (session) => {
        const logId = (await session.client.status()).log.log_id;
        const keys = await session.client.hostKeys();
        const { hubId } = connection;
        await requireNewest(session, connection, [gateway, ...(options.despite ?? [])]);
        const joinedAt = await enrol(session, connection, { gateway, logId, identityKey: keys.identity_key, deps });
        const [identityKey, lendingKey] = [keys.identity_key, keys.lending_key].map((key) =>
          Buffer.from(key, "base64url"),
        ) as [Buffer, Buffer];
        const waiting = options.unlockByHub === true ? await askWaitingKey(session) : null;
        const membership = { hubId, gateway, identityKey, lendingKey, waiting, groups, joinedAt };
        await signMembership(session, deps, membership, { ...login, url: login.address.url });
        say(
          io,
          options.json,
          { hub_id: hubId, gateway, joined_at: joinedAt },
          `${gateway} belongs to ${hubId}. Its log goes there from now on; see gw status.${
            waiting === null
              ? ""
              : ` While it is locked it asks there, with a key in the private file ${WAITING_KEY_FILE} of its home: whoever reads that file can ask in its place.`
          }`,
        );
        return exits.done;
      }),
    );
  });
}

async function askWaitingKey({ client }: GatewaySession): Promise<HubMembership["waiting"]> {
  const keys = await client.waitingKey();
  return {
    signingKey: Buffer.from(keys.signing_key, "base64url"),
    readingKey: Buffer.from(keys.reading_key, "base64url"),
  };
}

interface Enrolling {
  readonly gateway: string;
  readonly logId: string;
  readonly identityKey: string;
  readonly deps: CliDeps;
}

async function enrol(
  { home, operator }: GatewaySession,
  connection: HubConnection & { readonly hubId: string },
  { gateway, logId, identityKey, deps }: Enrolling,
): Promise<string> {
  const signedAt = isoTime(deps.clock.wallMs());
  const statement: EnrolmentStatement = {
    format: "gw.hub-gateway/v1",
    hub_id: connection.hubId,
    gateway,
    identity_key: identityKey,
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

/** What would be signed here stands in for what the others follow: whoever only newer files name would drop out with it. */
async function requireNewest(
  session: GatewaySession,
  connection: HubConnection & { readonly hubId: string },
  besides: readonly string[],
): Promise<void> {
  const others = (await findSpeakers(connection, session)).filter((one) => !besides.includes(one.gateway));
  const { by, ...most } = await knownToPeers(connection, connection.hubId, others);
  const own = knownTo(session);
  if (most.vault <= own.vault && most.policy <= own.policy) return;
  throw new Denied(
    "gateway_behind",
    `${by} follows vault ${most.vault} and policy ${most.policy}, and this home has vault ${own.vault} and policy ${own.policy}: what was signed meanwhile would be lost. Nothing was signed. Copy vault.json and policy.json from there once more, or wait until this host has followed (gw status); where ${by} is gone for good: gw hub leave ${by}; where it lies, since somebody owns that host: --despite ${by}`,
  );
}

/** A name is one key and one log for good: what was written under it must stay provable. */
async function requireFree(connection: HubConnection, wanted: EnrolmentStatement): Promise<void> {
  const [row] = await connection.ask<{ enrolment: string; own: boolean; tick: string | null }>(
    `select ${shortText("g.enrolment")}, g.login = current_user as own, h.tick from ${HUB_SCHEMA}.gateways g
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
function requireAlone(hub: HubPolicy | null, { hub_id, gateway, identity_key }: EnrolmentStatement): void {
  if (hub === null) return;
  if (hub.hubId !== hub_id)
    throw new Denied("hub_joined", `Gateways of this vault are on ${hub.hubId}. Leave that one first: gw hub leave`);
  const own = membershipOf(hub, Buffer.from(identity_key, "base64url"));
  if (own === null || own.gateway === gateway) return;
  throw new Denied("hub_joined", `This gateway is ${own.gateway} on ${hub.hubId}. Leave that one first: gw hub leave`);
}

async function signMembership(
  session: GatewaySession,
  deps: CliDeps,
  membership: Omit<HubMembership, "sealed">,
  secrets: HubSecrets,
): Promise<void> {
  const subject = membership.gateway;
  await applyPolicyChange(session, deps.vault, { what: "hub_joined", subject }, (policy, { operators }) => ({
    ...policy,
    hub: withGatewayIn(policy.hub, {
      ...membership,
      sealed: sealHubSecrets(membership, operators, secrets, deps.random),
    }),
  }));
}

function readName(given: string | undefined): string {
  const name = given ?? hostname().toLowerCase().split(".")[0] ?? "";
  const own = given === undefined ? ` (this machine's own, ${name}, is not)` : "";
  return readWord(name, "A gateway's name on a hub", `: --name NAME${own}`);
}

function readWord(word: string, what: string, how: string): string {
  if (GATEWAY_NAME.test(word)) return word;
  throw new Denied("value_not_allowed", `${what} is 1 to 63 letters a to z, digits, dots and hyphens${how}`);
}
