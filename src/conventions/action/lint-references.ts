import type { Findings } from "./findings.ts";
import { type ActionDefinition, hasSideEffect, type InputField, type Job, type JobAction } from "./pack.ts";

export interface LintContext {
  readonly actions: ReadonlyMap<string, ActionDefinition>;
  /** Every name in the file, also those whose action could not be read. */
  readonly names: ReadonlySet<string>;
  readonly findings: Findings;
  /** The field by which the provider knows our reference; null where it never hears of it. */
  readonly correlation?: string | null;
}

type Want = "preview" | "read" | "side effect";

/** Resolves what one action says about others of its pack; the returned action knows which inputs take the job's identifier. */
export function lintReferences(action: ActionDefinition, path: string, context: LintContext): ActionDefinition {
  lookUp(action.needs.plan, `${path}/needs/plan`, "preview", action, context);
  lookUp(action.confirm, `${path}/confirm`, "read", action, context);
  const reconcile = lookUp(action.unknown.reconcile, `${path}/unknown/reconcile`, "read", action, context);
  if (reconcile !== null) lintReconcile(action, reconcile, `${path}/unknown/reconcile`, context);
  const origin = lookUp(action.rollback?.of ?? null, `${path}/rollback/of`, "side effect", action, context);
  if (origin !== null && origin.rollback !== null) {
    context.findings.error("pack_reference_unfit", `${path}/rollback/of`, `"${origin.name}" is itself a rollback`);
  }
  return action.job === null ? action : { ...action, job: resolveJob(action, action.job, `${path}/job`, context) };
}

function lookUp(
  name: string | null,
  path: string,
  want: Want,
  from: ActionDefinition,
  context: LintContext,
): ActionDefinition | null {
  if (name === null) return null;
  const { findings } = context;
  if (!context.names.has(name)) {
    findings.error("pack_reference_unknown", path, `this pack has no action "${name}"`);
    return null;
  }
  if (name === from.name) {
    findings.error("pack_reference_unfit", path, "an action cannot refer to itself");
    return null;
  }
  const found = context.actions.get(name);
  if (found === undefined) return null;
  if (!fits(found, want)) {
    findings.error("pack_reference_unfit", path, `"${name}" must be a ${want}; it says effect: ${found.effect}`);
    return null;
  }
  return found;
}

function fits(action: ActionDefinition, want: Want): boolean {
  return want === "side effect" ? hasSideEffect(action.effect) : action.effect === want;
}

function resolveJob(action: ActionDefinition, job: Job, path: string, context: LintContext): Job {
  const resolve = (reference: JobAction, member: string, want: Want): JobAction => {
    const found = lookUp(reference.action, `${path}/${member}`, want, action, context);
    return found === null
      ? reference
      : { ...reference, idInput: findIdInput(action, found, `${path}/${member}`, context.findings) };
  };
  return {
    ...job,
    status: resolve(job.status, "status", "read"),
    cancel: job.cancel === null ? null : resolve(job.cancel, "cancel", "side effect"),
    result: job.result === null ? null : resolve(job.result, "result", "read"),
    resume: job.resume === null ? null : resolve(job.resume, "resume", "side effect"),
  };
}

/** The identifier goes to the one required input that the creating call does not also have. */
function findIdInput(from: ActionDefinition, to: ActionDefinition, path: string, findings: Findings): string {
  const open = requiredInputs(to).filter(({ name }) => !from.inputs.some((input) => input.name === name));
  const [only] = open;
  if (only !== undefined && open.length === 1) return only.name;
  const found = open.length === 0 ? "none" : open.map(({ name }) => name).join(", ");
  findings.error(
    "pack_reference_unfit",
    path,
    `"${to.name}" needs exactly one required input for the job's identifier; found ${found}`,
  );
  return "";
}

/** What the gateway itself sent with a call whose outcome is unknown. */
const KNOWN_OF_A_CALL = ["client_operation_id", "idempotency_key", "idempotency_token", "correlation_id", "reference"];

/** Names of our own reference, which a provider knows only where a field carried it. */
const OUR_REFERENCE = ["correlation_id", "reference"];

function lintReconcile(from: ActionDefinition, to: ActionDefinition, path: string, context: LintContext): void {
  const { findings, correlation = null } = context;
  const own = from.inputs.map(({ name }) => name);
  const known = new Set([...KNOWN_OF_A_CALL, ...own]);
  const unheard = requiredInputs(to).filter(({ name }) => OUR_REFERENCE.includes(name) && !own.includes(name));
  if (correlation === null && unheard.length > 0) {
    findings.warn(
      "pack_reference_unfit",
      path,
      `"${to.name}" looks for ${unheard.map(({ name }) => name).join(", ")}, which the provider never hears of: name its correlation_header`,
    );
  }
  const open = requiredInputs(to).filter(({ name }) => !known.has(name));
  if (open.length > 0) {
    const names = open.map(({ name }) => name).join(", ");
    findings.error(
      "pack_reference_unfit",
      path,
      `"${to.name}" needs ${names}, which nobody knows before an answer; use the call's own inputs or ${KNOWN_OF_A_CALL.join(", ")}`,
    );
  }
}

function requiredInputs(action: ActionDefinition): readonly InputField[] {
  return action.inputs.filter(({ optional, constant }) => !optional && constant === undefined);
}
