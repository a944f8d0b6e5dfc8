import type { KeyObject } from "node:crypto";
import type { ResumableLog } from "../../../audit/resumable.ts";
import { describeFleetLimit } from "../../../conventions/budget/fleet-limit.ts";
import type { TakenOver } from "../../../gateway/adopt.ts";
import type { Gateway } from "../../../gateway/gateway.ts";
import type { AuditSink, RefreshTurns, StateStore } from "../../../gateway/ports.ts";
import { readHubAddress } from "../../../hub/address.ts";
import { connectHub, type HubConnection } from "../../../hub/connect.ts";
import { createDocuments, type Generations } from "../../../hub/documents.ts";
import { type LimitKeeper, startLimits } from "../../../hub/limits.ts";
import { DOCUMENTS_PURPOSE } from "../../../hub/policy-order.ts";
import { type Queue, startQueue } from "../../../hub/queue.ts";
import { type RememberedTick, type Shipper, startShipper } from "../../../hub/ship.ts";
import { type StateKeeper, startState } from "../../../hub/state/state.ts";
import type { RememberedTerm } from "../../../hub/state/words.ts";
import { startTurns, type TurnKeeper } from "../../../hub/turns.ts";
import type { Clock, Random, Sleep } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { seal, unseal } from "../../../vault/box.ts";
import { mayLend, openHeld, sealHeld } from "../../../vault/held-secret.ts";
import type { HostKeys } from "../../../vault/host-keys.ts";
import { openHubSecrets } from "../../../vault/hub-secrets.ts";
import { rawPublicOf } from "../../../vault/keys.ts";
import { membershipOf } from "../../../vault/policy/hub-entries.ts";
import type { HubMembership } from "../../../vault/policy/policy.ts";
import type { Facts } from "../facts.ts";
import type { HomeDocuments } from "../home-documents.ts";
import type { Trust } from "../trust.ts";
import type { OpenCompartment } from "../unlocked.ts";
import type { HubDesk } from "./desk.ts";
import { LIMITS_PURPOSE, limitNotes, limitSeal } from "./limits.ts";
import { takePolicyOrder } from "./policy.ts";
import { isHome, type SecretGuard, type SharedStore, STATE_PURPOSE, sharedIn, shareStore, takenOver } from "./state.ts";
import { createHubTurns } from "./turns.ts";
import { createHubWaiting, type HubWaiting, type UnlockByHub } from "./waiting.ts";

/** The gateway's way to the hub that signed policy names. It starts with an unlock, and a lock does not end it: it lends nothing. */
export interface HubLink {
  /** Tells it of what is appended. Nobody waits for the hub. */
  watch(audit: AuditSink): AuditSink;
  /** Policy or the compartment may be others now. */
  adjust(): Promise<void>;
  /** From now on questions are shown on the hub too, what operators sign there is taken, and signed files are followed. */
  attend(desk: HubDesk, home: HomeDocuments, fleet: Gateway["fleet"], byHub: UnlockByHub): void;
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

interface Way extends HostKeys {
  readonly membership: HubMembership;
  connect(): ReturnType<typeof connectHub>;
}

const TICK_NOTE = "hub";
const STATE_NOTE = "hub state";
const DOCUMENTS_NOTE = DOCUMENTS_PURPOSE;

export function createHubLink(parts: LinkParts): HubLink {
  const { state } = parts;
  let joined: HubMembership | null = null;
  let shipper: Shipper | null = null;
  let queue: Queue | null = null;
  let attended: { readonly desk: HubDesk; readonly home: HomeDocuments; readonly fleet: Gateway["fleet"] } | null =
    null;
  let keeper: StateKeeper | null = null;
  let limits: LimitKeeper | null = null;
  let turns: TurnKeeper | null = null;
  const shared = createHubTurns(state, () => turns);
  let way: Way | null = null;
  /** Whose rows the keeper tells of. */
  let keptFor: OpenCompartment | null = null;
  let waiting: HubWaiting | null = null;
  let trouble: Denied | null = null;
  /** The signed files that this gateway follows and saw on the hub: it names none before others can find it there. */
  let shown: Generations = { vault: 0, policy: 0 };
  /** What is wrong with the refresh tokens on the hub. */
  let spent: Denied | null = null;
  /** What is wrong with the signed files on the hub. */
  let untrue: Denied | null = null;

  let arrived: SharedStore["arrived"] = async () => undefined;

  const worker = `log ${parts.log.logId}`;
  const shares = (): boolean => state.trust.policy?.hub?.rules.operations === "shared";

  /** What is for some gateways alone stays that on the hub. */
  const guard: SecretGuard = {
    hide(secret) {
      const own = way === null ? null : rawPublicOf(way.lending);
      return sealHeld(state.trust.vault, secret, own, parts.random)?.toString("base64") ?? null;
    },
    show(id, sealed) {
      if (way === null) return null;
      using opened = openHeld(way.lending, state.trust.vault.vaultId, id, Buffer.from(sealed, "base64"));
      return opened?.use((bytes) => bytes.toString("utf8")) ?? null;
    },
  };

  /** A policy that does not hold says nothing: what is on the hub stays there. */
  const ending = () => (state.trust.policy === null ? undefined : ("withdraw" as const));

  /** Only while the state of this host is open: what is under way is told from there. */
  function adjustState(): void {
    const opened = shares() ? state.compartment : null;
    if (opened === keptFor) return;
    keeper?.close(shares() ? undefined : ending());
    [keeper, keptFor] = [null, null];
    if (attended === null || opened === null || way === null) return;
    keptFor = opened;
    const { membership, identity, connect } = way;
    const { hubId, gateway } = membership;
    const { fleet } = attended;
    const { clock, sleep, random } = parts;
    keeper = startState({
      ...{ hubId, gateway, vaultId: state.trust.vault.vaultId, identity, clock, sleep, connect },
      seal: limitSeal(opened.service.deriveStateKey(STATE_PURPOSE), random),
      isOpen: () => state.compartment === opened,
      ...sharedIn(opened.store, worker, guard),
      operators: () => state.trust.vault.operators.map(({ approverKey }) => approverKey),
      recall: () => recallTerm(noteIn(STATE_NOTE, membership)),
      lastTerm: () => recallTerm(lastNoteIn(STATE_NOTE, membership))?.term ?? 0,
      remember: (term) => remember(STATE_NOTE, membership, { ...term }),
      onTaken: fleet.release,
      awaited: fleet.awaited,
      onTold: (holder, by, rows) => fleet.learnEndings(holder, by, takenOver(rows, guard)),
      has: fleet.hasAdopted,
      isHome,
      // Both clocks beside the database's: what the other wrote down is moved to ours.
      onAdopted: ({ aheadMs, nowMs, rows, ...left }, operator) =>
        fleet.adopt(
          {
            ...left,
            rows: takenOver(rows, guard),
            aheadMs: within(aheadMs - (clock.wallMs() - nowMs)),
            mayLend: (label) => mayLend(state.trust.vault, label, left.gateway),
          },
          operator,
        ),
      onTrouble: tell,
    });
  }

  const tell = (error: Denied): void =>
    parts.facts.tell(error.code === "hub_unreachable" ? "warning" : "error", "hub_trouble", {
      code: error.code,
      message: `${error.code}: ${error.message}`,
    });

  function begin(membership: HubMembership, { identity, lending }: HostKeys, compartment: OpenCompartment): void {
    const { url, password, authority } = openHubSecrets(lending, membership);
    const address = readHubAddress(url);
    const { hubId, gateway } = membership;
    const connect = () => connectHub({ address, password, authority }, hubId);
    const { vaultId } = state.trust.vault;
    if (attended !== null) {
      const { desk } = attended;
      const { waiting, refuse } = desk;
      const take = (body: string): Promise<string> => desk.take(body, gateway);
      const readers = () => state.trust.vault.operators;
      const { random, sleep } = parts;
      const { home } = attended;
      const sealing = sealingOf(compartment);
      const documents = documentsOf(membership, home, sealing);
      const takePolicy = (body: string): Promise<string> => takePolicyOrder(body, { ...home, ...sealing, vaultId });
      const follow = async (connection: HubConnection): Promise<void> => {
        await documents.look(connection);
        const wrong = await turns?.follow(shared.all()).catch(refusedOf);
        if (wrong !== undefined && wrong.code !== spent?.code) tell(wrong);
        spent = wrong ?? null;
      };
      const parted = { hubId, gateway, vaultId, identity, random, sleep, connect };
      queue = startQueue({ ...parted, waiting, readers, take, takePolicy, refuse, follow });
    }
    shipper = startShipper({
      ...{ folder: parts.folder, log: parts.log, clock: parts.clock, sleep: parts.sleep, identity },
      ...{ hubId, gateway, connect },
      knows: () => shown,
      remembered: recallTick(noteIn(TICK_NOTE, membership)),
      remember: (tick) => remember(TICK_NOTE, membership, { ...tick }),
      onTrouble: tell,
    });
    const { clock, sleep, random } = parts;
    limits = startLimits({
      ...{ hubId, gateway, vaultId, clock, sleep, random, connect },
      seal: limitSeal(compartment.service.deriveStateKey(LIMITS_PURPOSE), random),
      ...limitNotes(() => state.compartment?.store ?? null, membership),
    });
    turns = startTurns({
      ...{ hubId, gateway, vaultId, identity, clock, sleep, random, connect },
      ...shared.partsFor(membership, { identity, lending }, compartment, random),
    });
    joined = membership;
    way = { membership, identity, lending, connect };
    adjustState();
  }

  /** What gateways and operators of the vault alone open. */
  function sealingOf({ service }: OpenCompartment) {
    const key: KeyObject = service.deriveStateKey(DOCUMENTS_PURPOSE);
    return {
      seal: (place: string, plain: Buffer): Buffer => seal(key, place, plain, parts.random),
      open(place: string, sealed: Buffer): Buffer | undefined {
        using plain = unseal(key, place, sealed);
        return plain?.use((bytes) => Buffer.from(bytes));
      },
    };
  }

  function documentsOf(membership: HubMembership, home: HomeDocuments, sealing: ReturnType<typeof sealingOf>) {
    shown = recallGenerations(noteIn(DOCUMENTS_NOTE, membership));
    return createDocuments({
      ...home,
      ...{ vaultId: state.trust.vault.vaultId, hubId: membership.hubId, gateway: membership.gateway },
      ...sealing,
      seen: () => shown,
      async remember(next) {
        shown = next;
        await remember(DOCUMENTS_NOTE, membership, { ...next });
      },
      tell(next) {
        if (next !== null && next.code !== untrue?.code) tell(next);
        untrue = next;
      },
    });
  }

  /** Only what is in memory counts where the gateway is locked; the hub, being ahead of the note then, is still believed only if it shows our own past. */
  async function remember(id: string, membership: HubMembership, what: JsonObject): Promise<void> {
    const { hubId: hub_id, gateway, joinedAt: joined_at } = membership;
    const body: JsonObject = { hub_id, gateway, joined_at, ...what };
    await state.compartment?.store
      .commit([{ table: "notes", id, runId: "", state: "kept", body }], "process")
      .catch(() => undefined);
  }

  /** What was remembered before the operator last signed does not count: that is what they signed for. */
  function noteIn(id: string, membership: HubMembership): JsonObject | null {
    const note = lastNoteIn(id, membership);
    return note?.["joined_at"] === membership.joinedAt ? note : null;
  }

  function lastNoteIn(id: string, { hubId }: HubMembership): JsonObject | null {
    const row = state.compartment?.store.find("notes", id) ?? null;
    return row !== null && "body" in row && row.body["hub_id"] === hubId ? row.body : null;
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
      const hub = state.trust.policy?.hub ?? null;
      const keys = (await compartment?.hostKeys()) ?? null;
      // Locked, it goes on as whoever it was: only policy can end that.
      const own = keys === null ? (joined?.identityKey ?? null) : rawPublicOf(keys.identity);
      const membership = own === null ? null : membershipOf(hub, own);
      queue?.wake();
      waiting?.adjust();
      if (membership !== null && joined !== null && isSame(membership, joined)) {
        adjustState();
        return;
      }
      keeper?.close(membership === null ? ending() : undefined);
      [keeper, keptFor, way] = [null, null, null];
      queue?.close();
      queue = null;
      limits?.close();
      turns?.close();
      [limits, turns] = [null, null];
      if (shipper !== null) {
        await shipper.finish(0);
        shipper = null;
        joined = null;
      }
      [trouble, untrue, spent] = [null, null, null];
      if (membership === null || keys === null || compartment === null) return;
      try {
        begin(membership, keys, compartment);
      } catch (error) {
        if (!(error instanceof Denied)) throw error;
        trouble = error;
        tell(error);
      }
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
      if (hub === null || (joined === null && trouble === null && state.compartment !== null)) return null;
      const now = shipper?.status() ?? null;
      const wrong = now?.trouble ?? keeper?.status().trouble ?? trouble ?? untrue ?? spent;
      return {
        hub_id: hub.hubId,
        gateway: joined?.gateway ?? null,
        waits_for_unlock: now === null && trouble === null,
        asks: waiting?.status() ?? null,
        unlock_by_hub: (joined?.waiting ?? waiting?.status() ?? null) !== null,
        reachable_ms: now?.reachableMs ?? null,
        tick: now?.tick ?? null,
        behind: now?.behind ?? null,
        gateways: now?.gateways ?? null,
        silent: (now?.silent ?? []).map(({ gateway, seconds }) => ({ gateway, seconds: Math.round(seconds) })),
        limits: hub.rules.limits.map((limit) => ({
          name: limit.name,
          says: describeFleetLimit(limit),
          used: limits?.known().find(({ name }) => name === limit.name)?.used ?? null,
        })),
        operations: keeper === null ? null : sharedOf(keeper),
        trouble: wrong === null ? null : { code: wrong.code, message: wrong.message },
      };
    },
    async finish() {
      queue?.close();
      keeper?.close();
      await Promise.race([waiting?.close(), parts.sleep.sleep(defaults.hubLastMs)]);
      await shipper?.finish(defaults.hubLastMs);
    },
  };
}

/** What the database says of the time moves nothing further than clocks may be apart. */
const within = (ms: number): number => Math.max(-defaults.hubClockMs, Math.min(ms, defaults.hubClockMs));

function isSame(one: HubMembership, other: HubMembership): boolean {
  return one.hubId === other.hubId && one.joinedAt === other.joinedAt && one.identityKey.equals(other.identityKey);
}

function refusedOf(error: unknown): Denied {
  if (error instanceof Denied) return error;
  throw error;
}

function sharedOf(keeper: StateKeeper): JsonObject {
  const { term, rows, waiting } = keeper.status();
  return { term, rows, waiting };
}

function recallTick(note: JsonObject | null): RememberedTick | null {
  return note === null ? null : { tick: Number(note["tick"]), link: String(note["link"]) };
}

function recallTerm(note: JsonObject | null): RememberedTerm | null {
  return note === null ? null : { term: Number(note["term"]), tick: Number(note["tick"]) };
}

function recallGenerations(note: JsonObject | null): Generations {
  return { vault: Number(note?.["vault"] ?? 0), policy: Number(note?.["policy"] ?? 0) };
}
