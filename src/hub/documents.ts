import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { HubConnection } from "./connect.ts";
import { knownToPeers } from "./peer-heads.ts";
import { documentPlace } from "./policy-order.ts";
import { HUB_CHANNEL, HUB_SCHEMA, shortName } from "./schema.ts";

/** What operators sign for all hosts of a vault. Each has its own numbers, which only rise. */
export type DocumentKind = "vault" | "policy";

export interface Generations {
  readonly vault: number;
  readonly policy: number;
}

/** A document that was checked as a file of the home is. `digest` is of what was signed. */
export interface CheckedDocument {
  readonly kind: DocumentKind;
  readonly generation: number;
  readonly digest: string;
  readonly text: string;
}

export interface DocumentParts {
  readonly vaultId: string;
  readonly hubId: string;
  readonly gateway: string;
  /** With the key that only gateways and operators of this vault have; `place` is part of what is sealed. */
  seal(place: string, plain: Buffer): Buffer;
  open(place: string, sealed: Buffer): Buffer | undefined;
  /** What is in force here. */
  here(): readonly CheckedDocument[];
  /** Undefined for what no operator of this vault signed. */
  check(kind: DocumentKind, text: string, vault: CheckedDocument | null): CheckedDocument | undefined;
  /**
   * Puts them in force, or what an operator signed here meanwhile: then they are looked at again. Denied as a changed file would be.
   * False, and nothing is changed, where one of them needs the other that is not there.
   */
  take(found: readonly CheckedDocument[]): Promise<boolean>;
  /** Digests of packs that the policy in force names and this host does not have. */
  packsWanted(): readonly string[];
  /** Bytes of a pack that the policy in force names. */
  packs(): readonly { readonly digest: string; readonly bytes: Buffer }[];
  storePack(digest: string, bytes: Buffer): Promise<boolean>;
  /** Keys of the gateways that signed policy names. */
  peers(): readonly { readonly gateway: string; readonly identityKey: Buffer }[];
  /** How far the hub was seen to be, over restarts. */
  seen(): Generations;
  remember(seen: Generations): Promise<void>;
  /** Null when all is well again. */
  tell(trouble: Denied | null): void;
}

interface Row {
  readonly kind: DocumentKind;
  readonly generation: string;
  readonly gateway: string;
  readonly digest: string;
}

const KINDS: readonly DocumentKind[] = ["vault", "policy"];

/**
 * All of one moment, and the newest of each gateway: own rows first, then those of gateways that signed policy names. A gateway
 * that joins is named by the very policy that it puts here, so that others are looked at too, after them.
 */
const LOOK = `select kind, generation, gateway, encode(sha256(sealed), 'hex') as digest from (
  select *, row_number() over (partition by kind order by place, generation desc, gateway) as turn from (
    select *, case when gateway = $5 then 0 when gateway = any($4) then 1 else 2 end as place,
        row_number() over (partition by kind, gateway order by generation desc) as nth
      from ${HUB_SCHEMA}.documents
     where vault_id = $1 and octet_length(sealed) <= ${defaults.hubDocumentBytes} and ${shortName("gateway")}
       and ((kind = 'vault' and generation >= $2::bigint) or (kind = 'policy' and generation >= $3::bigint))
  ) each where nth <= 2 or (gateway = $5 and generation = case kind when 'vault' then $2::bigint else $3::bigint end)
) taken where turn <= ${defaults.hubDocumentsALook} order by generation desc, place, gateway`;

const MOST_KNOWN = 1_024;

/** Keeps this host's signed files and the hub's the same. Nothing on the hub is believed: an operator signed it, and it only rises. */
export function createDocuments(parts: DocumentParts): { look(connection: HubConnection): Promise<void> } {
  const { vaultId, gateway } = parts;
  /** What a row that was looked at is, by its place and its bytes. */
  const known = new Map<string, CheckedDocument | null>();

  /** Told until an operator signs something newer: what was gone is back at once, and somebody should look all the same. */
  let found: { readonly at: string; readonly trouble: Denied } | null = null;

  const placeOf = (kind: string, name: string): string => documentPlace(vaultId, kind, name);

  async function read(connection: HubConnection, row: Row, vault: CheckedDocument | null) {
    // A policy may be signed by somebody whom a vault that is not here yet admitted: looked at again with it.
    const under = row.kind === "policy" ? (vault?.digest ?? "") : "";
    const id = `${row.kind} ${row.generation} ${row.gateway} ${row.digest} ${under}`;
    const before = known.get(id);
    if (before !== undefined) return before;
    const [found] = await connection.ask<{ sealed: Buffer }>(
      `select substring(sealed from 1 for ${defaults.hubDocumentBytes}) as sealed from ${HUB_SCHEMA}.documents
        where vault_id = $1 and kind = $2 and generation = $3 and gateway = $4`,
      [vaultId, row.kind, row.generation, row.gateway],
    );
    const plain = found === undefined ? undefined : parts.open(placeOf(row.kind, row.generation), found.sealed);
    const document = plain === undefined ? undefined : parts.check(row.kind, plain.toString("utf8"), vault);
    const checked = document !== undefined && String(document.generation) === row.generation ? document : null;
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(id, checked);
    return checked;
  }

  /** Together: a vault without an operator may not hold without the policy that somebody else signed anew. Only what is new is told of. */
  async function put(connection: HubConnection, documents: readonly CheckedDocument[]): Promise<void> {
    const sealed = documents.map(({ kind, generation, text }) =>
      parts.seal(placeOf(kind, String(generation)), Buffer.from(text, "utf8")),
    );
    await connection.ask(
      `with put as (
         insert into ${HUB_SCHEMA}.documents (vault_id, kind, generation, gateway, sealed)
         select $1, kind, generation, $2, sealed from unnest($3::text[], $4::bigint[], $5::bytea[]) as one (kind, generation, sealed)
         on conflict (vault_id, kind, generation, gateway) do update set sealed = excluded.sealed
         returning xmax = 0 as fresh)
       select pg_notify('${HUB_CHANNEL}', 'document') from put where fresh limit 1`,
      [vaultId, gateway, documents.map(({ kind }) => kind), documents.map(({ generation }) => generation), sealed],
    );
  }

  /** Only our own row counts: anybody may put something else under a pack's digest, and others try every row. */
  async function putPacks(connection: HubConnection): Promise<void> {
    const packs = parts.packs();
    const rows = await connection.ask<{ digest: string }>(
      `select digest from ${HUB_SCHEMA}.blobs where vault_id = $1 and digest = any($2) and gateway = $3`,
      [vaultId, packs.map(({ digest }) => digest), gateway],
    );
    const there = new Set(rows.map(({ digest }) => digest));
    for (const { digest, bytes } of packs.filter((one) => !there.has(one.digest))) {
      await connection.ask(
        `insert into ${HUB_SCHEMA}.blobs (vault_id, digest, gateway, sealed) values ($1, $2, $3, $4) on conflict do nothing`,
        [vaultId, digest, gateway, parts.seal(placeOf("pack", digest), bytes)],
      );
    }
  }

  async function fetchPacks(connection: HubConnection): Promise<void> {
    for (const digest of parts.packsWanted()) {
      const rows = await connection.ask<{ gateway: string }>(
        `select gateway from ${HUB_SCHEMA}.blobs where vault_id = $1 and digest = $2 and gateway = any($3)
            and octet_length(sealed) <= ${defaults.hubDocumentBytes} order by gateway limit ${defaults.hubDocumentsALook}`,
        [vaultId, digest, parts.peers().map((one) => one.gateway)],
      );
      for (const { gateway: from } of rows) {
        const [found] = await connection.ask<{ sealed: Buffer }>(
          `select substring(sealed from 1 for ${defaults.hubDocumentBytes}) as sealed from ${HUB_SCHEMA}.blobs
            where vault_id = $1 and digest = $2 and gateway = $3`,
          [vaultId, digest, from],
        );
        const bytes = found === undefined ? undefined : parts.open(placeOf("pack", digest), found.sealed);
        if (bytes !== undefined && (await parts.storePack(digest, bytes))) break;
      }
    }
  }

  /** What is newer than what we have, or null where nothing is. */
  async function look(connection: HubConnection): Promise<"taken" | null> {
    const here = new Map(parts.here().map((document) => [document.kind, document]));
    const [vault, policy] = [here.get("vault"), here.get("policy")];
    // A home whose policy does not hold follows nobody, and nobody follows it.
    if (vault === undefined || policy === undefined) return null;
    const named = parts.peers().map((one) => one.gateway);
    const rows = await connection.ask<Row>(LOOK, [vaultId, vault.generation, policy.generation, named, gateway]);
    const troubles: Denied[] = [];
    const newer: CheckedDocument[] = [];
    const shown = new Set<DocumentKind>();
    for (const kind of KINDS) {
      const own = kind === "vault" ? vault : policy;
      for (const row of rows.filter((one) => one.kind === kind)) {
        const document = await read(connection, row, newer[0] ?? null);
        // Any login of the hub may put something beside; it is only told of where it should be one of ours.
        if (document === null && !named.includes(row.gateway)) continue;
        if (document === null) troubles.push(invalid(row));
        else if (document.generation > own.generation) {
          newer.push(document);
          break;
        } else if (document.digest === own.digest) shown.add(kind);
        else troubles.push(forked(row));
      }
    }
    if (newer.length > 0) {
      if (!(await parts.take(newer))) {
        parts.tell(alone(newer));
        return null;
      }
      known.clear();
      return "taken";
    }
    const seen = parts.seen();
    const missing: CheckedDocument[] = [];
    for (const own of [vault, policy]) {
      if (shown.has(own.kind)) continue;
      if (seen[own.kind] >= own.generation && !troubles.some(({ code }) => code === "hub_document_invalid"))
        troubles.push(gone(own));
      // While two stand beside each other a person decides which one goes on.
      if (troubles.some(({ code }) => code === "hub_document_forked")) continue;
      missing.push(own);
    }
    // Before the policy that names them, and again where somebody removed them.
    await putPacks(connection);
    if (missing.length > 0) await put(connection, missing);
    if (seen.vault !== vault.generation || seen.policy !== policy.generation)
      await parts.remember({ vault: vault.generation, policy: policy.generation });
    await fetchPacks(connection);
    const peers = await knownToPeers(connection, parts.hubId, parts.peers());
    if (peers.vault > vault.generation || peers.policy > policy.generation) troubles.push(withheld(peers));
    const at = `${vault.generation} ${policy.generation}`;
    const [first] = troubles;
    if (first !== undefined) found = { at, trouble: first };
    else if (found?.at !== at) found = null;
    // What is only not there yet is told for as long as it is not.
    const wanted = parts.packsWanted();
    parts.tell(found?.trouble ?? (wanted.length > 0 ? packsGone(wanted) : null));
    return null;
  }

  return {
    async look(connection) {
      try {
        // What came along with it, such as packs, and what was signed meanwhile.
        for (let rounds = 0; rounds < 3 && (await look(connection)) === "taken"; rounds++);
      } catch (error) {
        // The hub's own trouble is for whoever holds the connection; a file that is not taken is told here.
        if (!(error instanceof Denied) || error.code.startsWith("hub_")) throw error;
        parts.tell(error);
      }
    },
  };
}

function invalid({ kind, generation, gateway }: Row): Denied {
  return new Denied(
    "hub_document_invalid",
    `What stands on the hub as ${kind} ${generation}, from ${gateway}, is not what an operator of this vault signed. It is not followed. Find out who writes to the database, or owns that host.`,
  );
}

function forked({ kind, generation, gateway }: Row): Denied {
  return new Denied(
    "hub_document_forked",
    `${gateway} has another ${kind} ${generation} than this host: two operators signed at one moment. Sign your change once more over there; this host follows what is newer.`,
  );
}

function gone({ kind, generation }: CheckedDocument): Denied {
  return new Denied(
    "hub_document_gone",
    `${kind} ${generation} was on the hub and is not any more: somebody removed it. This host has put it back. Find out what happened to the database.`,
  );
}

function alone([one]: readonly CheckedDocument[]): Denied {
  return new Denied(
    "hub_document_gone",
    `${one?.kind ?? "vault"} ${one?.generation ?? ""} is on the hub, and what was signed with it is not yet: the policy of this host does not hold under it. It is followed once both are there.`,
  );
}

function packsGone([first, ...others]: readonly string[]): Denied {
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  return new Denied(
    "hub_pack_gone",
    `The policy trusts the pack ${first ?? ""}${more}, which is neither here nor on the hub from a gateway of this vault. Its actions are refused here. See that a host that has it is up and reaches the hub, or add it here: gw pack add FILE`,
  );
}

function withheld({ by, vault, policy }: Generations & { readonly by: string }): Denied {
  return new Denied(
    "hub_document_gone",
    `${by} follows vault ${vault} and policy ${policy}, which the hub does not show here. Find out what happened to the database; until then this host has older ones.`,
  );
}
