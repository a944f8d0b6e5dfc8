import {
  type DecisionStatement,
  type GivenDecision,
  type Verified,
  verifyHand,
} from "../../conventions/approval/decision.ts";
import {
  type Allowed,
  type DecisionRules,
  type Demand,
  demandFor,
  isDemanding,
  NO_DEMAND,
  NO_RULES,
  stricter,
} from "../../conventions/passkey/demand.ts";
import type { EnrolledPasskey } from "../../conventions/passkey/passkey.ts";
import { canonicalJson, digestText } from "../../kernel/canonical-json.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import type { StateRow } from "../ports.ts";
import type { Ledger } from "../record/ledger.ts";
import type { DecidingKeys } from "./needs.ts";
import type { Approval, Given, Question } from "./question.ts";

/** What of signed policy counts here. */
interface Ruled {
  posture(): { readonly decisions?: { readonly rules: DecisionRules } };
}

/** What signed policy demands now of a yes that would allow this. */
export function demandNow({ posture }: Ruled, allowed: readonly Allowed[]): Demand {
  return demandFor(posture().decisions?.rules ?? NO_RULES, allowed);
}

/** Whether only a person may say yes to it, whatever was granted ahead or switched off. */
export function needsPerson(core: Ruled, allowed: readonly Allowed[]): boolean {
  return isDemanding(demandNow(core, allowed));
}

/** What policy demands now, or demanded when the card was written: whichever is stricter. */
export function demandOf({ card }: Approval, question: Question): Demand {
  return stricter(card?.decide ?? NO_DEMAND, question.demand?.() ?? NO_DEMAND);
}

/** The passkeys that answered, with what their counters said last: in memory, and in the state for the next start. */
export function createHands(find: Ledger["find"]) {
  const counters = new Map<string, number>();

  function counterOf({ credentialId, counter, name }: EnrolledPasskey): number {
    const known = counters.get(credentialId);
    if (known !== undefined) return known;
    const row = find("notes", rowId(credentialId));
    if (row !== null && "tampered" in row) {
      throw new Denied(
        "passkey_refused",
        `What the counter of the passkey ${name} said last does not authenticate, so that a copy of it could not be told. Remove it with gw passkey remove, and enrol it anew.`,
      );
    }
    return Math.max(counter, Number(row?.body["counter"] ?? 0));
  }

  type Answered = readonly [GivenDecision, Verified<DecisionStatement>, readonly EnrolledPasskey[]];

  /** The passkey that answered with this decision; null where none did. Its counter stays as it was. */
  function look(...[{ assertion }, verified, passkeys]: Answered): ReturnType<typeof verifyHand> | null {
    return assertion === undefined ? null : verifyHand(verified, assertion, passkeys, counterOf);
  }

  /** The same, and its counter goes on. What tells the log of it follows at once, so that the log has them in their order. */
  function take(...answered: Answered): EnrolledPasskey | null {
    const found = look(...answered);
    if (found === null) return null;
    counters.set(found.passkey.credentialId, found.counter);
    return found.passkey;
  }

  return {
    look,
    take,
    /** Of one that was looked at before: what was decided with it meanwhile is no second authenticator. */
    takeLater(...answered: Answered): EnrolledPasskey | null {
      try {
        return take(...answered);
      } catch (error) {
        if (!(error instanceof Denied) || error.code !== "passkey_cloned") throw error;
        throw new Denied(
          "passkey_refused",
          "Something else was decided with this passkey while the ticket was looked up. Nothing was decided here: decide again.",
          { retryAllowed: true },
        );
      }
    },
    /** What is kept with the decision that this passkey answered for. */
    rows(passkey: EnrolledPasskey | null): readonly StateRow[] {
      if (passkey === null) return [];
      const { credentialId } = passkey;
      const body = { counter: counters.get(credentialId) ?? 0 };
      return [{ table: "notes", id: rowId(credentialId), runId: "", state: "hand", body }];
    },
  };
}

/** An authenticator names a credential as it likes, and at length. */
function rowId(credentialId: string): string {
  return `hand ${digestText(credentialId)}`;
}

/** Who said yes already and could say it now: still an operator, and with a passkey where one is demanded by now. */
export function stillGiven(
  given: readonly Given[],
  { passkey }: Demand,
  { keys, passkeys = [] }: DecidingKeys,
): readonly Given[] {
  return given.filter(
    (one) =>
      keys.some(({ keyId }) => keyId === one.operatorKeyId) &&
      (!passkey || passkeys.some(({ credentialId }) => credentialId === one.passkey)),
  );
}

/** Two people, and the same thing. */
export function requireOther(given: readonly Given[], { statement }: Verified<DecisionStatement>): void {
  const { operator_key_id, operator, narrow } = statement;
  if (given.some((one) => one.operatorKeyId === operator_key_id || one.operator === operator)) {
    throw new Denied(
      "approver_already",
      "You have approved this already. Policy wants a second operator to approve it too.",
    );
  }
  const before = given[0];
  if (before === undefined || sameNarrowing(before.narrow, narrow)) return;
  throw new Denied(
    "approvals_differ",
    `${before.operator} approved it narrowed otherwise. Approve the same, or deny it.`,
  );
}

function sameNarrowing(one: Given["narrow"], other: Given["narrow"]): boolean {
  return canonicalJson(one as JsonValue) === canonicalJson(other as JsonValue);
}

export function passkeyNeeded(passkeys: readonly EnrolledPasskey[]): Denied {
  const where = [...new Set(passkeys.map(({ origin }) => origin))].join(" or ");
  return new Denied(
    "passkey_needed",
    `Policy lets this be approved with a passkey alone${where === "" ? ", and none is enrolled" : `, at ${where}`}. Open it with: gw console. Nothing was decided; a no needs no passkey.`,
  );
}
