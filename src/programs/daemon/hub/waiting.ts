import { readHubAddress } from "../../../hub/address.ts";
import { connectHub, type HubConnection } from "../../../hub/connect.ts";
import { readPeerHead } from "../../../hub/fetch-log.ts";
import { HUB_SCHEMA, shortBytes, shortText } from "../../../hub/schema.ts";
import { reachedOf } from "../../../hub/ship.ts";
import { judgePast } from "../../../hub/take-part.ts";
import { startWaiting, type Waiting, type WaitingParts } from "../../../hub/waiting.ts";
import type { Random, Sleep } from "../../../kernel/clock.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { openHubSecrets } from "../../../vault/hub-secrets.ts";
import { rawPublicOf } from "../../../vault/keys.ts";
import type { HubMembership } from "../../../vault/policy/policy.ts";
import { readWaitingKey, removeWaitingKey, type WaitingKey } from "../../../vault/waiting-key.ts";
import type { Trust } from "../trust.ts";

/** A gateway that is locked asks on its hub to be unlocked, where signed policy names the key that it asks with. */
export interface HubWaiting {
  /** It may be locked or unlocked now, and policy another one. */
  adjust(): void;
  /** Null where it does not ask there. */
  status(): JsonObject | null;
  close(): Promise<void>;
}

/** What an operator's word from the hub does here. */
export type UnlockByHub = Pick<WaitingParts, "unlock" | "offerAttestation" | "attest">;

interface HubWaitingParts {
  readonly home: string;
  /** Of the log. */
  readonly folder: string;
  readonly log: { readonly logId: string; head(): { readonly frame: number } };
  readonly random: Random;
  readonly sleep: Sleep;
  /** What is in force now. */
  readonly state: { readonly trust: Trust; readonly compartment: object | null };
  readonly byHub: UnlockByHub;
  readonly refuse: WaitingParts["refuse"];
  onTrouble(error: Denied): void;
}

export function createHubWaiting(parts: HubWaitingParts): HubWaiting {
  const { state } = parts;
  let asking: { readonly joinedAt: string; readonly waiting: Waiting } | null = null;
  let trouble: Denied | null = null;
  let ended: Promise<unknown> = Promise.resolve();
  /** The key that policy named at the last look; undefined before the first of this process. */
  let named: string | null | undefined;

  function tell(next: Denied | null): void {
    if (next !== null && next.code !== trouble?.code) parts.onTrouble(next);
    trouble = next;
  }

  /** Null where there is no such key, or nobody signed for it. */
  function find(): { readonly key: WaitingKey; readonly membership: HubMembership } | null {
    const { vault, policy } = state.trust;
    const hub = policy?.hub ?? null;
    if (hub === null || state.compartment !== null) return null;
    const key = readWaitingKey(parts.home, vault.vaultId);
    const raw = key === null ? null : rawPublicOf(key.signing);
    const own = hub.gateways.find(({ waiting }) => raw !== null && waiting?.signingKey.equals(raw) === true);
    return key === null || own === undefined ? null : { key, membership: { hubId: hub.hubId, ...own } };
  }

  /** Null too for what is no such key: whoever needs it is told. */
  function ownKey(): string | null {
    try {
      const key = readWaitingKey(parts.home, state.trust.vault.vaultId);
      return key === null ? null : rawPublicOf(key.signing).toString("hex");
    } catch (error) {
      if (error instanceof Denied) return null;
      throw error;
    }
  }

  /** A key that policy named and names no more is good for nothing; one that was drawn just now is about to be signed for. */
  function tidy(): void {
    const { policy } = state.trust;
    if (policy === null) return;
    const raw = ownKey();
    const isNamed = policy.hub?.gateways.some(({ waiting }) => waiting?.signingKey.toString("hex") === raw) === true;
    if (raw !== null && !isNamed && (named === undefined || named === raw)) removeWaitingKey(parts.home);
    named = isNamed ? raw : null;
  }

  function begin({ key, membership }: NonNullable<ReturnType<typeof find>>): Waiting {
    const { url, password, authority } = openHubSecrets(key.reading, membership);
    const address = readHubAddress(url);
    const { hubId, gateway } = membership;
    return startWaiting({
      ...{ hubId, gateway, vaultId: state.trust.vault.vaultId, signing: key.signing },
      ...{ ...parts.byHub, random: parts.random, sleep: parts.sleep, refuse: parts.refuse, tell },
      connect: () => connectHub({ address, password, authority }, hubId),
      knows: () => ({ vault: state.trust.vault.generation, policy: state.trust.policy?.version ?? 0 }),
      log: () => ({ id: parts.log.logId, frame: parts.log.head().frame }),
      operators: () => state.trust.vault.operators,
      requireOwnPast: (connection) => requireOwnPast(connection, membership),
    });
  }

  /** Frames that were cut off may have been written anew since: a number alone does not tell. */
  async function requireOwnPast(connection: HubConnection, membership: HubMembership): Promise<void> {
    const { gateway } = membership;
    const [row] = await connection.ask<{ statement: string | null; signature: Buffer | null }>(
      `select ${shortText("statement")}, ${shortBytes("signature")} from ${HUB_SCHEMA}.log_head where gateway = $1`,
      [gateway],
    );
    const { statement: text = null, signature = null } = row ?? {};
    const head = text === null || signature === null ? undefined : readPeerHead({ text, signature }, membership);
    if (head?.log_id !== parts.log.logId || judgePast(parts.folder, reachedOf(head)) !== "foreign") return;
    throw new Denied(
      "log_rolled_back",
      `The log of this host does not have what ${gateway} put on the hub up to frame ${head.next_frame - 1}: it was cut back or replaced. It does not ask there to be unlocked. Look at it with gw audit verify, and unlock it here: gw unlock`,
    );
  }

  function end(): void {
    if (asking !== null) ended = Promise.all([ended, asking.waiting.close()]);
    asking = null;
    trouble = null;
  }

  return {
    adjust() {
      try {
        tidy();
        const found = find();
        if (found !== null && asking?.joinedAt === found.membership.joinedAt) return;
        end();
        if (found !== null) asking = { joinedAt: found.membership.joinedAt, waiting: begin(found) };
      } catch (error) {
        if (!(error instanceof Denied)) throw error;
        end();
        tell(error);
      }
    },
    status: () =>
      asking === null && trouble === null
        ? null
        : { trouble: trouble === null ? null : { code: trouble.code, message: trouble.message } },
    async close() {
      end();
      await ended;
    },
  };
}
