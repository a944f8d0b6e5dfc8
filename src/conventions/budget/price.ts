import { followPointer } from "../../../packages/request/src/pointer.ts";
import type { JsonValue } from "../../kernel/json.ts";

/** Where an answer says what the call cost, and how it is written there. */
export interface PriceRule {
  readonly at:
    | { readonly kind: "member"; readonly pointer: string }
    | { readonly kind: "header"; readonly name: string };
  /** `cents`: whole smallest units of the currency. `decimal`: an amount in its main unit, such as 12.30. */
  readonly unit: "cents" | "decimal";
  readonly currency: string;
  /** Where the answer names its currency; another one than ours is no price. */
  readonly currencyPointer: string | null;
}

export type Price =
  | { readonly kind: "stated"; readonly cents: number }
  | { readonly kind: "unstated"; readonly reason: "price_missing" | "price_unreadable" | "price_in_other_currency" };

const WHOLE = /^\d{1,15}$/;
const DECIMAL = /^(\d{1,12})(?:\.(\d{1,12}))?$/;

/** ISO 4217: how many digits the smallest unit has, where they are not two. */
const DIGITS: ReadonlyMap<string, number> = new Map([
  ...["BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI"].map(none),
  ...["VND", "VUV", "XAF", "XOF", "XPF"].map(none),
  ...["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"].map((code): [string, number] => [code, 3]),
  ["CLF", 4],
  ["UYW", 4],
]);

function none(code: string): [string, number] {
  return [code, 0];
}

/** The price that an answer states, in whole smallest units and rounded up; what is not plainly a price is none. */
export function readPrice(rule: PriceRule, body: JsonValue, headers: Readonly<Record<string, string>>): Price {
  const { at, currency, currencyPointer } = rule;
  const said = at.kind === "header" ? headers[at.name] : followPointer(body, at.pointer);
  if (said === undefined || said === null || said === "") return { kind: "unstated", reason: "price_missing" };
  if (currencyPointer !== null) {
    const theirs = followPointer(body, currencyPointer);
    if (typeof theirs !== "string" || theirs.toUpperCase() !== currency)
      return { kind: "unstated", reason: "price_in_other_currency" };
  }
  const text = typeof said === "string" || typeof said === "number" ? String(said).trim() : "";
  const cents = rule.unit === "cents" ? readWhole(text) : readDecimal(text, DIGITS.get(currency) ?? 2);
  return cents === null ? { kind: "unstated", reason: "price_unreadable" } : { kind: "stated", cents };
}

function readWhole(text: string): number | null {
  return WHOLE.test(text) ? Number(text) : null;
}

/** By its digits: a fraction of the smallest unit counts as one, and no floating point takes part. */
function readDecimal(text: string, digits: number): number | null {
  const [, whole, fraction = ""] = DECIMAL.exec(text) ?? [];
  if (whole === undefined) return null;
  const counted = Number(whole + fraction.slice(0, digits).padEnd(digits, "0"));
  const rest = /[1-9]/.test(fraction.slice(digits)) ? 1 : 0;
  return Number.isSafeInteger(counted + rest) ? counted + rest : null;
}
