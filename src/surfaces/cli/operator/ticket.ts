import { composeContext } from "../../../conventions/ticket/compose.ts";
import { isContextTime, readContext, type WorkContext } from "../../../conventions/ticket/context.ts";
import { signContext } from "../../../conventions/ticket/sign.ts";
import { digestBytes } from "../../../kernel/canonical-json.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier, showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { readId } from "../../../kernel/ids.ts";
import type { TicketView } from "../../operator/answers.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import type { OperatorOptions } from "../options.ts";
import { readGivenFile } from "../read-given-file.ts";
import { hangOf, sayProse } from "../say-prose.ts";
import { withGateway, withReadingGateway } from "./session.ts";

export interface TicketOptions extends OperatorOptions {
  /** SYSTEM:REF; only an emergency does without. */
  readonly ref?: string;
  readonly target: readonly string[];
  readonly operation: readonly string[];
  readonly minutes?: number;
  readonly state?: string;
  readonly emergency?: boolean;
  readonly reason?: string;
  readonly openedAt?: string;
  readonly change?: string;
  readonly manifest?: string;
}

/** No run is longer. */
const MOST_MINUTES = defaults.runMaximumDurationMs / 60_000;

/** `gw ticket issue RUN`: the context is signed here, in the operator's own process, and attached to the run. */
export function runTicketIssue(runId: string, options: TicketOptions, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, () => {
    requireRun(runId);
    // What could not be signed is said before anybody types a passphrase.
    readContext(writeContext(runId, options, "operator", deps.clock.wallMs(), Number.POSITIVE_INFINITY) as never);
    return withGateway(options, deps, async ({ client, operator }) => {
      const { deadline_at } = await client.ticket(runId);
      const context = writeContext(runId, options, operator.name, deps.clock.wallMs(), Date.parse(deadline_at));
      const signed = await signContext(context, { keyId: operator.keyId, key: operator.approver.key });
      return report(await client.attachTicket(runId, signed), options, deps);
    });
  });
}

/** `gw ticket attach RUN FILE`: what a configured issuer signed. The gateway decides whether it counts. */
export function runTicketAttach(runId: string, file: string, options: OperatorOptions, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, () => {
    requireRun(runId);
    const context = readGivenFile(file, defaults.ticketContextCharacters, "ticket_invalid").toString("utf8").trim();
    return withGateway(options, deps, async ({ client }) =>
      report(await client.attachTicket(runId, context), options, deps),
    );
  });
}

export function runTicketShow(runId: string, options: OperatorOptions, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, () => {
    requireRun(runId);
    return withReadingGateway(options, deps, async ({ client }) => report(await client.ticket(runId), options, deps));
  });
}

function requireRun(runId: string): void {
  if (readId("run", runId) === undefined)
    throw new Denied("not_found", `"${showText(runId)}" is no run. See them with: gw sessions`);
}

/** The options as an assignment, and that as what is signed. */
export function writeContext(
  runId: string,
  options: TicketOptions,
  issuer: string,
  nowMs: number,
  deadlineMs: number,
): WorkContext {
  const { ref, minutes, change, manifest, target, operation, state } = options;
  if (minutes !== undefined && (!Number.isSafeInteger(minutes) || minutes < 1 || minutes > MOST_MINUTES)) {
    throw new Denied("ticket_invalid", `--minutes takes a whole number of minutes, 1 to ${MOST_MINUTES}.`);
  }
  if ((change === undefined) !== (manifest === undefined)) {
    throw new Denied("ticket_invalid", "A batch has both: --change ID and --manifest FILE.");
  }
  const assignment = {
    ref: ref ?? null,
    targets: target,
    operations: operation,
    state: state ?? null,
    emergency: emergencyOf(options),
    ...(minutes === undefined ? {} : { lastsMs: minutes * 60_000 }),
    ...(change === undefined || manifest === undefined
      ? {}
      : {
          batch: {
            change_execution_id: change,
            manifest_digest: digestBytes(readGivenFile(manifest, defaults.multipartFileBytes, "ticket_invalid")),
          },
        }),
  };
  return composeContext(assignment, { id: runId, deadlineMs }, issuer, nowMs);
}

/** `--emergency --reason TEXT [--opened-at TIME]`, all of it or nothing. */
export function emergencyOf({
  emergency,
  reason,
  openedAt,
}: Pick<TicketOptions, "emergency" | "reason" | "openedAt">): NonNullable<WorkContext["emergency"]> | null {
  if (emergency === true && (reason ?? "").trim() === "")
    throw new Denied("ticket_invalid", "--emergency needs --reason TEXT: why it cannot wait for a ticket.");
  if (openedAt !== undefined && !isContextTime(openedAt))
    throw new Denied("ticket_invalid", "--opened-at takes a time in UTC, such as 2030-01-31T12:00:00Z.");
  if (emergency === true) return { reason: reason ?? "", normal_ticket_opened_at: openedAt ?? null };
  if (reason !== undefined || openedAt !== undefined) {
    throw new Denied("ticket_invalid", "--reason and --opened-at go with --emergency.");
  }
  return null;
}

function report(view: TicketView, { json }: OperatorOptions, { io }: CliDeps): Exit {
  if (json) io.out(JSON.stringify(view, null, 2));
  else for (const line of ticketLines(view)) sayProse(io, line, hangOf(line));
  return exits.done;
}

function ticketLines({ run_id, state, deadline_at, ticket }: TicketView): readonly string[] {
  const run = `run ${showIdentifier(run_id)}, ${showIdentifier(state)}, until ${showText(deadline_at)}`;
  if (ticket === null)
    return [run, "  No work context is attached; whoever approves a call that needs a ticket has to name one."];
  const { emergency, batch, lapsed } = ticket;
  return [
    run,
    ...(lapsed === null ? [] : [`  NO LONGER   ${showIdentifier(lapsed.code)}: ${showText(lapsed.message)}`]),
    ...(emergency === undefined ? [] : [`  EMERGENCY   ${showText(emergency.reason)}`]),
    `  ticket      ${showIdentifier(ticket.ticket_ref)} (${showText(ticket.observed_state)})`,
    `  signed by   ${showIdentifier(ticket.issuer)}, good until ${showText(ticket.expires_at)}`,
    ...ticket.allowed_operations.map((operation) => `  operation   ${showIdentifier(operation)}`),
    ...ticket.allowed_targets.map((target) => `  target      ${showIdentifier(target)}`),
    ...(batch === undefined ? [] : [`  batch       ${showIdentifier(batch.change_execution_id)}`]),
    `  scope       ${showIdentifier(ticket.scope_digest)}`,
  ];
}
