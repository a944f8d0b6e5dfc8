import type { ResumableLog } from "../../../audit/resumable.ts";
import type { TakenOver } from "../../../gateway/adopt.ts";
import type { Gateway } from "../../../gateway/gateway.ts";
import type { AuditSink, RefreshTurns, StateStore } from "../../../gateway/ports.ts";
import { type LimitKeeper, startLimits } from "../../../hub/limits.ts";
import { type Queue, startQueue } from "../../../hub/queue.ts";
import { type Shipper, startShipper } from "../../../hub/ship.ts";
import type { StateKeeper } from "../../../hub/state/state.ts";
import { startTurns, type TurnKeeper } from "../../../hub/turns.ts";
import type { Clock, Random, Sleep } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { rawPublicOf } from "../../../vault/keys.ts";
import { membershipOf } from "../../../vault/policy/hub-entries.ts";
import type { HubMembership } from "../../../vault/policy/policy.ts";
import type { Facts } from "../facts.ts";
import type { HomeDocuments } from "../home-documents.ts";
import type { Trust } from "../trust.ts";
import type { OpenCompartment } from "../unlocked.ts";
import type { HubDesk } from "./desk.ts";
import { createFollowing, type Following } from "./follow.ts";
import { LIMITS_PURPOSE, limitNotes, limitSeal } from "./limits.ts";
import { hubNotes } from "./notes.ts";
import { guardSecrets, shareState } from "./share.ts";
import { type SharedStore, shareStore } from "./state.ts";
import { hubStatus } from "./status.ts";
import { createHubTurns } from "./turns.ts";
import { createHubWaiting, type HubWaiting, type UnlockByHub } from "./waiting.ts";
import { openWay, type Way } from "./way.ts";

/** The gateway's way to the hub that signed policy names. It starts with an unlock, and a lock does not end it: it lends nothing. */
export interface HubLink {
  /** Tells it of what is appended. Nobody waits for the hub. */
  watch(audit: AuditSink): AuditSink;
  /** Policy or the compartment may be others now. */
  adjust(): Promise<void>;
  /** From now on questions are shown on the hub too, what operators sign there is taken, and signed files are followed. */
  attend(desk: HubDesk, home: HomeDocuments, fleet: Gateway["fleet"], byHub: UnlockByHub): void;
  /** Resolves once the signed files that the hub has now are followed; soon too where that cannot be. */
  followed(): Promise<void>;
  /** The store of this host, of which the hub has what signed policy shares. */
  share(store: StateStore): StateStore;
  /** Resolves once the hub has the intent of this attempt, where signed policy shares it. Denied otherwise. */
  arrived(attemptId: string): Promise<void>;
  /** Takes over what a silent gateway had under way, at an operator's word. */
  adopt(gateway: string, operator: string): Promise<TakenOver>;
  /** Null while nothing goes to a hub. */
  shipper(): Shipper | null;
  limits(): LimitKeeper | null;
  /** Refresh tokens that several gateways use up, one at a time. */
  readonly turns: RefreshTurns;
  status(): JsonObject | null;
  /** After the log was closed: its last frames still go up, as far as the hub answers soon. */
  finish(): Promise<void>;
}

interface LinkParts {
  readonly home: string;
  readonly folder: string;
  readonly log: ResumableLog;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly random: Random;
  readonly facts: Facts;
  /** What is in force now. */
  readonly state: { readonly trust: Trust; readonly compartment: OpenCompartment | null };
}

export function createHubLink(parts: LinkParts): HubLink {
  const { state, clock, sleep, random } = parts;
  let attended: { readonly desk: HubDesk; readonly home: HomeDocuments; readonly fleet: Gateway["fleet"] } | null =
    null;
  /** Null where this gateway is on no hub. */
  let way: Way | null = null;
  let shipper: Shipper | null = null;
  let queue: Queue | null = null;
  let following: Following | null = null;
  let keeper: StateKeeper | null = null;
  /** Whose rows the keeper tells of. */
  let keptFor: OpenCompartment | null = null;
  let limits: LimitKeeper | null = null;
  let turns: TurnKeeper | null = null;
  let waiting: HubWaiting | null = null;
  /** Why there is no way. */
  let trouble: Denied | null = null;
  let arrived: SharedStore["arrived"] = async () => undefined;

  const worker = `log ${parts.log.logId}`;
  const storeOf = (): StateStore | null => state.compartment?.store ?? null;
  const shared = createHubTurns(state, () => turns);
  const guard = guardSecrets(state, random, () => way);
  const shares = (): boolean => state.trust.policy?.hub?.rules.operations === "shared";

  /** A policy that does not hold says nothing: what is on the hub stays there. */
  const ending = () => (state.trust.policy === null ? undefined : ("withdraw" as const));

  const tell = (error: Denied): void =>
    parts.facts.tell(error.code === "hub_unreachable" ? "warning" : "error", "hub_trouble", {
      code: error.code,
      message: `${error.code}: ${error.message}`,
    });

  /** Only while the state of this host is open: what is under way is told from there. */
  function adjustState(): void {
    const opened = shares() ? state.compartment : null;
    if (opened === keptFor) return;
    keeper?.close(shares() ? undefined : ending());
    [keeper, keptFor] = [null, null];
    if (attended === null || opened === null || way === null) return;
    const { fleet } = attended;
    keptFor = opened;
    keeper = shareState(way, opened, guard, { clock, sleep, random, state, worker, fleet, tell });
  }

  /** Questions and orders, and what is followed between them. */
  function attendOn(to: Way, compartment: OpenCompartment, { desk, home }: NonNullable<typeof attended>): void {
    const { identity, connect } = to;
    const { hubId, gateway } = to.membership;
    const { vaultId } = state.trust.vault;
    const followTurns = () => turns?.follow(shared.all());
    const followed = createFollowing(to, compartment, { home, vaultId, random, followTurns, tell });
    following = followed;
    queue = startQueue({
      ...{ hubId, gateway, vaultId, identity, random, sleep, connect },
      waiting: desk.waiting,
      readers: () => state.trust.vault.operators,
      take: (body) => desk.take(body, gateway),
      takePolicy: followed.takePolicy,
      refuse: desk.refuse,
      follow: followed.look,
      isKnown,
    });
  }

  /**
   * Whether the hub showed that nobody else wrote there under this name: it took a word of this life, or has another trouble with it. A
   * home that was restored, or a copy that was started, finds the fork first: what it put there every gateway of the vault would follow.
   */
  function isKnown(): boolean {
    const code = shipper?.status().trouble?.code ?? null;
    if (code === "hub_forked") return false;
    return (shipper?.silentMs() ?? null) !== null || (code !== null && code !== "hub_unreachable");
  }

  function begin(to: Way, compartment: OpenCompartment): void {
    const { membership, identity, notes, connect } = to;
    const { hubId, gateway } = membership;
    const { vaultId } = state.trust.vault;
    if (attended !== null) attendOn(to, compartment, attended);
    let heard = false;
    shipper = startShipper({
      ...{ folder: parts.folder, log: parts.log, clock, sleep, identity, hubId, vaultId, gateway, connect },
      knows: () => following?.shown() ?? { vault: 0, policy: 0 },
      remembered: notes.tick(),
      async remember(tick) {
        await notes.rememberTick(tick);
        if (!heard) queue?.wake();
        heard = true;
      },
      onTrouble: tell,
    });
    limits = startLimits({
      ...{ hubId, gateway, vaultId, clock, sleep, random, connect },
      seal: limitSeal(compartment.service.deriveStateKey(LIMITS_PURPOSE), random),
      ...limitNotes(storeOf, membership),
    });
    turns = startTurns({
      ...{ hubId, gateway, vaultId, identity, clock, sleep, random, connect },
      ...shared.partsFor(membership, to, compartment, random),
    });
    way = to;
    adjustState();
  }

  async function end(membership: HubMembership | null): Promise<void> {
    keeper?.close(membership === null ? ending() : undefined);
    queue?.close();
    limits?.close();
    turns?.close();
    const last = shipper;
    [way, keeper, keptFor, queue, following, limits, turns] = [null, null, null, null, null, null, null];
    await last?.finish(0);
    [shipper, trouble] = [null, null];
  }

  return {
    watch: (audit) => ({
      ...audit,
      append: (events) =>
        audit.append(events).then((receipt) => {
          shipper?.wake();
          return receipt;
        }),
    }),
    async adjust() {
      const { compartment } = state;
      const joined = way?.membership ?? null;
      const hub = state.trust.policy?.hub ?? null;
      const keys = (await compartment?.hostKeys()) ?? null;
      // Locked, it goes on as whoever it was: only policy can end that.
      const own = keys === null ? (joined?.identityKey ?? null) : rawPublicOf(keys.identity);
      const membership = own === null ? null : membershipOf(hub, own);
      queue?.wake();
      waiting?.adjust();
      if (membership !== null && joined !== null && isSame(membership, joined)) return adjustState();
      await end(membership);
      if (membership === null || keys === null || compartment === null) return;
      try {
        begin(openWay(membership, keys, hubNotes(storeOf, membership)), compartment);
      } catch (error) {
        if (!(error instanceof Denied)) throw error;
        trouble = error;
        tell(error);
      }
    },
    async followed() {
      const late = new AbortController();
      await Promise.race([queue?.followed(), sleep.sleep(defaults.hubFollowMs, late.signal)]);
      late.abort();
    },
    share(store) {
      const sharing = shareStore(store, { shares, keeper: () => keeper, worker, guard });
      arrived = sharing.arrived;
      return sharing;
    },
    arrived: (attemptId) => arrived(attemptId),
    async adopt(gateway, operator) {
      if (keeper === null)
        throw new Denied(
          "hub_not_joined",
          "This gateway shares no operations on a hub. First: gw hub join URL, gw hub set --operations shared",
        );
      return await keeper.adopt(gateway, operator);
    },
    attend(desk, home, fleet, byHub) {
      attended = { desk, home, fleet };
      waiting = createHubWaiting({ ...parts, byHub, refuse: desk.refuse, onTrouble: tell });
      desk.watch(() => queue?.wake());
    },
    shipper: () => shipper,
    limits: () => limits,
    turns: shared.port,
    status() {
      const hub = state.trust.policy?.hub ?? null;
      if (hub === null || (way === null && trouble === null && state.compartment !== null)) return null;
      const joined = way?.membership ?? null;
      return hubStatus(hub, { joined, shipper, keeper, queue, limits, waiting, following, trouble });
    },
    async finish() {
      queue?.close();
      keeper?.close();
      await Promise.race([waiting?.close(), sleep.sleep(defaults.hubLastMs)]);
      await shipper?.finish(defaults.hubLastMs);
    },
  };
}

function isSame(one: HubMembership, other: HubMembership): boolean {
  return one.hubId === other.hubId && one.joinedAt === other.joinedAt && one.identityKey.equals(other.identityKey);
}
