import type { KeyObject } from "node:crypto";
import { openStateStore, type SqliteStateStore } from "../../adapters/store/sqlite/state.ts";
import { tellsOfNoState } from "../../audit/read/marks.ts";
import type { Credentials } from "../../gateway/ports.ts";
import type { Random } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Secret } from "../../kernel/secret.ts";
import type { VaultAnchor } from "../../vault/anchor.ts";
import { checkHighWater, type HighWater } from "../../vault/high-water.ts";
import { drawHostKeys, type HostKeys, openHostKeys } from "../../vault/host-keys.ts";
import { openService, type ServiceVault } from "../../vault/lend.ts";
import { asksEachUse } from "../../vault/policy/policy.ts";
import type { RememberedPolicy } from "../../vault/policy/verify.ts";
import type { Vault } from "../../vault/vault.ts";
import { checkStateMark, lastStateMark, type StateMark } from "./stamps.ts";
import type { Trust } from "./trust.ts";

/** What the service key opened: the credentials, and the state whose keys the vault guards. */
export interface OpenCompartment {
  readonly service: ServiceVault;
  readonly store: SqliteStateStore;
  readonly credentials: Credentials;
  /** Goes on with a newer vault. False when that has another service key: what ours opened is over. */
  follow(vault: Vault): boolean;
  /** What the store remembered of vault and policy when it was opened; null in a store that is new. */
  readonly remembered: HighWater | null;
  /** Remembers the newest vault and policy, so that an older copy of either is refused after the next start. */
  remember(high: HighWater): Promise<void>;
  /** This host's own keys; null where it has none and none are to be drawn. */
  hostKeys(draw?: "draw"): Promise<HostKeys | null>;
  /** For the stamps in the log: how far the state is written, and the key that tags it. */
  stateMark(): { readonly mark: StateMark; readonly key: KeyObject } | null;
  close(): Promise<void>;
}

const NOTE = "trust";
const HOST_KEYS = "host keys";

/** What a store is measured by when it is opened. */
export interface Surroundings {
  readonly stateFile: string;
  readonly logFolder: string;
  readonly bootId: string;
  readonly random: Random;
  /** A store without its note is taken for new only where a person's own client has looked, or where the log says that no state was ever open. */
  readonly noteNeeded: boolean;
}

export async function openCompartment(
  trust: () => Trust,
  serviceKey: Secret,
  { stateFile, logFolder, bootId, random, noteNeeded }: Surroundings,
): Promise<OpenCompartment> {
  const { vault, policy, trouble } = trust();
  if (policy === null) throw trouble ?? new Denied("policy_tampered", "There is no policy in force.");
  const service = openService(vault, serviceKey);
  try {
    const store = await openStateStore(stateFile, service.deriveStateKey("state rows"), random);
    const stampKey = service.deriveStateKey("log stamps");
    let remembered: HighWater | null;
    try {
      store.verify();
      const expected = lastStateMark(logFolder, stampKey, bootId);
      if (expected !== undefined) checkStateMark(expected, store.generation());
      remembered = readNote(store);
      if (remembered === null) {
        if (expected !== undefined || store.generation() !== null) noteGone();
        if (noteNeeded && !tellsOfNoState(logFolder)) noteMissing();
      }
      if (remembered !== null) checkHighWater(remembered, vault, policy);
    } catch (error) {
      await store.close();
      throw error;
    }
    const opened: OpenCompartment = {
      service,
      store,
      credentials: credentialsOf(service, trust),
      follow: (newer) => followVault(service, newer),
      remembered,
      remember: (high) => store.commit([noteOf(high)], "power"),
      async hostKeys(draw) {
        const key = service.deriveStateKey(HOST_KEYS);
        const row = store.find("notes", HOST_KEYS);
        if (row === null && draw === undefined) return null;
        const sealed = row === null ? drawHostKeys(key, vault.vaultId, random) : sealedIn(row);
        const keys = openHostKeys(key, vault.vaultId, sealed) ?? hostKeysGone();
        const body: JsonObject = { sealed: sealed.toString("base64url") };
        if (row === null)
          await store.commit([{ table: "notes", id: HOST_KEYS, runId: "", state: "kept", body }], "power");
        service.lendWith(keys.lending);
        return keys;
      },
      stateMark() {
        const mark = store.generation();
        return mark === null ? null : { mark, key: stampKey };
      },
      async close() {
        service.wipe();
        await store.close();
      },
    };
    // What is sealed to this host alone can be lent from the first call on.
    await opened.hostKeys();
    return opened;
  } catch (error) {
    service.wipe();
    throw error;
  }
}

function followVault(service: ServiceVault, newer: Vault): boolean {
  try {
    service.reload(newer);
    return true;
  } catch (error) {
    if (error instanceof Denied && error.code === "service_key_wrong") return false;
    throw error;
  }
}

/** The mark in the vault and the mark in the policy: either makes the credential ask on every use. */
function credentialsOf(service: ServiceVault, trust: () => Trust): Credentials {
  return {
    find(label) {
      const found = service.find(label);
      const policy = trust().policy;
      if (found === null || policy === null) return null;
      return { ...found, eachUse: asksEachUse(policy, label, found.eachUse) };
    },
    lendHttp: (label, origin, toSign) => service.lendHttp(label, origin, toSign),
    exchangeOf: (label) => service.exchangeOf(label),
    lendExchange: (label, url, ask, sourced) => service.lendExchange(label, url, ask, sourced),
    lendToken: (label, origin, token, toSign) => service.lendToken(label, origin, token, toSign),
    sourceOf: (label) => service.sourceOf(label),
    checkSourced: (label, secret) => service.checkSourced(label, secret),
    lendOpener: (label) => service.lendOpener(label),
    lendSshSigner: (label, hostKey) => service.lendSshSigner(label, hostKey),
    lendHmac: (label, pack, notation) => service.lendHmac(label, pack, notation),
  };
}

function readNote(store: SqliteStateStore): HighWater | null {
  const row = store.find("notes", NOTE);
  if (row === null) return null;
  if ("tampered" in row) {
    throw new Denied(
      "state_tampered",
      "The note about the last vault and policy was changed. Find out who writes to the home folder.",
    );
  }
  const { vault, policy } = row.body as unknown as { readonly vault: VaultAnchor; readonly policy: RememberedPolicy };
  // Version 0 is what an earlier gateway wrote for a policy that did not hold: nothing was seen.
  return { vault, policy: policy.version === 0 ? null : policy };
}

function sealedIn(row: { readonly body: JsonObject } | { readonly tampered: unknown }): Buffer {
  return "body" in row ? Buffer.from(String(row.body["sealed"]), "base64url") : hostKeysGone();
}

function hostKeysGone(): never {
  throw new Denied(
    "state_tampered",
    "The keys of this host in state.db were changed. Find out who writes to the home folder.",
  );
}

function noteGone(): never {
  throw new Denied(
    "state_rolled_back",
    "This gateway was unlocked before, as its log or state.db itself shows, and state.db does not hold the note about it: the file was replaced or edited. Put the newest one back; if it is lost, restore a backup with gw restore FILE, or go on with what is there with gw restore --as-found.",
  );
}

/** Nobody can tell whether there ever was one, and no person has looked. */
function noteMissing(): never {
  throw new Denied(
    "state_rolled_back",
    "state.db holds no note about the vault and policy that were seen, and the log does not show that this gateway was never unlocked: part of it was archived, damaged, or written by an older version. A key file alone does not open it then. If you know why there is no note, unlock it as an operator: gw unlock --first. If state.db was lost or replaced, put the newest one back, or restore a backup with gw restore FILE.",
  );
}

export function noteOf({ vault, policy }: HighWater) {
  const body: JsonObject = {
    vault: { ...vault },
    policy: { version: policy?.version ?? 0, digest: policy?.digest ?? "" },
  };
  return { table: "notes", id: NOTE, runId: "", state: "kept", body } as const;
}

export function lockedError(): Denied {
  return new Denied("gateway_locked", "The gateway is locked. An operator unlocks it with: gw unlock");
}
