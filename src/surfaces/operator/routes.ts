import type { DecisionStatement, LoginStatement, RevocationStatement } from "../../conventions/approval/decision.ts";
import { writeOpenApi } from "../../conventions/request/openapi.ts";
import type { JsonSchema } from "../../conventions/request/schema.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { Secret } from "../../kernel/secret.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";
import type { OperatorContext } from "./context.ts";
import type { Logins } from "./logins.ts";
import { operationRoutes } from "./operation-routes.ts";
import { approvalRecord, sessionRecord } from "./records.ts";
import { sshRoutes } from "./ssh-routes.ts";
import type { Steward } from "./steward.ts";
import { ticketRoutes } from "./ticket-routes.ts";
import { upgradeRoutes } from "./upgrade-routes.ts";

/**
 * The operator plane. A decision, a revocation and an attestation carry their own signature; everything else asks for a
 * login. The status, the way to log in and the
 * order to read the signed files again are open: they give nothing away and can only bring in what an operator signed.
 */
export function operatorRoutes(
  steward: Steward,
  logins: Logins,
  version: string,
): readonly PlaneRoute<OperatorContext>[] {
  const { gateway, clock } = steward;
  const routes: PlaneRoute<OperatorContext>[] = [
    planeRoute(
      { method: "GET", path: "/v1/status", body: { kind: "none" } },
      { summary: "What runs here and in which mode", answers: { 200: { description: "The status" } } },
      () => ({ status: 200, body: steward.status() }),
      open,
    ),
    planeRoute(
      { method: "POST", path: "/v1/login/challenge", body: { kind: "none" } },
      { summary: "A challenge to sign", answers: { 200: { description: "challenge and vault_id" } } },
      () => ({ status: 200, body: { challenge: logins.challenge(), vault_id: steward.vaultId() } }),
      open,
    ),
    planeRoute(
      { method: "POST", path: "/v1/login", body: { kind: "json", schema: signedSchema(loginSchema) } },
      { summary: "Answer a challenge", answers: { 200: { description: "A token for this plane" } } },
      async ({ body }) => {
        const { token, login } = logins.admit(body as never as { statement: LoginStatement; signature: string });
        await steward.operatorConnected(login);
        return { status: 200, body: { token } };
      },
      open,
    ),
    planeRoute(
      { method: "POST", path: "/v1/unlock", body: { kind: "json", schema: unlockSchema } },
      { summary: "Hand over the service key", answers: { 200: { description: "Unlocked" } } },
      async ({ body }, context) => {
        using serviceKey = Secret.take(Buffer.from(body.service_key, "base64"));
        await steward.unlock(serviceKey, context.login());
        return { status: 200, body: steward.status() };
      },
      loggedIn,
    ),
    planeRoute(
      { method: "POST", path: "/v1/unlock/failed", body: { kind: "json", schema: failedSchema } },
      { summary: "An operator's client met a wrong passphrase", answers: { 204: { description: "Recorded" } } },
      async ({ body }) => {
        await steward.passphraseFailed(body.operator, body.failed_attempts);
        return { status: 204 };
      },
      open,
    ),
    planeRoute(
      { method: "POST", path: "/v1/lock", body: { kind: "json", schema: reasonSchema } },
      { summary: "End all sessions and forget the service key", answers: { 200: { description: "Locked" } } },
      async ({ body }, context) => {
        await steward.lock(body.reason, context.login());
        return { status: 200, body: steward.status() };
      },
      loggedIn,
    ),
    planeRoute(
      { method: "POST", path: "/v1/reload", body: { kind: "none" } },
      { summary: "Read vault, policy and packs again", answers: { 200: { description: "What is in force now" } } },
      async () => {
        await steward.reload();
        return { status: 200, body: steward.status() };
      },
      open,
    ),
    planeRoute(
      { method: "GET", path: "/v1/approvals", body: { kind: "none" } },
      { summary: "The questions that wait for a person", answers: { 200: { description: "A list" } } },
      () => ({ status: 200, body: gateway.desk.list().map((approval) => approvalRecord(approval, clock.bootMs())) }),
      loggedIn,
    ),
    planeRoute(
      { method: "GET", path: "/v1/approvals/{approval_id}", params: approvalParams, body: { kind: "none" } },
      { summary: "One question with its card", answers: { 200: { description: "The approval" } } },
      ({ params }) => {
        const found = gateway.desk.find(params.approval_id);
        if (found === undefined) throw new Denied("not_found", "There is no such approval.");
        return { status: 200, body: approvalRecord(found, clock.bootMs()) };
      },
      loggedIn,
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/approvals/{approval_id}/decision",
        params: approvalParams,
        body: { kind: "json", schema: signedSchema(decisionSchema) },
      },
      {
        summary: "A signed decision about exactly this card",
        answers: { 200: { description: "The decided approval" } },
      },
      async ({ params, body }) => {
        const signed = body as never as { statement: DecisionStatement; signature: string };
        if (signed.statement.approval_id !== params.approval_id) {
          throw new Denied("card_mismatch", "The statement names another approval than the path.");
        }
        const decided = await gateway.desk.decide(signed);
        return { status: 200, body: approvalRecord(decided, clock.bootMs()) };
      },
      loggedIn,
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/approvals/{approval_id}/extend",
        params: approvalParams,
        body: { kind: "json", schema: extendSchema },
      },
      { summary: "More time for a question", answers: { 200: { description: "The approval" } } },
      async ({ params, body }) => {
        const extended = await gateway.desk.extend(params.approval_id, body.seconds * 1000);
        return { status: 200, body: approvalRecord(extended, clock.bootMs()) };
      },
      loggedIn,
    ),
    planeRoute(
      { method: "GET", path: "/v1/sessions", body: { kind: "none" } },
      { summary: "The sessions of this process", answers: { 200: { description: "A list" } } },
      () => ({ status: 200, body: gateway.sessions().map((one) => sessionRecord(one, gateway.runOf(one))) }),
      loggedIn,
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/sessions/{session_id}/revoke",
        params: sessionParams,
        body: { kind: "json", schema: signedSchema(revocationSchema) },
      },
      { summary: "End a session now", answers: { 204: { description: "Ended" } } },
      async ({ params, body }) => {
        const signed = body as never as { statement: RevocationStatement; signature: string };
        if (signed.statement.session_id !== params.session_id) {
          throw new Denied("card_mismatch", "The statement names another session than the path.");
        }
        await gateway.revoke(signed);
        return { status: 204 };
      },
      loggedIn,
    ),
    ...ticketRoutes(gateway, loggedIn),
    ...operationRoutes(gateway, loggedIn),
    planeRoute(
      { method: "POST", path: "/v1/log/attestation/offer", body: { kind: "none" } },
      { summary: "What an operator signs to vouch for the log", answers: { 200: { description: "The offer" } } },
      async () => ({ status: 200, body: await steward.offerAttestation() }),
      loggedIn,
    ),
    planeRoute(
      { method: "POST", path: "/v1/log/attestation", body: { kind: "json", schema: attestationSchema } },
      { summary: "A signed attestation", answers: { 200: { description: "The head after it" } } },
      async ({ body }) => ({ status: 200, body: await steward.attest(Buffer.from(body.statement, "base64")) }),
      loggedIn,
    ),
    ...sshRoutes(steward, loggedIn),
    ...upgradeRoutes(steward, loggedIn),
    planeRoute(
      { method: "GET", path: "/v1/openapi.json", body: { kind: "none" } },
      { summary: "This document", answers: { 200: { description: "OpenAPI 3.1" } } },
      () => ({ status: 200, body: document }),
      open,
    ),
  ];
  const document: JsonObject = writeOpenApi("gw operator plane", version, routes);
  return routes;
}

function open(): string {
  return "open to the owner of the socket";
}

function loggedIn(context: OperatorContext): string {
  return `operator ${context.login().operator}`;
}

const short = { type: "string", minLength: 1, maxLength: 200 } as const;
const textOrNull = { type: ["string", "null"], maxLength: 2000 } as const;
const head = {
  type: "object",
  properties: { frame: short, link: { type: "string", pattern: "^[0-9a-f]{64}$" } },
  required: ["frame", "link"],
} as const;
const budget = {
  type: ["object", "null"],
  properties: {
    attempts: { type: "integer", minimum: 0 },
    side_effects: { type: "integer", minimum: 0 },
    duration_seconds: { type: "integer", minimum: 0 },
    spend_cents: { type: "integer", minimum: 0 },
  },
  required: ["attempts", "side_effects", "duration_seconds", "spend_cents"],
} as const;

const loginSchema = {
  type: "object",
  properties: {
    format: { const: "gw.login/v1" },
    vault_id: short,
    challenge: short,
    operator: short,
    operator_key_id: short,
  },
  required: ["format", "vault_id", "challenge", "operator", "operator_key_id"],
} as const satisfies JsonSchema;

const decisionSchema = {
  type: "object",
  properties: {
    format: { const: "gw.decision/v1" },
    vault_id: short,
    approval_id: short,
    card_digest: short,
    decision: { enum: ["approve", "deny"] },
    reason: textOrNull,
    narrow: {
      type: ["object", "null"],
      properties: {
        actions: { type: ["array", "null"], items: short, maxItems: 200 },
        request_bytes: { type: ["integer", "null"], minimum: 0 },
        budget,
      },
      required: ["actions", "request_bytes", "budget"],
    },
    operator: short,
    operator_key_id: short,
    decided_at: short,
    log_head: head,
  },
  required: [
    "format",
    "vault_id",
    "approval_id",
    "card_digest",
    "decision",
    "reason",
    "narrow",
    "operator",
    "operator_key_id",
    "decided_at",
    "log_head",
  ],
} as const satisfies JsonSchema;

const revocationSchema = {
  type: "object",
  properties: {
    format: { const: "gw.revocation/v1" },
    vault_id: short,
    session_id: short,
    reason: textOrNull,
    operator: short,
    operator_key_id: short,
    decided_at: short,
  },
  required: ["format", "vault_id", "session_id", "reason", "operator", "operator_key_id", "decided_at"],
} as const satisfies JsonSchema;

const unlockSchema = {
  type: "object",
  properties: { service_key: { type: "string", minLength: 1, maxLength: 200 } },
  required: ["service_key"],
} as const satisfies JsonSchema;

const failedSchema = {
  type: "object",
  properties: { operator: short, failed_attempts: { type: "integer", minimum: 1 } },
  required: ["operator", "failed_attempts"],
} as const satisfies JsonSchema;

const reasonSchema = {
  type: "object",
  properties: { reason: { type: "string", maxLength: 500 } },
  required: ["reason"],
} as const satisfies JsonSchema;

const extendSchema = {
  type: "object",
  properties: { seconds: { type: "integer", minimum: 1, maximum: 3600 } },
  required: ["seconds"],
} as const satisfies JsonSchema;

const attestationSchema = {
  type: "object",
  properties: { statement: { type: "string", minLength: 1, maxLength: 8192 } },
  required: ["statement"],
} as const satisfies JsonSchema;

const approvalParams = {
  type: "object",
  properties: { approval_id: { type: "string", maxLength: 64 } },
  required: ["approval_id"],
} as const satisfies JsonSchema;

const sessionParams = {
  type: "object",
  properties: { session_id: { type: "string", maxLength: 64 } },
  required: ["session_id"],
} as const satisfies JsonSchema;

function signedSchema<const Statement extends JsonSchema>(statement: Statement) {
  return {
    type: "object",
    properties: { statement, signature: { type: "string", minLength: 1, maxLength: 200 } },
    required: ["statement", "signature"],
  } as const;
}
