/**
 * What the provider can be asked about work that it has: by the agent that began it, as a call like any other, or by an operator. Every
 * surface has each of them; what it did is read afterwards.
 */
export const jobErrands = {
  cancel: "ask the provider to stop it; the provider decides how it ends",
  resume: "ask the provider to go on with failed work, where it documents that",
} as const;

export type JobErrand = keyof typeof jobErrands;
export const jobErrandNames = Object.keys(jobErrands) as JobErrand[];

/** What an operator may ask of an operation: that, and how it stands now. On its host by a login, from another machine by a signature. */
export type OperationErrand = JobErrand | "reconcile";
export const operationErrands: readonly OperationErrand[] = [...jobErrandNames, "reconcile"];

/** What is sent to the provider says why; a read needs no reason. */
export function isJobErrand(errand: string): errand is JobErrand {
  return Object.hasOwn(jobErrands, errand);
}

/** For the description of a route. */
export function errandSummary(errand: JobErrand): string {
  const words = jobErrands[errand];
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
