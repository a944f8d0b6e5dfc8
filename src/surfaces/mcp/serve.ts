import type { Duplex } from "node:stream";
import {
  type CallToolRequest,
  type CallToolResult,
  CLIENT_INFO_META_KEY,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { compileSchema } from "../../../packages/request/src/schema.ts";
import { budgetRecord, limitsRecord } from "../../conventions/budget/record.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { LiveCaller } from "../../gateway/ports.ts";
import type { Sleep } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { isJsonObject, type JsonObject } from "../../kernel/json.ts";
import { readTraceparent } from "../plane/traceparent.ts";
import { type AccessDesk, createAccessDesk } from "./access.ts";
import type { BridgeOptions } from "./bridge.ts";
import { type Asked, type Calling, callAction, waitForCall } from "./call.ts";
import { createRunDoor } from "./door.ts";
import { actionNameOf } from "./names.ts";
import { actOnOperation, reconcileOperation, waitForOperation } from "./operations.ts";
import { createPlanMemory } from "./plans.ts";
import { recordToolCall } from "./record-call.ts";
import { deniedResult, recordResult } from "./results.ts";
import { noInput, reasonedInput, reconcileInput, repeatInput, WAIT_SECONDS, waitInput } from "./schemas.ts";
import { errandOf, listTools } from "./tools.ts";
import { createLineTransport } from "./transport.ts";
import type { Turns } from "./turns.ts";
import type { Waiting } from "./wait.ts";
import { watchBridge } from "./watch.ts";

/** A connection that asked to carry MCP, and what serves it. */
export interface McpOpening {
  readonly socket: Duplex;
  /** Bytes that came with the request. */
  readonly head: Buffer;
  readonly caller: LiveCaller;
  readonly options: BridgeOptions;
  readonly gateway: Gateway;
  readonly sleep: Sleep;
  readonly version: string;
  /** Of all connections together. */
  readonly turns: Turns;
  working?(busy: boolean): void;
  correlationId(): string;
  onFault(error: unknown, correlationId: string): void;
}

/**
 * MCP on one connection: 2026-07-28 and the older revisions that begin with `initialize`, from one factory. Approval
 * never travels through it: a person decides on the operator plane, and elicitation would pass through the agent's client.
 */
export function serveMcp(opening: McpOpening): void {
  const { socket, head, caller, options, gateway, sleep } = opening;
  const door = createRunDoor(gateway, caller, options);
  const access = createAccessDesk(gateway, caller, door);
  const calling = { gateway, caller, door, plans: createPlanMemory() };
  const transport = createLineTransport(
    socket,
    head,
    {
      lineBytes: defaults.mcpLineBytes,
      badLines: defaults.mcpBadLines,
      requestsOpen: defaults.mcpRequestsOpen,
    },
    opening.turns,
    opening.working,
  );
  const over = new AbortController();
  const servers = new Set<Server>();
  const handle = serveStdio(
    () => {
      const server = createServer(opening, calling, access);
      servers.add(server);
      server.onclose = () => void servers.delete(server);
      return server;
    },
    { transport, maxSubscriptions: defaults.mcpSubscriptions },
  );
  socket.once("close", () => {
    over.abort();
    void door.leave("connection_closed").catch(() => undefined);
  });
  watchBridge(door, sleep, over.signal, {
    onListChanged() {
      for (const server of servers) void server.sendToolListChanged().catch(() => undefined);
    },
    onParentGone() {
      // The reason has to be written before the closing connection writes its own.
      void door
        .leave("parent_exited")
        .catch(() => undefined)
        .then(() => handle.close())
        .then(() => socket.destroy());
    },
  });
}

const INSTRUCTIONS = `Every tool but those named gw_* acts on a real system through a gateway that holds the credentials. A person approves the session at your first call, and some calls one by one; this can take minutes.
A result with state "pending" means that nobody has decided yet, or that the provider has not answered: call gw_wait with its id, at most ${WAIT_SECONDS} seconds at a time, and never repeat the call itself.
A result with state "denied" carries a code and a reason: do not look for another way around it.
An outcome "unknown" means that the action may have happened: do not repeat it and do not report it as failed; gw_reconcile finds out.
A result with an operation_id may be a job that goes on: gw_wait with that id gives its end.
gw_budget shows what is left of the run. gw_request_access asks the operator for more.`;

const checkNothing = compileSchema(noInput);
const checkWait = compileSchema(waitInput);
const checkReconcile = compileSchema(reconcileInput);
const checkReasoned = compileSchema(reasonedInput);
const checkRepeat = compileSchema(repeatInput);

function createServer(opening: McpOpening, calling: Calling, access: AccessDesk): Server {
  const { options, sleep, version } = opening;
  const { door } = calling;
  const server = new Server(
    { name: "gw", title: "Agent Action Gateway", version },
    { capabilities: { tools: { listChanged: true } }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler("tools/list", () => ({ tools: listTools(door.definitions()) }));
  server.setRequestHandler("tools/call", async (request, context) => {
    const id = opening.correlationId();
    const { name, arguments: input = {} } = request.params;
    const trace = readTraceparent(context.mcpReq._meta?.["traceparent"]);
    const record = recordToolCall(opening, name, input as JsonObject, id, trace);
    try {
      const result = await callTool(request, context, trace);
      await record({ kind: "answered", result });
      return result;
    } catch (error) {
      if (!(error instanceof Denied)) opening.onFault(error, id);
      const message = `The gateway made a mistake; its log names it ${id}.`;
      const denied = error instanceof Denied ? error : new Denied("internal_fault", message);
      await record({ kind: "denied", denied });
      return deniedResult(denied, id);
    }
  });
  return server;

  async function callTool(
    { params }: CallToolRequest,
    context: ServerContext,
    traceparent: string | null,
  ): Promise<CallToolResult> {
    const input = (params.arguments ?? {}) as JsonObject;
    const waiting = waitingOf(context);
    const asked: Asked = { purpose: purposeOf(clientOf(context)), traceparent, waiting };
    switch (params.name) {
      case "gw_budget":
        requireFitting(checkNothing(input), params.name);
        return recordResult(budgetOf());
      case "gw_wait": {
        requireFitting(checkWait(input), params.name);
        const id = String(input["id"]);
        if (id.startsWith("op_")) return waitForOperation(calling, id, waiting);
        return access.wait(id, waiting) ?? waitForCall(calling, id, waiting);
      }
      case "gw_reconcile":
        requireFitting(checkReconcile(input), params.name);
        return reconcileOperation(calling, String(input["operation_id"]), waiting);
      case "gw_repeat_call": {
        requireFitting(checkRepeat(input), params.name);
        const repeated = input["input"] as JsonObject;
        return callAction(calling, String(input["action"]), repeated, asked, String(input["repeat_of"]));
      }
      case "gw_request_access":
        return access.request(input, asked);
    }
    const errand = errandOf(params.name);
    if (errand !== undefined) {
      requireFitting(checkReasoned(input), params.name);
      return actOnOperation(calling, errand, String(input["operation_id"]), String(input["reason"]), asked);
    }
    // A name that no action can have is refused with the words that every action out of scope gets.
    const action = actionNameOf(params.name) ?? params.name.slice(0, 200);
    return callAction(calling, action, input, asked);
  }

  function requireFitting(errors: Denied["errors"], tool: string): void {
    if (errors.length === 0) return;
    throw new Denied("schema_violation", `The arguments do not fit ${tool}.`, { errors });
  }

  function budgetOf(): JsonObject {
    const { run } = door;
    if (run === null) return { state: "none", asks_for: { ...limitsRecord(options.limits) } };
    return { state: run.state, end_reason: run.endReason, ...budgetRecord(run.budget) };
  }

  function waitingOf({ mcpReq }: ServerContext): Waiting {
    const progressToken = mcpReq._meta?.progressToken;
    return {
      waitMs: options.waitMs,
      sleep,
      signal: mcpReq.signal,
      progress:
        progressToken === undefined
          ? null
          : (progress) =>
              void mcpReq
                .notify({
                  method: "notifications/progress",
                  params: { progressToken, progress, message: "Still waiting for a person or for the provider." },
                })
                .catch(() => undefined),
    };
  }

  /** The newer revision names the client in every request, the older ones once at the start. */
  function clientOf({ mcpReq }: ServerContext): unknown {
    const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
    return envelope[CLIENT_INFO_META_KEY] ?? server.getClientVersion();
  }
}

/** The client's own name for itself: a claim, and shown as one. */
function purposeOf(client: unknown): string {
  const { name, version } = (isJsonObject(client as JsonObject) ? client : {}) as { name?: unknown; version?: unknown };
  const words = [name, version].filter((word) => typeof word === "string").map((word) => String(word).slice(0, 100));
  return words.length === 0 ? "an MCP client that gave no name" : `work for the MCP client ${words.join(" ")}`;
}
