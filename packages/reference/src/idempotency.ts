import { decideToken, type StoredToken } from "../../../src/conventions/operation/token.ts";
import { digestJson } from "../../../src/kernel/canonical-json.ts";
import { defaults } from "../../../src/kernel/defaults.ts";
import { Denied } from "../../../src/kernel/failure.ts";
import type { Answer } from "../../request/src/serve.ts";
import type { Who } from "./context.ts";
import type { Core } from "./core.ts";
import { insertRow, prepared } from "./prepared.ts";

const rowOf = prepared((db, p: { tenant: string; actor: string; route: string; token: string }) =>
  db
    .selectFrom("idempotency")
    .select(["payload_digest", "answer", "settled_at_ms"])
    .where("tenant_id", "=", p.tenant)
    .where("actor_id", "=", p.actor)
    .where("route", "=", p.route)
    .where("token", "=", p.token),
);

/**
 * Runs `work` under the request's idempotency token: the effect, the answer and the token are one transaction, so a token
 * is either unknown and nothing happened, or settled and its answer can be given again. A refusal leaves the token fresh.
 */
export function underToken(core: Core, who: Who, route: string, digest: string, work: () => Answer): Answer {
  const token = requireToken(who);
  const payload = payloadDigest(who, digest);
  const { store, clock } = core;
  return store.write(() => {
    const row = store.one(rowOf({ tenant: who.tenant, actor: who.actor, route, token }));
    const stored: StoredToken | undefined = row && {
      kind: "settled",
      payloadDigest: row.payload_digest,
      settledAtMs: row.settled_at_ms,
    };
    const decision = decideToken(stored, payload, clock.wallMs(), defaults.idempotencyRetentionMs);
    switch (decision.kind) {
      case "replay":
        if (typeof row?.answer === "string") return JSON.parse(row.answer) as Answer;
        throw retired();
      case "other_payload":
        throw new Denied("idempotency_key_reused", "this Idempotency-Key belongs to another payload");
      case "retired":
        throw retired();
      case "in_flight":
        throw inFlight();
      case "fresh": {
        const answer = work();
        store.run(
          insertRow("idempotency", {
            tenant_id: who.tenant,
            actor_id: who.actor,
            route,
            token,
            payload_digest: payload,
            answer: JSON.stringify(answer),
            settled_at_ms: clock.wallMs(),
          }),
        );
        return answer;
      }
    }
  });
}

/** The condition is part of what was asked: the same body under another entity tag is another request. */
function payloadDigest({ fields }: Who, digest: string): string {
  return fields.ifMatch === undefined ? digest : digestJson({ request_digest: digest, if_match: fields.ifMatch });
}

function requireToken(who: Who): string {
  const token = who.fields.idempotencyKey;
  if (token === undefined) throw new Denied("idempotency_key_missing", "this route needs an Idempotency-Key");
  return token;
}

function retired(): Denied {
  return new Denied("idempotency_key_retired", "the result under this Idempotency-Key is no longer kept");
}

function inFlight(): Denied {
  return new Denied("idempotency_in_flight", "a request with this Idempotency-Key is still being worked on", {
    retryAllowed: true,
  });
}

/** Requests whose answer is not known yet. They live in memory alone: a process that died has none in flight. */
export interface InFlight {
  /** Refuses a second request under the same token while the first has no answer. */
  during<Result>(who: Who, route: string, digest: string, work: () => Promise<Result>): Promise<Result>;
}

export function createInFlight(): InFlight {
  const open = new Map<string, string>();
  return {
    async during(who, route, digest, work) {
      const token = who.fields.idempotencyKey;
      if (token === undefined) return work();
      const key = JSON.stringify([who.tenant, who.actor, route, token]);
      const payload = payloadDigest(who, digest);
      const before = open.get(key);
      if (before !== undefined) {
        const decision = decideToken({ kind: "in_flight", payloadDigest: before }, payload, 0, 0);
        if (decision.kind === "in_flight") throw inFlight();
        throw new Denied("idempotency_key_reused", "this Idempotency-Key belongs to another payload");
      }
      open.set(key, payload);
      try {
        return await work();
      } finally {
        open.delete(key);
      }
    },
  };
}

/** Past retention a token keeps its digest and loses its answer: a tombstone, which refuses reuse. */
export function buryTokens(core: Core): void {
  const { store, clock } = core;
  store.run(
    store.db
      .updateTable("idempotency")
      .set({ answer: null })
      .where("settled_at_ms", "<", clock.wallMs() - defaults.idempotencyRetentionMs)
      .where("answer", "is not", null),
  );
}
