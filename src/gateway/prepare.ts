import type { ValueSpelling } from "../../packages/request/src/schema.ts";
import type { NewEvent } from "../audit/event.ts";
import type { SpooledBody } from "../conventions/action/spooled.ts";
import { quote } from "../conventions/approval/render-line.ts";
import { describePush } from "../conventions/git/describe-push.ts";
import type { JobErrand } from "../conventions/operation/errand.ts";
import type { PageAsked } from "../conventions/reverse/plain.ts";
import { decideScope, type Scope } from "../conventions/scope/scope.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { CallId } from "../kernel/ids.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { CallAsked } from "./approval/cards.ts";
import type { AnswerStream } from "./attempt/sending.ts";
import type { Core } from "./core.ts";
import { type ListAsk, type ListStart, prepareList } from "./discovery/start.ts";
import { bindCancel } from "./operation/cancel.ts";
import type { Operation } from "./operation/operations.ts";
import { bindResume } from "./operation/resume.ts";
import { bindDefinition, notPermitted } from "./outbound/admit.ts";
import { type Definition, type Outbound, reachOf } from "./outbound/outbound.ts";
import { executionInput } from "./plan/execute.ts";
import { cardPlan, requireExecutable } from "./plan/plan.ts";
import { findPair } from "./plan/preview.ts";
import type { Plan } from "./plan/shelf.ts";
import type { LiveCaller } from "./ports.ts";
import type { ToldWithEnd } from "./record/requests.ts";
import type { Deployment } from "./rollback/deployments.ts";
import { prepareRollback } from "./rollback/rollback.ts";
import type { Run } from "./run/run.ts";

/** What an agent asks for. Without `as` it is a plain call of the action. */
export interface CallRequest {
  readonly action: string;
  readonly input: JsonObject;
  /** How its numbers were written, where somebody wrote them. */
  readonly spelling?: ValueSpelling | undefined;
  readonly as?: Purpose;
  /** For a list alone: where it goes on, and less than its definition would read. */
  readonly list?: ListAsk | undefined;
  /** One page of a list as a tool in a box asked for it, and its answer as it came. */
  readonly page?: PageAsked;
  /** Who gets the answer while it comes, of an action that streams. */
  readonly stream?: AnswerStream | undefined;
  /** By which a tool will know its own request again, where it repeats it. */
  readonly toolsToken?: string | undefined;
  /** What we ourselves know of its input, for the card. */
  readonly notes?: readonly string[];
  /** The body that a text among the input stands for, of a tool that sent more than is held in memory. */
  readonly spooled?: SpooledBody;
  /** Whoever asked hands on the very bytes of the answer. */
  readonly keepsBytes?: true | undefined;
  /** What the log is to say of where it came from, with its first intent or its refusal. */
  readonly context?: (callId: CallId) => NewEvent;
  /** What it is to say together with the end of a plain read that was answered well. */
  readonly closing?: (callId: CallId) => ToldWithEnd;
  /** The open operation that the agent asks a person to go past. */
  readonly repeatOf?: string | undefined;
  /** The trace that the agent says it belongs to. */
  readonly traceparent?: string | null;
}

export type Purpose =
  | { readonly kind: "plan" }
  | { readonly kind: "execute"; readonly plan: Plan; readonly expectedRevision: string }
  | { readonly kind: JobErrand; readonly operation: Operation; readonly reason: string };

/** How the bound call is carried out once a person has agreed. */
export type Way =
  | { readonly kind: "plain"; readonly list?: ListStart }
  | { readonly kind: "preview"; readonly executes: Definition }
  | { readonly kind: "execute"; readonly plan: Plan; readonly expectedRevision: string }
  | { readonly kind: JobErrand; readonly operation: Operation; readonly reason: string }
  | { readonly kind: "rollback"; readonly deployment: Deployment };

export interface Prepared {
  readonly outbound: Outbound;
  readonly way: Way;
  /** What its card says beyond the call itself. */
  readonly card: Pick<CallAsked, "plan" | "notes" | "approvalId" | "sameAs">;
  /** What would happen, where the request itself names things of ours that differ each time. */
  readonly intent: JsonObject | null;
  /** Reasons to ask a person that are not in the definition. */
  readonly because: readonly string[];
}

const NOTHING = { card: {}, because: [], intent: null } as const;
const PLAIN: Way = { kind: "plain" };

/** Steps 2 to 4 for whatever is asked: bound to the trusted definition, within scope, with the evidence it needs. */
export function prepare(core: Core, caller: LiveCaller, run: Run, request: CallRequest): Prepared {
  const scope = reachable(core, caller, run);
  switch (request.as?.kind) {
    case undefined:
      return prepareCall(core, caller, run, scope, request);
    case "plan":
      return preparePreview(core, scope, request);
    case "execute":
      return prepareExecution(core, caller, run, scope, request.as.plan, request.as.expectedRevision);
    case "cancel": {
      const { operation, reason } = request.as;
      const card = { notes: [`it asks the provider to stop ${operation.id}; ${claimed(reason)}`] };
      return { ...NOTHING, outbound: bindCancel(core, operation), way: { kind: "cancel", operation, reason }, card };
    }
    case "resume": {
      const { operation, reason } = request.as;
      const card = {
        notes: [`it asks the provider to go on with ${operation.id}, which failed; ${claimed(reason)}`],
      };
      return { ...NOTHING, outbound: bindResume(core, operation), way: { kind: "resume", operation, reason }, card };
    }
  }
}

/** What the caller may ask for: what it has, or anything that a person may be asked to add to it. */
export function reachable(core: Pick<Core, "packs">, caller: LiveCaller, run: Run): Scope {
  const scope = run.sessions.get(caller.key)?.scope ?? run.asked;
  if (!run.asksAsItGoes || caller.key !== run.ownerKey) return scope;
  // What it has already stays as a person narrowed it.
  const had = new Set(scope.actions.map(({ action }) => action));
  const more = core.packs().all().map(reachOf);
  return { ...scope, actions: [...scope.actions, ...more.filter(({ action }) => !had.has(action))] };
}

/** The agent's words stand in quotes that they cannot end, and are called its words. */
function claimed(reason: string): string {
  return `the agent says why: ${quote(reason)} (its own words, unchecked)`;
}

/** A preview is one however it is called, and what needs a plan is not called without it. */
function prepareCall(core: Core, caller: LiveCaller, run: Run, scope: Scope, request: CallRequest): Prepared {
  const definition = core.packs().find(request.action);
  if (definition === null) throw notPermitted();
  const { effect, needs, rollback } = definition.action;
  if (effect === "preview") return preparePreview(core, scope, request);
  if (needs.plan !== null) {
    requireReach(scope, definition);
    const message = `${request.action} carries out a plan of ${needs.plan}. Preview it, then execute that plan.`;
    throw new Denied("plan_required", message);
  }
  if (rollback !== null) {
    requireReach(scope, definition);
    const { outbound, deployment, because, notes, approvalId, sameAs } = prepareRollback(
      core,
      caller,
      run,
      definition,
      request.input,
    );
    const card = { notes, sameAs, ...(approvalId === null ? {} : { approvalId }) };
    return { outbound, way: { kind: "rollback", deployment }, card, because, intent: { undoes: deployment.id } };
  }
  if (definition.action.pages !== null && request.page !== undefined) {
    return { outbound: bindDefinition(definition, request.input, { page: request.page }), way: PLAIN, ...NOTHING };
  }
  if (definition.action.pages !== null || request.list !== undefined) {
    const { outbound, list } = prepareList(core, caller, run, definition, request);
    return { outbound, way: { kind: "plain", list }, ...NOTHING };
  }
  const { spooled, spelling } = request;
  const outbound = bindDefinition(definition, request.input, spooled === undefined ? {} : { spooled }, spelling);
  if (!outbound.sideEffect) return { outbound, way: PLAIN, ...NOTHING };
  const { action } = definition;
  const pushed = action.kind === "http" && action.body === "git-receive-pack" ? describePush(request.input) : [];
  return {
    ...NOTHING,
    outbound,
    way: PLAIN,
    card: { notes: [...pushed, ...(request.notes ?? []), ...readsAfter(definition)] },
  };
}

/** One approval covers the reads that the definition makes afterwards: the card says which. */
function readsAfter({ action }: Definition): readonly string[] {
  const { job, confirm, unknown } = action;
  const notes: string[] = [];
  if (job !== null) {
    const more = job.result === null ? "" : ` and its result with ${job.result.action}`;
    notes.push(
      `its state is then read with ${job.status.action}, up to ${job.maxChecks} times,${more} by the same credential`,
    );
  }
  if (confirm !== null) notes.push(`a success is then read back once with ${confirm}`);
  if (unknown.tokenRetry) {
    const times = `up to ${defaults.tokenRepeats} times, while the provider remembers the token`;
    notes.push(
      `if no answer comes, the very request is sent again under its token, ${times}: it has one effect at most`,
    );
  }
  if (unknown.reconcile !== null) notes.push(`if no answer comes, what happened is read with ${unknown.reconcile}`);
  return notes;
}

function preparePreview(core: Pick<Core, "packs">, scope: Scope, { action, input, spelling }: CallRequest): Prepared {
  const { preview, executes } = findPair(core, action);
  requireReach(scope, preview);
  requireReach(scope, executes);
  return { outbound: bindDefinition(preview, input, {}, spelling), way: { kind: "preview", executes }, ...NOTHING };
}

function prepareExecution(
  core: Pick<Core, "packs" | "ports">,
  caller: LiveCaller,
  run: Run,
  scope: Scope,
  plan: Plan,
  expectedRevision: string,
): Prepared {
  const definition = core.packs().find(plan.action);
  if (definition === null) throw notPermitted();
  requireReach(scope, definition);
  requireExecutable(core, plan, run, caller, definition, expectedRevision);
  const planId = plan.preview.plan_id;
  if (planId === null) throw new Denied("plan_not_executable", "The provider named no plan.");
  const fill = { planId, planRevision: expectedRevision };
  return {
    outbound: { ...bindDefinition(definition, executionInput(plan.input, definition), fill), plan: fill },
    way: { kind: "execute", plan, expectedRevision },
    // Asked about by what it was made from: another preview of the same is the same question.
    card: { plan: cardPlan(plan), sameAs: plan.requestDigest, notes: readsAfter(definition) },
    because: [],
    intent: { previewed: plan.requestDigest },
  };
}

/** Whether the scope has the action at all; how large the request may be is asked once it is bound. */
function requireReach(scope: Scope, definition: Definition): void {
  if (decideScope(scope, { ...reachOf(definition), requestBytes: 0, input: null }) !== "allow") throw notPermitted();
}
