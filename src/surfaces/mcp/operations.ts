import type { CallToolResult } from "@modelcontextprotocol/server";
import type { JobErrand } from "../../conventions/operation/errand.ts";
import { isSettled } from "../../conventions/operation/state.ts";
import { operationRecord } from "../../gateway/operation/operation.ts";
import type { Operation } from "../../gateway/operation/operations.ts";
import { defaults } from "../../kernel/defaults.ts";
import { readId } from "../../kernel/ids.ts";
import { type Asked, type Calling, follow } from "./call.ts";
import { recordResult } from "./results.ts";
import { type Waiting, waitFor } from "./wait.ts";

/** `gw_wait` for an operation: its record once it is settled, or as it stands when the wait is over. */
export async function waitForOperation(
  { gateway, caller }: Calling,
  id: string,
  waiting: Waiting,
): Promise<CallToolResult> {
  const operation = gateway.operation(caller, readId("op", id));
  const stop = new AbortController();
  try {
    await waitFor(settling(operation, waiting, stop.signal), waiting);
  } finally {
    stop.abort();
  }
  return recordResult(operationRecord(operation));
}

/** Asks the state-owning system now what became of it. */
export async function reconcileOperation(
  { gateway, caller }: Calling,
  id: string,
  waiting: Waiting,
): Promise<CallToolResult> {
  const operation = gateway.operation(caller, readId("op", id));
  await waitFor(gateway.reconcile(caller, operation.id), waiting);
  return recordResult(operationRecord(operation));
}

/** Asks the provider to stop it, or to go on where it failed. Only the provider's own word says how it then ended. */
export async function actOnOperation(
  calling: Calling,
  errand: JobErrand,
  id: string,
  reason: string,
  { waiting, traceparent }: Asked,
): Promise<CallToolResult> {
  const { gateway, caller } = calling;
  return follow(calling, gateway.startErrand(caller, readId("op", id), errand, reason, traceparent), waiting, true);
}

async function settling(operation: Operation, { sleep }: Waiting, stop: AbortSignal): Promise<void> {
  while (!isSettled(operation.state) && operation.problem === null && !stop.aborted) {
    await sleep.sleep(defaults.expiryLookMs, stop);
  }
}
