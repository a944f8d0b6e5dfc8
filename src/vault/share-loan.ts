import type { HttpLoan } from "./lent.ts";
import type { CredentialEntry } from "./vault.ts";

/** So many sends may share one decryption, however closely they follow one another. */
const SENDS_A_LOAN = 1_024;

interface SharedLoan {
  readonly loan: HttpLoan;
  users: number;
  sends: number;
}

/** Nothing about the request goes into what is sent. */
export function isSentAsItIs({ kind, withCertificate }: CredentialEntry): boolean {
  return withCertificate === null && (kind === "bearer" || kind === "basic" || kind === "header");
}

/**
 * Sends that are under way together share one loan, and the last to give it back wipes it. Whether an entry may be lent, and
 * to where, is asked for every send before this: an entry of a newer vault is another entry.
 */
export function createSharing(): (entry: CredentialEntry, make: () => HttpLoan) => HttpLoan {
  const shared = new Map<CredentialEntry, SharedLoan>();
  return (entry, make) => {
    const found = shared.get(entry);
    const held = found === undefined || found.sends >= SENDS_A_LOAN ? { loan: make(), users: 0, sends: 0 } : found;
    shared.set(entry, held);
    held.users++;
    held.sends++;
    let returned = false;
    return {
      ...held.loan,
      release() {
        if (returned) return;
        returned = true;
        held.users--;
        if (held.users > 0) return;
        if (shared.get(entry) === held) shared.delete(entry);
        held.loan.release();
      },
    };
  };
}
