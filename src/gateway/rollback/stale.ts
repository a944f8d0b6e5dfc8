import { readTarget } from "../../conventions/rollback/read-provenance.ts";
import type { StaleRollback } from "../../conventions/rollback/record.ts";
import { isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CallId } from "../../kernel/ids.ts";
import { authorizedBySession } from "../approval/authorize.ts";
import { attempt } from "../attempt/attempt.ts";
import { bindRead } from "../attempt/bind-read.ts";
import { readJson } from "../attempt/read-json.ts";
import { requireCredential } from "../outbound/admit.ts";
import { type Definition, reasonsToAsk } from "../outbound/outbound.ts";
import { sendOf } from "../outbound/request.ts";
import type { Run, Session } from "../run/run.ts";
import type { Deployment } from "./deployments.ts";
import type { RollbackNeeds } from "./needs.ts";

/** What was seen of a target, when, and with which read; the answer to a later promotion shows it as well as a read does. */
export interface Seen {
  readonly generation: number;
  readonly release: string;
  readonly at: string;
  readonly with: string;
}

/** This gateway knows by itself that the deployment is not current. What is there instead is read before it is told. */
export class StaleDeployment extends Denied {
  readonly deployment: Deployment;
  readonly definition: Definition;
  readonly later: Seen | null;

  constructor(deployment: Deployment, definition: Definition, later: Seen | null, why = "nobody looked") {
    const { deployment_id, created_target_generation } = deployment.provenance;
    const observed: StaleRollback = {
      error: "stale_rollback",
      origin_deployment_id: deployment_id,
      expected_target_generation: created_target_generation,
      observed_target_generation: later?.generation ?? null,
      observed_release_id: later?.release ?? null,
    };
    const seen =
      later === null
        ? ` The target was not read: ${why}.`
        : ` What is shown was seen at ${later.at} with ${later.with}.`;
    super("stale_rollback", sayStale(seen), {
      extra: { ...observed, observed_at: later?.at ?? null, observed_with: later?.with ?? null },
    });
    this.deployment = deployment;
    this.definition = definition;
    this.later = later;
  }
}

export function sayStale(seen: string): string {
  return `The target is no longer what this rollback expects.${seen} Nothing changed; stop, and ask for a new decision.`;
}

/** The same refusal with what the target is now, where the session that asks may be answered and the read can be made. */
export async function lookAtTarget(
  core: RollbackNeeds,
  run: Run,
  session: Session | undefined,
  callId: CallId,
  error: unknown,
) {
  if (!(error instanceof StaleDeployment)) return error;
  const { deployment, definition, later } = error;
  const seen = await readNow(core, run, session, callId, error);
  return typeof seen === "string"
    ? new StaleDeployment(deployment, definition, later, seen)
    : new StaleDeployment(deployment, definition, seen);
}

/** What is there, or why nobody read it. One plain read, as the definition confirms with, under the session's approval. */
async function readNow(
  core: RollbackNeeds,
  run: Run,
  session: Session | undefined,
  callId: CallId,
  { deployment, definition }: StaleDeployment,
): Promise<Seen | string> {
  const { pack, action } = definition;
  const name = action.confirm ?? pack.actions.get(action.rollback?.of ?? "")?.confirm ?? "";
  const reader = core.packs().find(`${pack.name}.${name}`);
  if (reader === null || reader.pack.digest !== pack.digest) return "the pack names no read that shows it";
  if (session === undefined || session.grant !== null) return "no person has approved this session";
  try {
    const outbound = bindRead(reader, { environment: deployment.provenance.environment });
    if (outbound === null) return `${name} needs more than the environment`;
    const { eachUse } = requireCredential(core, outbound);
    if (reasonsToAsk(reader.action, eachUse, true).length > 0) return `${name} asks on every use`;
    const { verdict } = await attempt(core, {
      ...{ errand: "confirm", run, session, callId, outbound },
      authorization: authorizedBySession(session),
      request: sendOf(core, outbound, callId),
      credential: outbound.credential,
    });
    if (verdict.kind !== "success") return `${name} failed`;
    const target = readTarget(readJson(verdict.observation), deployment.provenance.environment);
    if (target === null) return `the answer of ${name} does not say`;
    return { ...target, at: isoTime(core.ports.clock.wallMs()), with: reader.action.qualifiedName };
  } catch (error) {
    if (error instanceof Denied) return `${name} was refused (${error.code})`;
    throw error;
  }
}
