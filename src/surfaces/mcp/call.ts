import type { CallToolResult } from "@modelcontextprotocol/server";
import { bindAction } from "../../conventions/action/bind.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { LiveCaller } from "../../gateway/ports.ts";
import type { Call } from "../../gateway/run.ts";
import { Denied } from "../../kernel/failure.ts";
import { readId } from "../../kernel/ids.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { RunDoor } from "./door.ts";
import { deniedResult, doneResult, pendingResult } from "./results.ts";
import { type Waiting, waitFor } from "./wait.ts";

/** What one tool call knows of the request it came in. */
export interface Asked {
  /** The client's own name for itself, as a claim. */
  readonly purpose: string;
  readonly waiting: Waiting;
}

/** One action as a tool call: opens the run where none stands, waits for the person, and hands on what came of it. */
export async function callAction(
  gateway: Gateway,
  caller: LiveCaller,
  door: RunDoor,
  action: string,
  input: JsonObject,
  asked: Asked,
): Promise<CallToolResult> {
  let call: Call | null = null;
  try {
    if (door.session() === null) await requireSense(gateway, caller, door, action, input);
    const run = await door.enter(asked.purpose);
    if (asked.waiting.signal.aborted) throw new Denied("call_cancelled", "The call was taken back before it was made.");
    call = gateway.startCall(caller, run.id, { action, input });
    return await follow(gateway, caller, call, asked.waiting, true);
  } catch (error) {
    if (error instanceof Denied) return deniedResult(error, call);
    throw error;
  }
}

/** `gw_wait` for a call: only the caller's own are found. */
export async function waitForCall(
  gateway: Gateway,
  caller: LiveCaller,
  id: string,
  waiting: Waiting,
): Promise<CallToolResult> {
  let call: Call | null = null;
  try {
    call = gateway.call(caller, readId("call", id));
    return await follow(gateway, caller, call, waiting, false);
  } catch (error) {
    if (error instanceof Denied) return deniedResult(error, call);
    throw error;
  }
}

async function follow(
  gateway: Gateway,
  caller: LiveCaller,
  call: Call,
  waiting: Waiting,
  owns: boolean,
): Promise<CallToolResult> {
  const waited = await waitFor(call.done, waiting);
  switch (waited.kind) {
    case "settled":
      return doneResult(waited.value);
    case "left":
      // The client took the call back. What has been sent goes on, and its outcome is recorded.
      if (owns) await gateway.takeBack(caller, call.id);
      return pendingResult(call);
    case "late":
      return pendingResult(call);
  }
}

/** Nobody is asked about a call that cannot run: what is not offered or does not fit is refused before a run is opened. */
async function requireSense(
  gateway: Gateway,
  caller: LiveCaller,
  door: RunDoor,
  action: string,
  input: JsonObject,
): Promise<void> {
  try {
    const found = door.definitions().find((one) => one.action.qualifiedName === action);
    if (found === undefined) throw new Denied("action_not_permitted", "This run may not do that.");
    bindAction(found.pack, found.action.name, input);
  } catch (error) {
    if (error instanceof Denied) await gateway.refuse(caller, action, error);
    throw error;
  }
}
