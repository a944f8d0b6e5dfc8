import type { CallToolResult } from "@modelcontextprotocol/server";
import { compileSchema } from "../../../packages/request/src/schema.ts";
import { bindAction, requireArguments } from "../../conventions/action/bind.ts";
import type { CallResult } from "../../conventions/outcome/result.ts";
import type { CallRequest } from "../../gateway/dispatch.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Definition } from "../../gateway/outbound/outbound.ts";
import type { LiveCaller } from "../../gateway/ports.ts";
import type { Call } from "../../gateway/run/run.ts";
import { Denied } from "../../kernel/failure.ts";
import { readId } from "../../kernel/ids.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { splitList } from "../plane/list.ts";
import type { RunDoor } from "./door.ts";
import type { PlanMemory } from "./plans.ts";
import { doneResult, pendingResult } from "./results.ts";
import { executionInput } from "./schemas.ts";
import { type Waited, type Waiting, waitFor } from "./wait.ts";

/** What one tool call knows of the request it came in. */
export interface Asked {
  /** The client's own name for itself, as a claim. */
  readonly purpose: string;
  /** The trace that it says it belongs to: a claim too. */
  readonly traceparent: string | null;
  readonly waiting: Waiting;
}

/** What the calls of one connection share. */
export interface Calling {
  readonly gateway: Gateway;
  readonly caller: LiveCaller;
  readonly door: RunDoor;
  readonly plans: PlanMemory;
}

const checkExecution = compileSchema(executionInput);

/** One action as a tool call: opens the run where none stands, waits for the person, and hands on what came of it. */
export async function callAction(
  calling: Calling,
  action: string,
  input: JsonObject,
  asked: Asked,
  repeatOf?: string,
): Promise<CallToolResult> {
  return follow(calling, await start(calling, action, input, asked, repeatOf), asked.waiting, true);
}

/** `gw_wait` for a call: only the caller's own are found. */
export async function waitForCall(calling: Calling, id: string, waiting: Waiting): Promise<CallToolResult> {
  return follow(calling, calling.gateway.call(calling.caller, readId("call", id)), waiting, false);
}

async function start(
  calling: Calling,
  action: string,
  input: JsonObject,
  asked: Asked,
  repeatOf: string | undefined,
): Promise<Call> {
  const { gateway, caller, door } = calling;
  const repeat = repeatOf === undefined ? {} : { repeatOf };
  const found = door.definitions().find((one) => one.action.qualifiedName === action);
  if (found !== undefined && found.action.needs.plan !== null) {
    return execute(calling, found, input, { traceparent: asked.traceparent, ...repeat });
  }
  const { list, ...request } =
    found === undefined
      ? { action, input, list: undefined }
      : {
          action,
          ...(await refusing(gateway, caller, action, () => ({ list: undefined, ...splitList(found.action, input) }))),
        };
  if (door.session() === null) await requireSense(calling, found, action, request.input);
  const run = await door.enter(asked.purpose, neededBy(found, action), "call");
  if (asked.waiting.signal.aborted) throw new Denied("call_cancelled", "The call was taken back before it was made.");
  const more = { traceparent: asked.traceparent, ...(list === undefined ? {} : { list }), ...repeat };
  return gateway.startCall(caller, run.id, { ...request, ...more });
}

/** The action itself; a preview is of no use without what carries it out. */
function neededBy(found: Definition | undefined, action: string): readonly string[] {
  if (found?.action.effect !== "preview") return [action];
  const executing = [...found.pack.actions.values()].filter(({ needs }) => needs.plan === found.action.name);
  return [action, ...executing.map(({ qualifiedName }) => qualifiedName)];
}

/** What needs a plan takes the plan and the revision that was read, and no second copy of the request. */
async function execute(
  { gateway, caller, plans }: Calling,
  found: Definition,
  input: JsonObject,
  more: Pick<CallRequest, "repeatOf" | "traceparent">,
): Promise<Call> {
  const action = found.action.qualifiedName;
  return refusing(gateway, caller, action, () => {
    const errors = checkExecution(input);
    if (errors.length > 0) {
      const message = `${action} carries out a plan of ${found.action.needs.plan}: it takes plan_id and expected_revision.`;
      throw new Denied("schema_violation", message, { errors });
    }
    const planId = String(input["plan_id"]);
    if (plans.actionOf(planId) !== action) throw new Denied("not_found", "There is no such plan for this tool.");
    return gateway.startExecution(caller, readId("plan", planId), String(input["expected_revision"]), more);
  });
}

/** Waits for a call and hands on what came of it. Whoever owns it takes it back by leaving. */
export async function follow(
  { gateway, caller, plans }: Calling,
  call: Call,
  waiting: Waiting,
  owns: boolean,
): Promise<CallToolResult> {
  // While it is under way its place is its own, and after that of whoever still waits for it.
  const leave = (): void => void (call.state === "done" && call.asking === 0 && gateway.answers.leave(call));
  call.asking++;
  let waited: Waited<CallResult>;
  try {
    waited = await waitFor(call.done, waiting);
  } finally {
    call.asking--;
  }
  switch (waited.kind) {
    case "settled":
      plans.remember(waited.value);
      try {
        return doneResult(waited.value);
      } finally {
        leave();
      }
    case "left":
      // The client took the call back. What has been sent goes on, and its outcome is recorded.
      leave();
      if (owns) await gateway.takeBack(caller, call.id);
      return pendingResult(call);
    case "late":
      leave();
      return pendingResult(call);
  }
}

/** Nobody is asked about a call that cannot run: what is not offered or does not fit is refused before a run is opened. */
async function requireSense(
  { gateway, caller }: Calling,
  found: Definition | undefined,
  action: string,
  input: JsonObject,
): Promise<void> {
  await refusing(gateway, caller, action, () => {
    if (found === undefined) throw new Denied("action_not_permitted", "This run may not do that.");
    // A rollback is bound to what is on record of its deployment, which the gateway looks up before it asks.
    if (found.action.rollback !== null) return requireArguments(found.action, input);
    bindAction(found.pack, found.action.name, input);
  });
}

/** A refusal that the gateway has not seen is recorded there before it is told. */
async function refusing<Result>(
  gateway: Gateway,
  caller: LiveCaller,
  action: string,
  work: () => Result,
): Promise<Result> {
  try {
    return work();
  } catch (error) {
    if (error instanceof Denied) await gateway.refuse(caller, action, error);
    throw error;
  }
}
