import { createHmac } from "node:crypto";
import type { RefreshTurns, StateStore } from "../../../gateway/ports.ts";
import { leftOfTurn } from "../../../gateway/token/grant-row.ts";
import { compareSecrets, type SecretName } from "../../../hub/turn-rows.ts";
import { notBegun } from "../../../hub/turn-words.ts";
import type { SeenTurn, TurnKeeper, TurnParts } from "../../../hub/turns.ts";
import type { Random } from "../../../kernel/clock.ts";
import { Denied } from "../../../kernel/failure.ts";
import { seal, unseal } from "../../../vault/box.ts";
import { secretVersion } from "../../../vault/entry.ts";
import type { HostKeys } from "../../../vault/host-keys.ts";
import { isShared } from "../../../vault/policy/hub-entries.ts";
import type { HubMembership } from "../../../vault/policy/policy.ts";
import { openForReader, sealForReaders } from "../../../vault/readers-box.ts";
import type { CredentialEntry } from "../../../vault/vault.ts";
import type { Trust } from "../trust.ts";
import type { OpenCompartment } from "../unlocked.ts";

const PURPOSE = "hub turns";
const idOf = (label: string): string => `hub turn ${label}`;
const nameOf = ({ createdAt, version }: CredentialEntry): SecretName => ({ addedAt: createdAt, version });

interface State {
  readonly trust: Trust;
  readonly compartment: OpenCompartment | null;
}

/** The credentials whose refresh token goes from gateway to gateway: several may lend them, or did with this very secret. */
export function createHubTurns(state: State, keeper: () => TurnKeeper | null) {
  const taken = new Set<string>();
  const storeOf = (): StateStore | null => state.compartment?.store ?? null;

  function entryOf(label: string): CredentialEntry | null {
    const entry = state.trust.vault.credentials.find((one) => one.label === label);
    return entry?.exchange?.grant === "refresh_token" ? entry : null;
  }

  function isOfMany({ exchange, lenders }: CredentialEntry): boolean {
    return isShared(state.trust.policy?.hub ?? null, { exchange, lenders: lenders?.map((one) => one.gateway) ?? null });
  }

  const port: RefreshTurns = {
    admit(label) {
      const entry = entryOf(label);
      if (entry !== null && isOfMany(entry) && readSeen(storeOf(), label) === null) throw notBegun(label);
    },
    async take(label, { begins, own }) {
      const entry = entryOf(label);
      if (entry === null) return null;
      const seen = readSeen(storeOf(), label);
      const went = seen !== null && compareSecrets(seen.of, nameOf(entry)) === 0;
      if (!went && !isOfMany(entry)) return null;
      const turns = keeper() ?? notHere(label);
      return turns.take(label, { of: nameOf(entry), begins: begins || own !== null, own });
    },
  };

  return {
    port,
    /** All of them, for whoever looks at the hub. None while the state of this host is closed: it could not tell old from new. */
    all: () =>
      storeOf() === null
        ? []
        : state.trust.vault.credentials.flatMap((entry) =>
            entryOf(entry.label) !== null && isOfMany(entry) ? [{ label: entry.label, of: nameOf(entry) }] : [],
          ),
    /** Under a key of the vault's state; where some gateways alone lend a credential, to their own keys within that. */
    partsFor(
      { hubId }: HubMembership,
      { lending }: HostKeys,
      { service }: OpenCompartment,
      random: Random,
    ): Pick<TurnParts, "hide" | "seal" | "open" | "speakerOf" | "recall" | "remember" | "taken" | "left"> {
      const key = service.deriveStateKey(PURPOSE);
      const lendersOf = (label: string) => entryOf(label)?.lenders ?? null;
      return {
        hide: (label) => createHmac("sha256", key).update(`turn ${label}`).digest("hex"),
        seal(label, about, plain) {
          const readers = lendersOf(label)?.map((one) => one.key) ?? null;
          return seal(key, about, readers === null ? plain : sealForReaders(readers, about, plain, random), random);
        },
        open(_label, about, sealed) {
          using outer = unseal(key, about, sealed);
          if (outer === undefined) return undefined;
          return outer.use((bytes) => {
            // As it was lent when it was put there, which the operators may have changed since.
            if (bytes[0] === OPEN_BRACE) return Buffer.from(bytes);
            using inner = openForReader(lending, about, bytes);
            return inner?.use((plain) => Buffer.from(plain));
          });
        },
        speakerOf(label, gateway) {
          const one = state.trust.policy?.hub?.gateways.find((other) => other.gateway === gateway);
          const lenders = lendersOf(label);
          const may = lenders === null || lenders.some(({ key: own }) => one?.lendingKey.equals(own));
          return one !== undefined && may ? one.identityKey : null;
        },
        recall(label) {
          const seen = readSeen(storeOf(), label);
          if (seen === null || seen.hubId === hubId) return seen;
          const entry = entryOf(label);
          return entry !== null && compareSecrets(seen.of, nameOf(entry)) === 0 ? elsewhere(label, seen.hubId) : null;
        },
        async remember(label, { generation, digest, of }) {
          const body = { hub_id: hubId, generation, digest, added_at: of.addedAt, version: of.version };
          await storeOf()?.commit([{ table: "notes", id: idOf(label), runId: "", state: "kept", body }], "power");
        },
        taken,
        left(label, { generation, of: { version, addedAt: createdAt } }) {
          const row = storeOf()?.find("notes", `token ${label}`) ?? null;
          return leftOfTurn(row, label, secretVersion({ version, createdAt }), generation);
        },
      };
    },
  };
}

const OPEN_BRACE = 0x7b;

function readSeen(store: StateStore | null, label: string): (SeenTurn & { readonly hubId: string }) | null {
  const row = store?.find("notes", idOf(label)) ?? null;
  if (row === null) return null;
  if ("tampered" in row)
    throw new Denied("state_tampered", `What is kept of ${label} was changed. Find out who writes to the home folder.`);
  const { hub_id, generation, digest, added_at, version } = row.body;
  const of = { addedAt: String(added_at), version: Number(version) };
  return { hubId: String(hub_id), generation: Number(generation), digest: String(digest), of };
}

function elsewhere(label: string, hubId: string): never {
  throw new Denied(
    "credential_shared",
    `The newest refresh token of ${label} is on ${hubId}, and this gateway is not there any more. An operator agrees once more with gw credential login ${label}, or gives a new one: gw credential rotate ${label}.`,
  );
}

function notHere(label: string): never {
  throw new Denied(
    "credential_shared",
    `The refresh token of ${label} is used by turns on a hub, and this gateway is on none. Join it: gw hub join URL. Or an operator gives a new one for this gateway: gw credential rotate ${label}.`,
  );
}
