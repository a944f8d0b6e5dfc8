import type { NewEvent } from "../../audit/event.ts";
import { isOpenToRead } from "../../conventions/action/own-path.ts";
import type { HttpSend, Send } from "../../conventions/action/send.ts";
import { pollDelayMs, standardSchedule } from "../../conventions/operation/poll.ts";
import type { Answered } from "../../conventions/outcome/observation.ts";
import type { CallResult } from "../../conventions/outcome/result.ts";
import { retryAfterMs } from "../../conventions/outcome/retry.ts";
import { hideInRecord, hideProvidersPlan } from "../../conventions/plan/hide-plan.ts";
import { readPreview } from "../../conventions/plan/read-preview.ts";
import { decideRedirect } from "../../conventions/url/redirect.ts";
import { digestJson } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { describeAuthorization } from "../approval/authorize.ts";
import { follow } from "../attempt/follow.ts";
import { allowRepeat } from "../attempt/redirect.ts";
import type { Attempted, Beside, Sending } from "../attempt/sending.ts";
import { draw } from "../core.ts";
import { notPermitted } from "../outbound/admit.ts";
import type { Definition } from "../outbound/outbound.ts";
import { requestFields } from "../record/record.ts";
import type { PlanNeeds } from "./needs.ts";
import { makePlan, planRecord, planRow } from "./plan.ts";
import type { Plan } from "./shelf.ts";

/** Who previews what: either side of the pair may be named, and the pair must be the only one. */
export function findPair(
  core: Pick<PlanNeeds, "packs">,
  name: string,
): { readonly preview: Definition; readonly executes: Definition } {
  const found = core.packs().find(name);
  if (found === null) throw notPermitted();
  const { pack, action } = found;
  if (action.needs.plan !== null) {
    const preview = core.packs().find(`${pack.name}.${action.needs.plan}`);
    if (preview === null) throw notPermitted();
    return { preview, executes: found };
  }
  const executing = [...pack.actions.values()].filter(({ needs }) => needs.plan === action.name);
  const [only] = executing;
  if (only === undefined || executing.length > 1) {
    throw new Denied("plan_required", `${name} is not previewed by an action of its own.`);
  }
  return { preview: found, executes: { pack, action: only } };
}

/**
 * Asks the provider what it would do. The answer becomes a stored plan in the same write that records it, on the path of
 * previews: nothing of it looks like a change to whoever reads the log.
 */
export async function previewThrough(core: PlanNeeds, sending: Sending, executes: Definition): Promise<CallResult> {
  let stored: Plan | null = null;
  let refused: Denied | null = null;
  const after = (attempted: Attempted): Beside => {
    const read = readAnswer(core, sending, executes, attempted);
    stored = read instanceof Denied ? null : read;
    refused = read instanceof Denied ? read : null;
    return { events: [finished(core, sending, attempted, stored)], rows: stored === null ? [] : [planRow(stored)] };
  };
  const result = await followPlanning(core, { ...sending, errand: "preview", after });
  // Assigned in `after`, which the compiler does not follow.
  const [made, denied] = [stored as Plan | null, refused as Denied | null];
  if (denied !== null) throw denied;
  if (made === null) return result;
  core.plans.put(made);
  const plan = planRecord(made);
  const { response } = result;
  if (response === null) return { ...result, plan };
  const shown = { response: hideProvidersPlan(response, made.id), plan: hideInRecord(plan, response, made.id) };
  return { ...result, ...shown };
}

/**
 * Planning may itself take time: a 202 names where the plan will be, and that place is read until it answers with a plan
 * or fails. Every read is an attempt of the run; the run's own time and attempts end it at the latest.
 */
async function followPlanning(core: PlanNeeds, first: Sending): Promise<CallResult> {
  let sending = first;
  for (let checks = 0; ; checks++) {
    const { result, verdict, observation } = await follow(core, sending);
    if (verdict.kind !== "accepted") return result;
    const next = statusOf(sending, verdict.observation);
    if (next === null)
      throw previewInvalid("it was accepted, and names no place of this provider that may be read for it", 202);
    if (checks >= defaults.previewChecks) throw previewInvalid("it was accepted, and no plan came of it in time", 202);
    const asked = retryAfterMs(observation, core.ports.clock.wallMs());
    await core.ports.sleep.sleep(pollDelayMs(standardSchedule, checks, asked, draw(core)), sending.run.over.signal);
    const allowed = await allowRepeat(core, { ...sending, request: next }, "its plan is read where the provider says");
    if (allowed === null) throw previewInvalid("it was accepted, and nobody let its plan be read", 202);
    sending = allowed;
  }
}

/** Where a 202 says that the plan will be: at this provider, and nowhere that a call of the agent's own would have to ask for. */
function statusOf({ request, outbound }: Sending, { headers }: Answered): HttpSend | null {
  const { pack } = outbound.definition;
  const { provider } = pack;
  if (provider === null || request.kind !== "http") return null;
  const location = headers["location"] ?? null;
  const { method, url } = request;
  const { origin } = provider;
  const here = { own: origin, isOwnPath: (path: string) => isOpenToRead(pack, path), sideEffect: false, max: 1 };
  const rules = {
    ...provider.redirects,
    ...here,
    others: "refuse" as const,
    origins: [origin],
    credentialOrigins: [origin],
  };
  const decision = decideRedirect({ status: 303, location, method, url, followed: 0 }, rules);
  if (decision.kind !== "follow") return null;
  const { "content-type": _type, ...bare } = request.headers;
  return { ...request, url: decision.target.url, method: "GET", body: null, headers: bare };
}

/** Null where the attempt simply failed: its own result says how. */
function readAnswer(
  core: Pick<PlanNeeds, "ports">,
  sending: Sending,
  executes: Definition,
  { verdict }: Attempted,
): Plan | Denied | null {
  if (verdict.kind !== "success") return null;
  const { status, body, withheld } = verdict.observation;
  if (withheld !== null) return previewInvalid("it was withheld because it held the credential", status);
  if (body.byteLength > defaults.previewBytes) {
    return new Denied("preview_too_large", `The preview has ${body.byteLength} bytes; ${defaults.previewBytes} fit.`);
  }
  const reading = readPreview(httpStatusOf(sending.request, status), body);
  if (reading.kind === "not_a_preview") return previewInvalid(reading.why, status);
  return makePlan(core, sending.run, sending.session.caller, sending.outbound, executes, reading.preview);
}

/** A receiver has one way to say that its operation ended well, and a provider says with 200 what that means. */
function httpStatusOf({ kind }: Send, status: number): number {
  switch (kind) {
    case "http":
      return status;
    case "ssh":
      return 200;
  }
}

function previewInvalid(why: string, status: number): Denied {
  const message = `The provider's answer is not a preview: ${why}. Nothing is known of what execution would do.`;
  return new Denied("preview_invalid", message, { extra: { provider_status: status } });
}

function finished(
  core: Pick<PlanNeeds, "envelope">,
  sending: Sending,
  { attemptId, verdict }: Attempted,
  plan: Plan | null,
): NewEvent {
  const { outbound, run, callId, session, authorization } = sending;
  const status = verdict.observation.kind === "answered" ? verdict.observation.status : null;
  return {
    ...core.envelope("preview_finished"),
    run_id: run.id,
    parent_event_id: attemptId,
    call_id: callId,
    attempt_id: attemptId,
    session_id: session.id,
    plan_id: plan?.id ?? null,
    executable: plan?.preview.executable ?? null,
    outcome: plan !== null ? "succeeded" : verdict.kind === "accepted" ? "unknown" : "failed",
    request_digest: outbound.requestDigest,
    effects_digest: plan === null ? null : digestJson(plan.preview.effects as unknown as JsonValue),
    read_revisions: plan?.revisions ?? [],
    expires_at: plan?.expiresAt ?? null,
    request: requestFields(outbound, callId, describeAuthorization(authorization), status),
  };
}
