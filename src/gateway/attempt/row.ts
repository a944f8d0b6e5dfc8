import { describeSend, reachedBy } from "../../conventions/action/send.ts";
import type { Reservation } from "../../conventions/budget/decide.ts";
import { tokenOf } from "../outbound/request.ts";
import type { StateRow } from "../ports.ts";
import { type Attempted, type CustodySending, isPreview, type Sending } from "./sending.ts";

/** The attempt as it must survive us: enough to say "unknown" about it, for as long as anybody might have to. */
export function attemptRow(
  sending: Sending | CustodySending,
  attemptId: string,
  state: "sent" | "settled" | "unknown" | "tracked",
  reservation: Reservation,
  said?: string,
): StateRow {
  const { outbound, run, session } = sending;
  const { url, method } = describeSend(sending.request);
  const place = { table: "attempts", id: attemptId, runId: run.id, state } as const;
  if (state === "settled" || state === "tracked") return { ...place, body: {}, over: true };
  return {
    ...place,
    body: {
      call_id: sending.callId,
      session_id: session.id,
      action: outbound.action,
      channel: outbound.channel,
      side_effect: outbound.sideEffect,
      request_digest: outbound.requestDigest,
      maximum_cents: reservation.maximumCents,
      reserved_on: reservation.day,
      ...(isPreview(outbound) ? { preview: true } : {}),
      ...(sending.operationId === undefined ? {} : { operation_id: sending.operationId }),
      // No more of the address than is told of it later: the rest may hold arguments.
      target: reachedBy(sending.request, url).destination,
      method,
      ...(outbound.sideEffect ? evidenceOf(sending) : {}),
      // What the other side told of it by then: no later word of its undoes that.
      ...(said === undefined ? {} : { said }),
    },
  };
}

/** An attempt of unknown outcome that an operation now answers for: recovery need not look at it again. */
export function trackedRow(sending: Sending, { attemptId, reservation }: Attempted): StateRow {
  return attemptRow(sending, attemptId, "tracked", reservation);
}

/** What finding out later needs: the arguments, and the token under which the provider knows the request. */
function evidenceOf({ outbound, request, session, authorization, claim }: Sending | CustodySending) {
  const { pack } = outbound.definition;
  const { kind, approvalId, authorizedBy, decidedAt } = authorization;
  return {
    input: outbound.input,
    pack_digest: pack.digest,
    token: tokenOf(request, pack),
    caller: session.caller.key,
    ...(outbound.plan == null ? {} : { plan: outbound.plan }),
    ...(typeof claim === "object" ? { claim: claim.key } : {}),
    authorization: { kind, approvalId, authorizedBy, decidedAt },
  };
}
