import type { KeyObject } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { EventOf } from "../../../audit/event.ts";
import { openReader } from "../../../audit/read/reader.ts";
import type { Pack } from "../../../conventions/action/pack.ts";
import type { OperatorKey } from "../../../conventions/approval/decision.ts";
import { requireFinished, type Settlement, settleReview } from "../../../conventions/upgrade/decision/settle.ts";
import type { UpgradeDecision } from "../../../conventions/upgrade/decision/statement.ts";
import { addsOnly, comparePacks } from "../../../conventions/upgrade/pack/compare-packs.ts";
import { probeDigest } from "../../../conventions/upgrade/probe/attest.ts";
import type { Digest } from "../../../kernel/canonical-json.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { Policy } from "../../../vault/policy/policy.ts";
import type { Vault } from "../../../vault/vault.ts";
import { assembleReview } from "./assemble.ts";
import { loadChange } from "./load-change.ts";
import { loadReviewFile } from "./review.ts";

export interface ReviewedOptions {
  readonly home: string;
  /** The provider's documents of the trusted and of the new version. */
  readonly documents: readonly string[];
  readonly probe?: string;
  readonly withoutEvidence?: boolean;
  readonly reviews?: string;
  /** The trusted pack that this one only adds to. */
  readonly beside?: string;
}

/**
 * Before a pack is trusted in the place of another: every term that changed, every difference of the documents and all that
 * a probe saw must be decided and signed, none rejected, and then the whole of it. All is made anew here from the files. Without a
 * key to the log, whether the probe is on record there is left for later.
 */
export async function requireReviewed(
  pack: Pack,
  bytes: Uint8Array,
  {
    policy,
    vault,
    readingKey,
  }: { readonly policy: Policy; readonly vault: Vault; readonly readingKey: KeyObject | null },
  options: ReviewedOptions,
  operatorKeys: () => Promise<readonly OperatorKey[]>,
): Promise<void> {
  const change = loadChange(options.home, pack, bytes, policy);
  if (change === null) return;
  const changes = comparePacks(change.before, pack, change.of);
  if (changes.length === 0) return;
  requireUnsuspended(pack, vault);
  const adds = change.of !== pack.name && addsOnly(change.before, pack, changes);
  if (adds && options.beside === change.of) return;
  if (options.reviews === undefined)
    throw undecided(
      pack,
      change.of,
      adds,
      changes.map(({ draft }) => `${draft.subject} ${draft.at}`.trim()),
    );
  const [before, after] = options.documents;
  if (options.documents.length === 1)
    throw new Denied("schema_violation", "Name both documents, OLD and NEW, or neither.");
  const keys = await operatorKeys();
  const { review, closing, missing, probe } = await assembleReview(
    { ...options, ...(before === undefined || after === undefined ? {} : { before, after }), change },
    keys,
  );
  if (missing !== null) throw missing;
  const file = await loadReviewFile(options.reviews, review.after.title);
  const differences = closing === null ? review.differences : [...review.differences, closing];
  const settlement = settleReview(differences, file, keys);
  requireFinished(settlement);
  const log = join(options.home, "audit");
  if (readingKey !== null && (probe !== null || existsSync(log)))
    await requireLogged(log, readingKey, probe === null ? null : probeDigest(probe), settlement);
  for (const state of settlement.states.values()) {
    if (state.kind !== "narrowed" || state.decision.narrowing === pack.provider?.credential) continue;
    throw new Denied(
      "narrowing_unproven",
      `${state.decision.difference} was narrowed to ${showIdentifier(state.decision.narrowing ?? "")}, and ${pack.name} presents ${showIdentifier(pack.provider?.credential ?? "no credential")}.`,
    );
  }
}

/**
 * A signature says what an operator saw; the log of the gateway that sent it says that it was sent. And a file can lose what was decided
 * last, so that what came before it counts again: the log has that too.
 */
async function requireLogged(
  log: string,
  readingKey: KeyObject,
  probe: Digest | null,
  { states }: Settlement,
): Promise<void> {
  const seen = new Set<string>();
  const later = new Map<string, EventOf<"upgrade_decided">>();
  let sent = probe === null;
  const reader = openReader(log, readingKey);
  try {
    for await (const item of reader) {
      if (item.kind !== "record") continue;
      const { event } = item;
      if (event.event_type === "upgrade_probe_finished" && event.result_digest === probe) sent = true;
      if (event.event_type !== "upgrade_decided") continue;
      const { difference } = event;
      const state = states.get(difference);
      if (state === undefined || state.kind === "open" || state.decision.api !== event.api) continue;
      // What was decided elsewhere is not in this log: then the time that its reviewer signed has to do.
      if (isSame(event, state.decision)) {
        seen.add(difference);
        later.delete(difference);
      } else if (seen.has(difference) || Date.parse(event.decided_at) > Date.parse(state.decision.decided_at))
        later.set(difference, event);
    }
  } finally {
    reader.close();
  }
  if (!sent)
    throw new Denied(
      "review_mismatch",
      "The log of this gateway has no probe with this result: run gw upgrade probe here, and review what it prints.",
    );
  for (const { difference, decision, by, decided_at } of later.values())
    throw new Denied(
      "review_mismatch",
      `The log has a later decision about ${difference} than the review file: ${decision} by ${showIdentifier(by)} at ${decided_at}. Put it back from version control, or decide anew: gw upgrade decide`,
    );
}

function isSame(event: EventOf<"upgrade_decided">, decision: UpgradeDecision): boolean {
  return (
    event.decision === decision.verdict &&
    event.narrowing === decision.narrowing &&
    event.operator_key_id === decision.operator_key_id &&
    event.decided_at === decision.decided_at
  );
}

/** What a probe stopped stays stopped: 403 expected and 201 observed blocks the upgrade until an operator has decided. */
function requireUnsuspended(pack: Pack, vault: Vault): void {
  const label = pack.provider?.credential ?? null;
  const stopped = vault.notes.suspended.find((one) => one.label === label);
  if (stopped === undefined) return;
  throw new Denied(
    "authority_increase",
    `The credential ${showIdentifier(stopped.label)} of ${pack.name} is suspended since ${stopped.at} (${showIdentifier(stopped.reason)}). Give the pack a narrower one, or enable it again: gw credential enable ${stopped.label}`,
  );
}

function undecided(pack: Pack, of: string, adds: boolean, places: readonly string[]): Denied {
  const shown = places.slice(0, 6).map(showIdentifier).join("; ");
  const more = places.length > 6 ? `; and ${places.length - 6} more` : "";
  return new Denied(
    "upgrade_undecided",
    `${pack.name} ${of === pack.name ? "differs from what was trusted" : `goes where ${of} goes, which was trusted, and differs from it`}: ${shown}${more}. Review it (gw upgrade review [OLD NEW] --trust ${pack.name}), decide (gw upgrade decide), finish (--finish), then: gw pack trust ${pack.name} [OLD NEW] --reviews reviews.yaml${adds ? `. It sends nothing that ${of} sends: where you want both, say so: gw pack trust ${pack.name} --beside ${of}` : ""}`,
    { extra: { terms: [...places] } },
  );
}
