import type { CardPlan } from "../../conventions/approval/card.ts";
import { timeLeftMs } from "../../conventions/budget/budget.ts";
import { decideExecution } from "../../conventions/plan/lifecycle.ts";
import type { PlanRecord, Preview } from "../../conventions/plan/record.ts";
import { sayChanged } from "../../conventions/plan/words.ts";
import { digestJson } from "../../kernel/canonical-json.ts";
import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { now } from "../core.ts";
import type { Definition, Outbound } from "../outbound/outbound.ts";
import type { LiveCaller, StateRow } from "../ports.ts";
import { partyOf, type Run } from "../run/run.ts";
import type { PlanNeeds } from "./needs.ts";
import type { Plan } from "./shelf.ts";

/** Stores what was previewed, for as long as the plan, the run and the provider allow, whichever is least. */
export function makePlan(
  core: Pick<PlanNeeds, "ports">,
  run: Run,
  caller: LiveCaller,
  outbound: Outbound,
  executes: Definition,
  preview: Preview,
): Plan {
  const { clock } = core.ports;
  const promisedMs = Date.parse(preview.expires_at ?? "") - clock.wallMs();
  const validMs = Math.min(
    defaults.planMs,
    timeLeftMs(run.budget, now(core)),
    Number.isNaN(promisedMs) ? defaults.planMs : promisedMs,
  );
  const revisions =
    preview.read_revisions.length > 0
      ? preview.read_revisions
      : [{ resource: "request", revision: preview.request_digest || outbound.requestDigest }];
  return {
    id: core.ports.ids.next("plan"),
    runId: run.id,
    callerKey: partyOf(run, caller.key),
    action: executes.action.qualifiedName,
    previewAction: outbound.action,
    packDigest: outbound.definition.pack.digest,
    input: outbound.input,
    shown: outbound.shownArguments,
    requestDigest: outbound.requestDigest,
    preview,
    revisions,
    equivalence: digestJson(preview as unknown as JsonValue),
    previewedAt: isoTime(clock.wallMs()),
    expiresAt: isoTime(clock.wallMs() + validMs),
    expiresBootMs: clock.bootMs() + validMs,
    state: "previewed",
  };
}

/** Caller, digest, expiry, single use and revisions, as they are right now. Asked before the card and before the send. What does not hold spends the plan. */
export function requireExecutable(
  core: Pick<PlanNeeds, "ports">,
  plan: Plan,
  run: Run,
  caller: LiveCaller,
  definition: Definition,
  expectedRevision: string,
): void {
  const decision = decideExecution(
    {
      caller: plan.callerKey,
      requestDigest: plan.packDigest,
      equivalence: plan.equivalence,
      readRevisions: plan.revisions,
      expiresAtMs: plan.expiresBootMs,
      state: plan.state,
    },
    {
      caller: partyOf(run, caller.key),
      nowMs: core.ports.clock.bootMs(),
      expectedRevision,
      // A pack that changed meanwhile may send something else for the same plan.
      requestDigest: definition.pack.digest,
      readRevisions: plan.revisions,
      equivalence: plan.equivalence,
    },
  );
  switch (decision.kind) {
    case "execute":
      break;
    case "not_found":
      throw new Denied("not_found", "There is no such plan for this caller.");
    case "used":
      throw decision.state === "executed"
        ? new Denied("plan_used", "This plan was executed before. A plan is used once.")
        : planStale(["plan"]);
    case "stale":
      // Whoever was told to make a new preview has no use for this one; a start rejects what is left of it.
      plan.state = decision.next;
      throw planStale(decision.changed);
  }
  if (!plan.preview.executable) {
    throw new Denied("plan_not_executable", "The preview says that this would not execute.", {
      extra: { validation: plan.preview.validation },
    });
  }
}

export function planStale(changed: readonly string[]): Denied {
  const why = sayChanged(changed).join("; ");
  return new Denied("plan_stale", `The plan no longer stands: ${why}. Nothing was done.`, {
    extra: { changed },
  });
}

export function planRow(plan: Plan): StateRow {
  const { id, runId, state, preview, shown: _, callerKey, expiresBootMs, ...rest } = plan;
  const body = {
    ...rest,
    caller: callerKey,
    expires_boot_ms: expiresBootMs,
    // Once it is used, digests are enough.
    preview: state === "previewed" ? (preview as unknown as JsonValue) : null,
    input: state === "previewed" ? plan.input : {},
  } as unknown as JsonObject;
  return { table: "plans", id, runId, state, body };
}

/** What a person sees of it, beside the call that carries it out. */
export function cardPlan(plan: Plan): CardPlan {
  const { validation, effects, assumptions } = plan.preview;
  return {
    plan_id: plan.id,
    preview_action: plan.previewAction,
    arguments: plan.shown,
    request_digest: plan.requestDigest,
    previewed_at: plan.previewedAt,
    expires_at: plan.expiresAt,
    validation,
    read_revisions: plan.revisions,
    effects,
    assumptions,
  };
}

export function planRecord(plan: Plan): PlanRecord {
  const { mode, executable, validation, effects, assumptions } = plan.preview;
  return {
    mode,
    executable,
    validation,
    plan_id: plan.id,
    run_id: plan.runId,
    action: plan.action,
    preview_action: plan.previewAction,
    state: plan.state,
    expires_at: plan.expiresAt,
    request_digest: plan.requestDigest,
    read_revisions: plan.revisions,
    expected_revision: plan.revisions[0]?.revision ?? "",
    effects,
    assumptions,
    execute: { method: "POST", path: `/v1/plans/${plan.id}/execute` },
  };
}
