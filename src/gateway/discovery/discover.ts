import type { Pages } from "../../conventions/action/pack.ts";
import type { BudgetStop } from "../../conventions/budget/budget.ts";
import { readPage } from "../../conventions/discovery/read-page.ts";
import { reportWalk, type StopReason } from "../../conventions/discovery/report.ts";
import { startWalk, takePage, type Walk } from "../../conventions/discovery/walk.ts";
import type { CallResult } from "../../conventions/outcome/result.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied, Fault } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { type Followed, follow } from "../attempt/follow.ts";
import { readJson } from "../attempt/read-json.ts";
import type { Sending } from "../attempt/sending.ts";
import type { Core } from "../core.ts";
import { bindDefinition, requireScope } from "../outbound/admit.ts";
import { httpRequestOf } from "../outbound/request.ts";

/**
 * Reads a list page by page. Every page is bound anew from the trusted definition and is an attempt of its own; whatever
 * stops the walk, the pages before it are in the result, with a report of what was and was not looked at.
 */
export async function discover(core: Core, first: Sending, pages: Pages): Promise<CallResult> {
  let walk = startWalk({ pages: pages.maxPages, records: pages.maxRecords, bytes: defaults.discoveryBytes });
  let sending: Sending = { ...first, errand: "page" };
  let good: CallResult | null = null;
  for (;;) {
    const followed = await followPage(core, sending, walk);
    if ("reason" in followed) return conclude(first, pages, walk, followed, good);
    const { result, verdict } = followed;
    if (verdict.kind !== "success") return conclude(first, pages, walk, unanswered(followed), good ?? result);
    const answer = verdict.observation;
    if (answer.withheld !== null) {
      return conclude(first, pages, walk, { kind: "unanswered", reason: answer.withheld }, good ?? result);
    }
    const page = { url: sending.request.url, body: readJson(answer), link: answer.headers["link"] ?? null };
    const bytes = answer.body.byteLength;
    const step = takePage(walk, readPage(page, pages), bytes);
    if (step.walk.pages > walk.pages) good = result;
    walk = step.walk;
    if (step.kind === "stop")
      return conclude(first, pages, walk, { kind: "walk", reason: step.reason }, good ?? result);
    const next = turnPage(core, first, step.cursor);
    if (next === null) {
      return conclude(first, pages, walk, { kind: "walk", reason: "continuation_malformed" }, good ?? result);
    }
    sending = next;
  }
}

/** The page, or the budget that refused it once there is something to lose. Any other refusal is the call's own. */
async function followPage(core: Core, sending: Sending, walk: Walk): Promise<Followed | StopReason> {
  try {
    return await follow(core, sending);
  } catch (error) {
    const reason = error instanceof Denied && walk.pages > 0 ? budgetStopOf(error, sending) : null;
    if (reason === null) throw error;
    return { kind: "budget", reason };
  }
}

/** A run whose time is over ends its sessions, so that the same ceiling may be met under either name. */
function budgetStopOf({ code }: Denied, { run }: Sending): BudgetStop | null {
  switch (code) {
    case "run_deadline_exhausted":
    case "attempts_exhausted":
    case "side_effects_exhausted":
    case "spend_exhausted":
    case "day_spend_exhausted":
    case "spend_overage":
      return code;
    case "session_ended":
    case "run_ended":
      return run.budget.stopReason === "run_deadline_exhausted" ? run.budget.stopReason : null;
    default:
      return null;
  }
}

/** Null where the cursor does not fit a request that the session may make. */
function turnPage(core: Core, first: Sending, cursor: string): Sending | null {
  const { definition, input } = first.outbound;
  try {
    const outbound = bindDefinition(definition, input, { cursor });
    requireScope(first.session.scope, outbound);
    return { ...first, errand: "page", outbound, request: httpRequestOf(core, outbound, first.callId) };
  } catch (error) {
    if (error instanceof Denied) return null;
    throw error;
  }
}

function unanswered({ verdict }: Followed): StopReason {
  const { observation } = verdict;
  const reason = observation.kind === "answered" ? `status_${observation.status}` : observation.reason;
  return { kind: "unanswered", reason };
}

function conclude(first: Sending, pages: Pages, walk: Walk, stop: StopReason, base: CallResult | null): CallResult {
  if (base === null) throw new Fault("a list ended before its first page was answered");
  const { request, outbound } = first;
  const scope = `${outbound.action}: ${request.method} ${request.url}`;
  const discovery = reportWalk(walk, stop, scope, pages.sizeParam === null ? null : pages.pageSize);
  // What is no list stays as it was answered: there is nothing collected that could stand in its place.
  if (walk.pages === 0 || base.response === null) return { ...base, outcome: "error", discovery };
  const body: JsonValue = { data: [...walk.records] };
  return { ...base, outcome: "success", response: { ...base.response, body, body_kind: "json" }, discovery };
}
