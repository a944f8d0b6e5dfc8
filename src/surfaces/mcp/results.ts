import type { CallToolResult } from "@modelcontextprotocol/server";
import { type CallResult, type ResponseRecord, readBody, WrittenJson } from "../../conventions/outcome/result.ts";
import type { AccessAnswer } from "../../gateway/run/access.ts";
import type { Call } from "../../gateway/run/run.ts";
import { codes } from "../../kernel/codes.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { describeWait, type WaitRecord } from "../plane/describe-wait.ts";

/**
 * What agents get. Structured content says it for programs and one text says the same for models. An unknown outcome is
 * no error: whoever reads it as one repeats the call, which is what must not happen.
 */
export function doneResult(result: CallResult): CallToolResult {
  const { response } = result;
  // What is far too large is not read and written first, to be left out then.
  const text = response === null ? null : writtenBody(response);
  if (text !== null && Buffer.byteLength(text) > defaults.mcpResultBytes) return omit(result, text);
  const read = response === null ? null : { ...response, body: readBody(response) };
  const record = { state: "done", ...result, response: read } as unknown as JsonObject;
  const line = JSON.stringify(record);
  if (Buffer.byteLength(line) <= defaults.mcpResultBytes) return write(record, leadOf(result), isFailure(result), line);
  return omit(result, text ?? JSON.stringify(read?.body ?? null));
}

/** Larger lines break clients. The outcome still reaches the agent; the body is said to be left out, and how long it is. */
function omit(result: CallResult, body: string): CallToolResult {
  const response = { ...result.response, body: null, body_kind: "omitted", body_bytes: Buffer.byteLength(body) };
  const lead = `The response is larger than ${defaults.mcpResultBytes} bytes and was left out of this result.`;
  return write({ state: "done", ...result, response } as unknown as JsonObject, lead, isFailure(result));
}

/** Null where the body is held as a value. */
function writtenBody({ body }: ResponseRecord): string | null {
  if (body instanceof WrittenJson) return body.text;
  return typeof body === "string" ? body : null;
}

export function pendingResult(call: Call): CallToolResult {
  const waiting = describeWait(call);
  const waitsFor = waiting.waits_for === "person" ? "a person to approve it" : sayProvider(waiting);
  const next = `Call gw_wait with {"id":"${call.id}"} for the result. Do not call the tool again: that would be a second call.`;
  return write(
    {
      state: "pending",
      call_id: call.id,
      run_id: call.runId,
      action: call.action,
      ...waiting,
      next,
    },
    `Pending: the call waits for ${waitsFor}. ${next}`,
    false,
  );
}

function sayProvider({ paused }: WaitRecord): string {
  if (paused === undefined) return "the provider to answer";
  return `the provider, which did not take it yet (${paused.after}): it is sent again by itself at ${paused.until}`;
}

/** A refusal is a result with its code and reason, never a dead call. */
export function deniedResult(denied: Denied, correlationId: string): CallToolResult {
  const { mend } = codes[denied.code];
  const { runId, callId, action } = denied.circumstance;
  return write(
    {
      ...(denied.extra as JsonObject),
      state: "denied",
      code: denied.code,
      message: denied.message,
      mend,
      errors: denied.errors.map((error) => ({ ...error })),
      retry_allowed: denied.retryAllowed,
      correlation_id: correlationId,
      run_id: runId ?? null,
      ...(callId === undefined ? {} : { call_id: callId, ...(action === undefined ? {} : { action }) }),
    },
    `Denied (${denied.code}): ${denied.message} ${mend}`,
    true,
  );
}

export function accessResult(approvalId: string | null, { granted, noted }: AccessAnswer): CallToolResult {
  const more = noted.length === 0 ? "" : ` Agreed to, and still to be set up by the operator: ${noted.join(", ")}.`;
  const lead = granted.length === 0 ? "The operator agreed." : `You may now use: ${granted.join(", ")}.`;
  return write({ state: "granted", approval_id: approvalId, granted, noted }, `${lead}${more}`, false);
}

export function pendingAccessResult(approvalId: string): CallToolResult {
  const next = `Call gw_wait with {"id":"${approvalId}"} for the answer.`;
  return write(
    { state: "pending", approval_id: approvalId, next },
    `Pending: a person has not decided yet. ${next}`,
    false,
  );
}

export function recordResult(record: JsonObject): CallToolResult {
  return write(record, null, false);
}

function write(
  record: JsonObject,
  lead: string | null,
  isError: boolean,
  text = JSON.stringify(record),
): CallToolResult {
  return {
    content: [...(lead === null ? [] : [{ type: "text" as const, text: lead }]), { type: "text" as const, text }],
    structuredContent: record as CallToolResult["structuredContent"] & object,
    ...(isError ? { isError } : {}),
  };
}

function isFailure({ outcome }: CallResult): boolean {
  return outcome === "error";
}

function leadOf({ outcome, guidance, operation_id }: CallResult): string | null {
  if (outcome !== "unknown") return null;
  const how = operation_id === null ? "" : ` Find out with gw_reconcile {"operation_id":"${operation_id}"}.`;
  return `OUTCOME UNKNOWN. ${guidance ?? ""}${how}`;
}
