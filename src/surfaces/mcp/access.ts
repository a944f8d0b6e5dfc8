import type { CallToolResult } from "@modelcontextprotocol/server";
import { compileSchema } from "../../../packages/request/src/schema.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { LiveCaller } from "../../gateway/ports.ts";
import type { AccessAnswer, AccessRequest } from "../../gateway/run/access.ts";
import { pendingSession } from "../../gateway/run/run.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Asked } from "./call.ts";
import type { RunDoor } from "./door.ts";
import { accessResult, pendingAccessResult } from "./results.ts";
import { accessInput } from "./schemas.ts";
import { type Waiting, waitFor } from "./wait.ts";

/** Requests for more, and their answers for whoever comes back for them. */
export interface AccessDesk {
  request(input: JsonObject, asked: Asked): Promise<CallToolResult>;
  /** Null when no request of this connection has the id. */
  wait(id: string, waiting: Waiting): Promise<CallToolResult> | null;
}

const check = compileSchema(accessInput);

interface Request {
  /** What `gw_wait` takes: the session's question while that is open, the request's own afterwards. */
  id: string | null;
  readonly answer: Promise<AccessAnswer>;
}

export function createAccessDesk(gateway: Gateway, caller: LiveCaller, door: RunDoor): AccessDesk {
  const requests = new Map<string, Request>();
  /** Those that came before the session that they would widen. */
  let early = 0;

  const isKnown = (name: string): boolean => door.definitions().some(({ action }) => action.qualifiedName === name);

  async function ask(input: JsonObject, asked: Asked): Promise<Request> {
    const request = readRequest(input);
    // Each holds what it asks for until the session begins, also where whoever asked has taken it back.
    if (early >= defaults.mcpAccessRemembered)
      throw new Denied("too_many_requests", `${early} requests for access wait for the session to begin already.`);
    const needed = request.actions.filter(isKnown);
    early++;
    const entered = door.enter(asked.purpose, needed, "nothing");
    const begun = entered.then((run) => pendingSession(run, caller.key)).finally(() => early--);
    begun.catch(() => undefined);
    const run = await entered;
    const { admission } = run;
    // A person decides about the session first; whoever asked waits for both no longer than for one.
    const opened = begun.then(() => gateway.requestAccess(caller, run.id, request));
    const made: Request = {
      id: admission?.approvalId ?? null,
      answer: opened.then(({ answer }) => answer),
    };
    made.answer.catch(() => undefined);
    remember(made);
    void opened.then(
      ({ approvalId }) => {
        made.id = approvalId ?? made.id;
        remember(made);
      },
      () => undefined,
    );
    return made;
  }

  async function answer(request: Request, waiting: Waiting): Promise<CallToolResult> {
    const waited = await waitFor(request.answer, waiting);
    if (waited.kind === "settled") return accessResult(request.id, waited.value);
    return pendingAccessResult(request.id ?? "");
  }

  return {
    async request(input, asked) {
      return answer(await ask(input, asked), asked.waiting);
    },
    wait(id, waiting) {
      const request = requests.get(id);
      return request === undefined ? null : answer(request, waiting);
    },
  };

  function remember(request: Request): void {
    if (request.id === null) return;
    requests.set(request.id, request);
    for (const oldest of requests.keys()) {
      if (requests.size <= defaults.mcpAccessRemembered) return;
      requests.delete(oldest);
    }
  }
}

function readRequest(input: JsonObject): AccessRequest {
  const errors = check(input);
  if (errors.length > 0) {
    throw new Denied("schema_violation", "The arguments do not fit gw_request_access.", { errors });
  }
  const { actions = [], credentials = [], reason } = input as Partial<AccessRequest> & Pick<AccessRequest, "reason">;
  if (actions.length + credentials.length === 0) {
    throw new Denied("schema_violation", "Name at least one action or credential.");
  }
  return { actions, credentials, reason };
}
