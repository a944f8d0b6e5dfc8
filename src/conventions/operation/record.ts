/**
 * Who observes, and until when. Within one boot its time decides, as everywhere; another boot may be another host's, so that
 * its lease runs out once it was seen for as long as a lease lasts. No wall clock ends one. Every taking has a term of its own, so that whoever was overtaken cannot write any more.
 */
export type Lease = {
  readonly owner: string;
  readonly expires_at: string;
  readonly expires_boot_ms: number;
  readonly boot_id: string;
  readonly term: number;
};

/** When the lease ends of an operation that another gateway took over: it runs out for nobody here. */
export const TAKEN_AWAY = "9999-12-31T23:59:59.999Z";

/** What a provider answers to a creation (202, with `Location`). */
export type JobCreation = { readonly job_id: string; readonly state: string; readonly status_url: string };

export type JobStatus = {
  readonly job_id: string;
  readonly state: string;
  readonly updated_at: string;
  readonly progress: { readonly completed: number; readonly total: number };
};

/** Whether `owner` may observe now: nobody does, it does already, or the other's lease has run out. */
export function mayLease(
  lease: Lease | null,
  owner: string,
  /** `seenMs`: for how long this very lease has been known here. */
  now: { readonly bootMs: number; readonly bootId: string; readonly seenMs: number; readonly lastsMs: number },
): boolean {
  if (lease === null || lease.owner === owner) return true;
  if (lease.boot_id === now.bootId) return lease.expires_boot_ms <= now.bootMs;
  return now.seenMs >= now.lastsMs;
}
