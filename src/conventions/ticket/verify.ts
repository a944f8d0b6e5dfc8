import type { KeyObject } from "node:crypto";
import { compactVerify, errors } from "jose";
import { parseJsonValue } from "../../../packages/request/src/json/parse.ts";
import type { Brand } from "../../kernel/brand.ts";
import type { Digest } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { isJsonObject } from "../../kernel/json.ts";
import { CONTEXT_TYPE, digestScope, readContext, type WorkContext } from "./context.ts";

/** Whose signature counts: an operator of the vault, or an issuer that signed policy names. */
export interface IssuerKey {
  readonly kind: "operator" | "issuer";
  readonly name: string;
  readonly keyId: string;
  readonly publicKey: KeyObject;
}

/** A context whose signature holds. It may still be for another run, or over. */
export type VerifiedContext = Brand<{ readonly context: WorkContext; readonly issuer: IssuerKey }, "VerifiedContext">;

/** Proof that a person or a trusted issuer assigned this run's work. Only `bindContext` makes one. */
export type TicketEvidence = Brand<
  {
    readonly context: WorkContext;
    readonly issuer: Pick<IssuerKey, "kind" | "name" | "keyId">;
    readonly scopeDigest: Digest;
    readonly observedAt: string;
    /** Boot time, so that a changed wall clock makes nothing last longer. */
    readonly expiresBootMs: number;
  },
  "TicketEvidence"
>;

/** Checks who signed and that it is a work context and nothing else. */
export async function verifyContext(token: string, issuers: readonly IssuerKey[]): Promise<VerifiedContext> {
  const issuer = findIssuer(token, issuers);
  let payload: Uint8Array;
  try {
    ({ payload } = await compactVerify(token, issuer.publicKey, { algorithms: ["EdDSA"] }));
  } catch (error) {
    if (error instanceof errors.JOSEError) throw notSigned();
    throw error;
  }
  const context = readContext(parse(payload));
  if (context.issuer !== issuer.name) throw notSigned();
  if (context.emergency !== undefined && issuer.kind !== "operator") {
    throw new Denied("ticket_invalid", "Only an operator can declare an emergency: its approver is a person.");
  }
  return { context, issuer } as VerifiedContext;
}

/** Reads the header itself, strictly: exactly these members, so that no option of the format is left to interpret. */
function findIssuer(token: string, issuers: readonly IssuerKey[]): IssuerKey {
  const [encoded = "", ...rest] = token.split(".");
  if (token.length > defaults.ticketContextCharacters || rest.length !== 2) throw notSigned();
  const bytes = Buffer.from(encoded, "base64url");
  if (bytes.toString("base64url") !== encoded) throw notSigned();
  const header = parse(bytes);
  if (!isJsonObject(header) || Object.keys(header).sort().join() !== "alg,kid,typ") throw notSigned();
  const { alg, kid, typ } = header;
  const issuer = issuers.find(({ keyId }) => keyId === kid);
  if (alg !== "EdDSA" || typ !== CONTEXT_TYPE || issuer === undefined) throw notSigned();
  return issuer;
}

function parse(bytes: Uint8Array) {
  try {
    return parseJsonValue(bytes);
  } catch (error) {
    if (error instanceof Denied) throw notSigned();
    throw error;
  }
}

function notSigned(): Denied {
  return new Denied(
    "ticket_signature_invalid",
    "The work context is not signed by an operator of this vault or a configured issuer, or it was changed since.",
  );
}

/** Ties a verified context to the run it is used in: issued for exactly this run, not over, and never longer than it. */
export function bindContext(
  { context, issuer }: VerifiedContext,
  run: { readonly id: string; readonly deadlineAt: string },
  now: { readonly wallMs: number; readonly bootMs: number; readonly at: string },
): TicketEvidence {
  if (context.issued_for_run !== run.id) {
    throw new Denied("ticket_wrong_run", "The work context was issued for another run. It is never carried over.");
  }
  const leftMs = Date.parse(context.expires_at) - now.wallMs;
  if (leftMs <= 0) throw ticketExpired(context);
  if (Date.parse(context.expires_at) > Date.parse(run.deadlineAt)) throw ticketOutlives(context, run.deadlineAt);
  const { kind, name, keyId } = issuer;
  return {
    context,
    issuer: { kind, name, keyId },
    scopeDigest: digestScope(context),
    observedAt: now.at,
    expiresBootMs: now.bootMs + leftMs,
  } as TicketEvidence;
}

export function ticketOutlives({ expires_at }: WorkContext, deadlineAt: string): Denied {
  return new Denied(
    "ticket_outlives_run",
    `The work context would be good until ${expires_at}; the run ends at ${deadlineAt}.`,
  );
}

export function ticketExpired({ expires_at }: WorkContext): Denied {
  return new Denied("ticket_expired", `The work context of this run was good until ${expires_at}.`);
}
