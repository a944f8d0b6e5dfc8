import type { CallToolResult } from "@modelcontextprotocol/server";
import { compileSchema } from "../../conventions/request/schema.ts";
import type { Access } from "../../gateway/access.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { LiveCaller } from "../../gateway/ports.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Asked } from "./call.ts";
import type { RunDoor } from "./door.ts";
import { accessResult, deniedResult, pendingAccessResult } from "./results.ts";
import { accessInput } from "./schemas.ts";
import { type Waiting, waitFor } from "./wait.ts";

/** Requests for more, and their answers for whoever comes back for them. */
export interface AccessDesk {
  request(input: JsonObject, asked: Asked): Promise<CallToolResult>;
  /** Null when no request of this connection has the id. */
  wait(id: string, waiting: Waiting): Promise<CallToolResult> | null;
}

const check = compileSchema(accessInput);

export function createAccessDesk(gateway: Gateway, caller: LiveCaller, door: RunDoor): AccessDesk {
  const requests = new Map<string, Access>();

  async function ask(input: JsonObject, asked: Asked): Promise<Access> {
    const errors = check(input);
    if (errors.length > 0)
      throw new Denied("schema_violation", "The arguments do not fit gw_request_access.", { errors });
    const {
      actions = [],
      credentials = [],
      reason,
    } = input as {
      readonly actions?: readonly string[];
      readonly credentials?: readonly string[];
      readonly reason: string;
    };
    if (actions.length + credentials.length === 0) {
      throw new Denied("schema_violation", "Name at least one action or credential.");
    }
    const run = await door.enter(asked.purpose);
    await run.admission?.session;
    return gateway.requestAccess(caller, run.id, { actions, credentials, reason });
  }

  async function answer(access: Access, waiting: Waiting): Promise<CallToolResult> {
    const { approvalId } = access;
    try {
      const waited = await waitFor(access.answer, waiting);
      if (waited.kind === "settled") return accessResult(approvalId, waited.value);
      return pendingAccessResult(approvalId ?? "");
    } catch (error) {
      if (error instanceof Denied) return deniedResult(error, null);
      throw error;
    }
  }

  return {
    async request(input, asked) {
      try {
        const access = await ask(input, asked);
        if (access.approvalId !== null) remember(access.approvalId, access);
        return await answer(access, asked.waiting);
      } catch (error) {
        if (error instanceof Denied) return deniedResult(error, null);
        throw error;
      }
    },
    wait(id, waiting) {
      const access = requests.get(id);
      return access === undefined ? null : answer(access, waiting);
    },
  };

  function remember(id: string, access: Access): void {
    requests.set(id, access);
    for (const oldest of requests.keys()) {
      if (requests.size <= defaults.mcpAccessRemembered) return;
      requests.delete(oldest);
    }
  }
}
