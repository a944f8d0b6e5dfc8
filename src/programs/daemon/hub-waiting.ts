import { readHubAddress } from "../../hub/address.ts";
import { connectHub } from "../../hub/connect.ts";
import { startWaiting, type Waiting } from "../../hub/waiting.ts";
import type { Random, Sleep } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Secret } from "../../kernel/secret.ts";
import { openHubSecrets } from "../../vault/hub-secrets.ts";
import { rawPublicOf } from "../../vault/keys.ts";
import type { HubMembership } from "../../vault/policy/policy.ts";
import { readWaitingKey, type WaitingKey } from "../../vault/waiting-key.ts";
import type { Trust } from "./trust.ts";

/** A gateway that is locked asks on its hub to be unlocked, where signed policy names the key that it asks with. */
export interface HubWaiting {
  /** It may be locked or unlocked now, and policy another one. */
  adjust(): void;
  /** Null where it does not ask there. */
  status(): JsonObject | null;
  close(): Promise<void>;
}

export type UnlockByHub = (
  serviceKey: Secret,
  operator: { readonly operator: string; readonly operatorKeyId: string },
) => Promise<void>;

interface HubWaitingParts {
  readonly home: string;
  readonly log: { readonly logId: string; head(): { readonly frame: number } };
  readonly random: Random;
  readonly sleep: Sleep;
  /** What is in force now. */
  readonly state: { readonly trust: Trust; readonly compartment: object | null };
  unlock: UnlockByHub;
  onTrouble(error: Denied): void;
}

export function createHubWaiting(parts: HubWaitingParts): HubWaiting {
  const { state } = parts;
  let asking: { readonly joinedAt: string; readonly waiting: Waiting } | null = null;
  let trouble: Denied | null = null;
  let ended: Promise<unknown> = Promise.resolve();

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

  function begin({ key, membership }: NonNullable<ReturnType<typeof find>>): Waiting {
    const { url, password, authority } = openHubSecrets(key.reading, membership);
    const address = readHubAddress(url);
    const { hubId, gateway } = membership;
    return startWaiting({
      ...{ hubId, gateway, vaultId: state.trust.vault.vaultId, signing: key.signing },
      ...{ random: parts.random, sleep: parts.sleep, unlock: parts.unlock, tell },
      connect: () => connectHub({ address, password, authority }, hubId),
      knows: () => ({ vault: state.trust.vault.generation, policy: state.trust.policy?.version ?? 0 }),
      log: () => ({ id: parts.log.logId, frame: parts.log.head().frame }),
      operators: () => state.trust.vault.operators,
    });
  }

  function end(): void {
    if (asking !== null) ended = Promise.all([ended, asking.waiting.close()]);
    asking = null;
    trouble = null;
  }

  return {
    adjust() {
      try {
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
