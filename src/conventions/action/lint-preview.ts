import type { LintContext } from "./lint-references.ts";
import { type ActionDefinition, type HttpAction, hasSideEffect, type SshAction } from "./pack.ts";

/** Names under which APIs hide "do not really do it" in a query. A server that ignores an unknown flag executes. */
const FLAGS = new Set([
  "dryrun",
  "preview",
  "previewonly",
  "simulate",
  "simulation",
  "validateonly",
  "validationonly",
  "plan",
  "planonly",
  "noop",
  "checkonly",
  "whatif",
  "mode",
]);

/** A preview has an endpoint of its own or says `mode: preview` in its body; a flag in the query alone is refused. */
export function lintPreview(action: ActionDefinition, path: string, { actions, findings }: LintContext): void {
  if (lacksPreview(action, actions)) {
    const what = action.kind === "ssh" || action.method !== "DELETE" ? `effect: ${action.effect}` : "a plain DELETE";
    findings.warn(
      "pack_preview_missing",
      path,
      `${what} without a preview: name in needs.plan the action that shows beforehand what changes, or say preview: none, so that every call asks a person`,
    );
  }
  if (action.kind === "ssh" && action.effect === "preview") lintReceiverPreview(action, path, { actions, findings });
  if (action.kind !== "http" || action.effect !== "preview" || saysMode(action)) return;
  if (action.method !== "POST") {
    findings.error(
      "pack_preview_unsafe",
      `${path}/request/method`,
      "a preview is a POST to its own endpoint, or carries mode: preview in its body",
    );
  }
  const flag = action.inputs.find(({ place, wireName }) => place === "query" && FLAGS.has(plain(wireName)));
  if (flag !== undefined) {
    findings.error(
      "pack_preview_unsafe",
      `${path}/input/${flag.name}`,
      "a query flag alone is no preview: a server that does not know it executes",
    );
  }
  for (const other of actions.values()) {
    if (other.kind !== "http" || !hasSideEffect(other.effect) || shapeOf(other) !== shapeOf(action)) continue;
    findings.error(
      "pack_preview_unsafe",
      path,
      `"${other.name}" executes by the same request; a preview needs its own endpoint or a body member mode: preview`,
    );
  }
}

/** A write, or whatever deletes, that neither executes a plan nor says that there is none. Jobs and rollbacks have their own evidence. */
function lacksPreview(action: ActionDefinition, actions: LintContext["actions"]): boolean {
  const deletes = action.kind !== "ssh" && action.method === "DELETE" && hasSideEffect(action.effect);
  if (action.effect !== "write" && !deletes) return false;
  if (action.needs.plan !== null || action.previewless === true || action.rollback !== null) return false;
  return ![...actions.values()].some(
    ({ job }) => job?.cancel?.action === action.name || job?.resume?.action === action.name,
  );
}

/** On a host a preview is an operation of its own, which changes nothing because its program does not. */
function lintReceiverPreview(
  action: SshAction,
  path: string,
  { actions, findings }: Pick<LintContext, "actions" | "findings">,
): void {
  for (const other of actions.values()) {
    if (other.kind !== "ssh" || !hasSideEffect(other.effect)) continue;
    if (other.hostKey !== action.hostKey || other.user !== action.user || other.action !== action.action) continue;
    findings.error(
      "pack_preview_unsafe",
      `${path}/ssh/action`,
      `"${other.name}" executes by the same operation; a preview needs one of its own`,
    );
  }
}

function saysMode(action: HttpAction): boolean {
  return action.inputs.some(
    ({ place, wireName, constant }) => place === "body" && wireName === "mode" && constant === "preview",
  );
}

function shapeOf(action: HttpAction): string {
  const segments = action.template.segments.map((segment) => (segment.kind === "literal" ? segment.text : "{}"));
  return `${action.method} /${segments.join("/")}`;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, "");
}
