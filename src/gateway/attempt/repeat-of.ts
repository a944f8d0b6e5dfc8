import { type ClaimKey, type Holder, nameOf } from "../../conventions/outcome/claim.ts";
import { Denied } from "../../kernel/failure.ts";
import { holdersOf, stateOf, unsettled } from "./claim.ts";
import type { AttemptNeeds } from "./needs.ts";

/** A person is asked to let a call go out although the same one is open. */
export interface RepeatAsked {
  readonly because: readonly string[];
  readonly notes: readonly string[];
  /** The calls that the card names, and no other, are gone past. */
  readonly despite: ReadonlySet<string>;
  readonly sameAs: string;
}

/** Past so many open ones the next is no decision about a call any more. */
const MOST_OPEN = 8;

/**
 * Null where nothing stands in the way. What is open answers the call, unless the agent names that very one and asks a
 * person: whatever else may have happened, they see all of it on the card, and approving sends once.
 */
export function decideRepeatOf(
  core: Pick<AttemptNeeds, "ledger">,
  key: ClaimKey,
  repeatOf: string | undefined,
): RepeatAsked | null {
  const open = holdersOf(core, key);
  const last = open.at(-1);
  if (last === undefined) {
    if (repeatOf === undefined) return null;
    throw nothingOpen(repeatOf);
  }
  const underWay = open.find(({ under_way }) => under_way);
  if (underWay !== undefined) throw unsettled(core, underWay);
  if (repeatOf === undefined || !open.some((holder) => nameOf(holder) === repeatOf)) throw unsettled(core, last);
  if (open.length >= MOST_OPEN) throw unsettled(core, last);
  return {
    because: [`the same call is open already (${nameOf(last)}): it may have happened, and this would be a second one`],
    notes: open.map((holder) => describe(core, holder)),
    despite: new Set(open.map(nameOf)),
    sameAs: open.map(nameOf).join(" "),
  };
}

/** Also of a read, which two callers may make at once: nobody is asked about a second one. */
export function nothingOpen(repeatOf: string): Denied {
  return new Denied(
    "operation_settled",
    `Nothing is open for this call any more, so there is nothing to go past: look at ${repeatOf} first. If the call is still wanted, make it without repeat_of. Nothing was sent.`,
  );
}

function describe(core: Pick<AttemptNeeds, "ledger">, holder: Holder): string {
  const { at, started_by, run_id } = holder;
  const state = stateOf(core, holder) ?? "not known";
  return `open: ${nameOf(holder)}, ${state}, started at ${at} by ${started_by} in ${run_id}; approving this sends the call once more, and settles nothing about that one`;
}
