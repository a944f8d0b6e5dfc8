import { isNestedWithin } from "../../packages/request/src/json/depth.ts";
import { compileSchema, type JsonSchema } from "../../packages/request/src/schema.ts";
import {
  anyObject,
  count,
  flag,
  list,
  object,
  orNull,
  text,
  textOrNull,
  whole,
} from "../../packages/request/src/shape.ts";
import { operationCauses, operationStates } from "../conventions/operation/state.ts";
import { codes } from "../kernel/codes.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { isJsonObject, type JsonValue } from "../kernel/json.ts";
import { CLAIM } from "./attempt/claim.ts";
import { MINTED } from "./attempt/mint.ts";
import type { StateRow } from "./ports.ts";

type LeftRow = Pick<StateRow, "table" | "id" | "runId" | "state" | "body">;

/**
 * Denied where rows of another gateway are not of the kinds that are read of them here. It may be owned by somebody else, who seals whatever
 * they like: our own rows are believed, these are not. Members that this gateway does not know are a newer one's, and let be.
 */
export function requireReadable(gateway: string, rows: readonly LeftRow[]): void {
  if (rows.every(isReadable)) return;
  throw new Denied(
    "hub_state_tampered",
    `What ${gateway} says that it had under way is nothing that a gateway of this version writes. Nothing of it was used. If a newer gw runs there, upgrade this one and try again; if not, find out who owns that host. What it had under way is in its log (gw activity --hub URL) and at the providers.`,
  );
}

function isReadable({ table, id, runId, state, body }: LeftRow): boolean {
  if (id.length > NAME_CHARACTERS || runId.length > NAME_CHARACTERS) return false;
  switch (table) {
    case "operations":
      return OPERATION_ID.test(id) && STATES.has(state) && fits(operation, body);
    case "attempts":
      return ATTEMPT_ID.test(id) && fits(attempt, body);
    case "deployments":
      return fits(deployment, body) && isJsonText(body["capability"] ?? null);
    case "notes":
      return isReadableNote(id, state, body);
    case "runs":
    case "plans":
      return true;
  }
}

function isReadableNote(id: string, state: string, body: LeftRow["body"]): boolean {
  if (state === CLAIM) return fits(claim, body) && evidenceIn(body).every((one) => fits(attempt, one));
  // What is named otherwise is no secret, and not taken over.
  if (state === MINTED && id.startsWith(`${MINTED} `))
    return fits(minted, body) && id === `${MINTED} ${body["minted_id"]}`;
  return true;
}

/** What a start reads of a call that was on its way. */
function evidenceIn({ holders }: LeftRow["body"]): readonly JsonValue[] {
  if (!Array.isArray(holders)) return [];
  return (holders as readonly JsonValue[]).flatMap((one) => {
    const evidence = isJsonObject(one) ? one["evidence"] : undefined;
    return isJsonObject(evidence) && evidence["side_effect"] === true ? [evidence] : [];
  });
}

/** What is nested without end can be read and never written again; an answer that it came from was not. */
function isJsonText(value: JsonValue): boolean {
  if (typeof value !== "string") return true;
  if (!isNestedWithin(value, defaults.jsonDepth)) return false;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

const NAME_CHARACTERS = 512;
const OPERATION_ID = /^op_[A-Za-z0-9]{1,64}$/;
const ATTEMPT_ID = /^[a-z]{2,8}_[A-Za-z0-9]{1,64}$/;
const STATES: ReadonlySet<string> = new Set(operationStates);

type Members = Readonly<Record<string, JsonSchema>>;

/** With whatever else stands in it. */
function open(required: Members, optional: Members = {}) {
  return { ...object(required, optional), additionalProperties: true } as const;
}

const number = { type: "number" } as const;
/** Reckoned with: in years that clocks show, also one that lost its battery. */
const time = { type: "string", format: "date-time", pattern: "^[12][0-9]{3}-[0-9T:.-]{10,30}Z$" } as const;
/** Counted on from: no gateway counts as far, and nothing that is added to it is lost. */
const counted = { ...count, maximum: 2 ** 31 } as const;
const duration = { ...count, maximum: 100 * 366 * 86_400_000 } as const;
const moment = open({ at: time, bootMs: number });
const plan = open({ planId: text, planRevision: text });
const authorization = open(
  { kind: { enum: ["session", "each_use", "operator", "grant"] }, authorizedBy: text, decidedAt: text },
  { approvalId: textOrNull, bounded: list(text) },
);

const operation = compileSchema(
  open(
    {
      ...{ kind: { enum: ["job", "write"] }, callId: text, sessionId: text, callerKey: text, party: text },
      ...{ action: text, packDigest: text, input: anyObject, fingerprint: text, authorization },
      ...{ createdAt: time, createDeadline: moment, resultDeadline: moment },
      ...{ checks: counted, faults: counted },
      history: list(
        open(
          { at: text, actor: text, from: { enum: operationStates }, to: { enum: operationStates } },
          { cause: { enum: operationCauses }, remote_job_id: textOrNull },
        ),
      ),
      purse: open({
        limits: open({ attempts: counted, sideEffects: counted, durationMs: duration, spendCents: count }),
        ...{ attemptsUsed: counted, sideEffectAttempts: counted },
      }),
    },
    {
      ...{ credential: textOrNull, plan: orNull(plan), claim: textOrNull, token: textOrNull },
      ...{ firstSent: orNull(moment), nextPoll: orNull(moment), takenFrom: text, boot_id: text, worker: text },
      ...{ remoteJobId: textOrNull, remoteState: textOrNull, attemptId: textOrNull, resultDigest: textOrNull },
      ...{ progress: orNull(open({ completed: number, total: number })), custodian: flag },
      ...{ repeats: counted, held: count, heldOn: text },
      hinted: open({ allowed: counted, reads: counted }),
      lease: orNull(open({ owner: text, term: counted }, { expires_at: text, expires_boot_ms: number, boot_id: text })),
      cancel: orNull(open({ actor: text, reason: text, expectedEffect: text, at: text })),
      resumes: list(
        open({
          ...{ call_id: text, attempt_id: text, actor: text, reason: text, at: text },
          outcome: { enum: ["pending", "accepted", "refused", "unknown"] },
        }),
      ),
      problem: orNull(open({ code: { enum: Object.keys(codes) }, detail: text })),
    },
  ),
);

const attempt = compileSchema(
  open(
    { call_id: text, session_id: text, action: text, side_effect: flag, request_digest: text, authorization },
    {
      ...{ preview: flag, operation_id: text, target: text, method: text, channel: text },
      ...{ maximum_cents: count, reserved_on: text, input: anyObject, pack_digest: text },
      ...{ token: textOrNull, caller: text, plan: orNull(plan), claim: text },
    },
  ),
);

const claim = compileSchema(
  open(
    {},
    {
      holders: list(
        open({
          ...{ call_id: text, run_id: text, action: text, started_by: text, at: text },
          ...{ under_way: flag, operation_id: textOrNull, attempt_id: text, evidence: anyObject },
        }),
      ),
    },
  ),
);

const minted = compileSchema(
  open(
    { minted_id: { ...text, pattern: "^[a-z]{2,8}_[A-Za-z0-9]{1,64}[.][0-9]{1,2}$" }, action: text, at: time },
    {
      ...{ pointer: text, credential: textOrNull, secret: textOrNull, held: text, taken_by: text },
    },
  ),
);

const deployment = compileSchema(
  open(
    {
      ...{ party: text, pack: text, action: text },
      provenance: open(
        { deployment_id: text, environment: text, created_target_generation: whole },
        {
          ...{ release_id: text, artifact_digest: textOrNull, source_revision: textOrNull, config_digest: textOrNull },
          ...{ prior_release_id: textOrNull, migration_set_id: textOrNull, actor_id: textOrNull },
        },
      ),
    },
    {
      reversibility: { enum: ["reversible_at_application_level", "reversible_at_traffic_level", "needing_repair"] },
      ...{ madeAt: text, credential: textOrNull, takenBy: text },
    },
  ),
);

function fits(check: ReturnType<typeof compileSchema>, value: JsonValue): boolean {
  return check(value).length === 0;
}
