import { readPack } from "../../conventions/action/read.ts";
import type { CheckedDocument, DocumentParts } from "../../hub/documents.ts";
import type { Random } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { VaultHome } from "../../vault/files/home.ts";
import { checkHighWater, type HighWater } from "../../vault/high-water.ts";
import type { Policy } from "../../vault/policy/policy.ts";
import { parsePolicy, policyText } from "../../vault/policy/verify.ts";
import type { Vault } from "../../vault/vault.ts";
import { parseVault, vaultPage } from "../../vault/verify.ts";
import { removePacks, writePack } from "./custody.ts";
import { findTrustedBytes } from "./packs.ts";
import { judgeTrust, readTrust, type Trust } from "./trust.ts";
import type { OpenCompartment } from "./unlocked.ts";

/** The signed files of this home, as what all hosts of its vault share. */
export type HomeDocuments = Pick<
  DocumentParts,
  "here" | "check" | "take" | "packs" | "packsWanted" | "storePack" | "peers"
>;

interface HomeDocumentParts {
  readonly home: VaultHome;
  readonly packsFolder: string;
  /** What is in force now. */
  readonly state: { readonly trust: Trust; readonly high: HighWater; readonly compartment: OpenCompartment | null };
  readonly random: Random;
  reload(): Promise<void>;
}

export function createHomeDocuments({ home, packsFolder, state, random, reload }: HomeDocumentParts): HomeDocuments {
  const inForce = () => state.trust.policy?.packs ?? [];
  return {
    here() {
      const { vault, policy } = state.trust;
      return policy === null ? [] : [vaultDocument(vault), policyDocument(policy)];
    },
    check(kind, text, vault) {
      try {
        if (kind === "vault") return vaultDocument(parseVault(text));
        return policyDocument(parsePolicy(text, vault === null ? state.trust.vault : parseVault(vault.text)));
      } catch (error) {
        if (error instanceof Denied) return undefined;
        throw error;
      }
    },
    async take(found) {
      const text = (kind: CheckedDocument["kind"]) => found.find((one) => one.kind === kind)?.text;
      const before = state.trust.policy;
      let policy: Policy | null = null;
      let ahead = false;
      await home.change((current) => {
        ahead = isAhead();
        if (ahead) return {};
        const given = text("vault");
        const vault = given === undefined ? current : carried(parseVault(given));
        const next = text("policy");
        policy = next === undefined ? staying(current, vault) : parsePolicy(next, vault);
        if (policy === null) return {};
        // The same memory that knows an old copy of these files: what is older or beside it is refused, whoever signed it.
        checkHighWater(state.high, vault, policy);
        return { ...(given === undefined ? {} : { vault }), ...(next === undefined ? {} : { policy }) };
      });
      if (ahead) {
        await reload();
        return true;
      }
      if (policy === null) return false;
      await reload();
      if (before !== null) removePacks(packsFolder, before, policy);
      return true;
    },
    packs: () =>
      inForce().flatMap((trust) => {
        const bytes = findTrustedBytes(packsFolder, trust);
        return bytes === null ? [] : [{ digest: trust.digest, bytes }];
      }),
    packsWanted: () =>
      inForce().flatMap((trust) => (findTrustedBytes(packsFolder, trust) === null ? [trust.digest] : [])),
    async storePack(digest, bytes) {
      const trust = inForce().find((one) => one.digest === digest);
      if (trust === undefined) return false;
      const { pack } = readPack(bytes, `${trust.pack}.yaml`);
      if (pack?.name !== trust.pack || pack.digest !== digest) return false;
      writePack(packsFolder, trust.pack, bytes, random);
      await reload();
      return true;
    },
    peers: () => state.trust.policy?.hub?.gateways ?? [],
  };

  /** An operator has just signed here, and it is not in force yet: nothing is put over it, and what comes is compared with it. */
  function isAhead(): boolean {
    const { vault, policy } = judgeTrust(readTrust(home), state.high);
    if (policy === null) return false;
    return vault.manifestHash !== state.trust.vault.manifestHash || policy.digest !== state.trust.policy?.digest;
  }

  /** Null where whoever signed it is no operator in the vault that comes: its own policy comes with it, or after it. */
  function staying(current: Vault, next: Vault): Policy | null {
    const policy = home.readPolicy(current);
    try {
      return parsePolicy(policyText(policy), next);
    } catch (error) {
      if (error instanceof Denied) return null;
      throw error;
    }
  }

  function carried(vault: Vault): Vault {
    return state.compartment?.service.carryNotes(vault) ?? vault;
  }
}

function vaultDocument(vault: Vault): CheckedDocument {
  return { kind: "vault", generation: vault.generation, digest: vault.manifestHash, text: vaultPage(vault) };
}

function policyDocument(policy: Policy): CheckedDocument {
  return { kind: "policy", generation: policy.version, digest: policy.digest, text: policyText(policy) };
}
