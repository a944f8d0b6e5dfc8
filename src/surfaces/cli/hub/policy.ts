import type { Pack } from "../../../conventions/action/pack.ts";
import { placePack } from "../../../conventions/action/place.ts";
import { readPack } from "../../../conventions/action/read.ts";
import { knownToPeers } from "../../../hub/peer-heads.ts";
import { DOCUMENTS_PURPOSE, documentPlace, sealPolicyOrder } from "../../../hub/policy-order.ts";
import { HUB_SCHEMA } from "../../../hub/schema.ts";
import type { AnswerStatement } from "../../../hub/statement.ts";
import type { Digest } from "../../../kernel/canonical-json.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { seal, unseal } from "../../../vault/box.ts";
import { openService } from "../../../vault/lend.ts";
import type { Policy } from "../../../vault/policy/policy.ts";
import { parsePolicy, policyText, signPolicy } from "../../../vault/policy/verify.ts";
import { Unreachable } from "../../client/connection.ts";
import type { CliDeps } from "../commands/deps.ts";
import { readTrustedCopy } from "../upgrade/load-change.ts";
import { policyInForce } from "../vault/session.ts";
import type { SignChange } from "../vault/sign-change.ts";
import type { HubSession } from "./hub-session.ts";
import { findLiving } from "./revoke.ts";
import { type Answered, isKnown, refusalIn, sayEach } from "./say.ts";

/** The policy that the gateways of a vault follow, as a machine without a gateway reads and changes it. */
export interface PolicyOnHub {
  readonly policy: Policy;
  /** The packs that it trusts, as far as they are here or on the hub. */
  packs(): Promise<readonly Pack[]>;
  /** Said to every gateway: it has changed once one of them took it, and the others follow that one. */
  readonly sign: SignChange;
}

interface PolicyHow {
  /** Gateways whose word on what they follow is not believed. */
  readonly despite?: readonly string[];
  /** What each gateway answered, where one of them took it, and who of them was heard a moment ago. */
  readonly tell?: (answered: readonly Answered[], living: ReadonlySet<string>) => void;
}

export async function readPolicyOnHub(
  session: HubSession,
  deps: CliDeps,
  { despite = [], tell }: PolicyHow = {},
): Promise<PolicyOnHub> {
  const { connection, speakers, home, operator } = session;
  const vault = home.readVault();
  const { vaultId } = vault;
  const key = openService(vault, operator.serviceKey).deriveStateKey(DOCUMENTS_PURPOSE);
  const names = speakers.map(({ gateway }) => gateway);
  const open = (kind: string, name: string, sealed: Buffer): Buffer | undefined => {
    using plain = unseal(key, documentPlace(vaultId, kind, name), sealed);
    return plain?.use((bytes) => Buffer.from(bytes));
  };
  if (names.length === 0)
    throw new Denied(
      "not_found",
      "No gateway of this vault is on this hub. Nothing was read there, and nothing signed. Check that the address is that of its hub, and that vault.json in this home is that of its gateways.",
    );
  const policy = await newest();
  await requireNewest();

  /** Of each gateway its newest: what an owned one puts there is in the way of nothing. Two of one number are nobody's to build on. */
  async function newest(): Promise<Policy> {
    let top = policyInForce(home, vault);
    let from = "this home";
    const rows = await connection.ask<{ gateway: string; generation: string }>(
      `select gateway, max(generation) as generation from ${HUB_SCHEMA}.documents
        where vault_id = $1 and kind = 'policy' and gateway = any($2) and octet_length(sealed) <= ${defaults.hubDocumentBytes}
        group by gateway order by max(generation) desc, gateway = any($3), gateway limit ${defaults.hubGateways}`,
      [vaultId, names, despite],
    );
    for (const { gateway, generation } of rows) {
      if (Number(generation) < (top?.version ?? 0)) break;
      const found = await fetchDocument(gateway, generation);
      if (found === undefined) continue;
      if (found.version > (top?.version ?? 0)) [top, from] = [found, gateway];
      else if (found.digest !== top?.digest && !despite.includes(gateway)) throw forked(generation, from, gateway);
    }
    return top ?? home.readPolicy(vault);
  }

  async function fetchDocument(gateway: string, generation: string): Promise<Policy | undefined> {
    const [row] = await connection.ask<{ sealed: Buffer }>(
      `select substring(sealed from 1 for ${defaults.hubDocumentBytes}) as sealed from ${HUB_SCHEMA}.documents
        where vault_id = $1 and kind = 'policy' and generation = $2 and gateway = $3`,
      [vaultId, generation, gateway],
    );
    const text = row === undefined ? undefined : open("policy", generation, row.sealed)?.toString("utf8");
    if (text === undefined) return undefined;
    try {
      const found = parsePolicy(text, vault);
      return String(found.version) === generation ? found : undefined;
    } catch (error) {
      if (error instanceof Denied) return undefined;
      throw error;
    }
  }

  /** What is signed over an older policy would undo what was signed meanwhile. */
  async function requireNewest(): Promise<void> {
    const believed = speakers.filter(({ gateway }) => !despite.includes(gateway));
    const known = await knownToPeers(connection, connection.hubId, believed);
    if (known.policy <= policy.version) return;
    throw new Denied(
      "gateway_behind",
      `${known.by} follows policy ${known.policy}, and the newest that can be read here is policy ${policy.version}. Nothing was signed. Copy vault.json and policy.json from there once more, or wait until that policy is on the hub; where ${known.by} lies, since somebody owns that host: gw grant add or remove, --despite ${known.by}`,
    );
  }

  async function fetchPack(name: string, digest: Digest): Promise<Pack | null> {
    const kept = readTrustedCopy(home.folder, name, digest);
    if (kept !== null) return kept.pack;
    for (const gateway of names) {
      const [row] = await connection.ask<{ sealed: Buffer }>(
        `select sealed from ${HUB_SCHEMA}.blobs
          where vault_id = $1 and digest = $2 and gateway = $3 and octet_length(sealed) <= ${defaults.hubDocumentBytes}`,
        [vaultId, digest, gateway],
      );
      const bytes = row === undefined ? undefined : open("pack", digest, row.sealed);
      const pack = bytes === undefined ? null : readPack(bytes, `${name}.yaml`).pack;
      if (pack?.name === name && pack.digest === digest) return pack;
    }
    return null;
  }

  return {
    policy,
    async packs() {
      const found: Pack[] = [];
      for (const { pack: name, digest } of policy.packs) {
        const pack = await fetchPack(name, digest);
        const place = policy.places.find((one) => one.pack === name);
        if (pack !== null) found.push(placePack(pack, place));
      }
      return found;
    },
    async sign(_news, change) {
      const next = signPolicy(change(policy, vault), policy, operator, vault, deps.clock);
      const order = { text: policyText(next), knows: { vault: vault.generation, policy: policy.version } };
      const body = sealPolicyOrder(order, vaultId, (place, plain) => seal(key, place, plain, deps.random));
      const living = await findLiving(session);
      const said = speakers.map(({ gateway, identityKey }) => ({ gateway, key: identityKey, body }));
      const isOwed = ({ gateway, answer }: Answered): boolean => answer === null && living.has(gateway);
      const answered = await sayEach(connection, "policy", said, deps, (all) => !all.some(isOwed));
      if (answered.some(({ answer }) => answer?.code === null)) return tell?.(answered, living);
      const refused = answered.find(({ answer }) => isKnown(answer)) ?? answered.find(({ answer }) => answer !== null);
      if (refused !== undefined) throw refusalBeside(refused.answer, answered);
      throw new Unreachable(
        "It is signed and on the hub, and no gateway has answered yet. The first that is back takes it, unless another policy was signed by then. See: gw grant list --hub URL",
      );
    },
  };
}

/** What is made from one of them would undo what is only in the other. */
function forked(generation: string, one: string, other: string): Denied {
  return new Denied(
    "hub_document_forked",
    `${one} and ${other} have different policies ${generation}: two operators signed at one moment. Nothing was signed. See gw grant list on both, and sign on one of the hosts what only the other has: all follow what is newer. Where ${other} lies, since somebody owns that host: gw grant add or remove, --despite ${other}`,
  );
}

/** It still lies there for those who have not answered: whoever is refused may find it in force later. */
function refusalBeside(answer: AnswerStatement | null, all: readonly Answered[]): Denied {
  const refusal = refusalIn(answer);
  const silent = all.filter((one) => one.answer === null).map(({ gateway }) => gateway);
  if (silent.length === 0) return refusal;
  const still = `It is on the hub for ${silent.join(", ")} too, not answered yet, and may still be taken there. See: gw grant list --hub URL`;
  return new Denied(refusal.code, `${refusal.message} ${still}`);
}
