import type { Command } from "commander";
import { renderCard } from "../../../conventions/approval/render.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { ApprovalView } from "../../client/operator.ts";
import { answering } from "../answer.ts";
import { exits } from "../io.ts";
import { withGateway } from "../operator/session.ts";
import { addOperatorCommand, type CliDeps, type OperatorOptions, optionsOf } from "./deps.ts";

interface ApproveOptions extends OperatorOptions {
  readonly only?: readonly string[];
  readonly attempts?: number;
  readonly sideEffects?: number;
  readonly minutes?: number;
  readonly spendCents?: number;
  readonly reason?: string;
}

export function addApprovalCommands(program: Command, deps: CliDeps): void {
  const { io, finish } = deps;
  addOperatorCommand(program, "approvals", "the questions that wait for a person", "gw approvals --json").action(
    async (_options, command: Command) => {
      const options = optionsOf<OperatorOptions>(command);
      finish(
        await answering(io, () =>
          withGateway(options, deps, async ({ client }) => {
            const waiting = await client.approvals();
            if (options.json) io.out(JSON.stringify(waiting, null, 2));
            else if (waiting.length === 0) io.out("Nothing waits for a decision.");
            else for (const approval of waiting) for (const line of approvalLines(approval)) io.out(line);
            return exits.done;
          }),
        ),
      );
    },
  );
  const many = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  addOperatorCommand(program, "approve <ID>", "sign a yes to exactly this card", "gw approve apr_01k... --attempts 5")
    .option("--only <ACTION>", "grant only this action of those asked for (repeatable)", many)
    .option("--attempts <N>", "grant at most N attempts", Number)
    .option("--side-effects <N>", "grant at most N side effects", Number)
    .option("--minutes <N>", "grant at most N minutes", Number)
    .option("--spend-cents <N>", "grant at most N cents", Number)
    .action(async (id: string, _options, command: Command) => {
      const options = optionsOf<ApproveOptions>(command);
      finish(await answering(io, () => decide(id, "approve", options, deps)));
    });
  addOperatorCommand(
    program,
    "deny <ID>",
    "sign a no; the reason reaches the agent",
    'gw deny apr_01k... --reason "not on Friday"',
  )
    .option("--reason <TEXT>", "why")
    .action(async (id: string, _options, command: Command) => {
      const options = optionsOf<ApproveOptions>(command);
      finish(await answering(io, () => decide(id, "deny", options, deps)));
    });
  addOperatorCommand(program, "revoke <SESSION>", "end a session now", "gw revoke ses_01k... --reason done")
    .option("--reason <TEXT>", "why, for the log")
    .action(async (id: string, _options, command: Command) => {
      const options = optionsOf<ApproveOptions>(command);
      finish(
        await answering(io, () =>
          withGateway(options, deps, async ({ client }) => {
            await client.revoke(id, options.reason ?? null);
            if (options.json) io.out(JSON.stringify({ session_id: id, state: "ended" }));
            else io.out(`Session ${showIdentifier(id)} has ended.`);
            return exits.done;
          }),
        ),
      );
    });
}

function decide(id: string, decision: "approve" | "deny", options: ApproveOptions, deps: CliDeps) {
  return withGateway(options, deps, async ({ client }) => {
    const approval = await client.approval(id);
    if (approval.state !== "pending") {
      throw new Denied("approval_not_pending", `${showIdentifier(id)} is ${approval.state}; nothing was changed.`);
    }
    if (!options.json) for (const line of approvalLines(approval)) deps.io.err(line);
    const decided = await client.decide(approval, {
      decision,
      reason: options.reason ?? null,
      narrow: decision === "deny" ? null : narrowing(approval, options),
    });
    if (options.json) deps.io.out(JSON.stringify(decided, null, 2));
    else deps.io.out(`${showIdentifier(id)} is ${decided.state}.`);
    return exits.done;
  });
}

function narrowing({ card }: ApprovalView, options: ApproveOptions) {
  const { only, attempts, sideEffects, minutes, spendCents } = options;
  const limits = [attempts, sideEffects, minutes, spendCents];
  if (limits.some((limit) => limit !== undefined && (!Number.isSafeInteger(limit) || limit < 0))) {
    throw new Denied("schema_violation", "--attempts, --side-effects, --minutes and --spend-cents take whole numbers.");
  }
  const narrows = limits.some((limit) => limit !== undefined);
  if (only === undefined && !narrows) return null;
  const asked = card.run.budget;
  return {
    actions: only ?? null,
    request_bytes: null,
    budget: narrows
      ? {
          attempts: attempts ?? asked.attempts,
          side_effects: sideEffects ?? asked.side_effects,
          duration_seconds: minutes === undefined ? asked.duration_seconds : minutes * 60,
          spend_cents: spendCents ?? asked.spend_cents,
        }
      : null,
  };
}

function approvalLines(approval: ApprovalView): readonly string[] {
  return [
    `${approval.approval_id}  ${approval.state}, ${Math.ceil(approval.expires_in_ms / 1000)} s left`,
    ...renderCard(approval.card).map((line) => `  ${line}`),
    "",
  ];
}
