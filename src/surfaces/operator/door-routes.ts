import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { LockStatement, LoginStatement } from "../../conventions/approval/decision.ts";
import { Denied } from "../../kernel/failure.ts";
import { Secret } from "../../kernel/secret.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";
import { challengeAnswer, proofAnswer, statusAnswer, tokenAnswer } from "./answers.ts";
import type { OperatorContext } from "./context.ts";
import type { Logins } from "./logins.ts";
import { loggedIn, open, signed as signedOrder } from "./permit.ts";
import { short, signedSchema } from "./schemas.ts";
import type { Steward } from "./steward.ts";

/** Status, login, unlock, lock and reload. The open ones give nothing away and can only bring in what an operator signed. */
export function doorRoutes(steward: Steward, logins: Logins): readonly PlaneRoute<OperatorContext>[] {
  return [
    planeRoute(
      { method: "GET", path: "/v1/status", body: { kind: "none" } },
      {
        summary: "What runs here and in which mode",
        answers: { 200: { description: "The status", schema: statusAnswer } },
      },
      () => ({ status: 200, body: steward.status() }),
      open,
    ),
    planeRoute(
      { method: "POST", path: "/v1/login/challenge", body: { kind: "none" } },
      {
        summary: "A challenge to sign",
        answers: { 200: { description: "challenge and vault_id", schema: challengeAnswer } },
      },
      () => ({ status: 200, body: { challenge: logins.challenge(), vault_id: steward.vaultId() } }),
      open,
    ),
    planeRoute(
      { method: "POST", path: "/v1/login", body: { kind: "json", schema: signedSchema(loginSchema) } },
      {
        summary: "Answer a challenge",
        answers: { 200: { description: "A token for this plane", schema: tokenAnswer } },
      },
      async ({ body }) => {
        const signed = body as never as { statement: LoginStatement; signature: string };
        try {
          const { token, login } = logins.admit(signed);
          await steward.operatorConnected(login);
          return { status: 200, body: { token } };
        } catch (error) {
          if (error instanceof Denied) await steward.operatorRefused(error.code, signed.statement.operator);
          throw error;
        }
      },
      open,
    ),
    planeRoute(
      { method: "POST", path: "/v1/server-proof", body: { kind: "json", schema: nonceSchema } },
      {
        summary: "Prove an earlier unlocked life",
        answers: { 200: { description: "The proof, or null", schema: proofAnswer } },
      },
      ({ body }) => ({ status: 200, body: { proof: steward.prove(body.nonce) } }),
      loggedIn,
    ),
    planeRoute(
      { method: "POST", path: "/v1/unlock", body: { kind: "json", schema: unlockSchema } },
      { summary: "Hand over the service key", answers: { 200: { description: "Unlocked", schema: statusAnswer } } },
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
      {
        summary: "End all sessions and forget the service key",
        answers: { 200: { description: "Locked", schema: statusAnswer } },
      },
      async ({ body }, context) => {
        await steward.lock(body.reason, context.login());
        return { status: 200, body: steward.status() };
      },
      loggedIn,
    ),
    planeRoute(
      { method: "POST", path: "/v1/resume", body: { kind: "none" } },
      {
        summary: "Go on after a stop that has passed",
        answers: { 200: { description: "It records again", schema: statusAnswer } },
      },
      async (_command, context) => {
        await steward.resume(context.login());
        return { status: 200, body: steward.status() };
      },
      loggedIn,
    ),
    planeRoute(
      { method: "POST", path: "/v1/lock/order", body: { kind: "json", schema: signedSchema(lockSchema) } },
      { summary: "Lock now, by a signature alone", answers: { 200: { description: "Locked", schema: statusAnswer } } },
      async ({ body }) => {
        const order = body as never as { statement: LockStatement; signature: string };
        await steward.lock(order.statement.reason, logins.order(order));
        return { status: 200, body: steward.status() };
      },
      signedOrder,
    ),
    planeRoute(
      { method: "POST", path: "/v1/reload", body: { kind: "none" } },
      {
        summary: "Read vault, policy and packs again, and what the hub has of them",
        answers: { 200: { description: "What is in force now", schema: statusAnswer } },
      },
      async () => {
        await steward.reload();
        await steward.followHub();
        return { status: 200, body: steward.status() };
      },
      loggedIn,
    ),
  ];
}

const loginSchema = {
  type: "object",
  properties: {
    format: { const: "gw.login/v1" },
    vault_id: short,
    challenge: short,
    operator: short,
    operator_key_id: short,
    reads_only: { const: true },
  },
  required: ["format", "vault_id", "challenge", "operator", "operator_key_id"],
} as const satisfies JsonSchema;

const lockSchema = {
  type: "object",
  properties: {
    format: { const: "gw.lock/v1" },
    vault_id: short,
    challenge: short,
    reason: { type: "string", maxLength: 500 },
    operator: short,
    operator_key_id: short,
  },
  required: ["format", "vault_id", "challenge", "reason", "operator", "operator_key_id"],
} as const satisfies JsonSchema;

const nonceSchema = {
  type: "object",
  properties: { nonce: short },
  required: ["nonce"],
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
