import { defaults } from "../../kernel/defaults.ts";
import { readOperations } from "../graphql/document.ts";
import { isFieldName } from "../ssh/request.ts";
import { isForbiddenHeader, isHeaderName } from "./headers.ts";
import type { LintContext } from "./lint-references.ts";
import { type ActionDefinition, documentOf, hasSideEffect, type Slot } from "./pack.ts";

/** What one action says must hang together: its effect, its channel and the members that only some may have. */
export function lintAction(action: ActionDefinition, path: string, context: LintContext): void {
  const { findings } = context;
  lintMembers(action, path, context);
  lintPlan(action, path, context);
  lintDocument(action, path, context);
  lintStream(action, path, context);
  if (action.pages !== null) lintPages(action, `${path}/pages`, context);
  if (action.rollback !== null) lintRollback(action, path, context);
  if (action.asksEachCall) {
    findings.warn(
      "pack_asks_each_call",
      path,
      `effect: ${action.effect} without max_cost_cents asks a person on every call`,
    );
  }
}

function lintMembers(action: ActionDefinition, path: string, { findings }: LintContext): void {
  const refuse = (member: string, why: string) => findings.error("pack_member_unfit", `${path}/${member}`, why);
  if (!hasSideEffect(action.effect)) {
    const why = `effect: ${action.effect} changes nothing`;
    if (action.confirm !== null) refuse("confirm", `${why}, so that there is nothing to confirm`);
    if (action.job !== null) refuse("job", `${why}, so that it starts no job`);
    if (action.rollback !== null) refuse("rollback", `${why}; a rollback is effect: write`);
    if (action.needs.plan !== null) refuse("needs/plan", `${why}, so that it executes no plan`);
    if (action.previewless === true) refuse("preview", `${why}, so that there is nothing to preview`);
  }
  if (action.previewless === true && action.needs.plan !== null) refuse("preview", "it names a preview in needs.plan");
  if (action.kind === "http") return;
  const channel = action.kind === "ssh" ? "an SSH action" : "a full-URL action";
  if (action.job !== null) refuse("job", `${channel} starts no tracked job`);
  if (action.pages !== null) refuse("pages", `${channel} has no pages`);
  if (action.rollback !== null) refuse("rollback", `${channel} is no rollback`);
  if (action.kind === "ssh") return;
  if (action.plan !== null || action.needs.plan !== null) refuse("needs/plan", `${channel} executes no plan`);
  if (action.effect === "preview") refuse("effect", `${channel} cannot be a preview`);
}

/** Execution takes the plan's identifier and an expected revision, and never a second copy of the request. */
function lintPlan(action: ActionDefinition, path: string, { actions, findings }: LintContext): void {
  const planName = action.needs.plan;
  if (planName === null) {
    if (action.plan !== null)
      findings.error("pack_member_unfit", `${path}/plan`, "plan without needs.plan does nothing");
    return;
  }
  if (action.plan === null)
    findings.error("missing_member", path, "an action that needs a plan says in plan where the plan's identifier goes");
  if (action.confirm === null) {
    findings.error(
      "pack_confirm_missing",
      path,
      "an action that needs a plan must name in confirm the read that shows its effect",
    );
  }
  const plan = actions.get(planName);
  for (const { name, place, constant } of action.inputs) {
    if (constant !== undefined || (place === null && action.kind !== "ssh")) continue;
    const repeatsPath = place === "path" && plan?.inputs.some((input) => input.name === name) !== false;
    if (!repeatsPath) {
      findings.error(
        "pack_input_unfit",
        `${path}/input/${name}`,
        "execution takes only the plan; a path parameter of the plan may be repeated, nothing else",
      );
    }
  }
  if (action.plan !== null) lintSlots(action, path, findings);
}

function lintSlots(action: ActionDefinition, path: string, findings: LintContext["findings"]): void {
  const slots: readonly (readonly [string, Slot | null | undefined])[] = [
    [`${path}/plan/id`, action.plan?.id],
    [`${path}/plan/revision`, action.plan?.revision],
  ];
  const taken = new Set(action.inputs.map(({ place, wireName }) => `${place ?? "field"} ${wireName}`));
  for (const [at, slot] of slots) {
    if (slot === null || slot === undefined) continue;
    const { place, wireName } = slot;
    if (taken.has(`${place} ${wireName}`))
      findings.error("pack_input_unfit", at, `something else already goes to "${wireName}" there`);
    taken.add(`${place} ${wireName}`);
    if ((place === "field") !== (action.kind === "ssh"))
      findings.error("pack_input_unfit", at, "in: field is where an SSH action takes a plan, and only there");
    if (action.kind === "ssh" && !isFieldName(wireName))
      findings.error("pack_input_unfit", at, `"${wireName}" cannot be a field of the receiver`);
    if (action.kind !== "http") continue;
    if (place === "path" && !action.template.parameters.includes(wireName))
      findings.error("pack_input_unfit", at, `the path has no {${wireName}}`);
    if (place === "body" && action.body === null)
      findings.error("pack_input_unfit", at, "the request declares no body");
    if (place === "body" && action.body === "multipart/form-data")
      findings.error("pack_input_unfit", at, "a plan is not executed with an upload");
    if (place !== "header") continue;
    if (!isHeaderName(wireName) || isForbiddenHeader(wireName))
      findings.error("pack_header_forbidden", at, `an action may not set "${wireName}"`);
  }
}

/** One operation, and one that does what the action says it does: a mutation is never a read. */
function lintDocument(action: ActionDefinition, path: string, { findings }: LintContext): void {
  const field = documentOf(action);
  if (field === null) {
    lintUntoldDocument(action, path, findings);
    return;
  }
  const refuse = (why: string) => findings.error("pack_input_unfit", `${path}/input/${field.name}`, why);
  if (action.kind !== "http" || action.body !== "application/json") refuse("a document goes out in a JSON body");
  const operations = readOperations(String(field.constant));
  const [operation] = operations ?? [];
  if (operation === undefined || operations?.length !== 1) {
    refuse("expected a GraphQL document of exactly one operation, without block strings");
    return;
  }
  if (operation.kind === "subscription") refuse("a subscription never ends and is not carried");
  if ((operation.kind === "mutation") !== hasSideEffect(action.effect))
    refuse(`a ${operation.kind} is not effect: ${action.effect}`);
}

/** A mutation changes something also where nobody says that it is GraphQL. */
function lintUntoldDocument(action: ActionDefinition, path: string, findings: LintContext["findings"]): void {
  if (hasSideEffect(action.effect)) return;
  for (const { name, constant } of action.inputs) {
    const operations = typeof constant === "string" ? readOperations(constant) : null;
    if (operations?.some(({ kind }) => kind === "mutation") !== true) continue;
    findings.error(
      "pack_input_unfit",
      `${path}/input/${name}`,
      `a mutation is not effect: ${action.effect}; of a GraphQL document say language: graphql`,
    );
  }
}

/** What an answer means is read from the whole of it: a stream is for a read whose answer nobody but the tool reads. */
function lintStream(action: ActionDefinition, path: string, { findings }: LintContext): void {
  const streams = action.kind === "http" && action.streams;
  const refuse = (member: string, why: string) => findings.error("pack_member_unfit", `${path}/${member}`, why);
  const { timeoutMs, responseBytes } = action.limits;
  if (!streams) {
    if ((timeoutMs ?? 0) > defaults.wholeTimeoutMaximumMs)
      refuse("limits/timeout_s", "more than 600 seconds are for response: stream");
    if (responseBytes > defaults.wholeResponseMaximumBytes)
      refuse("limits/response_bytes", "more than 67108864 bytes are for response: stream, all else is held in memory");
    return;
  }
  if (action.effect !== "read")
    refuse("response", `effect: ${action.effect} is told by a whole answer; only a read streams`);
  if (action.pages !== null) refuse("response", "a list is read page by page");
  if (action.mints.length > 0) refuse("response", "a new secret is taken out of a whole answer");
  if (action.actualCost?.at.kind === "member")
    refuse("response", "what it cost stands in a whole answer; name a header");
  if (action.echo === "redact") refuse("response", "a stream that holds the credential is cut off there, never mended");
  if (documentOf(action) !== null) refuse("response", "a GraphQL answer is read whole");
}

function lintPages(action: ActionDefinition, path: string, { findings }: LintContext): void {
  const { pages } = action;
  if (pages === null) return;
  if (action.effect !== "read") findings.error("pack_member_unfit", path, "only a read has pages");
  if (action.kind === "http" && action.method !== "GET")
    findings.error("pack_member_unfit", path, "pages are read with GET");
  if (pages.sizeParam === pages.cursorParam)
    findings.error("pack_input_unfit", `${path}/size_param`, "cursor and size need different parameters");
  for (const { name, place, wireName } of action.inputs) {
    if (place !== "query" || (wireName !== pages.cursorParam && wireName !== pages.sizeParam)) continue;
    findings.error(
      "pack_input_unfit",
      path,
      `"${wireName}" is set by the gateway as it pages; drop the input "${name}"`,
    );
  }
}

function lintRollback(action: ActionDefinition, path: string, { findings }: LintContext): void {
  if (action.kind !== "http") return;
  for (const name of action.template.parameters) {
    if (name !== "environment")
      findings.error(
        "pack_input_unfit",
        `${path}/request/path`,
        `a rollback can fill {environment} only, not {${name}}`,
      );
  }
  if (action.body !== "application/json")
    findings.error("pack_member_unfit", `${path}/request`, "a rollback is POSTed as application/json");
}
