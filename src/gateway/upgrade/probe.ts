import type { NewEvent } from "../../audit/event.ts";
import { openBudget, type RunBudget } from "../../conventions/budget/budget.ts";
import type { ProbeExchange, ProbeRequest, ProbeVersion } from "../../conventions/upgrade/probe/exchange.ts";
import { isPrivateHost } from "../../conventions/url/origin.ts";
import { canonicalJson } from "../../kernel/canonical-json.ts";
import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CallId, RunId } from "../../kernel/ids.ts";
import { isJsonObject } from "../../kernel/json.ts";
import type { Secret } from "../../kernel/secret.ts";
import { basicValue, prefixed } from "../../vault/http-loan.ts";
import type { HttpLoan } from "../../vault/lent.ts";
import { type Authorization, authorizedByOperator } from "../approval/authorize.ts";
import { attempt } from "../attempt/attempt.ts";
import { now, requireUnlocked } from "../core.ts";
import { describePlain } from "../outbound/plain.ts";
import type { HttpSend, StateRow } from "../ports.ts";
import { budgetBody } from "../record/rows.ts";
import type { UpgradeNeeds } from "./needs.ts";

/** A test token of one probe run: kept here for its length and nowhere else, and lent to the two origins alone. */
export interface ProbeCredential {
  readonly label: string;
  readonly present: "bearer" | "basic" | "header" | "form";
  /** The name of the header, or of the member of a form body, where that is how it is presented. */
  readonly name: string | null;
  readonly token: Secret;
}

export interface ProbeOpening {
  readonly api: string;
  readonly versions: readonly ProbeVersion[];
  readonly credentials: readonly ProbeCredential[];
  /** Most that may be sent; beyond it the budget denies. */
  readonly requests: number;
  /** Zero unless a person approved the side effects that the corpus marks. */
  readonly sideEffects: number;
  readonly operator: string;
  readonly operatorKeyId: string;
}

/** The same corpus against two versions of a provider, sent by the gateway for an operator. */
export interface Probes {
  open(opening: ProbeOpening): Promise<RunId>;
  /** `by` is the key of whoever asks: it goes out in the name of whoever opened it, with their tokens, and for nobody else. */
  send(runId: RunId | undefined, by: string, request: ProbeRequest): Promise<ProbeExchange>;
  /** With the digest of what the operator signed about it, where it came to that. */
  close(runId: RunId | undefined, by: string, resultDigest: string | null): Promise<void>;
  /** Forgets every token, and gives what the log is to be told of the probes that end so. */
  clear(): readonly NewEvent[];
}

interface Probe {
  readonly opening: ProbeOpening;
  readonly origins: ReadonlySet<string>;
  readonly authorization: Authorization;
  readonly purse: { readonly id: RunId; budget: RunBudget };
}

export function createProbes(core: UpgradeNeeds): Probes {
  const probes = new Map<RunId, Probe>();
  const forget = ({ opening, purse }: Probe): void => {
    probes.delete(purse.id);
    for (const { token } of opening.credentials) token.wipe();
  };
  const finish = (probe: Probe, result_digest: string | null): NewEvent => {
    forget(probe);
    const { id: run_id, budget } = probe.purse;
    const sent = { requests: budget.attemptsUsed, side_effects: budget.sideEffectAttempts };
    return { ...core.envelope("upgrade_probe_finished"), run_id, ...sent, result_digest };
  };
  const find = (runId: RunId | undefined, by: string): Probe => {
    const probe = runId === undefined ? undefined : probes.get(runId);
    if (probe?.opening.operatorKeyId !== by) throw new Denied("not_found", "There is no such probe.");
    return probe;
  };

  return {
    async open(opening) {
      try {
        const nowMs = core.ports.clock.bootMs();
        const over = [...probes.values()].filter(({ purse }) => purse.budget.deadlineBootMs <= nowMs);
        if (over.length > 0)
          await core.ledger.record(
            "probe.closed",
            over.map((probe) => finish(probe, null)),
          );
        requireUnlocked(core);
        if (probes.size >= defaults.upgradeProbesOpen)
          throw new Denied("approvals_full", "Other probes are still open. Let them end first.");
      } catch (error) {
        for (const { token } of opening.credentials) token.wipe();
        throw error;
      }
      const id = core.ports.ids.next("run");
      const at = isoTime(core.ports.clock.wallMs());
      const limits = {
        attempts: Math.min(opening.requests, defaults.upgradeProbes * 4),
        sideEffects: Math.min(opening.sideEffects, defaults.upgradeProbeSideEffects * 2),
        durationMs: defaults.upgradeProbeRunMs,
        spendCents: 0,
      };
      const probe: Probe = {
        opening,
        origins: new Set(opening.versions.map(({ base }) => new URL(base).origin)),
        authorization: authorizedByOperator(opening.operator, at),
        purse: { id, budget: openBudget(id, limits, now(core)) },
      };
      probes.set(id, probe);
      try {
        const { api, versions, credentials, operator, operatorKeyId } = opening;
        await core.ledger.record("probe.opened", [
          {
            ...core.envelope("upgrade_probe_started"),
            run_id: id,
            api,
            versions: versions.map(showVersion),
            credential_labels: credentials.map(({ label }) => label),
            requests: limits.attempts,
            side_effects: limits.sideEffects,
            operator,
            operator_key_id: operatorKeyId,
          },
        ]);
      } catch (error) {
        forget(probe);
        throw error;
      }
      return id;
    },
    send: async (runId, by, request) => sendProbe(core, find(runId, by), request),
    async close(runId, by, resultDigest) {
      await core.ledger.record("probe.closed", [finish(find(runId, by), resultDigest)]);
    },
    clear: () => [...probes.values()].map((probe) => finish(probe, null)),
  };
}

/** One send like any other: reserved, logged before it leaves, settled. It is neither retried nor redirected. */
async function sendProbe(core: UpgradeNeeds, probe: Probe, request: ProbeRequest): Promise<ProbeExchange> {
  const url = URL.parse(request.url);
  if (url === null || !probe.origins.has(url.origin))
    throw new Denied(
      "credential_not_bound",
      "A probe goes to the two versions that it was opened for, and nowhere else.",
    );
  const credential = probe.opening.credentials.find(({ label }) => label === request.credential);
  if (credential === undefined) throw new Denied("credential_unknown", "The probe was opened without this credential.");
  if (request.sideEffect && probe.opening.sideEffects === 0)
    throw new Denied("side_effect_unapproved", "Nobody approved the side effects of this corpus. Nothing was sent.");
  const { body, type } = bodyOf(request, credential);
  const wire: HttpSend = {
    kind: "http",
    method: request.method,
    url: url.href,
    headers: { ...request.headers, ...(type === null ? {} : { "content-type": type }) },
    body,
    network: isPrivateHost(url.hostname) ? "private" : "public",
    ca: null,
    echo: "withhold",
  };
  const callId = core.ports.ids.next("call");
  const { observation } = await attempt(core, {
    errand: "probe",
    run: probe.purse,
    session: { id: probe.purse.id, caller: { key: `operator ${probe.opening.operator}` } },
    callId: callId as CallId,
    outbound: describePlain({
      pack: "upgrade-probe",
      name: `upgrade.probe.${request.caseId}`,
      wire,
      body: request.body ?? null,
      sideEffect: request.sideEffect,
      credential: credential.label,
    }),
    authorization: probe.authorization,
    request: wire,
    credential: credential.label,
    lend: () => lend(credential),
    custody: () => probeRow(probe),
  });
  switch (observation.kind) {
    case "answered":
      return { kind: "answered", status: observation.status, headers: observation.headers, body: observation.body };
    case "silent":
      return { kind: "unanswered", reason: `${observation.reason}: ${observation.detail}` };
    case "never_sent":
      return { kind: "not_sent", reason: `${observation.reason}: ${observation.detail}` };
  }
}

/** The body without the token: where the form carries it, the transport adds it as the last byte leaves. */
function bodyOf(
  { body, method }: ProbeRequest,
  { label, present }: ProbeCredential,
): { readonly body: Buffer | null; readonly type: string | null } {
  if (present !== "form") {
    const bytes = body === undefined ? null : Buffer.from(canonicalJson(body), "utf8");
    return { body: bytes, type: bytes === null ? null : "application/json" };
  }
  if (method === "GET" || method === "HEAD")
    throw new Denied("corpus_invalid", `${label} goes into a form body, and ${method} has none.`);
  const members = isJsonObject(body) ? Object.entries(body) : [];
  const pairs = members.map(([name, value]): [string, string] => {
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
      return [name, String(value)];
    throw new Denied("corpus_invalid", `${label} goes into a form body, and ${name} is no single value.`);
  });
  return {
    body: Buffer.from(new URLSearchParams(pairs).toString(), "latin1"),
    type: "application/x-www-form-urlencoded",
  };
}

function lend({ label, present, name, token }: ProbeCredential): HttpLoan {
  const headerValue = presented(present, token);
  const formField = present === "form" ? { formField: name ?? "access_token" } : {};
  const headerName = present === "header" && name !== null ? name.toLowerCase() : "authorization";
  return { label, headerName, headerValue, ...formField, secrets: [token], release: () => headerValue.wipe() };
}

function presented(present: ProbeCredential["present"], token: Secret): Secret {
  switch (present) {
    case "bearer":
      return prefixed("Bearer ", token);
    case "basic":
      return basicValue(token);
    case "header":
    case "form":
      return token.copy();
  }
}

/** Its budget survives us and is never taken up again: a probe ends with the process. */
function probeRow({ purse }: Probe): StateRow {
  return { table: "runs", id: purse.id, runId: purse.id, state: "probe", body: { budget: budgetBody(purse.budget) } };
}

function showVersion({ base, header }: ProbeVersion): string {
  return header === null ? base : `${base} ${header.name}: ${header.value}`;
}
