import type { RollbackFill } from "../../conventions/action/rollback.ts";
import { hideSecrets } from "../../conventions/outcome/hide-secrets.ts";
import { type CallResult, type ResponseRecord, readAnyJson } from "../../conventions/outcome/result.ts";
import { secretTexts } from "../../conventions/rollback/capability.ts";
import {
  capabilityIn,
  readPromotion,
  readStaleRollback,
  withoutCapability,
} from "../../conventions/rollback/read-provenance.ts";
import { digestJson } from "../../kernel/canonical-json.ts";
import { Denied } from "../../kernel/failure.ts";
import type { ApprovalId } from "../../kernel/ids.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { type Followed, follow, withBody } from "../attempt/follow.ts";
import { readJson } from "../attempt/read-json.ts";
import type { Attempted, Beside, Sending } from "../attempt/sending.ts";
import { concludeEffect } from "../operation/conclude-effect.ts";
import { bindDefinition } from "../outbound/admit.ts";
import { type Definition, type Outbound, reasonsToAsk } from "../outbound/outbound.ts";
import type { LiveCaller } from "../ports.ts";
import { partyOf, type Run } from "../run/run.ts";
import { type Deployment, endDeployment } from "./deployments.ts";
import type { RollbackNeeds } from "./needs.ts";
import { keepPromotion } from "./promotion.ts";
import { lookAtTarget, StaleDeployment, sayStale } from "./stale.ts";

export interface PreparedRollback {
  readonly outbound: Outbound;
  readonly deployment: Deployment;
  readonly because: readonly string[];
  readonly notes: readonly string[];
  /** Named in the request: the card that is shown bears this very identifier. */
  readonly approvalId: ApprovalId | null;
  /** What the question is about, whatever identifiers the request carries. */
  readonly sameAs: string;
}

/** Builds the request from the stored link. The agent says which deployment and why; everything else is on record. */
export function prepareRollback(
  core: Pick<RollbackNeeds, "credentials" | "deployments" | "ports">,
  caller: LiveCaller,
  run: Run,
  definition: Definition,
  input: JsonObject,
): PreparedRollback {
  const { pack, action } = definition;
  const deployment = core.deployments.find(pack.name, String(input["origin_deployment_id"] ?? ""));
  if (deployment === undefined || deployment.action !== `${pack.name}.${action.rollback?.of}`) {
    throw new Denied("deployment_unknown", "No such deployment was made through this gateway.");
  }
  requireHere(deployment);
  requireCurrent(core, deployment, definition);
  const { provenance, reversibility } = deployment;
  if (provenance.prior_release_id === null) {
    throw new Denied("rollback_impossible", "The stored record names no release before this one.");
  }
  const because: string[] = [];
  if (reversibility === "needing_repair")
    because.push("it is classified as needing repair, so that undoing it may not be enough");
  const own = deployment.runId === run.id && deployment.party === partyOf(run, caller.key);
  if (!own) because.push(`another run made this deployment (${deployment.runId}, ${deployment.madeAt})`);
  const label = pack.provider?.credential ?? null;
  const eachUse = label !== null && core.credentials()?.find(label)?.eachUse === true;
  const standing = run.sessions.get(caller.key)?.approvalId ?? null;
  const asks = because.length > 0 || reasonsToAsk(action, eachUse, standing !== null).length > 0 || standing === null;
  if (asks && because.length === 0) because.push("a rollback names the approval that it rests on");
  const approvalId = asks ? core.ports.ids.next("apr") : null;
  const fill: RollbackFill = {
    environment: provenance.environment,
    expectedCurrentReleaseId: provenance.release_id,
    expectedTargetGeneration: provenance.created_target_generation,
    restoreReleaseId: provenance.prior_release_id,
    approvalId: approvalId ?? standing ?? "",
  };
  const bound = bindDefinition(definition, input, { rollback: fill });
  const filled = {
    environment: fill.environment,
    expected_current_release_id: fill.expectedCurrentReleaseId,
    expected_target_generation: fill.expectedTargetGeneration,
    restore_release_id: fill.restoreReleaseId,
    approval_id: fill.approvalId,
  };
  return {
    outbound: { ...bound, shownArguments: { ...bound.shownArguments, ...filled } },
    deployment,
    because,
    notes: [`how far it can be undone, as classified and no further: ${reversibility.replaceAll("_", " ")}`],
    approvalId,
    sameAs: digestJson({ ...input, ...filled, approval_id: "" }),
  };
}

/** Two that undo one deployment would be one too many. */
function requireHere({ state, takenBy }: Deployment): void {
  if (state !== "taken_over") return;
  throw new Denied(
    "operation_taken_over",
    `${takenBy ?? "Another gateway"} took over what this gateway had deployed, and can undo it. Nothing was sent. Ask there.`,
  );
}

/** Only while the generation that it created is the newest we know of; the provider has the last word. */
function requireCurrent(
  core: Pick<RollbackNeeds, "deployments">,
  deployment: Deployment,
  definition: Definition,
): void {
  const { provenance, pack } = deployment;
  const newest = core.deployments.newest(pack, provenance.environment);
  if (deployment.state === "current" && (newest === undefined || newest.id === deployment.id)) return;
  // What the provider answered to a later promotion was observed; of a target nobody looked at since, nothing was.
  const later = newest !== undefined && newest.id !== deployment.id ? newest : null;
  const { created_target_generation: generation, release_id: release } = later?.provenance ?? provenance;
  const seen = later === null ? null : { generation, release, at: later.madeAt, with: later.action };
  throw new StaleDeployment(deployment, definition, seen);
}

/** Asked again once a person has agreed: a newer release, or another rollback, may have come meanwhile. */
async function requireStill(core: RollbackNeeds, sending: Sending, asked: Deployment): Promise<Deployment> {
  const { run, session, callId, outbound } = sending;
  try {
    const deployment = core.deployments.find(asked.pack, asked.provenance.deployment_id) ?? asked;
    requireHere(deployment);
    requireCurrent(core, deployment, outbound.definition);
    return deployment;
  } catch (error) {
    throw await lookAtTarget(core, run, session, callId, error);
  }
}

/** A 409 stops: the observed values are attached, nothing is tried again, and this deployment is not undone any more. */
export async function rollBackThrough(core: RollbackNeeds, sending: Sending, asked: Deployment): Promise<CallResult> {
  const deployment = await requireStill(core, sending, asked);
  const after = ({ verdict, observation }: Attempted): Beside => {
    if (isReceipt(sending, verdict)) return { events: [], rows: [endDeployment(deployment, "rolled_back")] };
    return { events: [], rows: staleIn(observation) === null ? [] : [endDeployment(deployment, "stale")] };
  };
  const followed = await follow(core, { ...sending, errand: "rollback", after });
  // After a try that nobody saw the end of, it may have been that one which changed the target.
  const stale = followed.result.outcome === "error" ? staleIn(followed.observation) : null;
  if (stale !== null) throw new Denied("stale_rollback", sayStale(""), { extra: stale });
  return concludeEffect(core, sending, followed, sending.outbound.input);
}

function staleIn(observation: Attempted["observation"]): ReturnType<typeof readStaleRollback> {
  return observation.kind === "answered" ? readStaleRollback(observation.status, readJson(observation)) : null;
}

/** An answer to this very request, and not to a read that a redirect made of it. */
function isReceipt(
  { claim }: Sending,
  verdict: Attempted["verdict"],
): verdict is Extract<Attempted["verdict"], { readonly kind: "success" }> {
  return verdict.kind === "success" && !(typeof claim === "object" && claim.doubt);
}

/** Keeps the provenance of a promotion together with its completion. What undoing it needs is never asked of an agent. */
export async function promoteThrough(
  core: RollbackNeeds,
  sending: Sending,
  through: (sending: Sending) => Promise<Followed>,
  intent: JsonObject,
): Promise<CallResult> {
  const after = ({ verdict }: Attempted): Beside => {
    if (!isReceipt(sending, verdict)) return NOTHING;
    const made = { runId: sending.run.id, party: partyOf(sending.run, sending.session.caller.key), intent };
    const rows = keepPromotion(core, sending.outbound.definition, made, readJson(verdict.observation));
    return { events: [], rows };
  };
  const followed = await through({ ...sending, errand: "promote", after });
  const result = await concludeEffect(core, sending, followed, intent);
  const { response } = result;
  return response === null ? result : { ...result, response: hideCapability(response) };
}

/** Neither the member nor what it says, should that stand in the answer a second time. */
function hideCapability(response: ResponseRecord): ResponseRecord {
  const body = readAnyJson(response);
  const shown = body === undefined ? body : withoutCapability(body);
  if (body === undefined || shown === undefined || shown === body) return response;
  const { capability, provenance } = readPromotion(body) ?? { capability: capabilityIn(body), provenance: {} };
  const content = { headers: response.headers as Record<string, string>, body: Buffer.from(JSON.stringify(shown)) };
  const { headers, body: rest, withheld } = hideSecrets(content, secretTexts(capability, provenance));
  if (withheld) return { ...response, headers, body: null, body_kind: "withheld" };
  return withBody(response, JSON.parse(rest.toString("utf8")) as JsonValue, headers);
}

const NOTHING: Beside = { events: [], rows: [] };
