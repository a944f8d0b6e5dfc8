import { renderCard } from "../../../conventions/approval/render.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { ApprovalView } from "../../client/operator.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import type { OperatorOptions } from "../options.ts";
import { withGateway } from "./session.ts";

export interface ApproveOptions extends OperatorOptions {
  readonly only?: readonly string[];
  readonly attempts?: number;
  readonly sideEffects?: number;
  readonly minutes?: number;
  readonly spendCents?: number;
  readonly reason?: string;
}

/** `gw approvals`. */
export function runApprovals(options: OperatorOptions, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  return answering(io, () =>
    withGateway(options, deps, async ({ client }) => {
      const waiting = await client.approvals();
      if (options.json) io.out(JSON.stringify(waiting, null, 2));
      else if (waiting.length === 0) io.out("Nothing waits for a decision.");
      else for (const approval of waiting) for (const line of approvalLines(approval)) io.out(line);
      return exits.done;
    }),
  );
}

/** `gw approve ID` and `gw deny ID`: a signature over exactly the card that is printed. */
export function runDecide(
  id: string,
  decision: "approve" | "deny",
  options: ApproveOptions,
  deps: CliDeps,
): Promise<Exit> {
  return answering(deps.io, () => decide(id, decision, options, deps));
}

/** `gw revoke SESSION`. */
export function runRevoke(id: string, options: ApproveOptions, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  return answering(io, () =>
    withGateway(options, deps, async ({ client }) => {
      await client.revoke(id, options.reason ?? null);
      if (options.json) io.out(JSON.stringify({ session_id: id, state: "ended" }));
      else io.out(`Session ${showIdentifier(id)} has ended.`);
      return exits.done;
    }),
  );
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
