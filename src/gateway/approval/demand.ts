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

  return {
    /** The passkey that answered with this decision; null where none did. */
    take(
      { assertion }: GivenDecision,
      verified: Verified<DecisionStatement>,
      passkeys: readonly EnrolledPasskey[],
    ): EnrolledPasskey | null {
      if (assertion === undefined) return null;
      const { passkey, counter } = verifyHand(verified, assertion, passkeys, counterOf);
      counters.set(passkey.credentialId, counter);
      return passkey;
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
