import type { KeyObject } from "node:crypto";
import { readCut } from "../../audit/cut/cut.ts";
import { proveServer } from "../../conventions/caller/server.ts";
import { saysGone } from "../../gateway/record/ledger.ts";
import { digestText } from "../../kernel/canonical-json.ts";
import { Denied } from "../../kernel/failure.ts";
import { deniedByFiles } from "../../kernel/file-trouble.ts";
import { inTurn } from "../../kernel/in-turn.ts";
import type { Secret } from "../../kernel/secret.ts";
import type { Login } from "../../surfaces/operator/logins.ts";
import type { Steward } from "../../surfaces/operator/steward.ts";
import { secretVersion } from "../../vault/entry.ts";
import { fingerprintHome } from "../../vault/files/fingerprint.ts";
import { checkHighWater, higher } from "../../vault/high-water.ts";
import { rawPublicOf } from "../../vault/keys.ts";
import { SERVER_PROOF } from "../../vault/server-proof.ts";
import { drawWaitingKey } from "../../vault/waiting-key.ts";
import { attesting } from "./attest.ts";
import { changesBetween } from "./changes.ts";
import { checkHost } from "./check-host.ts";
import { loadPacks } from "./packs.ts";
import { createRefusals } from "./refusals.ts";
import { statusOf } from "./status.ts";
import type { StewardParts } from "./steward-parts.ts";
import { auditRecipientsOf, operatorKeysOf, raisedBy, readTrust, type Trust, vaultHashOf } from "./trust.ts";
import { lockedError, openCompartment } from "./unlocked.ts";
import { recordDecisions, suspendCredentials } from "./upgrade.ts";

export interface DaemonSteward extends Steward {
  /** A key file or systemd credential: opens the credentials and nothing else, and only where signed policy allows it. */
  unlockHeadless(serviceKey: Secret): Promise<void>;
  /** What an operator sealed to this very process on the hub. */
  unlockByHub(serviceKey: Secret, operator: Pick<Login, "operator" | "operatorKeyId">): Promise<void>;
  shutDown(reason: string): Promise<void>;
}

export function createSteward(parts: StewardParts): DaemonSteward {
  const { gateway, log, envelope, state, clock } = parts;
  const { note: record, noteHappened: recordHappened } = gateway.ledger;
  const refused = createRefusals(parts);

  /** What opens or closes the compartment: of two operators who unlock at one moment the second finds it open, and no lock meets one half open. */
  const takingTurns = inTurn();
  /** Outlives a lock: it opens nothing, and only this process has it. */
  let proofKey: KeyObject | null = null;
  let stopping = false;

  async function unlock(
    serviceKey: Secret,
    method: "passphrase" | "key_file" | "hub",
    login: Pick<Login, "operator" | "operatorKeyId"> | null,
  ): Promise<void> {
    if (state.compartment !== null) return;
    try {
      const opened = await openCompartment(() => state.trust, serviceKey, {
        stateFile: parts.settings.stateFile,
        logFolder: parts.settings.auditFolder,
        bootId: clock.bootId(),
        random: parts.random,
        noteNeeded: method === "key_file",
      });
      state.compartment = opened;
      proofKey = opened.service.deriveStateKey(SERVER_PROOF);
      if (opened.remembered !== null) state.high = higher(opened.remembered, state.high);
      await opened.remember(state.high);
      const keyIds = operatorKeysOf(state.trust).map(({ keyId }) => keyId);
      await parts.operatorUsers.open(opened.store, keyIds);
      await gateway.unlock({ credentials: opened.credentials, store: parts.hub.share(opened.store) });
      await recordHappened([
        {
          ...envelope("gateway_unlocked"),
          operator: login?.operator ?? null,
          operator_key_id: login?.operatorKeyId ?? null,
          method,
          vault_generation: opened.service.generation,
        },
      ]);
      await parts.hub.adjust();
    } catch (thrown) {
      await closeIfLocked();
      const error = deniedByFiles(thrown) ?? thrown;
      if (error instanceof Denied)
        await refused.tell({ ...envelope("unlock_failed"), method, count: 1, reason: error.code });
      throw error;
    }
  }

  /** Also what could not be opened to its end: the next unlock begins anew. */
  async function closeIfLocked(): Promise<void> {
    if (!gateway.locked) return;
    const opened = state.compartment;
    state.compartment = null;
    parts.operatorUsers.close();
    await opened?.close();
  }

  /** The signed files as they are now; older ones than those in force, or unsound ones, change nothing. */
  async function readNewer(): Promise<Trust> {
    try {
      const next = readTrust(parts.home);
      checkHighWater(state.high, next.vault, next.policy);
      return next;
    } catch (error) {
      if (error instanceof Denied) await refused.tellSeldom({ ...envelope("vault_refused"), code: error.code });
      throw error;
    }
  }

  async function takeNewer(): Promise<void> {
    const next = await readNewer();
    gateway.tokens.endReplaced((label) => {
      const entry = next.vault.credentials.find((one) => one.label === label);
      return entry === undefined ? null : secretVersion(entry);
    });
    const fits = state.compartment?.follow(next.vault) ?? true;
    const events = changesBetween(state.trust, next, envelope);
    state.trust = next;
    state.high = raisedBy(state.high, next);
    state.packs = loadPacks(parts.settings.packsFolder, next.policy);
    try {
      await parts.callbacks.adjust(next.policy?.settings.callbacks ?? "off");
      await parts.hub.adjust();
      await state.compartment?.remember(state.high);
      if (events.length > 0) {
        await log.rotate({
          recipients: auditRecipientsOf(next),
          vaultGeneration: next.vault.generation,
          vaultHash: vaultHashOf(next),
        });
        await recordHappened(events);
      }
    } finally {
      // Whatever of it could not be done or written.
      if (next.policy === null) await lock("policy_refused", null);
      // Somebody who knew the service key is no operator any more: whoever has the new one unlocks.
      else if (!fits) await lock("service_key_replaced", null);
    }
    // What policy takes away is gone whatever the packs are; they are looked at again.
    if (state.packs.unread !== null) throw state.packs.unread;
  }

  async function lock(reason: string, operator: string | null, locked?: () => void): Promise<void> {
    if (state.compartment === null) return;
    try {
      await gateway.lock(reason, operator, locked, stopping);
    } finally {
      await closeIfLocked();
      if (!stopping) await parts.hub.adjust();
    }
  }

  /** By an operator. Where one was removed the key is another one now: a key file that policy allows goes along. */
  function unlockBy(
    serviceKey: Secret,
    method: "passphrase" | "hub",
    login: Pick<Login, "operator" | "operatorKeyId">,
  ): Promise<void> {
    return takingTurns(async () => {
      await unlock(serviceKey, method, login);
      if (state.trust.policy?.settings.headlessUnlock === true)
        parts.keyFile.renew(serviceKey, state.trust.vault.vaultId);
    });
  }

  return {
    gateway,
    clock,
    custody: parts.custody,
    vaultId: () => state.trust.vault.vaultId,
    status: () => statusOf(parts),
    async operatorConnected({ operator, operatorKeyId }) {
      // A gateway that cannot record still lets an operator in: to lock it, or to resume, which is recorded then.
      if (gateway.ledger.stopped) return;
      // Nor does a full log keep anybody from locking, denying or revoking.
      await recordHappened([{ ...envelope("operator_connected"), operator, operator_key_id: operatorKeyId }]);
    },
    operatorRefused: (code, operator) => refused.tellSeldom({ ...envelope("operator_refused"), code, operator }),
    prove: (nonce) => (proofKey === null ? null : proveServer(proofKey, nonce, process.pid)),
    unlock: (serviceKey, login) => unlockBy(serviceKey, "passphrase", login),
    unlockByHub: (serviceKey, operator) => unlockBy(serviceKey, "hub", operator),
    async passphraseFailed(operator, failedAttempts) {
      const reason = `passphrase_wrong (${operator})`;
      await refused.tellSeldom({ ...envelope("unlock_failed"), method: "passphrase", count: failedAttempts, reason });
    },
    async unlockHeadless(serviceKey) {
      if (state.trust.policy?.settings.headlessUnlock !== true) {
        throw new Denied("headless_unlock_off", "Signed policy does not allow a key file to unlock this gateway.");
      }
      await takingTurns(() => unlock(serviceKey, "key_file", null));
    },
    // Whoever locks does not wait for a provider; whoever unlocks next does.
    lock: (reason, login) =>
      new Promise((locked, failed) => {
        takingTurns(() => lock(reason, login.operator, locked))
          .catch(saysGone("Locked: every session has ended."))
          .then(locked, failed);
      }),
    resume: ({ operator, operatorKeyId }) =>
      takingTurns(async () => {
        if (!gateway.ledger.stopped)
          throw new Denied("not_stopped", "The gateway has not stopped. There is nothing to resume.");
        await log.resume();
        const cause = state.stoppedBy?.message ?? "";
        state.stoppedBy = null;
        try {
          await gateway.resume(operator);
        } finally {
          await closeIfLocked();
        }
        await recordHappened([{ ...envelope("gateway_resumed"), operator, operator_key_id: operatorKeyId, cause }]);
      }),

    reload: () =>
      takingTurns(async () => {
        const files = fingerprintHome(parts.home.folder);
        let unread = false;
        try {
          await takeNewer();
          state.filesRefused = null;
        } catch (thrown) {
          const error = deniedByFiles(thrown) ?? thrown;
          // Nobody refused what the system did not let us read: the next look tries again.
          unread = error instanceof Denied && error.code === "file_unusable";
          state.filesRefused = error instanceof Denied ? error : null;
          throw error;
        } finally {
          // Last of all: whoever waits for this finds everything in force.
          if (!unread) state.files = files;
        }
      }),

    followHub: () => parts.hub.followed(),

    checkHost: (target, login) =>
      checkHost(
        { ledger: gateway.ledger, envelope, probe: parts.probe },
        state.compartment?.credentials ?? null,
        target,
        login,
      ),

    recordDecisions: (decisions, login) =>
      recordDecisions({ ledger: gateway.ledger, envelope }, operatorKeysOf(state.trust), decisions, login),

    async suspendCredentials(labels, reason, login, of = null) {
      const opened = state.compartment;
      if (opened === null) throw lockedError();
      const log = { ledger: gateway.ledger, envelope };
      const asked = { labels, reason, wallMs: clock.wallMs(), of };
      const { suspended, vault } = await suspendCredentials(log, parts.home, opened.service, asked, login);
      const next = { ...state.trust, vault };
      // What an operator signed meanwhile is told, and followed, with the next look at the files.
      if (vault.manifestHash === state.trust.vault.manifestHash) state.trust = next;
      // An older copy of the vault, without the suspension, is refused after the next start.
      state.high = raisedBy(state.high, next);
      await opened.remember(state.high);
      return suspended;
    },

    adoptOperations: (gateway, login) => parts.hub.adopt(gateway, login.operator),

    hostKeys: () =>
      takingTurns(async () => {
        const keys = await state.compartment?.hostKeys("draw");
        if (keys == null) throw lockedError();
        return { identity_key: half(keys.identity), lending_key: half(keys.lending) };
      }),

    waitingKey: () =>
      takingTurns(() => {
        const { signing, reading } = drawWaitingKey(parts.settings.home, state.trust.vault.vaultId, parts.random);
        return Promise.resolve({ signing_key: half(signing), reading_key: half(reading) });
      }),

    ...attesting(log, () => state.trust),

    async noteArchived(text, login) {
      const read = readCut(text);
      const keys = state.trust.vault.operators.filter(({ keyId }) => keyId === login.operatorKeyId);
      if (read?.cut.logId !== log.logId || read.signedBy(keys.map(({ approverKey }) => approverKey)) === undefined)
        throw new Denied("signature_invalid", "The cut is not of this log, or not signed by whoever is logged in.");
      await record([
        {
          ...envelope("log_archived"),
          operator: login.operator,
          operator_key_id: login.operatorKeyId,
          last_segment: read.cut.segment - 1,
          next_frame: read.cut.nextFrame,
          cut_digest: digestText(text),
        },
      ]);
    },

    async shutDown(reason) {
      stopping = true;
      await takingTurns(() => lock(reason, null)).catch(() => undefined);
      await recordHappened([{ ...envelope("gateway_stopped"), reason }]).catch(() => undefined);
      // The last that is told: whatever stood in line before it is told too.
      await gateway.ledger.lineEmptied();
      await log.close();
    },
  };
}

const half = (key: KeyObject): string => rawPublicOf(key).toString("base64url");
