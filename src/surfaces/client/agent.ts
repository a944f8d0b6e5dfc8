import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import type { BoxTier } from "../../conventions/box/plan.ts";
import type { BoxRefusal } from "../../conventions/box/refusal.ts";
import type { LimitsRecord } from "../../conventions/budget/record.ts";
import type { JobErrand } from "../../conventions/operation/errand.ts";
import type { OperationView } from "../../conventions/operation/summary.ts";
import type { CallResult } from "../../conventions/outcome/result.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { JsonObject } from "../../kernel/json.ts";
import {
  type ActionView,
  actionsAnswer,
  type CarriedView,
  callAnswer,
  carriedAnswer,
  operationAnswer,
  type PendingView,
  pieceAnswer,
  type RunView,
  runAnswer,
} from "../agent/answers.ts";
import type { Door } from "../place/place.ts";
import { type AskOptions, openConnection, Unreachable } from "./connection.ts";

/** A call that still waits for a person or for the provider. Ask again with `waitForCall`; never repeat the call. */
export type PendingCall = PendingView & { readonly kind: "pending"; readonly waits_for: "person" | "provider" };

export type CallAnswer = { readonly kind: "result"; readonly result: CallResult } | PendingCall;

/**
 * What an agent needs of the gateway. There is nothing to configure but the socket: who is calling is what the operating
 * system says of this process. Refusals are thrown as `Denied` with a stable code.
 */
export interface AgentClient {
  actions(): Promise<readonly ActionView[]>;
  openRun(request: RunOpening, waitSeconds: number): Promise<RunView>;
  joinRun(runId: string, waitSeconds: number): Promise<RunView>;
  run(runId: string, waitSeconds?: number): Promise<RunView>;
  /** `repeatOf` names the open call that a person is asked to go past. */
  call(runId: string, action: string, input: JsonObject, waitSeconds: number, repeatOf?: string): Promise<CallAnswer>;
  /** A request as a tool in a box made it. The gateway finds the action that it stands for, or refuses it. */
  carry(runId: string, request: CarriedRequest, signal: AbortSignal): Promise<CarriedAnswer>;
  /** What the wrapper of a box refused itself, for the log. */
  reportRefused(runId: string, report: RefusalReport & { readonly more: number }): Promise<void>;
  waitForCall(callId: string, waitSeconds: number): Promise<CallAnswer>;
  /** Previews an action; the result carries the plan. */
  plan(runId: string, action: string, input: JsonObject, waitSeconds: number): Promise<CallAnswer>;
  /** Carries a plan out, by the revision that the preview read. */
  execute(planId: string, expectedRevision: string, waitSeconds: number): Promise<CallAnswer>;
  operation(operationId: string, waitSeconds?: number): Promise<OperationView>;
  cancelOperation(operationId: string, reason: string, waitSeconds: number): Promise<CallAnswer>;
  resumeOperation(operationId: string, reason: string, waitSeconds: number): Promise<CallAnswer>;
  reconcileOperation(operationId: string): Promise<OperationView>;
  close(): void;
}

export interface RunOpening {
  readonly purpose: string;
  readonly actions: readonly string[];
  readonly budget?: Partial<LimitsRecord>;
  /** Whatever this process starts may act in the run as well. */
  readonly descendants?: boolean;
  /** It speaks for a box, and whatever runs in there has no other network. */
  readonly contained?: boolean;
  readonly boxTier?: BoxTier;
  /** It is the proxy of what it starts, which could go past it. */
  readonly proxied?: boolean;
  /** What this process will start. */
  readonly command?: readonly string[];
  /** The first call comes right after: one card shows it together with the session. */
  readonly callFollows?: boolean;
}

type HeaderLines = readonly (readonly [string, string])[];

export interface CarriedRequest {
  /** Instead of `body`: one that is too large to be held, as it comes. */
  readonly large?: AsyncIterable<Buffer>;
  readonly origin: string;
  readonly method: string;
  readonly target: string;
  /** As received, names in lower case. */
  readonly headers: HeaderLines;
  /** Base64. */
  readonly body?: string;
  /** Who made it, for the record. */
  readonly process?: { readonly pid: number; readonly executable: string; readonly arguments: readonly string[] };
}

export interface RefusalReport {
  readonly why: BoxRefusal;
  /** As far as it was told. */
  readonly origin: string;
  readonly method: string;
}

/** What the tool is told, word for word. */
export type CarriedAnswer = Omit<CarriedView, "headers"> & {
  readonly headers: HeaderLines;
  /** Where the answer is passed on as it comes: its bytes. It throws where not all of them came. */
  readonly pieces?: AsyncIterable<Buffer>;
};

export function connectAgent(door: Door): AgentClient {
  const connection = openConnection(door);
  const prefer = (seconds: number): { headers: Record<string, string> } => ({
    headers: seconds > 0 ? { prefer: `wait=${Math.ceil(seconds)}` } : {},
  });
  const askRun = (method: "GET" | "POST", at: string, options: AskOptions) =>
    connection.ask(runAnswer, method, at, options);
  const askCall = async (method: "GET" | "POST", at: string, options: AskOptions): Promise<CallAnswer> => {
    const told = await connection.ask(callAnswer, method, at, options);
    if ("outcome" in told) return { kind: "result", result: told };
    // A gateway of an older version does not say.
    const waits_for = told.waits_for ?? (told.state === "pending" ? "person" : "provider");
    return { kind: "pending", ...told, waits_for };
  };
  const path = (...segments: string[]): string => `/v1/${segments.map(encodeURIComponent).join("/")}`;
  const errand =
    (about: JobErrand): AgentClient["cancelOperation"] =>
    (id, reason, wait) =>
      askCall("POST", path("operations", id, about), { body: { reason }, ...prefer(wait) });
  return {
    actions: () => connection.ask(actionsAnswer, "GET", "/v1/actions"),
    openRun: ({ purpose, actions, budget, descendants, contained, boxTier, proxied, command, callFollows }, wait) => {
      const body = {
        purpose,
        actions: [...actions],
        ...(budget === undefined ? {} : { budget: { ...budget } as JsonObject }),
        ...(descendants === true ? { descendants } : {}),
        ...(contained === true ? { contained } : {}),
        ...(boxTier === undefined ? {} : { box_tier: boxTier }),
        ...(proxied === true ? { proxied } : {}),
        ...(command === undefined ? {} : { command: [...command] }),
        ...(callFollows === true ? { call_follows: true } : {}),
      };
      return askRun("POST", "/v1/runs", { body, ...prefer(wait) });
    },
    joinRun: (runId, wait) => askRun("POST", path("runs", runId, "join"), prefer(wait)),
    run: (runId, wait = 0) => askRun("GET", path("runs", runId), prefer(wait)),
    call: (runId, action, input, wait, repeatOf) => {
      const body = { action, input, ...(repeatOf === undefined ? {} : { repeat_of: repeatOf }) };
      return askCall("POST", path("runs", runId, "calls"), { body, ...prefer(wait) });
    },
    plan: (runId, action, input, wait) =>
      askCall("POST", path("runs", runId, "plans"), { body: { action, input }, ...prefer(wait) }),
    execute: (planId, expected_revision, wait) =>
      askCall("POST", path("plans", planId, "execute"), { body: { expected_revision }, ...prefer(wait) }),
    operation: (id, wait = 0) => connection.ask(operationAnswer, "GET", path("operations", id), prefer(wait)),
    cancelOperation: errand("cancel"),
    resumeOperation: errand("resume"),
    reconcileOperation: (id) => connection.ask(operationAnswer, "POST", path("operations", id, "reconcile")),
    async carry(runId, request, signal) {
      const { large, ...plain } = request;
      const asked = {
        ...{ body: plain as unknown as JsonObject, signal, ...prefer(defaults.preferWaitMs / 1000) },
        ...(large === undefined ? {} : { file: large }),
      };
      const requests = path("runs", runId, "requests");
      const at = large === undefined ? requests : `${requests}/large`;
      const { head, more } = await connection.askOn({ head: carriedAnswer, line: pieceAnswer }, at, asked);
      const headers = head.headers.map(([name = "", value = ""]) => [name, value] as const);
      return { ...head, headers, ...(more === undefined ? {} : { pieces: piecesOf(more) }) };
    },
    reportRefused: (runId, report) => connection.tell(path("runs", runId, "refusals"), { body: { ...report } }),
    waitForCall: (callId, wait) => askCall("GET", path("calls", callId), prefer(wait)),
    close: () => connection.close(),
  };
}

/** Every stream says how it ended: one that does not was broken off. */
async function* piecesOf(lines: AsyncIterable<FromSchema<typeof pieceAnswer>>): AsyncGenerator<Buffer> {
  for await (const line of lines) {
    if ("data" in line) yield Buffer.from(line.data, "base64");
    else if (line.end.broken === null) return;
    else throw new Unreachable(`The answer was broken off (${line.end.broken}).`);
  }
  throw new Unreachable("The answer was broken off: the gateway went away.");
}
