import type { Pages } from "../../conventions/action/pack.ts";
import { describeSend } from "../../conventions/action/send.ts";
import type { BudgetStop } from "../../conventions/budget/budget.ts";
import { type PageReading, readPage } from "../../conventions/discovery/read-page.ts";
import { reportWalk, type StopReason } from "../../conventions/discovery/report.ts";
import { startWalk, takePage, type Walk } from "../../conventions/discovery/walk.ts";
import { type CallResult, WrittenJson } from "../../conventions/outcome/result.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied, Fault } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { type Followed, follow } from "../attempt/follow.ts";
import { readJson } from "../attempt/read-json.ts";
import type { Sending } from "../attempt/sending.ts";
import { bindDefinition, requireScope } from "../outbound/admit.ts";
import { sendOf } from "../outbound/request.ts";
import type { Continuation } from "./handles.ts";
import type { DiscoveryNeeds } from "./needs.ts";
import { handleFor, type ListStart } from "./start.ts";

/**
 * Reads a list page by page. Every page is bound anew from the trusted definition and is an attempt of its own; whatever
 * stops the walk, the pages before it are in the result, with a report of what was and was not looked at.
 */
export async function discover(core: DiscoveryNeeds, first: Sending, { pages, from }: ListStart): Promise<CallResult> {
  const limits = { pages: pages.maxPages, records: pages.maxRecords, bytes: defaults.discoveryBytes };
  let walk = startWalk(limits, from?.seen);
  /** The page that is read now: its cursor, and how many of its records were handed on before. */
  let here = { cursor: from?.cursor ?? null, skip: from?.skip ?? 0 };
  const conclude = (first: Sending, pages: Pages, walk: Walk, stop: StopReason, base: CallResult | null): CallResult =>
    report(core, first, pages, walk, stop, base, goesOn(walk, stop, here, from));
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
    const page = {
      url: describeSend(sending.request).url,
      body: readJson(answer),
      link: answer.headers["link"] ?? null,
    };
    const bytes = answer.body.byteLength;
    const step = takePage(walk, skipRecords(readPage(page, pages), here.skip), bytes);
    if (step.walk.pages > walk.pages) good = result;
    const cut = step.walk.received > limits.records;
    if (cut) here = { cursor: here.cursor, skip: here.skip + limits.records - walk.records.length };
    else if (step.walk.pages > walk.pages) here = { cursor: step.walk.cursor, skip: 0 };
    walk = step.walk;
    if (step.kind === "stop")
      return conclude(first, pages, walk, { kind: "walk", reason: step.reason }, good ?? result);
    const next = turnPage(core, first, step.cursor, pages.pageSize);
    if (next === null) {
      return conclude(first, pages, walk, { kind: "walk", reason: "continuation_malformed" }, good ?? result);
    }
    sending = next;
  }
}

/** The page, or the budget that refused it once there is something to lose. Any other refusal is the call's own. */
async function followPage(core: DiscoveryNeeds, sending: Sending, walk: Walk): Promise<Followed | StopReason> {
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
function turnPage(
  core: Pick<DiscoveryNeeds, "ports">,
  first: Sending,
  cursor: string,
  pageSize: number,
): Sending | null {
  const { definition, input } = first.outbound;
  try {
    const outbound = bindDefinition(definition, input, { cursor, pageSize });
    requireScope(first.session.scope, outbound);
    return { ...first, errand: "page", outbound, request: sendOf(core, outbound, first.callId) };
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

type Here = Pick<Continuation, "cursor" | "skip">;

function skipRecords(reading: PageReading, skip: number): PageReading {
  return skip === 0 || reading.records === null ? reading : { ...reading, records: reading.records.slice(skip) };
}

/** Where the list goes on; null where it ended, or where the provider's way on is not to be trusted. */
function goesOn(walk: Walk, stop: StopReason, here: Here, from: Here | null): Here | null {
  // Nothing was read: whoever asked has the handle that they came with, or begins again.
  if (walk.pages === 0) return from;
  if (stop.kind !== "walk") return here;
  switch (stop.reason) {
    case "page_ceiling":
    case "record_ceiling":
    case "size_ceiling":
      return here;
    case "end_of_list":
    case "cursor_repeated":
    case "page_malformed":
    case "continuation_malformed":
    case "continuation_foreign":
    case "continuation_undocumented":
      return null;
  }
}

function keepHandle(
  core: Pick<DiscoveryNeeds, "handles" | "ports">,
  { run, session, outbound }: Sending,
  pages: Pages,
  walk: Walk,
  here: Here,
): string {
  const handle = `lst_${core.ports.random.bytes(defaults.tokenBytes).toString("base64url")}`;
  const { pageSize } = pages;
  const bound = { ...handleFor(outbound.definition, outbound.input), runId: run.id, callerKey: session.caller.key };
  core.handles.keep(handle, { ...bound, ...here, pageSize, seen: walk.seen }, core.ports.clock.bootMs());
  return handle;
}

function report(
  core: Pick<DiscoveryNeeds, "handles" | "ports">,
  first: Sending,
  pages: Pages,
  walk: Walk,
  stop: StopReason,
  base: CallResult | null,
  here: Here | null,
): CallResult {
  if (base === null) throw new Fault("a list ended before its first page was answered");
  const { method, url } = describeSend(first.request);
  const scope = `${first.outbound.action}: ${method} ${url}`;
  const told = reportWalk(walk, stop, scope, pages.sizeParam === null ? null : pages.pageSize);
  const discovery = { ...told, continue: here === null ? null : keepHandle(core, first, pages, walk, here) };
  // What is no list stays as it was answered: there is nothing collected that could stand in its place.
  if (walk.pages === 0 || base.response === null) return { ...base, outcome: "error", discovery };
  const data = { data: [...walk.records] };
  const body: JsonValue = walk.bytes > defaults.smallAnswerBytes ? (new WrittenJson(data) as never) : data;
  return { ...base, outcome: "success", response: { ...base.response, body, body_kind: "json" }, discovery };
}
