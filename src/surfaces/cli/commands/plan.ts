import type { Command } from "commander";
import type { ExecuteOptions, PlanOptions } from "../plan.ts";
import { readSeconds, wrappedBy } from "./call.ts";
import { addCommand, type CliDeps, optionsOf } from "./deps.ts";

export function addPlanCommands(program: Command, { io, finish }: CliDeps): void {
  const load = () => import("../plan.ts");
  addCommand(
    program,
    "plan <ACTION> [ARGUMENTS...]",
    "preview an action: what it would change, as a diff",
    "gw plan acme.membership.apply project_id=p1 subject_id=u1 role=editor if_match=r7 --execute",
  )
    .option("--input <JSON>", "the arguments as one JSON object")
    .option("--execute", "carry the plan out, once a person has approved it")
    .option("--wait <SECONDS>", "how long to wait for a person", readSeconds, 300)
    .option("--run <RUN>", "join this run, with a card of its own")
    .option("--purpose <TEXT>", "what the person is told, as your words")
    .action(async (action: string, pairs: string[], _options, command: Command) =>
      finish(
        await (await load()).runPlan(
          action,
          pairs,
          { ...optionsOf<PlanOptions>(command), ...wrappedBy(process.env) },
          io,
        ),
      ),
    );
  addCommand(
    program,
    "execute <PLAN>",
    "carry out a plan of the same run, by the revision that was read",
    "gw execute plan_01k... --expect r7",
  )
    .requiredOption("--expect <REVISION>", "the revision that the preview was made from")
    .option("--wait <SECONDS>", "how long to wait for a person", readSeconds, 300)
    .action(async (plan: string, _options, command: Command) =>
      finish(await (await load()).runExecute(plan, optionsOf<ExecuteOptions>(command), io)),
    );
}
