import { parseJsonValue } from "../../../packages/request/src/json/parse.ts";
import type { CostRecord } from "../../conventions/budget/record.ts";
import { reportLines } from "../../conventions/discovery/report.ts";
import type { CallResult } from "../../conventions/outcome/result.ts";
import type { Code } from "../../kernel/codes.ts";
import { counted, showBounded, showIdentifier, showText } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import type { ActionView, RunView } from "../agent/answers.ts";
import { type AgentClient, type CallAnswer, connectAgent, type PendingCall } from "../client/agent.ts";
import { Unreachable } from "../client/connection.ts";
import { answering } from "./answer.ts";
import { type CliIo, type Exit, exits } from "./io.ts";
import { agentDoor, type BaseOptions } from "./options.ts";

export interface CallOptions extends BaseOptions {
  readonly input?: string;
  readonly wait: number;
  readonly run?: string;
  readonly purpose?: string;
  /** The open call that a person is asked to go past. */
  readonly repeatOf?: string;
  /** What `gw run` tells the processes below it. It gives nothing by itself: the gateway looks at who is above them. */
  readonly wrapped?: { readonly run: string; readonly home: string };
}

/** `gw call ACTION`: exactly what an agent does, from a terminal. */
export function runCall(action: string, pairs: readonly string[], options: CallOptions, io: CliIo): Promise<Exit> {
  return answering(io, () => callAndReport(action, pairs, options, io));
}

async function callAndReport(action: string, pairs: readonly string[], options: CallOptions, io: CliIo): Promise<Exit> {
  const client = connectAgent(agentDoor(options));
  let definition: ActionView | undefined;
  try {
    definition = await definitionOf(client, action);
    const input = readArguments(pairs, options.input, textMembersOf(definition));
    const run = await runFor(client, `gw call ${action}`, [action], options);
    // Nobody is asked before it comes: one card shows the session and the call in full.
    const reads = ["read", "preview"].includes(String(definition?.["effect"]));
    const call = (wait: number) => client.call(run.run_id, action, input, wait, options.repeatOf);
    return report(await awaitCall(client, call, options, io), options, io, reads);
  } catch (error) {
    if (!(error instanceof Denied) || error.code !== "action_not_permitted") throw withArgumentsNamed(error, action);
    // What nobody has, and what is asked for otherwise, is no matter of what a run may do.
    if (definition === undefined)
      throw reworded(
        error,
        `No trusted pack has an action ${showIdentifier(action)}.`,
        "See what there is: gw actions",
      );
    if (definition.effect === "preview")
      throw reworded(error, `${action} shows what another action would change.`, `Ask for it with: gw plan ${action}`);
    throw error;
  } finally {
    client.close();
  }
}

/** What was wrong with the arguments, and where to read which ones there are. */
export function withArgumentsNamed(error: unknown, action: string): unknown {
  if (!(error instanceof Denied && ABOUT_ARGUMENTS.has(error.code))) return error;
  return reworded(error, error.message, `What it takes: gw actions ${action}`);
}

export function reworded({ code, errors, retryAllowed, extra }: Denied, message: string, next: string): Denied {
  return new Denied(code, message, { errors, retryAllowed, extra, next });
}

const ABOUT_ARGUMENTS: ReadonlySet<Code> = new Set(["schema_violation", "segment_refused", "json_malformed"]);

/**
 * Waits for a call, and says what for: once a person is really asked (what is refused before that keeps nobody waiting), and
 * each time that it waits to be sent again.
 */
export async function awaitCall(
  client: AgentClient,
  begin: (waitSeconds: number) => Promise<CallAnswer>,
  { wait, json }: CallOptions,
  io: CliIo,
  told = "Waiting for a person: gw approve, gw watch or gw console.",
): Promise<CallAnswer> {
  let begun = false;
  try {
    let look = Math.min(wait, FIRST_LOOK_SECONDS);
    let left = wait - look;
    let answer = await begin(look);
    begun = true;
    let said: string | null = null;
    while (answer.kind === "pending" && left > 0) {
      const line = sayWaiting(answer, told);
      if (line !== null && line !== said && !json) io.err(line);
      said = line;
      look = Math.min(left, look * 2, line === told ? SELDOM_LOOK_SECONDS : MOST_LOOK_SECONDS);
      left -= look;
      answer = await client.waitForCall(answer.call_id, look);
    }
    return answer;
  } catch (error) {
    if (error instanceof Unreachable && (begun || error.lost)) throw new Unreachable(`${error.message} ${NOT_KNOWN}`);
    throw error;
  }
}

const NOT_KNOWN =
  "Whether the call was sent is not known here. Have a person look before it is asked for again: gw activity";

const FIRST_LOOK_SECONDS = 1;
const MOST_LOOK_SECONDS = 8;
/** While a person is asked: whoever approves ends the wait, and each look is a line of the log. */
const SELDOM_LOOK_SECONDS = 30;

/** What a call waits for, where that is worth a word. */
function sayWaiting({ waits_for, approval_id, paused }: PendingCall, told: string): string | null {
  if (waits_for === "person") return approval_id === null ? null : told;
  if (paused === undefined) return null;
  return `The provider did not take it yet (${showText(paused.after)}); it is sent again by itself at ${showText(paused.until)}.`;
}

/** The run that was named, the one of the `gw run` above this process, or a new one. */
export async function runFor(
  client: AgentClient,
  purpose: string,
  actions: readonly string[],
  options: CallOptions,
): Promise<Pick<RunView, "run_id" | "state">> {
  if (options.run !== undefined) return client.joinRun(options.run, 0);
  const { wrapped } = options;
  if (wrapped === undefined || wrapped.home !== options.home) {
    return client.openRun({ purpose: options.purpose ?? purpose, actions, callFollows: true }, 0);
  }
  try {
    return await client.run(wrapped.run);
  } catch (error) {
    if (!(error instanceof Denied && error.code === "not_found")) throw error;
    throw new Denied(
      "not_found",
      "GW_RUN names a run that this process does not belong to: it has ended, or gw run did not start this process. Unset GW_RUN to ask for a run of its own.",
    );
  }
}

/** The action as it is listed to agents; undefined where it is not. */
export async function definitionOf(client: AgentClient, action: string): Promise<ActionView | undefined> {
  return (await client.actions()).find((one) => one.action === action);
}

/** The inputs that the definition calls text: what a person types for them is never read as a number or as JSON. */
export function textMembersOf(definition: Pick<ActionView, "input"> | undefined): ReadonlySet<string> {
  const properties = definition?.input["properties"];
  const members = isJsonObject(properties) ? properties : {};
  return new Set(
    Object.entries(members).flatMap(([name, member]) =>
      isJsonObject(member) && (member["type"] === "string" || "enum" in member) ? [name] : [],
    ),
  );
}

/** `k=v` pairs and --input together; a value is JSON where it reads as JSON, and text otherwise. */
export function readArguments(
  pairs: readonly string[],
  input: string | undefined,
  textMembers: ReadonlySet<string>,
): JsonObject {
  const given: Record<string, JsonValue> = Object.create(null) as Record<string, JsonValue>;
  if (input !== undefined) {
    const value = parseJsonValue(Buffer.from(input, "utf8"));
    if (!isJsonObject(value))
      throw new Denied("schema_violation", '--input must be a JSON object, such as \'{"name":"x"}\'.');
    Object.assign(given, value);
  }
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    if (at < 1) throw new Denied("schema_violation", `"${showText(pair)}" is not NAME=VALUE.`);
    const name = pair.slice(0, at);
    if (name in given) throw new Denied("repeated_name", `"${showText(name)}" is given twice.`);
    const text = pair.slice(at + 1);
    given[name] = textMembers.has(name) ? text : readValue(text);
  }
  return given;
}

function readValue(text: string): JsonValue {
  // Only what is plainly not text is read as JSON; quotes make a string of anything.
  const looksLikeJson = ["true", "false", "null"].includes(text) || /^(-?[0-9]|["[{])/.test(text);
  if (!looksLikeJson) return text;
  try {
    return parseJsonValue(Buffer.from(text, "utf8"));
  } catch {
    return text;
  }
}

/** The answer on standard output, so that it can be piped; everything about it on standard error. */
export function report(answer: CallAnswer, { json }: BaseOptions, io: CliIo, reads = false): Exit {
  if (answer.kind === "pending") {
    if (json) io.out(JSON.stringify(answer));
    else io.err(stillWaiting(answer));
    return exits.pending;
  }
  const { result } = answer;
  if (json) io.out(JSON.stringify(result, null, 2));
  else {
    for (const line of resultLines(result, reads)) io.err(line);
    for (const line of bodyLines(result.response, io.isTty)) io.out(line);
  }
  switch (result.outcome) {
    case "success":
      return exits.done;
    case "error":
      return exits.denied;
    case "unknown":
      return exits.unknown;
  }
}

function stillWaiting({ waits_for, approval_id, call_id }: PendingCall): string {
  return waits_for === "person"
    ? `Still waiting for a person (${approval_id ?? call_id}). This process must stay alive for the approval; run it again with a longer --wait.`
    : `Still waiting for the provider (${call_id}), longer than --wait. What becomes of it: gw activity show ${call_id}`;
}

function resultLines(result: CallResult, reads: boolean): readonly string[] {
  const { outcome, confirmed, response, guidance, call_id, discovery, cost, operation_id, reconcile } = result;
  const seen = result.transport_observation;
  const accepted = outcome === "unknown" && reconcile?.method === "GET";
  const means = sayOutcome(outcome, confirmed, accepted, reads);
  // Of what was withheld the reason stands in its own line.
  const why = seen.reason === null || response?.body_kind === "withheld" ? "" : `: ${seen.reason}`;
  const status = `${response === null ? seen.kind : `status ${response.status}`}${why}`;
  const lines = [`${outcome}${means}, ${status}, call ${call_id}`];
  if (seen.detail !== null) lines.push(`  ${showText(seen.detail)}`);
  if (guidance !== null) lines.push(`  ${guidance}`);
  if (operation_id !== null)
    lines.push(`  operation ${operation_id}; a person follows it with: gw operation show ${operation_id}`);
  if (cost !== undefined) lines.push(`  ${sayCost(cost)}`);
  if (discovery !== undefined) lines.push(...reportLines(discovery).map((line) => `  ${line}`));
  if (response?.body_kind === "withheld") lines.push(`  ${sayWithheld(seen.reason)}`);
  if (seen.reason === "redirect_refused") lines.push(`  ${sayRedirect(result)}`);
  if (response?.body_kind === "base64") lines.push(`  ${sayBytes(response)}`);
  return lines;
}

function sayRedirect({ action, response }: CallResult): string {
  const location = response?.headers["location"];
  const where = location === undefined ? "nowhere that can be read" : showBounded(String(location), 300);
  return `It redirects to ${where}, which the pack does not let this call follow. A person reads the pack with: gw pack show ${showIdentifier(action.split(".")[0] ?? "")}`;
}

function sayBytes({ headers, body }: NonNullable<CallResult["response"]>): string {
  const bytes = typeof body === "string" ? Buffer.byteLength(body, "base64") : 0;
  const type = headers["content-type"];
  const of = type === undefined ? "" : ` of ${showBounded(String(type), 100)}`;
  return `The answer is ${counted(bytes, "byte")}${of} and no text that can be shown; with --json it is there as base64.`;
}

/** Escaped for a person's terminal; as it came for a program that reads it. */
function bodyLines(response: CallResult["response"], escaped: boolean): readonly string[] {
  if (response?.body_kind === "json") {
    const lines = JSON.stringify(response.body, null, 2).split("\n");
    return escaped ? lines.map(showIdentifierLine) : lines;
  }
  if (response?.body_kind !== "text" || typeof response.body !== "string") return [];
  return escaped ? response.body.split("\n").map(showText) : [response.body];
}

/** What the one word means here; an unknown outcome is told apart from work that has only begun. */
function sayOutcome(outcome: CallResult["outcome"], confirmed: boolean, accepted: boolean, reads: boolean): string {
  switch (outcome) {
    case "success":
      if (reads) return "";
      return confirmed ? " (confirmed by a later read)" : " (the provider says so; no later read has confirmed it)";
    case "error":
      return "";
    case "unknown":
      return accepted ? " (accepted, not finished)" : " (it may have happened)";
  }
}

function sayWithheld(reason: string | null): string {
  if (reason === "credential_echoed") return "The response held the credential and was withheld (credential_echoed).";
  return `The response should hold a new secret that could not be told from the rest, and was withheld (${reason}).`;
}

function sayCost({ reserved_cents, charged_cents, basis, overage_cents }: CostRecord): string {
  const reserved = `${reserved_cents} cents reserved`;
  const over =
    overage_cents === 0 ? "" : `: ${overage_cents} cents beyond the reserve, and this run spends nothing more`;
  switch (basis) {
    case "stated":
      return `${reserved}, ${charged_cents} charged as the provider says${over}`;
    case "assumed":
      return `${reserved} and taken for spent: the provider did not say what it cost`;
    case "released":
      return `${reserved} and given back: nothing was done`;
    case "held":
      return `${reserved} and held: whether it was charged is not known`;
  }
}

function showIdentifierLine(line: string): string {
  const indent = line.length - line.trimStart().length;
  return `${" ".repeat(indent)}${showText(line.trimStart())}`;
}
