/** What all gateways of a hub together may do on one day (UTC), as an operator signed it. */
export interface FleetLimit {
  readonly name: string;
  readonly counts: FleetCount;
  readonly of: { readonly kind: FleetScope; readonly name: string };
  readonly aDay: number;
}

export const FLEET_COUNTS = ["attempts", "side_effects", "spend_cents"] as const;
export const FLEET_SCOPES = ["pack", "credential", "grant"] as const;
export type FleetCount = (typeof FLEET_COUNTS)[number];
export type FleetScope = (typeof FLEET_SCOPES)[number];

/** What one send is, as far as a limit could count it. */
export interface Countable {
  readonly pack: string;
  readonly credential: string | null;
  readonly grant: string | null;
  readonly sideEffect: boolean;
  /** What it reserves at most, beside what an earlier send of the same call reserved. */
  readonly cents: number;
}

/** Whether the limit is about such a send. */
export function isCounted({ of }: FleetLimit, send: Countable): boolean {
  return send[of.kind] === of.name;
}

/** How much of a limit that counts it the send would take. */
export function amountOf({ counts }: FleetLimit, send: Countable): number {
  switch (counts) {
    case "attempts":
      return 1;
    case "side_effects":
      return send.sideEffect ? 1 : 0;
    case "spend_cents":
      return Math.max(0, send.cents);
  }
}

/** Under what it is counted: signed to count something else, what was counted before says nothing of it. No name has a blank. */
export function counterOf({ name, counts, of }: FleetLimit): string {
  return `${name} (${counts}, ${of.kind} ${of.name})`;
}

export function describeFleetLimit({ counts, of, aDay }: FleetLimit): string {
  const what = { attempts: "attempts", side_effects: "side effects", spend_cents: "cents" }[counts];
  return `${aDay} ${what} a day with the ${of.kind} ${of.name}`;
}
