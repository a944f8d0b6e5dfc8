import type { ValueSpelling } from "../../../packages/request/src/schema.ts";
import { bindAction } from "../../conventions/action/bind.ts";
import type { GatewayFill } from "../../conventions/action/gather.ts";
import { describeSend } from "../../conventions/action/send.ts";
import { type BudgetStop, narrowBudget, type RunBudget } from "../../conventions/budget/budget.ts";
import { decideReservation, type ReservationAsk } from "../../conventions/budget/decide.ts";
import { budgetRecord } from "../../conventions/budget/record.ts";
import { mayContinue } from "../../conventions/caller/session.ts";
import { decideScope, type Scope } from "../../conventions/scope/scope.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { ceilingsOf, now, requireUnlocked } from "../core.ts";
import type { FoundCredential, LiveCaller } from "../ports.ts";
import type { Run, Session } from "../run/run.ts";
import { requireGrant } from "./grants.ts";
import type { OutboundNeeds } from "./needs.ts";
import { type Definition, type Outbound, type PackBook, reachOf, sideEffectOf } from "./outbound.ts";

/** Step 1: the caller is still the process that connected, right now. */
export function requireLiveCaller(caller: LiveCaller): void {
  const check = caller.check();
  switch (check.kind) {
    case "same":
      return;
    case "gone":
      throw new Denied("caller_gone", "The calling process is gone.");
    case "replaced":
      throw new Denied("caller_replaced", `The calling process was replaced (${check.what}). A new process asks anew.`);
    case "traced":
      throw new Denied("caller_traced", `Process ${check.tracer} traces the caller, so it could speak in its place.`);
  }
}

/** Steps 2 and 3: typed arguments are bound to the trusted definition. No secret is involved yet. */
export function bindDefinition(
  definition: Definition,
  input: JsonObject,
  fill?: GatewayFill,
  spelling?: ValueSpelling,
): Outbound {
  const { action, pack } = definition;
  const bound = bindAction(pack, action.name, input, fill, spelling);
  return {
    definition,
    bound,
    input,
    action: action.qualifiedName,
    channel: bound.kind,
    sideEffect: sideEffectOf(action),
    method: describeSend(bound).method,
    credential: bound.credential,
    reach: reachOf(definition),
    requestDigest: bound.requestDigest,
    requestBytes: bound.requestBytes,
    shownArguments: bound.shown,
    versionSelector: pack.provider?.version?.value ?? null,
  };
}

/** Step 4: deny by default. What does not exist and what is out of scope look the same from outside. */
export function requireScope(scope: Scope, outbound: Outbound): void {
  const { reach, requestBytes, input } = outbound;
  if (decideScope(scope, { ...reach, requestBytes, input }) !== "allow") throw notPermitted();
}

export function askOf(outbound: Outbound): Omit<ReservationAsk, "day"> {
  const { action } = outbound.definition;
  const capMs = action.limits.timeoutMs ?? defaults.callTimeoutMs;
  return {
    sideEffect: outbound.sideEffect,
    maximumCents: action.maxCostCents ?? 0,
    // A creation has a deadline of its own, apart from the result's.
    capMs: action.job === null ? capMs : Math.min(capMs, action.job.createDeadlineMs),
    minimumMs: defaults.callMinimumMs,
  };
}

/** Policy may have become narrower since the run began. */
export function holdToCeilings(core: Pick<OutboundNeeds, "posture">, budget: RunBudget): RunBudget {
  return narrowBudget(budget, ceilingsOf(core));
}

/**
 * With what the day leaves; `freed` is what an earlier send of the same call gives back for it. The day is noted before anything is
 * counted: at midnight a reserve is rather not given back than to another day.
 */
export function askToday(
  core: Pick<OutboundNeeds, "daySpend" | "posture">,
  outbound: Outbound,
  freed: number,
  day = core.daySpend.today(),
): ReservationAsk {
  const dayLeftCents = ceilingsOf(core).daySpendCents - core.daySpend.spentCents() + freed;
  return { ...askOf(outbound), day, dayLeftCents };
}

/** What a reservation record says it is for. */
export function reservedFor({ action, definition }: Outbound, provider_reference: string | null = null) {
  return { action, maximum_cents: definition.action.maxCostCents ?? 0, provider_reference };
}

/** Step 5: nobody is asked about a call that cannot run. */
export function requireFit(
  core: Pick<OutboundNeeds, "daySpend" | "ports" | "posture">,
  run: Run,
  outbound: Outbound,
): void {
  const decided = decideReservation(holdToCeilings(core, run.budget), askToday(core, outbound, 0), now(core));
  if (decided.decision === "allow") return;
  run.budget = decided.budget;
  throw budgetDenied(decided.decision, run.budget);
}

export function requireCredential(
  core: Pick<OutboundNeeds, "credentials" | "ports">,
  outbound: Outbound,
): { readonly eachUse: boolean } {
  const credentials = requireUnlocked(core);
  if (outbound.credential === null) return { eachUse: false };
  const found = credentials.find(outbound.credential);
  if (found === null) {
    throw new Denied("credential_missing", `The vault holds no credential called ${outbound.credential}.`);
  }
  core.ports.turns?.admit(outbound.credential);
  if (found.disabled) {
    const enable = `An operator enables it: gw credential enable ${outbound.credential}`;
    throw new Denied("credential_disabled", `The credential ${outbound.credential} is disabled. ${enable}`);
  }
  requireHere(found, outbound.credential);
  return found;
}

/** Other gateways lend it, and this one does not. */
export function requireHere({ elsewhere }: FoundCredential, label: string): void {
  if (elsewhere === undefined) return;
  throw new Denied(
    "credential_elsewhere",
    `The credential ${label} is lent by ${elsewhere.join(", ")} alone. Nothing was asked or sent; make the call there.`,
  );
}

/** The run and the session still stand. Asked before every attempt and after every wait. */
export function requireStanding(core: OutboundNeeds, run: Run, session: Session): void {
  requireUnlocked(core);
  // First: an ended session has let go of its caller, who may well be alive and should learn what ended.
  requireSession(session);
  requireLiveCaller(session.caller);
  requireLiveOwner(run, session);
  if (run.state === "ended") throw new Denied("run_ended", `The run ended (${run.endReason ?? "no reason kept"}).`);
  requireGrant(core, session);
}

export function requireSession(session: Session): void {
  if (mayContinue(session)) return;
  throw new Denied("session_ended", `The approval of this caller ended (${session.endReason}).`);
}

/** What a wrapper started acts only while the wrapper lives, also in the moment before its exit is noticed. */
function requireLiveOwner(run: Run, session: Session): void {
  const owner = run.kin === null ? undefined : run.sessions.get(run.ownerKey);
  if (owner === undefined || owner === session || owner.caller.check().kind === "same") return;
  throw new Denied("session_ended", "The program that started this process under its approval is gone.");
}

/** Says which ceiling it was and what is left of all of them: whoever reports the stop needs no second question. */
export function budgetDenied(stop: BudgetStop, budget: RunBudget): Denied {
  return new Denied(stop, messageOf(stop), { extra: { budget: budgetRecord(budget) } });
}

/** An operator may have taken the pack away, or put another in its place, since the call was bound. */
export function requireTrusted({ packs }: { packs(): PackBook }, { action, definition }: Outbound): void {
  if (packs().find(action)?.pack.digest === definition.pack.digest) return;
  throw new Denied(
    "definition_changed",
    `The pack of ${action} changed, or is no longer trusted. Nothing is sent by it any more.`,
  );
}

export function notPermitted(): Denied {
  return new Denied("action_not_permitted", "This run may not do that.");
}

function messageOf(stop: BudgetStop): string {
  switch (stop) {
    case "run_deadline_exhausted":
      return "The run's time is over, or too little is left to start this. A new approval never revives an expired run.";
    case "attempts_exhausted":
      return "The run has no attempts left.";
    case "side_effects_exhausted":
      return "The run has no side-effect attempts left.";
    case "day_spend_exhausted":
      return "The most this call can cost does not fit what all runs of this day may still spend.";
    case "spend_exhausted":
      return "The most this call can cost does not fit what the run may still spend.";
    case "spend_overage":
      return "An earlier call cost more than its ceiling; the run spends nothing more.";
  }
}
