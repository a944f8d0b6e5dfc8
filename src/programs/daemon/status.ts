import { mayContinue } from "../../conventions/caller/session.ts";
import type { Status } from "../../surfaces/operator/answers.ts";
import { loweredSettings } from "../../vault/policy/policy.ts";
import type { StewardParts } from "./steward-parts.ts";

/** What `gw status` tells: no secret, no person, nothing that an agent wrote. */
export function statusOf(parts: StewardParts): Status {
  const { version, state, gateway, log, settings, callbacks, modes, keyFile } = parts;
  const { trust, packs } = state;
  const head = log.head();
  const openFolder = modes.openFolder();
  return {
    version,
    pid: process.pid,
    uid: process.getuid?.() ?? -1,
    home: settings.home,
    mode: modes.mode(),
    open_folder: openFolder === null ? null : { ...openFolder },
    locked: gateway.locked,
    stopped: state.stoppedBy?.message ?? null,
    stopped_code: state.stoppedBy?.code ?? null,
    disk_low: parts.space.low(),
    trouble: trust.trouble === null ? null : { code: trust.trouble.code, message: trust.trouble.message },
    files: state.files,
    files_refused: state.filesRefused?.code ?? null,
    lowered: trust.policy === null ? [] : [...loweredSettings(trust.policy.settings)],
    key_file: keyFile.status(trust.policy?.settings.headlessUnlock === true),
    vault_id: trust.vault.vaultId,
    vault_generation: trust.vault.generation,
    policy_version: trust.policy?.version ?? null,
    packs: [...new Set(packs.book.all().map(({ pack }) => pack.name))],
    pack_troubles: packs.troubles.map(({ file, why }) => ({ file, why })),
    callbacks: callbacks.status(),
    webhooks: parts.bell.status().map(({ name, last }) => ({ name, last: last === null ? null : { ...last } })),
    hub: parts.hub.status(),
    approvals_pending: gateway.desk.list().length,
    sessions_live: gateway.sessions().filter(mayContinue).length,
    answers_waiting: gateway.answers.status().waiting,
    log: { log_id: log.logId, segment: head.segment, frame: head.frame, link: head.link },
  };
}
