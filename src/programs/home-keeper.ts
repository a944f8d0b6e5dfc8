import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createClock, systemRandom } from "../adapters/platform/system.ts";
import { openStateStore } from "../adapters/store/sqlite/state.ts";
import { signAttestation } from "../audit/attestation.ts";
import type { NewEvent } from "../audit/event.ts";
import { isWriterLive } from "../audit/lock.ts";
import { openLog } from "../audit/log.ts";
import { createEnvelope, type Envelope } from "../gateway/record/record.ts";
import { createIds } from "../kernel/ids.ts";
import type { HomeKeeper } from "../surfaces/cli/backup/home-keeper.ts";
import { anchorOf, lineOf } from "../vault/anchor.ts";
import { openHome } from "../vault/files/home.ts";
import { makeFolder } from "../vault/files/make-folder.ts";
import { openService } from "../vault/lend.ts";
import type { OpenOperator } from "../vault/operator.ts";
import { lastStateMark, stampOf } from "./daemon/stamps.ts";
import { auditRecipientsOf, readTrust, type Trust, vaultHashOf } from "./daemon/trust.ts";
import { noteOf } from "./daemon/unlocked.ts";

/** The state and the log of a home that no gateway works on, in the hands of an operator. */
export const homeKeeper: HomeKeeper = {
  copyState(home, to) {
    const from = join(home, "state.db");
    if (!existsSync(from)) return false;
    const database = new DatabaseSync(from, { readOnly: true });
    try {
      database.prepare("vacuum into ?").run(to);
      return true;
    } finally {
      database.close();
    }
  },

  isInUse: (home) => isWriterLive(join(home, "audit")),

  async requireWholeState(home, vault, operator) {
    const path = join(home, "state.db");
    if (!existsSync(path)) return;
    const service = openService(vault, operator.serviceKey);
    try {
      const store = await openStateStore(path, service.deriveStateKey("state rows"), systemRandom);
      try {
        store.requireWhole();
      } finally {
        await store.close();
      }
    } finally {
      service.wipe();
    }
  },

  async settle(home, vault, policy, operator, about) {
    const clock = createClock();
    const service = openService(vault, operator.serviceKey);
    const folder = join(home, "audit");
    makeFolder(folder);
    const high = { vault: anchorOf(vault), policy: { version: policy.version, digest: policy.digest } };
    const key = service.deriveStateKey("log stamps");
    const stateKey = service.deriveStateKey("state rows");
    const store = await openStateStore(join(home, "state.db"), stateKey, systemRandom);
    try {
      await store.recount(lastStateMark(folder, key, clock.bootId())?.written ?? 0);
      await store.commit([noteOf(high)], "power");
      const section = (): Buffer => {
        const mark = store.generation();
        return stampOf(high, mark === null ? null : { mark, key }, clock.bootId());
      };
      return await writeEvents(home, { vault, policy, trouble: null }, operator, section, (envelope) => [
        {
          ...envelope("home_restored"),
          line: lineOf(vault),
          from_line: vault.restored?.from ?? "",
          operator: operator.name,
          operator_key_id: operator.keyId,
          vault_generation: vault.generation,
          policy_version: policy.version,
          restored_generation: about.generation,
          restored_policy_version: about.policyVersion,
          backup_digest: about.backup,
        },
      ]);
    } finally {
      await store.close();
      service.wipe();
    }
  },

  async noteArchived(home, operator, about) {
    const trust = readTrust(openHome(home, systemRandom));
    await writeEvents(home, trust, operator, null, (envelope) => [
      { ...envelope("log_archived"), operator: operator.name, operator_key_id: operator.keyId, ...about },
    ]);
  },
};

/** A short life of the log's writer, attested by the operator in whose process it happens. */
async function writeEvents(
  home: string,
  trust: Trust,
  operator: OpenOperator,
  section: (() => Buffer) | null,
  events: (envelope: Envelope) => readonly NewEvent[],
): Promise<{ readonly frame: number; readonly link: string }> {
  const clock = createClock();
  const log = await openLog({
    folder: join(home, "audit"),
    clock,
    random: systemRandom,
    recipients: auditRecipientsOf(trust),
    vaultGeneration: trust.vault.generation,
    vaultHash: vaultHashOf(trust),
  });
  try {
    if (section !== null) log.stamp(section);
    await log.append(events(createEnvelope(createIds(clock, systemRandom), clock)));
    const offer = await log.offerAttestation();
    const seconds = Math.floor(clock.wallMs() / 1000);
    await log.attest(signAttestation(offer, operator.name, operator.approver.key, seconds));
    const { frame, link } = log.head();
    return { frame, link };
  } finally {
    await log.close();
  }
}
