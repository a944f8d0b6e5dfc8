import { showsExpected } from "../../conventions/outcome/confirm.ts";
import { digestBytes } from "../../kernel/canonical-json.ts";
import { Denied } from "../../kernel/failure.ts";
import { isJsonObject, type JsonObject } from "../../kernel/json.ts";
import { requireCredential } from "../outbound/admit.ts";
import { type Definition, type Outbound, reasonsToAsk } from "../outbound/outbound.ts";
import { sendOf } from "../outbound/request.ts";
import { attempt } from "./attempt.ts";
import { bindRead } from "./bind-read.ts";
import type { Followed } from "./follow.ts";
import type { AttemptNeeds } from "./needs.ts";
import { readJson } from "./read-json.ts";
import type { Sending } from "./sending.ts";

/**
 * A receipt alone confirms nothing: the read that the definition names must show the expected state. It is an attempt
 * like any other; where it cannot be made, or shows something else, the success stands unconfirmed.
 */
export async function confirmSuccess(
  core: AttemptNeeds,
  sending: Sending,
  { attemptId, verdict }: Followed,
  intent: JsonObject,
): Promise<boolean> {
  const { pack, action } = sending.outbound.definition;
  const reader = action.confirm === null ? null : core.packs().find(`${pack.name}.${action.confirm}`);
  if (reader === null || reader.pack.digest !== pack.digest || verdict.kind !== "success") return false;
  const receipt = readJson(verdict.observation);
  const known = { ...(isJsonObject(receipt) ? receipt : {}), ...intent };
  try {
    const outbound = bindRead(reader, known);
    if (outbound === null || !isCovered(core, sending, outbound)) return false;
    const request = sendOf(core, outbound, sending.callId);
    const read = await attempt(core, {
      ...plainOf(sending),
      errand: "confirm",
      outbound,
      request,
      credential: outbound.credential,
    });
    if (read.verdict.kind !== "success") return false;
    const { set, keys } = splitIntent(reader, intent);
    if (!showsExpected(set, keys, readJson(read.verdict.observation), receipt)) return false;
    await core.ledger.record("write.confirmed", [
      {
        ...core.envelope("reconciled_success"),
        run_id: sending.run.id,
        parent_event_id: attemptId,
        call_id: sending.callId,
        attempt_id: attemptId,
        session_id: sending.session.id,
        receipt: digestBytes(verdict.observation.body),
        source: reader.action.qualifiedName,
        evidence: "reconciliation_read",
      },
    ]);
    return true;
  } catch (error) {
    if (error instanceof Denied) return false;
    throw error;
  }
}

/** A card covers the read that it names, by the credential that it names. What asks for a person otherwise is not read here. */
function isCovered(
  core: Pick<AttemptNeeds, "credentials" | "ports">,
  { authorization, outbound }: Sending,
  read: Outbound,
): boolean {
  const { eachUse } = requireCredential(core, read);
  if (reasonsToAsk(read.definition.action, eachUse, true).length === 0) return true;
  return authorization.kind !== "session" && read.credential === outbound.credential;
}

/** Without what belonged to the write: its token, its operation, and what was to be written beside it. */
function plainOf({ run, session, callId, authorization, holder }: Sending) {
  return { run, session, callId, authorization, holder };
}

/** What the action set, and what it was looked up by: the read's own inputs are the latter. */
export function splitIntent(
  reader: Definition,
  intent: JsonObject,
): { readonly set: JsonObject; readonly keys: JsonObject } {
  const names = new Set(reader.action.inputs.map(({ name }) => name));
  const entries = Object.entries(intent);
  return {
    set: Object.fromEntries(entries.filter(([name]) => !names.has(name))),
    keys: Object.fromEntries(entries.filter(([name]) => names.has(name))),
  };
}
