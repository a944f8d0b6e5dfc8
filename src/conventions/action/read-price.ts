import type { PriceRule } from "../budget/price.ts";
import type { Findings } from "./findings.ts";
import { readPointer } from "./read-job.ts";
import type { ActionWire } from "./schema/pack.ts";

/** Fields of an answer that carry secrets or frame it, and no price. */
const NO_PRICE = ["set-cookie", "authorization", "proxy-authorization", "content-length", "transfer-encoding"];

/** Where the answer states its price. Without a reserve there is nothing that it could be held against. */
export function readActualCost(wire: ActionWire, path: string, findings: Findings): PriceRule | null {
  const { actual_cost: cost, max_cost_cents } = wire;
  if (cost === undefined) return null;
  if (max_cost_cents === undefined)
    findings.error("missing_member", path, "actual_cost needs max_cost_cents, the reserve that it is held against");
  const { member, header, currency_member } = cost;
  if ((member === undefined) === (header === undefined)) {
    findings.error("pack_member_unfit", path, "expected either member, a place in the answer, or header");
    return null;
  }
  if (header !== undefined && NO_PRICE.includes(header.toLowerCase()))
    findings.error("pack_header_forbidden", `${path}/header`, `"${header}" carries no price`);
  return {
    at:
      header === undefined
        ? { kind: "member", pointer: readPointer(member ?? "", `${path}/member`, findings) }
        : { kind: "header", name: header.toLowerCase() },
    unit: cost.unit,
    currency: cost.currency ?? "USD",
    currencyPointer:
      currency_member === undefined ? null : readPointer(currency_member, `${path}/currency_member`, findings),
  };
}
