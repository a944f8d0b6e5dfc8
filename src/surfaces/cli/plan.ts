import { planLines } from "../../conventions/approval/render-plan.ts";
import type { PlanRecord } from "../../conventions/plan/record.ts";
import { showIdentifier } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import { type AgentClient, type CallAnswer, connectAgent } from "../client/agent.ts";
import { answering } from "./answer.ts";
import {
  awaitCall,
  type CallOptions,
  definitionOf,
  readArguments,
  report,
  runFor,
  textMembersOf,
  withArgumentsNamed,
} from "./call.ts";
import { type CliIo, type Exit, exits } from "./io.ts";
import { agentDoor } from "./options.ts";
import { planPairOf, previewedBy } from "./plan-pair.ts";
import { hangOf, sayProse } from "./say-prose.ts";

export interface PlanOptions extends CallOptions {
  readonly execute?: boolean;
}

export interface ExecuteOptions extends CallOptions {
  readonly expect: string;
}

/** `gw plan ACTION`: what it would change. With --execute this process stays alive and carries the plan out. */
export function runPlan(action: string, pairs: readonly string[], options: PlanOptions, io: CliIo): Promise<Exit> {
  return answering(io, () =>
    withClient(options, async (client) => {
      try {
        return await planAndReport(client, action, pairs, options, io);
      } catch (error) {
        throw withArgumentsNamed(error, action);
      }
    }),
  );
}

/** `gw execute PLAN_ID --expect REVISION`: for processes of one `gw run`, which act as one caller. */
export function runExecute(planId: string, options: ExecuteOptions, io: CliIo): Promise<Exit> {
  return answering(io, () =>
    withClient(options, async (client) => {
      const execute = (wait: number) => client.execute(planId, options.expect, wait);
      return report(await awaitCall(client, execute, options, io), options, io);
    }),
  );
}

async function withClient<Result>(
  options: CallOptions,
  work: (client: AgentClient) => Promise<Result>,
): Promise<Result> {
  const client = connectAgent(agentDoor(options));
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

async function planAndReport(
  client: AgentClient,
  action: string,
  pairs: readonly string[],
  options: PlanOptions,
  io: CliIo,
): Promise<Exit> {
  const pair = await findPair(client, action);
  const input = readArguments(pairs, options.input, textMembersOf(await definitionOf(client, pair.preview)));
  const run = await runFor(client, `gw plan ${action}`, [pair.preview, pair.executes], options);
  const preview = (wait: number) => client.plan(run.run_id, pair.executes, input, wait);
  const answer = await awaitCall(client, preview, options, io);
  const plan = planOf(answer);
  if (plan === null) return report(answer, options, io);
  if (options.json && options.execute !== true) io.out(JSON.stringify(plan, null, 2));
  else if (!options.json) printPlan(plan, io);
  if (options.execute !== true) {
    if (!options.json) io.out(whatNext(plan, options));
    return plan.executable ? exits.done : exits.denied;
  }
  if (!plan.executable) throw new Denied("plan_not_executable", NOT_EXECUTABLE);
  const told =
    "Nothing was changed yet. Waiting for a person to approve this plan: gw approve, gw watch or gw console.";
  const execute = (wait: number) => client.execute(plan.plan_id, plan.expected_revision, wait);
  return report(await awaitCall(client, execute, options, io, told), options, io);
}

/** What it would change, broken where the window ends as on the card. */
export function printPlan(plan: Parameters<typeof planLines>[0], io: Pick<CliIo, "out" | "columns">): void {
  for (const line of planLines(plan)) sayProse(io, line, hangOf(line));
}

const NOT_EXECUTABLE =
  "Nothing was changed, and this plan cannot be carried out: see BLOCKED BY above for what stands in the way.";

/** A plan belongs to whoever made it: another process can carry it out only under one gw run. */
function whatNext(plan: PlanRecord, { wrapped }: PlanOptions): string {
  if (!plan.executable) return NOT_EXECUTABLE;
  const execute = `gw execute ${showIdentifier(plan.plan_id)} --expect ${showIdentifier(plan.expected_revision)}`;
  return wrapped === undefined
    ? "Nothing was changed. This plan ends with this process: plan again with --execute to carry it out."
    : `Nothing was changed. To carry it out, from this run: ${execute}`;
}

function planOf(answer: CallAnswer): PlanRecord | null {
  return answer.kind === "result" ? (answer.result.plan ?? null) : null;
}

/** Both names of the pair: a run that may preview and execute asks for both. */
async function findPair(
  client: AgentClient,
  name: string,
): Promise<{ readonly preview: string; readonly executes: string }> {
  const actions = await client.actions();
  const found = actions.find((one) => one.action === name);
  if (found === undefined)
    throw new Denied("action_not_permitted", `No trusted pack has an action ${showIdentifier(name)}.`, {
      next: "See what there is: gw actions",
    });
  const pair = planPairOf(found, actions);
  if (pair === null) {
    const several = previewedBy(found, actions).map(({ action }) => showIdentifier(action));
    const what =
      several.length > 0
        ? `previews several. Name one of ${several.join(", ")}.`
        : `has no preview. Ask for it with: gw call ${name}`;
    throw new Denied("plan_required", `${showIdentifier(name)} ${what}`);
  }
  return { preview: pair.preview.action, executes: pair.executes.action };
}
