import { lentForMs, type TokenAnswer } from "../../conventions/token/answer.ts";
import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied, Fault } from "../../kernel/failure.ts";
import { Secret } from "../../kernel/secret.ts";
import { authorizedByOperator } from "../approval/authorize.ts";
import { type Core, requireUnlocked } from "../core.ts";
import { type Exchanged, type ExchangeFor, exchangeToken, revokeToken } from "./exchange.ts";
import { keyOf, type Narrowing, narrowFor, sayNarrowed } from "./narrow.ts";
import type { TokenDesk, TokenFacts, Tokens } from "./port.ts";

interface Held {
  readonly token: Secret;
  readonly version: number;
  readonly obtainedBootMs: number;
  readonly untilBootMs: number;
}

interface Failure {
  readonly version: number;
  readonly times: number;
  readonly untilBootMs: number;
  readonly why: Denied;
}

export function createTokens(coreOf: () => Core): Tokens & TokenDesk {
  /** By label and what they are narrowed to. */
  const held = new Map<string, Held>();
  const failures = new Map<string, Failure>();
  const underWay = new Map<string, Promise<void>>();
  const skews = new Map<string, number>();
  const lives = new Map<string, number>();
  const facts = new Map<string, TokenFacts>();
  const lastUses = new Map<string, string>();

  function find(core: Core, key: string, version: number): Held | null {
    const one = held.get(key);
    if (one === undefined) return null;
    if (one.version === version && core.ports.clock.bootMs() < one.untilBootMs) return one;
    forget(key);
    return null;
  }

  function forget(key: string): void {
    held.get(key)?.token.wipe();
    held.delete(key);
  }

  function keep(key: string, one: Held): void {
    forget(key);
    const oldest = held.size >= defaults.tokensHeld ? held.keys().next().value : undefined;
    if (oldest !== undefined) forget(oldest);
    held.set(key, one);
  }

  async function obtain(core: Core, label: string, plan: Plan, narrowing: Narrowing, need: Need): Promise<void> {
    const { clock } = core.ports;
    const before = failures.get(label);
    if (before !== undefined && before.version === plan.version && clock.bootMs() < before.untilBootMs)
      throw before.why;
    const times = before?.version === plan.version ? before.times + 1 : 1;
    const waitMs = Math.min(defaults.tokenRetryMs * 2 ** Math.min(times - 1, 20), defaults.tokenRetryMaxMs);
    const asked = { ...need, skewMs: skews.get(label) ?? 0 };
    const exchanged = await exchangeToken(core, label, plan, narrowing, asked);
    const { answer } = exchanged;
    skews.set(label, exchanged.skewMs);
    const why = refusalOf(label, exchanged, waitMs);
    if (why !== null) {
      failures.set(label, { version: plan.version, times, untilBootMs: clock.bootMs() + waitMs, why });
      if (answer.kind === "ended") await core.suspendCredential(label, why.message);
      throw why;
    }
    failures.delete(label);
    if (answer.kind !== "token") return;
    const { lifeMs } = answer;
    const obtainedBootMs = clock.bootMs();
    lives.set(label, lifeMs);
    const { scopes, missing } = answer.granted;
    const wallMs = clock.wallMs();
    facts.set(label, { obtainedAt: isoTime(wallMs), expiresAt: isoTime(wallMs + lifeMs), scopes, missing });
    keep(keyOf(label, narrowing), {
      ...{ token: Secret.fromText(answer.token), version: plan.version },
      ...{ obtainedBootMs, untilBootMs: obtainedBootMs + lentForMs(lifeMs) },
    });
  }

  /** One at a time of one credential. */
  async function alone<Result>(label: string, start: () => Promise<Result>): Promise<Result> {
    while (underWay.has(label)) await underWay.get(label);
    const work = start();
    const settled = work.then(
      () => undefined,
      () => undefined,
    );
    underWay.set(
      label,
      settled.finally(() => underWay.delete(label)),
    );
    return await work;
  }

  return {
    async ready({ credential, lend, run, session, callId, authorization, outbound }) {
      const core = coreOf();
      if (credential === null || lend !== undefined) return;
      for (;;) {
        const credentials = requireUnlocked(core);
        const plan = credentials.exchangeOf(credential);
        if (plan === null) return;
        if (credentials.find(credential)?.disabled === true) throw disabled(credential);
        const narrowing = narrowFor(outbound, credential, plan.exchange);
        if (find(core, keyOf(credential, narrowing), plan.version) !== null) return;
        const running = underWay.get(credential);
        if (running !== undefined) await running;
        else
          await alone(credential, () =>
            obtain(core, credential, plan, narrowing, { run, session, callId, authorization }),
          );
      }
    },
    lend(label, outbound, origin) {
      const core = coreOf();
      const credentials = requireUnlocked(core);
      const plan = credentials.exchangeOf(label);
      if (plan === null) return null;
      const one = find(core, keyOf(label, narrowFor(outbound, label, plan.exchange)), plan.version);
      if (one === null) throw new Denied("token_unavailable", `The token of ${label} ended before it could be used.`);
      return credentials.lendToken(label, origin, one.token);
    },
    refused(label, outbound, sinceBootMs) {
      const plan = coreOf().credentials()?.exchangeOf(label) ?? null;
      const key = plan === null ? "" : keyOf(label, narrowFor(outbound, label, plan.exchange));
      const one = held.get(key);
      // One that was got for this very call is as new as any: another would be refused too.
      if (one === undefined || one.obtainedBootMs >= sinceBootMs) return false;
      forget(key);
      return true;
    },
    say(outbound) {
      const { credential } = outbound;
      const plan = credential === null ? null : (coreOf().credentials()?.exchangeOf(credential) ?? null);
      if (credential === null || plan === null) return null;
      const narrowing = narrowFor(outbound, credential, plan.exchange);
      return sayNarrowed(credential, narrowing, lives.get(credential) ?? null);
    },
    used: (label) => void lastUses.set(label, isoTime(coreOf().ports.clock.wallMs())),
    async test(label, operator) {
      const core = coreOf();
      const plan = requireExchanged(core, label);
      const narrowing = { scopes: plan.exchange.scopes, repositories: [] };
      await alone(label, () => {
        failures.delete(label);
        return obtain(core, label, plan, narrowing, askedBy(core, operator));
      });
      return facts.get(label) ?? unheard();
    },
    async revoke(label, operator) {
      const core = coreOf();
      const plan = requireExchanged(core, label);
      const { grant, revocationEndpoint } = plan.exchange;
      if (grant !== "refresh_token" || revocationEndpoint === null) return false;
      const asked = { ...askedBy(core, operator), skewMs: skews.get(label) ?? 0 };
      return alone(label, () => revokeToken(core, label, plan, revocationEndpoint, asked));
    },
    uses: () =>
      [...new Set([...lastUses.keys(), ...facts.keys()])].sort().map((label) => {
        return { label, lastUsedAt: lastUses.get(label) ?? null, token: facts.get(label) ?? null };
      }),
    clear() {
      for (const key of [...held.keys()]) forget(key);
      for (const memory of [failures, skews, lives, facts, lastUses]) memory.clear();
    },
  };
}

type Need = Omit<ExchangeFor, "skewMs">;

/** Nobody's run: an operator asks for it themselves. */
function askedBy({ ports: { ids, clock } }: Core, operator: string): Need {
  const id = ids.next("run");
  return {
    run: { id },
    session: { id, caller: { key: `operator ${operator}` } },
    callId: ids.next("call"),
    authorization: authorizedByOperator(operator, isoTime(clock.wallMs())),
  };
}

function requireExchanged(core: Core, label: string): Plan {
  const credentials = requireUnlocked(core);
  const found = credentials.find(label);
  if (found === null) throw new Denied("credential_unknown", `The vault holds no credential ${label}.`);
  const plan = credentials.exchangeOf(label);
  if (plan === null)
    throw new Denied("credential_invalid", `${label} is lent as it is sealed: only a call shows whether it is taken.`);
  if (found.disabled) throw disabled(label);
  return plan;
}

function unheard(): never {
  throw new Fault("an exchange ended without a word");
}

function disabled(label: string): Denied {
  const words = `${label} is disabled or suspended: gw credential list. Nothing was sent.`;
  return new Denied("credential_disabled", `${words} An operator enables it: gw credential enable ${label}.`);
}

type Plan = Parameters<typeof exchangeToken>[2];

/** Null where a token came that may be used. */
function refusalOf(label: string, { answer, afterCut }: Exchanged, waitMs: number): Denied | null {
  switch (answer.kind) {
    case "token":
      return beyond(label, answer);
    case "ended": {
      const cut = afterCut ? " The gateway ended during the last refresh, so that its answer was lost." : "";
      const words = `${label}: the provider says invalid_grant: consent was withdrawn or the refresh token is spent.${cut}`;
      return new Denied(
        "token_grant_ended",
        `${words} An operator agrees once more with gw credential login ${label}, or gives a new one: gw credential rotate ${label}.`,
      );
    }
    case "refused":
      return new Denied(
        "token_refused",
        `The token endpoint of ${label} says ${answer.error}. Nothing of the call was sent.`,
      );
    case "failed":
      return new Denied(
        "token_unavailable",
        `The token endpoint of ${label} failed: ${answer.why}. It is asked again in ${Math.ceil(waitMs / 1_000)} s at the earliest.`,
      );
  }
}

function beyond(label: string, { granted }: Extract<TokenAnswer, { readonly kind: "token" }>): Denied | null {
  if (granted.beyond.length === 0) return null;
  return new Denied(
    "token_scope_beyond",
    `The provider granted ${label} more than it is pinned to: ${granted.beyond.join(" ")}. The token was thrown away.`,
  );
}
