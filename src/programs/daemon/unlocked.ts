import { openStateStore, type SqliteStateStore } from "../../adapters/store/sqlite/state.ts";
import type { Credentials } from "../../gateway/ports.ts";
import type { Random } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Secret } from "../../kernel/secret.ts";
import { anchorOf, checkAnchor, type VaultAnchor } from "../../vault/anchor.ts";
import { openService, type ServiceVault } from "../../vault/lend.ts";
import { asksEachUse, type Policy } from "../../vault/policy/policy.ts";
import { checkPolicyVersion, type RememberedPolicy } from "../../vault/policy/verify.ts";
import type { Vault } from "../../vault/vault.ts";
import type { Trust } from "./trust.ts";

/** What the service key opened: the credentials, and the state whose keys the vault guards. */
export interface OpenCompartment {
  readonly service: ServiceVault;
  readonly store: SqliteStateStore;
  readonly credentials: Credentials;
  /** Goes on with a newer vault. False when that has another service key: what ours opened is over. */
  follow(vault: Vault): boolean;
  /** Remembers vault and policy, so that an older copy of either is refused after the next start. */
  remember(trust: Trust): Promise<void>;
  close(): Promise<void>;
}

const NOTE = "trust";

export async function openCompartment(
  trust: () => Trust,
  serviceKey: Secret,
  stateFile: string,
  random: Random,
): Promise<OpenCompartment> {
  const { vault, policy, trouble } = trust();
  if (policy === null) throw trouble ?? new Denied("policy_tampered", "There is no policy in force.");
  const service = openService(vault, serviceKey);
  try {
    const store = await openStateStore(stateFile, service.deriveStateKey("state rows"), random);
    try {
      checkRemembered(store, trust());
    } catch (error) {
      await store.close();
      throw error;
    }
    return {
      service,
      store,
      credentials: credentialsOf(service, trust),
      follow: (newer) => followVault(service, newer),
      remember: (now) => store.commit([noteOf(now)], "power"),
      async close() {
        service.wipe();
        await store.close();
      },
    };
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
      return { disabled: found.disabled, eachUse: asksEachUse(policy, label, found.eachUse) };
    },
    lendHttp: (label, origin) => service.lendHttp(label, origin),
    lendSshSigner: (label, hostKey) => service.lendSshSigner(label, hostKey),
    lendHmac: (label, pack, notation) => service.lendHmac(label, pack, notation),
  };
}

function checkRemembered(store: SqliteStateStore, { vault, policy }: Trust): void {
  for (const row of store.load("notes", "kept")) {
    if ("tampered" in row) {
      throw new Denied(
        "state_tampered",
        "The note about the last vault and policy was changed. Find out who writes to the home folder.",
      );
    }
    checkAnchor(row.body["vault"] as unknown as VaultAnchor, vault);
    if (policy !== null) checkPolicyVersion(row.body["policy"] as unknown as RememberedPolicy, policy as Policy);
  }
}

function noteOf({ vault, policy }: Trust) {
  const body: JsonObject = {
    vault: { ...anchorOf(vault) },
    policy: { version: policy?.version ?? 0, digest: policy?.digest ?? "" },
  };
  return { table: "notes", id: NOTE, runId: "", state: "kept", body } as const;
}
