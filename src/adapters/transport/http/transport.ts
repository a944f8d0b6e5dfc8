/**
 * The HTTP transport: one exchange a send, to an address that was resolved and judged once, over a connection that is
 * ready before the credential is taken from its Secret. It never throws, never follows a redirect and never sends twice;
 * what it returns says what is proven about the request. docs/http-transport.md tells what each observation means.
 */
import type { NeverSent, TransportObservation } from "../../../conventions/outcome/observation.ts";
import type { HttpSend, HttpTransport, LentCredential, SendLimits } from "../../../gateway/ports.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { calledOff } from "../called-off.ts";
import { answer } from "./answer.ts";
import { Connection } from "./connection.ts";
import { createAuthorities, type DialFailure, dial, showing } from "./dial.ts";
import { type Exchanged, exchange } from "./exchange.ts";
import { locate } from "./locate.ts";
import { passOn } from "./pass-on.ts";
import { type Group, Pool } from "./pool.ts";
import { checkRequestHeaders, loadCredential } from "./request-headers.ts";
import { createSystemResolver, type ResolveName } from "./resolve.ts";
import { Stop } from "./stop.ts";
import { isSafe, readTarget, type Target } from "./target.ts";

export interface HttpTransportOptions {
  readonly resolve?: ResolveName;
  readonly connectMs?: number;
  readonly idleMs?: number;
  readonly effectIdleMs?: number;
  readonly connectionsPerOrigin?: number;
  readonly connections?: number;
  readonly responseHeaderBytes?: number;
}

export interface ClosableHttpTransport extends HttpTransport {
  /** Closes idle connections; those in use close when their exchange ends. */
  close(): void;
}

export function createHttpTransport(options: HttpTransportOptions = {}): ClosableHttpTransport {
  const now = (): number => performance.now();
  const settings = {
    connectMs: options.connectMs ?? defaults.httpConnectMs,
    idleMs: options.idleMs ?? defaults.httpIdleMs,
    effectIdleMs: options.effectIdleMs ?? defaults.httpEffectIdleMs,
    responseHeaderBytes: options.responseHeaderBytes ?? defaults.httpResponseHeaderBytes,
  };
  const resolve = options.resolve ?? createSystemResolver(defaults.dnsKeepMs, now);
  const authorities = createAuthorities(AUTHORITIES_KEPT);
  const pool = new Pool(
    options.connectionsPerOrigin ?? defaults.httpConnectionsPerOrigin,
    options.connections ?? defaults.httpConnections,
  );

  return {
    async send(_receipt, request, credential, limits) {
      const startedAt = now();
      const stop = new Stop(limits.timeoutMs, limits.signal);
      const state: SendState = { stop, connected: false, handed: false };
      let seen: Seen;
      try {
        seen = await attempt(request, credential, limits, state);
      } catch {
        seen = faultSeen(state);
      }
      stop.end();
      const elapsedMs = Math.round(now() - startedAt);
      return seen.kind === "never_sent" ? { ...seen, elapsedMs, connected: state.connected } : { ...seen, elapsedMs };
    },
    close: () => pool.close(),
  };

  async function attempt(
    request: HttpSend,
    credential: LentCredential | null,
    limits: SendLimits,
    state: SendState,
  ): Promise<Seen> {
    const { stop } = state;
    const target = readTarget(request);
    if (target.kind === "refused") return neverSent("credential_refused", target.why);
    const checked = checkRequestHeaders(request.headers, credential);
    if (checked.kind === "refused") return neverSent("credential_refused", checked.why);
    if (stop.cause !== null) return neverSent(stop.cause, "before the name was resolved");
    const locating = locate(target.value, request.network, resolve, stop);
    const located = locating instanceof Promise ? await locating : locating;
    // Whoever waited for anything is looked at again; nearly all find a connection at once.
    let waited = locating instanceof Promise;
    if (located.kind === "failed") return neverSent(located.reason, located.detail);
    const route = readRoute(target.value, request, located.addresses, credential?.certificate ?? null);
    if (route === "insecure") return neverSent("credential_refused", "a client certificate needs https");
    if (route === null) return neverSent("tls_failed", "the private authority's certificate cannot be read");

    for (;;) {
      const leased = pool.acquire(route.key, route.addresses, stop);
      // An idle connection is taken without waiting a turn.
      const lease = leased instanceof Promise ? await leased : leased;
      if (lease.kind === "stopped") return neverSent(lease.cause, "while waiting for a connection");
      const opened = lease.kind === "idle" ? lease : await open(route, stop);
      waited ||= leased instanceof Promise || lease.kind === "room";
      state.connected ||= opened.kind !== "failed" || opened.reason !== "credential_refused";
      if (opened.kind === "failed") {
        pool.forfeit(lease.group);
        return neverSent(opened.reason, opened.detail);
      }
      const over = waited ? calledOff(limits) : null;
      if (over !== null) {
        pool.discard(lease.group, opened.connection);
        return neverSent("aborted", over);
      }
      const loaded = loadCredential(checked.value, request.body, credential);
      if (loaded.kind === "refused") {
        pool.discard(lease.group, opened.connection);
        return neverSent("credential_refused", loaded.why);
      }
      state.handed = true;
      const { method, echo, answerHeader } = request;
      const { headers, body, query } = loaded.value;
      const path = withQuery(route.target.path, query);
      const { responseBytes, sink, room, holder } = limits;
      const passing = sink === undefined ? null : passOn(sink, loaded.value.screen);
      const exchanged = await exchange(
        opened.connection,
        { method, path, headers, body, responseBytes, answerHeader, passOn: passing, room, holder },
        stop,
      );
      giveBack(lease.group, opened.connection, exchanged);
      if (exchanged.kind === "answered") return answer(exchanged, echo, loaded.value.screen);
      if (exchanged.kind === "silent") return exchanged;
      state.handed = false;
      if (exchanged.cause !== null) return neverSent(exchanged.cause, "before the first byte was written");
      // Proven unwritten. On a connection that had gone stale, another connection is not a second send.
      if (lease.kind === "room") return neverSent("connect_refused", "closed before the first byte was written");
    }
  }

  function readRoute(
    target: Target,
    request: HttpSend,
    addresses: readonly string[],
    shown: LentCredential["certificate"] | null,
  ): Route | "insecure" | null {
    const safe = isSafe(request.method);
    const idleMs = safe ? settings.idleMs : settings.effectIdleMs;
    const lane = safe ? "read" : "effect";
    if (!target.secure) {
      const key = `${target.origin} ${lane}`;
      return shown == null ? { target, addresses, idleMs, context: () => null, key } : "insecure";
    }
    try {
      const authority = authorities(request.ca);
      const key = `${target.origin} ${lane} ${authority.id}`;
      if (shown == null) return { target, addresses, idleMs, context: () => authority.context, key };
      // A connection that showed one certificate is never used for another, nor for none.
      const context = () => showing(authority, shown);
      return { target, addresses, idleMs, context, key: `${key} ${shown.id}` };
    } catch {
      return null;
    }
  }

  /** Tries the judged addresses in the order they came. A certificate that does not fit ends it: that is no outage. */
  async function open(route: Route, stop: Stop): Promise<Opened> {
    let failure: Opened = { kind: "failed", reason: "connect_refused", detail: "no address" };
    const context = route.context();
    if (context !== null && "unusable" in context)
      return { kind: "failed", reason: "credential_refused", detail: context.unusable };
    for (const address of route.addresses) {
      const dialled = await dial(route.target, address, context, settings.connectMs, stop);
      if (dialled.kind === "connected") {
        const { responseHeaderBytes } = settings;
        const connectionLimits = { idleMs: route.idleMs, responseHeaderBytes };
        const connection = new Connection(hostOf(route.target.origin), address, dialled.socket, connectionLimits);
        return { kind: "opened", connection };
      }
      failure = { ...dialled, detail: `${address}: ${dialled.detail}` };
      if (dialled.reason !== "connect_refused" && dialled.reason !== "connect_timeout") break;
    }
    return failure;
  }

  function giveBack(group: Group, connection: Connection, exchanged: Exchanged): void {
    if (exchanged.kind !== "answered") pool.discard(group, connection);
    else pool.release(group, connection);
  }
}

const AUTHORITIES_KEPT = 64;

/** Where a call goes, and which connections can take it there. */
interface Route {
  readonly target: Target;
  readonly addresses: readonly string[];
  readonly idleMs: number;
  /** Made for the connection that is opened with it, where it holds a key; null without TLS. */
  readonly context: () => ReturnType<typeof showing> | null;
  readonly key: string;
}

type Opened =
  | { readonly kind: "opened"; readonly connection: Connection }
  | { readonly kind: "failed"; readonly reason: DialFailure | "credential_refused"; readonly detail: string };

interface SendState {
  readonly stop: Stop;
  connected: boolean;
  /** The request was given to a connection and has not been proven unwritten. */
  handed: boolean;
}

type Unmeasured<Observation> = Observation extends unknown ? Omit<Observation, "elapsedMs" | "connected"> : never;
type Seen = Unmeasured<TransportObservation>;

function neverSent(reason: NeverSent["reason"], detail: string): Seen {
  return { kind: "never_sent", reason, detail };
}

/** A mistake of ours must not look like a failure of the provider's, nor like proof that nothing left. */
function faultSeen(state: SendState): Seen {
  if (state.handed) return { kind: "silent", reason: "connection_lost", detail: "fault_in_transport" };
  return neverSent("aborted", "fault_in_transport");
}

/** The name, and the port where it is not the scheme's own. */
function hostOf(origin: string): string {
  return origin.slice(origin.indexOf("//") + 2);
}

function withQuery(path: string, query: string): string {
  if (query === "") return path;
  return `${path}${path.endsWith("?") ? "" : path.includes("?") ? "&" : "?"}${query}`;
}
