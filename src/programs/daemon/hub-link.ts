import type { ResumableLog } from "../../audit/resumable.ts";
import type { AuditSink } from "../../gateway/ports.ts";
import { readHubAddress } from "../../hub/address.ts";
import { connectHub } from "../../hub/connect.ts";
import { type Queue, startQueue } from "../../hub/queue.ts";
import { type RememberedTick, type Shipper, startShipper } from "../../hub/ship.ts";
import type { Clock, Random, Sleep } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { HUB_PURPOSE, identityKeyOf, openHubSecrets } from "../../vault/hub-secrets.ts";
import type { HubMembership } from "../../vault/policy/policy.ts";
import type { Facts } from "./facts.ts";
import type { HubDesk } from "./hub-desk.ts";
import type { Trust } from "./trust.ts";
import type { OpenCompartment } from "./unlocked.ts";

/** The gateway's way to the hub that signed policy names. It starts with an unlock, and a lock does not end it: it lends nothing. */
export interface HubLink {
  /** Tells it of what is appended. Nobody waits for the hub. */
  watch(audit: AuditSink): AuditSink;
  /** Policy or the compartment may be others now. */
  adjust(): Promise<void>;
  /** From now on questions are shown on the hub too, and what operators sign there is taken. */
  attend(desk: HubDesk): void;
  /** Null while nothing goes to a hub. */
  shipper(): Shipper | null;
  status(): JsonObject | null;
  /** After the log was closed: its last frames still go up, as far as the hub answers soon. */
  finish(): Promise<void>;
}

interface LinkParts {
  readonly folder: string;
  readonly log: ResumableLog;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly random: Random;
  readonly facts: Facts;
  /** What is in force now. */
  readonly state: { readonly trust: Trust; readonly compartment: OpenCompartment | null };
}

const NOTE = "hub";

export function createHubLink(parts: LinkParts): HubLink {
  const { state } = parts;
  let joined: HubMembership | null = null;
  let shipper: Shipper | null = null;
  let queue: Queue | null = null;
  let desk: HubDesk | null = null;
  let trouble: Denied | null = null;

  const tell = (error: Denied): void =>
    parts.facts.tell(error.code === "hub_unreachable" ? "warning" : "error", "hub_trouble", {
      code: error.code,
      message: `${error.code}: ${error.message}`,
    });

  function begin(membership: HubMembership): void {
    const { compartment } = state;
    if (compartment === null) return;
    const secrets = openHubSecrets(compartment.service.deriveStateKey(HUB_PURPOSE), membership);
    const { password, authority } = secrets;
    const address = readHubAddress(secrets.url);
    const identity = identityKeyOf(secrets);
    secrets.identity.wipe();
    const { hubId, gateway } = membership;
    const connect = () => connectHub({ address, password, authority }, hubId);
    const { vaultId } = state.trust.vault;
    if (desk !== null) {
      const { waiting, take } = desk;
      const readers = () => state.trust.vault.operators;
      const { random, sleep } = parts;
      queue = startQueue({ hubId, gateway, vaultId, identity, random, sleep, connect, waiting, readers, take });
    }
    shipper = startShipper({
      ...{ folder: parts.folder, log: parts.log, clock: parts.clock, sleep: parts.sleep, identity },
      ...{ hubId, gateway, connect },
      remembered: recall(compartment.store.find("notes", NOTE), membership),
      remember: (tick) => remember(membership, tick),
      onTrouble: tell,
    });
    joined = membership;
  }

  /** Only what is in memory counts where the gateway is locked; the hub, being ahead of the note then, is still believed only if it shows our own past. */
  async function remember(membership: HubMembership, tick: RememberedTick): Promise<void> {
    const { hubId: hub_id, gateway, joinedAt: joined_at } = membership;
    const body: JsonObject = { hub_id, gateway, joined_at, ...tick };
    await state.compartment?.store
      .commit([{ table: "notes", id: NOTE, runId: "", state: "kept", body }], "process")
      .catch(() => undefined);
  }

  return {
    watch: (audit) => ({
      ...audit,
      append: async (events) => {
        const receipt = await audit.append(events);
        shipper?.wake();
        return receipt;
      },
    }),
    async adjust() {
      const membership = state.trust.policy?.hub ?? null;
      if (membership !== null && joined !== null && isSame(membership, joined)) return;
      queue?.close();
      queue = null;
      if (shipper !== null) {
        await shipper.finish(0);
        shipper = null;
        joined = null;
      }
      trouble = null;
      if (membership === null) return;
      try {
        begin(membership);
      } catch (error) {
        if (!(error instanceof Denied)) throw error;
        trouble = error;
        tell(error);
      }
    },
    attend(next) {
      desk = next;
      desk.watch(() => queue?.wake());
    },
    shipper: () => shipper,
    status() {
      const membership = state.trust.policy?.hub ?? null;
      if (membership === null) return null;
      const now = shipper?.status() ?? null;
      const wrong = now?.trouble ?? trouble;
      return {
        hub_id: membership.hubId,
        gateway: membership.gateway,
        waits_for_unlock: now === null && trouble === null,
        reachable_ms: now?.reachableMs ?? null,
        tick: now?.tick ?? null,
        behind: now?.behind ?? null,
        gateways: now?.gateways ?? null,
        silent: (now?.silent ?? []).map(({ gateway, seconds }) => ({ gateway, seconds: Math.round(seconds) })),
        trouble: wrong === null ? null : { code: wrong.code, message: wrong.message },
      };
    },
    async finish() {
      queue?.close();
      await shipper?.finish(defaults.hubLastMs);
    },
  };
}

function isSame(one: HubMembership, other: HubMembership): boolean {
  return one.hubId === other.hubId && one.joinedAt === other.joinedAt && one.identityKey.equals(other.identityKey);
}

/** What was remembered before the operator last signed does not count: that is what they signed for. */
function recall(
  row: { readonly body: JsonObject } | { readonly tampered: unknown } | null,
  { hubId, joinedAt }: HubMembership,
): RememberedTick | null {
  if (row === null || !("body" in row)) return null;
  const { hub_id, joined_at, tick, link } = row.body;
  if (hub_id !== hubId || joined_at !== joinedAt) return null;
  return { tick: Number(tick), link: String(link) };
}
