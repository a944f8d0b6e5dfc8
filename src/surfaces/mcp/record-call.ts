import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Gateway } from "../../gateway/gateway.ts";
import type { LiveCaller } from "../../gateway/ports.ts";
import { nameCaller } from "../../gateway/record/record.ts";
import { canonicalJson, digestText } from "../../kernel/canonical-json.ts";
import type { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { namesOf, safeFields } from "../plane/record-request.ts";
import { actionNameOf } from "./names.ts";

/** How a tool call ended, for its record. */
export type Told =
  | { readonly kind: "answered"; readonly result: CallToolResult }
  | { readonly kind: "denied"; readonly denied: Denied };

/** Tools that only look at what the gateway knows already. */
const LOOKS: ReadonlySet<string> = new Set(["gw_budget", "gw_wait"]);

/** Carries the arguments of an action, of which some may be somebody's secret. */
const REPEAT = "gw_repeat_call";

/** The record of one tool call: what was asked for is read now, and told with how it ended. */
export function recordToolCall(
  { gateway, caller }: { readonly gateway: Gateway; readonly caller: LiveCaller },
  tool: string,
  input: JsonObject,
  correlationId: string,
  traceparent: string | null,
): (told: Told) => Promise<void> {
  const text = textOf(input);
  const digest = text === null ? null : digestText(text);
  const fields = text === null ? {} : fieldsOf(gateway, tool, input);
  return async (told) => {
    if (told.kind === "answered" && LOOKS.has(tool)) return;
    await gateway.requests.record({
      plane: "mcp",
      who: `uid ${caller.uid}`,
      principal: nameCaller(caller),
      operator: null,
      traceparent,
      endpoint: `tools/call ${tool.slice(0, 200)}`,
      mediaType: "application/json",
      requestDigest: digest,
      fields,
      body: () => ({ digest, bytes: text === null ? 0 : Buffer.byteLength(text) }),
      correlationId,
      outcome:
        told.kind === "denied"
          ? told
          : { kind: "answered", decision: "any caller", status: 200, ...namesOf(told.result.structuredContent) },
    });
  };
}

/** Of a tool of ours all of it, of an action what may be kept, of anything else nothing: neither where it stands in the wrong place. */
function fieldsOf(gateway: Gateway, tool: string, input: JsonObject): JsonObject {
  if (tool === REPEAT) {
    const { action = null, input: again = null, repeat_of = null } = input;
    const named = { "/body/action": action, "/body/repeat_of": repeat_of };
    return safeFields({ ...named, "/body/input": again }, gateway.definition);
  }
  if (tool.startsWith("gw_")) return { "/arguments": input };
  const action = actionNameOf(tool);
  return action === null ? {} : safeFields({ "/body/action": action, "/body/input": input }, gateway.definition);
}

/** Null where the arguments have no canonical form: they are refused for that elsewhere. */
function textOf(input: JsonObject): string | null {
  try {
    return canonicalJson(input);
  } catch {
    return null;
  }
}
