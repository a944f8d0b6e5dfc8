/**
 * What signed policy demands of a yes: that it is given with a passkey, or by two people. A no needs neither. Whatever a card
 * would allow counts: one that lets a session begin is held to the strictest of its actions.
 */
export interface DecisionRules {
  readonly passkey: PasskeyRule | null;
  /** PACK.ACTION that two operators have to approve. */
  readonly twoPeople: readonly string[];
}

export interface PasskeyRule {
  readonly all: boolean;
  readonly effects: readonly string[];
  readonly credentials: readonly string[];
  readonly packs: readonly string[];
}

export const NO_RULES: DecisionRules = { passkey: null, twoPeople: [] };

/** Effects that a rule can name: what merely reads is named by `all`. */
export const RULE_EFFECTS = ["write", "send", "create", "purchase"] as const;

/** What a yes would allow, as far as the rules look at it. */
export interface Allowed {
  readonly action: string;
  readonly effect: string;
  readonly credential: string | null;
}

export interface Demand {
  readonly passkey: boolean;
  readonly approvers: 1 | 2;
}

export const NO_DEMAND: Demand = { passkey: false, approvers: 1 };

export function demandFor({ passkey, twoPeople }: DecisionRules, allowed: readonly Allowed[]): Demand {
  return {
    passkey: passkey !== null && (passkey.all || allowed.some((one) => isNamed(passkey, one))),
    approvers: allowed.some(({ action }) => twoPeople.includes(action)) ? 2 : 1,
  };
}

export function isDemanding({ passkey, approvers }: Demand): boolean {
  return passkey || approvers > 1;
}

/** The stricter of what a card says and what policy says now. */
export function stricter(one: Demand, other: Demand): Demand {
  return {
    passkey: one.passkey || other.passkey,
    approvers: one.approvers === 2 || other.approvers === 2 ? 2 : 1,
  };
}

function isNamed({ effects, credentials, packs }: PasskeyRule, { action, effect, credential }: Allowed): boolean {
  return (
    effects.includes(effect) ||
    (credential !== null && credentials.includes(credential)) ||
    packs.some((pack) => action.startsWith(`${pack}.`))
  );
}
