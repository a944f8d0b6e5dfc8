import type { CallbackRule, CallbackScheme, EventIdPlace } from "../callback/callback.ts";
import type { Findings } from "./findings.ts";
import type { ActionDefinition } from "./pack.ts";
import { readPointer } from "./read-job.ts";
import type { ProviderWire } from "./schema/pack.ts";

const PATH = "/provider/callbacks";
type CallbacksWire = NonNullable<ProviderWire["callbacks"]>;

/** How this provider's callbacks are told from anybody else's, and what is read from one. */
export function readCallbacks(wire: ProviderWire, findings: Findings): CallbackRule | null {
  const { callbacks } = wire;
  if (callbacks === undefined) return null;
  if (callbacks.credential === wire.credential) {
    findings.error(
      "pack_member_unfit",
      `${PATH}/credential`,
      "a secret that checks callbacks is no token: give it a label of its own (gw credential add LABEL --kind hmac)",
    );
  }
  const scheme = readScheme(callbacks, findings);
  if (scheme === null) return null;
  return {
    scheme,
    credential: callbacks.credential,
    eventId: readEventId(callbacks, findings),
    jobId: readPointer(callbacks.job_id, `${PATH}/job_id`, findings),
  };
}

/** A callback can only make a read of a job come sooner. */
export function lintCallbacks(
  rule: CallbackRule | null,
  actions: ReadonlyMap<string, ActionDefinition>,
  findings: Findings,
): void {
  if (rule === null || [...actions.values()].some(({ job }) => job !== null)) return;
  findings.warn("pack_member_unfit", PATH, "no action of this pack tracks a job, so that a callback would do nothing");
}

function readScheme({ verify, signature }: CallbacksWire, findings: Findings): CallbackScheme | null {
  if (verify !== "hmac_sha256") {
    if (signature !== undefined)
      findings.error("pack_member_unfit", `${PATH}/signature`, `verify: ${verify} has its own header`);
    return { kind: verify };
  }
  if (signature === undefined) {
    findings.error("missing_member", PATH, "verify: hmac_sha256 needs signature, with the header that carries it");
    return null;
  }
  const { header, prefix = "", encoding = "hex" } = signature;
  return { kind: verify, header: header.toLowerCase(), prefix, encoding };
}

function readEventId({ verify, event_id, event_id_header }: CallbacksWire, findings: Findings): EventIdPlace {
  const given = event_id_header === undefined ? "event_id" : "event_id_header";
  const refuse = (why: string): void => findings.error("pack_member_unfit", `${PATH}/${given}`, why);
  if (verify === "standard_webhooks") {
    if (event_id !== undefined || event_id_header !== undefined)
      refuse("standard_webhooks names the event in webhook-id, which its signature covers");
    return { kind: "scheme" };
  }
  if (event_id !== undefined && event_id_header !== undefined)
    refuse("an event has one identifier: in the body or in a header");
  if (event_id_header !== undefined) {
    if (verify === "stripe") refuse("stripe names the event in the body");
    return { kind: "header", name: event_id_header.toLowerCase() };
  }
  const pointer = event_id ?? (verify === "stripe" ? "id" : undefined);
  if (pointer === undefined) return { kind: "none" };
  return { kind: "body", pointer: readPointer(pointer, `${PATH}/event_id`, findings) };
}
