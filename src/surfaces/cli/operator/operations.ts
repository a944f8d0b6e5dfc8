import { showIdentifier, showText } from "../../../kernel/display.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import type { OperatorOptions } from "../options.ts";
import { withGateway } from "./session.ts";

export interface OperationOptions extends OperatorOptions {
  readonly reason?: string;
  readonly all?: boolean;
}

/** `gw operation list`: what is open, and with --all what has ended lately. */
export function runOperationList(options: OperationOptions, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  return answering(io, () =>
    withGateway(options, deps, async ({ client }) => {
      const found = (await client.operations()).filter((one) => options.all === true || one["settled"] !== true);
      if (options.json) io.out(JSON.stringify(found, null, 2));
      else if (found.length === 0) io.out("No operation is open.");
      else for (const one of found) io.out(operationLine(one));
      return exits.done;
    }),
  );
}

/** `gw operation show|cancel|reconcile ID`. */
export function runOperation(
  verb: "show" | "cancel" | "reconcile",
  id: string,
  options: OperationOptions,
  deps: CliDeps,
): Promise<Exit> {
  const { io } = deps;
  return answering(io, () =>
    withGateway(options, deps, async ({ client }) => {
      const operation =
        verb === "show"
          ? await client.operation(id)
          : verb === "cancel"
            ? await client.cancelOperation(id, options.reason ?? "no reason given")
            : await client.reconcileOperation(id);
      if (options.json) io.out(JSON.stringify(operation, null, 2));
      else for (const line of operationLines(operation)) io.out(line);
      return verb === "reconcile" && operation["settled"] !== true && operation["problem"] !== null
        ? exits.unknown
        : exits.done;
    }),
  );
}

function operationLine(operation: JsonObject): string {
  const cells = ["operation_id", "state", "action", "remote_job_id", "next_poll_at"].map((name) =>
    shown(operation[name]),
  );
  const problem = operation["problem"];
  return `${cells.join("  ")}${isJsonObject(problem) ? `  ${shown(problem["code"])}` : ""}`;
}

export function operationLines(operation: JsonObject): readonly string[] {
  const lines = [`${shown(operation["operation_id"])} is ${shown(operation["state"])}`];
  const say = (label: string, value: JsonValue | undefined): void => {
    if (value !== null && value !== undefined) lines.push(`  ${label.padEnd(16)} ${shown(value)}`);
  };
  say("action", operation["action"]);
  say("run", operation["run_id"]);
  say("remote id", operation["remote_job_id"]);
  say("provider says", operation["remote_state"]);
  const { progress, problem, cancel } = operation;
  if (isJsonObject(progress)) say("progress", `${shown(progress["completed"])} of ${shown(progress["total"])}`);
  say("next read", operation["next_poll_at"]);
  say("result by", operation["result_deadline"]);
  say("read by", operation["observed_by"]);
  if (isJsonObject(cancel)) say("cancel asked", `${shown(cancel["actor"])}: ${shown(cancel["reason"])}`);
  if (isJsonObject(problem)) say("stopped", `${shown(problem["code"])}: ${shown(problem["detail"])}`);
  say("result digest", operation["result_digest"]);
  for (const entry of Array.isArray(operation["history"]) ? operation["history"] : []) {
    if (!isJsonObject(entry)) continue;
    const { at, from, to, cause, actor } = entry;
    lines.push(`    ${shown(at)}  ${shown(from)} -> ${shown(to)}  ${shown(cause)}, by ${shown(actor)}`);
  }
  return lines;
}

function shown(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return "-";
  return typeof value === "string" ? showIdentifier(value) : showText(JSON.stringify(value));
}
