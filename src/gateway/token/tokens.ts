import { lentForMs } from "../../conventions/token/answer.ts";
import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { Secret } from "../../kernel/secret.ts";
import type { SecretVersion } from "../../vault/entry.ts";
import type { ToSign } from "../../vault/lent.ts";
import type { TokenExchange } from "../../vault/token/exchange.ts";
import { authorizedByOperator } from "../approval/authorize.ts";
import { requireUnlocked } from "../core.ts";
import { requireHere } from "../outbound/admit.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { HttpSend } from "../ports.ts";
import { type ExchangeFor, exchangeToken, revokeToken } from "./exchange.ts";
import { createFailures } from "./failures.ts";
import { type Got, readGot, readSourced, unheard } from "./got.ts";
import { asksForNonce, createHeard } from "./heard.ts";
import { createHeld, type Held } from "./held.ts";
import { keyOf, type Narrowing, narrowFor, sayNarrowed } from "./narrow.ts";
import type { TokenNeeds } from "./needs.ts";
import type { TokenDesk, TokenFacts, Tokens } from "./port.ts";
import { createSources } from "./source.ts";

export function createTokens(coreOf: () => TokenNeeds): Tokens & TokenDesk {
  const sources = createSources(part);
  const heard = createHeard();
  const held = createHeld(() => coreOf().ports.clock.bootMs());
  const failures = createFailures();
  const underWay = new Map<string, Promise<void>>();
  /** What is ended elsewhere, behind a lock if need be. */
  const parting = new Set<Promise<boolean>>();
  const lives = new Map<string, number>();
  const facts = new Map<string, TokenFacts>();
  /** What each call went with last. */
  const sentWith = new WeakMap<Outbound, Held>();
  const lastUses = new Map<string, string>();
  /** Raised with each clearing: what comes later was asked for before the lock, and is kept by nobody. */
  let epoch = 0;

  function part(ending: Promise<boolean>): void {
    const end = ending.catch(() => false);
    parting.add(end);
    void end.finally(() => parting.delete(end));
  }

  async function obtain(core: TokenNeeds, label: string, wanted: Wanted, need: ExchangeFor): Promise<void> {
    const { clock } = core.ports;
    const { version } = wanted;
    const waitMs = failures.waitMs([label, wanted.key], version, clock.bootMs());
    const startedBootMs = clock.bootMs();
    const began = epoch;
    const got = await wanted.get(need, waitMs);
    if (epoch !== began) {
      if (got.kind === "got") got.token.wipe();
      throw new Denied("gateway_locked", `The gateway was locked before the token of ${label} came. Nothing was sent.`);
    }
    if (got.kind === "refused") {
      const { why } = got;
      failures.add(got.narrow ? wanted.key : label, version, clock.bootMs() + waitMs, why);
      if (got.ended) await core.suspendCredential(label, version, why.message);
      throw why;
    }
    const { lifeMs, token, scopes, missing } = got;
    if (wanted.leased && clock.bootMs() >= startedBootMs + lifeMs) {
      token.wipe();
      const why = new Denied("source_unavailable", `${label}: its source took longer than the lease that it has.`);
      failures.add(label, version, clock.bootMs() + waitMs, why);
      throw why;
    }
    failures.forget([label, wanted.key]);
    lives.set(label, lifeMs);
    const wallMs = clock.wallMs();
    facts.set(label, { obtainedAt: isoTime(wallMs), expiresAt: isoTime(wallMs + lifeMs), scopes, missing });
    // A lease runs from before it was asked for: what is lent is never older than it says.
    const fromBootMs = wanted.leased ? startedBootMs : clock.bootMs();
    const untilBootMs = fromBootMs + (wanted.leased ? lifeMs : lentForMs(lifeMs));
    held.keep(wanted.key, { token, version, obtainedBootMs: clock.bootMs(), untilBootMs });
  }

  /** What a send needs got before it leaves; null where its credential is lent as it is sealed. */
  function wantedFor(core: TokenNeeds, label: string, narrow: (exchange: TokenExchange) => Narrowing): Wanted | null {
    const credentials = requireUnlocked(core);
    const plan = credentials.exchangeOf(label);
    const sourced = fromSource(core, label);
    if (plan === null) return sourced;
    const narrowing = narrow(plan.exchange);
    const get = async (need: ExchangeFor, waitMs: number): Promise<Got> => {
      const older = sourced !== null && held.find(sourced.key, sourced.version) !== null;
      if (sourced !== null && !older) await obtain(core, label, sourced, need);
      const secret = (): Secret | null =>
        sourced === null ? null : (held.find(sourced.key, sourced.version)?.token ?? lapsed(label));
      const { tokenEndpoint, dpop } = plan.exchange;
      const ask = () => exchangeToken(core, label, plan, narrowing, need, secret);
      const beforeMs = skewMs(label, tokenEndpoint);
      let exchanged = await ask();
      const { answer } = exchanged;
      // Refused for the nonce alone, or for a time that the refusal has put right: once more, as an attempt of its own.
      const wantsNonce = dpop && answer.kind === "refused" && answer.error === "use_dpop_nonce";
      const late = Math.abs(skewMs(label, tokenEndpoint) - beforeMs) > defaults.tokenClockMs;
      if (wantsNonce || (late && answer.kind !== "token" && signsTime(plan.exchange))) exchanged = await ask();
      const got = readGot(label, exchanged, waitMs);
      if (got.kind !== "refused" || sourced === null) return got;
      // It may have been replaced where it is kept: whoever asks next gets it from there, and only that one's refusal is the end.
      held.forget(sourced.key);
      return { ...got, ended: got.ended && !older };
    };
    return { version: plan.version, key: keyOf(label, narrowing), leased: false, renewMs: 0, get };
  }

  /** The secret of a credential that is kept elsewhere: sent as it is, or exchanged. */
  function fromSource(core: TokenNeeds, label: string): Wanted | null {
    const kept = requireUnlocked(core).sourceOf(label);
    if (kept === null) return null;
    const get = async (need: ExchangeFor, waitMs: number): Promise<Got> =>
      readSourced(core, label, await sources.read(core, label, kept, need), waitMs);
    const renewMs = kept.source.kind === "vault-dynamic" ? defaults.sourceRenewMs : 0;
    return { version: kept.version, key: sourceKey(label), leased: true, renewMs, get };
  }

  function skewMs(label: string, url: string): number {
    const endpoint = coreOf().credentials()?.exchangeOf(label)?.exchange.tokenEndpoint ?? url;
    return heard.skewMs(label, new URL(url).origin) ?? heard.skewMs(label, new URL(endpoint).origin) ?? 0;
  }

  /** What the proof says that goes with a bound token: this very request, now, once. */
  function toProve({ ports: { clock, ids } }: TokenNeeds, label: string, { method, url, headers }: HttpSend): ToSign {
    const { origin } = new URL(url);
    const atMs = clock.wallMs() + skewMs(label, url);
    const nonce = heard.nonce(label, origin);
    return { scheme: "dpop", method, url, headers, body: null, atMs, proofId: ids.next("evt"), nonce };
  }

  /** One at a time of one credential. */
  async function alone<Result>(label: string, start: () => Promise<Result>): Promise<Result> {
    while (underWay.has(label)) await underWay.get(label);
    requireUnlocked(coreOf());
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
    wants({ credential, lend, outbound }) {
      if (credential === null || lend !== undefined) return false;
      return wantedFor(coreOf(), credential, (exchange) => narrowFor(outbound, credential, exchange)) !== null;
    },
    async ready({ credential, lend, run, session, callId, authorization, outbound }) {
      const core = coreOf();
      if (credential === null || lend !== undefined) return;
      for (;;) {
        const wanted = wantedFor(core, credential, (exchange) => narrowFor(outbound, credential, exchange));
        if (wanted === null) return;
        requireEnabled(core, credential);
        if (held.find(wanted.key, wanted.version) !== null) return;
        const running = underWay.get(credential);
        if (running !== undefined) await running;
        else await alone(credential, () => obtain(core, credential, wanted, { run, session, callId, authorization }));
      }
    },
    heard,
    skewMs,
    lend(label, outbound, request, toSign) {
      const core = coreOf();
      const wanted = wantedFor(core, label, (exchange) => narrowFor(outbound, label, exchange));
      if (wanted === null) return null;
      const one = held.find(wanted.key, wanted.version);
      if (one === null) throw new Denied("token_unavailable", `The token of ${label} ended before it could be used.`);
      sentWith.set(outbound, one);
      const { origin } = new URL(request.url);
      const credentials = requireUnlocked(core);
      const bound = credentials.exchangeOf(label)?.exchange.dpop === true;
      return credentials.lendToken(label, origin, one.token, bound ? toProve(core, label, request) : toSign);
    },
    challenged: (label, observation) =>
      coreOf().credentials()?.exchangeOf(label)?.exchange.dpop === true && asksForNonce(observation),
    refused(label, outbound, sinceBootMs) {
      const core = coreOf();
      if (core.credentials() === null) return false;
      const {
        key = "",
        renewMs = 0,
        leased = false,
      } = wantedFor(core, label, (exchange) => narrowFor(outbound, label, exchange)) ?? {};
      const one = sentWith.get(outbound);
      // One that was got for this very call is as new as any: another would be refused too.
      if (one === undefined || one.obtainedBootMs >= sinceBootMs) return false;
      // Another call heard the same before, and what came since is newer.
      if (!held.isKept(key, one)) return true;
      if (core.ports.clock.bootMs() - one.obtainedBootMs < renewMs) return false;
      held.forget(key);
      if (leased) sources.spend(label);
      return true;
    },
    say(outbound) {
      const { credential } = outbound;
      const plan = credential === null ? null : (coreOf().credentials()?.exchangeOf(credential) ?? null);
      if (credential === null || plan === null) return null;
      const narrowing = narrowFor(outbound, credential, plan.exchange);
      return sayNarrowed(credential, plan.exchange, narrowing, lives.get(credential) ?? null);
    },
    used: (label) => void lastUses.set(label, isoTime(coreOf().ports.clock.wallMs())),
    async test(label, operator) {
      const core = coreOf();
      requireEnabled(core, label);
      const wanted =
        wantedFor(core, label, ({ scopes }) => ({ scopes, repositories: [], resources: [] })) ?? sealedHere(label);
      await alone(label, () => {
        failures.forget([label, wanted.key]);
        return obtain(core, label, wanted, askedBy(core, operator));
      });
      return facts.get(label) ?? unheard();
    },
    async revoke(label, operator) {
      const core = coreOf();
      if (requireUnlocked(core).sourceOf(label) !== null) {
        held.forget(sourceKey(label));
        return alone(label, () => sources.end(label, false));
      }
      requireEnabled(core, label);
      const plan = requireUnlocked(core).exchangeOf(label) ?? sealedHere(label);
      const { grant, revocationEndpoint } = plan.exchange;
      if (grant !== "refresh_token" || revocationEndpoint === null) return false;
      return alone(label, () => revokeToken(core, label, plan, revocationEndpoint, askedBy(core, operator)));
    },
    endReplaced: sources.endReplaced,
    uses: () =>
      [...new Set([...lastUses.keys(), ...facts.keys()])].sort().map((label) => {
        return { label, lastUsedAt: lastUses.get(label) ?? null, token: facts.get(label) ?? null };
      }),
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay.values());
      await Promise.all(parting);
    },
    clear() {
      epoch += 1;
      held.clear();
      for (const label of sources.labels()) part(sources.end(label, true));
      heard.clear();
      for (const memory of [failures, lives, facts, lastUses]) memory.clear();
    },
  };
}

/** Nobody's run: an operator asks for it themselves. */
function askedBy({ ports: { ids, clock } }: Pick<TokenNeeds, "ports">, operator: string): ExchangeFor {
  const id = ids.next("run");
  return {
    run: { id },
    session: { id, caller: { key: `operator ${operator}` } },
    callId: ids.next("call"),
    authorization: authorizedByOperator(operator, isoTime(clock.wallMs())),
    begins: true,
  };
}

function requireEnabled(core: Pick<TokenNeeds, "credentials">, label: string): void {
  const found = requireUnlocked(core).find(label);
  if (found === null) throw new Denied("credential_unknown", `The vault holds no credential ${label}.`);
  if (found.disabled) throw disabled(label);
  requireHere(found, label);
}

function sealedHere(label: string): never {
  throw new Denied("credential_invalid", `${label} is lent as it is sealed: only a call shows whether it is taken.`);
}

/** Whether what is asked with says when it was made. A refresh token is asked with once, whatever the clock says. */
function signsTime({ grant, clientAuth }: TokenExchange): boolean {
  return grant !== "refresh_token" && (grant !== "client_credentials" || clientAuth === "private_key_jwt");
}

const sourceKey = (label: string): string => `${label} source`;

function lapsed(label: string): never {
  throw new Denied("source_unavailable", `${label}: its lease ended before what its source gave could be used.`);
}

function disabled(label: string): Denied {
  const words = `${label} is disabled or suspended: gw credential list. Nothing was sent.`;
  return new Denied("credential_disabled", `${words} An operator enables it: gw credential enable ${label}.`);
}

/** Something that is got before a send, and by which name it is held. */
interface Wanted {
  readonly version: SecretVersion;
  readonly key: string;
  /** Kept for exactly its lease; a token is given up a little before its end. */
  readonly leased: boolean;
  /** Younger than this, a refusal of it gets no other: each would be made anew on the other side. */
  readonly renewMs: number;
  get(need: ExchangeFor, waitMs: number): Promise<Got>;
}
