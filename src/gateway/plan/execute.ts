import type { Send } from "../../conventions/action/send.ts";
import { Denied } from "../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import { type Followed, follow } from "../attempt/follow.ts";
import { readJson } from "../attempt/read-json.ts";
import type { Sending } from "../attempt/sending.ts";
import type { Definition } from "../outbound/outbound.ts";
import type { PlanNeeds } from "./needs.ts";
import { planRow, planStale, requireExecutable } from "./plan.ts";
import type { Plan } from "./shelf.ts";

/** All that an execution may carry: path parameters that repeat the plan's own. Everything else is in the plan. */
export function executionInput(previewed: JsonObject, { action }: Definition): JsonObject {
  const input: Record<string, JsonValue> = {};
  for (const { name, constant } of action.inputs) {
    const value = previewed[name];
    if (constant === undefined && value !== undefined) input[name] = value;
  }
  return input;
}

/**
 * Carries out a plan. It is marked as used in the same durable write as the intent, so that neither a second request nor
 * a crash can use it again; whatever then happens, only a new preview leads to another try.
 */
export async function executeThrough(
  core: PlanNeeds,
  sending: Sending,
  plan: Plan,
  expectedRevision: string,
): Promise<Followed> {
  const { definition, requestDigest } = sending.outbound;
  requireExecutable(core, plan, sending.run, sending.session.caller, definition, expectedRevision);
  plan.state = "executed";
  const links = { run_id: sending.run.id, call_id: sending.callId, session_id: sending.session.id, plan_id: plan.id };
  let sent = false;
  try {
    const followed = await follow(core, {
      ...sending,
      errand: sending.errand === "promote" ? "promote" : "execute",
      // What was meant is in the plan: whoever has to find out after a crash reads it by that.
      outbound: { ...sending.outbound, input: plan.input },
      beside: () => ({ events: [], rows: [planRow(plan)] }),
      after: (attempted) => {
        sent = true;
        return sending.after?.(attempted) ?? { events: [], rows: [] };
      },
    });
    const stale = staleAnswer(followed, sending.outbound.channel);
    if (stale !== null) {
      plan.state = "rejected";
      const changed = [...stale];
      const event = { ...core.envelope("plan_rejected"), ...links, code: "plan_stale", changed };
      await core.ledger.record("plan.rejected", [event], [planRow(plan)]);
      throw planStale(stale);
    }
    if (followed.result.outcome === "success") {
      await core.ledger.record("plan.executed", [
        {
          ...core.envelope("plan_executed"),
          ...links,
          parent_event_id: followed.attemptId,
          request_digest: requestDigest,
        },
      ]);
    }
    return followed;
  } catch (error) {
    // Refused before anything was sent: the plan is as unused as before.
    if (!sent && error instanceof Denied) plan.state = "previewed";
    throw error;
  }
}

/** What the provider says has changed; null when it did not refuse the plan as stale, or an earlier try may be what changed it. */
function staleAnswer({ result, observation }: Followed, channel: Send["kind"]): readonly string[] | null {
  if (result.outcome !== "error" || observation.kind !== "answered") return null;
  const { status } = observation;
  const answer = readJson(observation);
  const body = isJsonObject(answer) ? answer : {};
  const code = body["code"] ?? body["error"];
  switch (channel) {
    case "http":
      if (status === 412) return namesOf(body["changed"], ["expected_revision"]);
      if (status !== 409 || (code !== "plan_stale" && code !== "version_conflict")) return null;
      return namesOf(body["changed"], []);
    // A program on a host has no statuses to choose from: what it writes says it.
    case "ssh":
      return code === "plan_stale" ? namesOf(body["changed"], []) : null;
  }
}

function namesOf(value: JsonValue | undefined, otherwise: readonly string[]): readonly string[] {
  if (!Array.isArray(value)) return otherwise;
  return value.filter((name): name is string => typeof name === "string").slice(0, 64);
}
