import type { SshSigner } from "../../conventions/ssh/outbound.ts";
import type { ProbeResult } from "../../conventions/ssh/probe.ts";
import type { Credentials } from "../../gateway/ports.ts";
import type { Ledger } from "../../gateway/record/ledger.ts";
import type { Envelope } from "../../gateway/record/record.ts";
import { readSshPublicLine, sshFingerprint } from "../../kernel/ssh-key.ts";
import type { Login } from "../../surfaces/operator/logins.ts";
import type { HostToCheck } from "../../surfaces/operator/steward.ts";
import { lockedError } from "./unlocked.ts";

export type ProbeHost = (target: HostToCheck, signer: SshSigner) => Promise<readonly ProbeResult[]>;

/**
 * `gw ssh check`: the vault lends the key for exactly the host key it is bound to, for as long as the check takes. That it
 * began is durable before the first connection, what it showed is written after the last.
 */
export async function checkHost(
  parts: {
    readonly ledger: Pick<Ledger, "note" | "noteHappened">;
    readonly envelope: Envelope;
    readonly probe: ProbeHost;
  },
  credentials: Credentials | null,
  target: HostToCheck,
  login: Login,
): Promise<readonly ProbeResult[]> {
  if (credentials === null) throw lockedError();
  const { ledger, envelope, probe } = parts;
  const signer = credentials.lendSshSigner(target.credential, target.hostKey);
  try {
    const key = readSshPublicLine(target.hostKey);
    const started = envelope("ssh_check_started");
    const about = {
      check_id: started.event_id,
      destination: `${target.user}@${target.host}:${target.port}`,
      host_key_fingerprint: key === undefined ? "" : sshFingerprint(key.blob),
      credential_label: target.credential,
      operator: login.operator,
      operator_key_id: login.operatorKeyId,
    };
    await ledger.note([{ ...started, ...about }]);
    const results = await probe(target, signer);
    const shown = results.map((one) => ({ ...one }));
    await ledger.noteHappened([{ ...envelope("ssh_check_finished"), ...about, results: shown }]);
    return results;
  } finally {
    signer.release();
  }
}
