/**
 * The HTTP transport: one exchange a send, to an address that was resolved and judged once, over a connection that is
 * ready before the credential is taken from its Secret. It never throws, never follows a redirect and never sends twice;
 * what it returns says what is proven about the request. docs/http-transport.md tells what each observation means.
 */
import type { SecureContext } from "node:tls";
import type { NeverSent, TransportObservation } from "../../../conventions/outcome/observation.ts";
import type { HttpTransport, LentCredential, OutboundHttp, SendLimits } from "../../../gateway/ports.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { addressAllowed, classifyAddress } from "./address.ts";
import { answer } from "./answer.ts";
import { type Connection, openConnection } from "./connection.ts";
import { createAuthorities, dial } from "./dial.ts";
import { type Exchanged, exchange } from "./exchange.ts";
import { type Group, Pool } from "./pool.ts";
import { checkRequestHeaders, withCredential } from "./request-headers.ts";
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
      const state: SendState = { stop, connected: false };
      try {
        const seen = await attempt(request, credential, limits, state);
        const elapsedMs = Math.round(now() - startedAt);
        return seen.kind === "never_sent" ? { ...seen, elapsedMs, connected: state.connected } : { ...seen, elapsedMs };
      } finally {
        stop.end();
      }
    },
    close: () => pool.close(),
  };

  async function attempt(
    request: OutboundHttp,
    credential: LentCredential | null,
    limits: SendLimits,
    state: SendState,
  ): Promise<Seen> {
    const { stop } = state;
    const read = readTarget(request);
    if (read.kind === "refused") return neverSent("credential_refused", read.why);
    const target = read.value;
    const headers = checkRequestHeaders(request.headers, credential);
    if (headers.kind === "refused") return neverSent("credential_refused", headers.why);
    if (stop.cause !== null) return neverSent(stop.cause, "before the name was resolved");

    const found = await findAddresses(target, request.network, stop);
    if (found.kind === "never_sent") return found;
    const authority = readAuthority(target, request.ca);
    if (authority.kind === "never_sent") return authority;

    const key = `${target.origin} ${authority.id} ${isSafe(request.method) ? "read" : "effect"}`;
    for (;;) {
      const leased = pool.acquire(key, found.addresses, stop);
      // An idle connection is taken without waiting a turn.
      const lease = leased instanceof Promise ? await leased : leased;
      if (lease.kind === "stopped") return neverSent(lease.cause, "while waiting for a connection");
      let connection: Connection;
      if (lease.kind === "idle") connection = lease.connection;
      else {
        state.connected = true;
        const opened = await open(target, found.addresses, authority.context, isSafe(request.method), stop);
        if (opened.kind === "never_sent") {
          pool.forfeit(lease.group);
          return opened;
        }
        connection = opened.connection;
      }
      state.connected = true;
      const exchanged = await exchangeOn(
        lease.group,
        connection,
        request,
        target,
        headers.value,
        credential,
        limits,
        stop,
      );
      if (exchanged.kind === "silent") return exchanged;
      if (exchanged.kind === "answered") return answer(exchanged, request, credential);
      if (exchanged.cause !== null) return neverSent(exchanged.cause, "before the first byte was written");
      // Proven unwritten on a connection that had gone stale: another connection is not a second send.
      if (lease.kind === "room") return neverSent("connect_refused", "closed before the first byte was written");
    }
  }

  async function findAddresses(
    target: Target,
    network: OutboundHttp["network"],
    stop: Stop,
  ): Promise<SeenNeverSent | { readonly kind: "found"; readonly addresses: readonly string[] }> {
    let answers: readonly string[] | null = [target.hostname];
    if (!target.literal) {
      answers = await stop.race(resolve(target.hostname)).catch(() => []);
      if (answers === null) return neverSent(stop.cause ?? "deadline", "while the name was resolved");
      if (answers.length === 0) return neverSent("name_not_resolved", `no address for ${target.hostname}`);
    }
    const addresses = answers
      .filter((address) => {
        const kind = classifyAddress(address);
        // Without TLS nothing proves who answers, so plain HTTP stays on this machine.
        return addressAllowed(kind, network, target.literal) && (target.secure || kind === "loopback");
      })
      .slice(0, ADDRESSES_TRIED);
    if (addresses.length > 0) return { kind: "found", addresses };
    return neverSent("address_refused", `${target.hostname} has no address that this ${network} origin may reach`);
  }

  function readAuthority(
    target: Target,
    ca: string | null,
  ): SeenNeverSent | { readonly kind: "authority"; readonly context: SecureContext | null; readonly id: string } {
    if (!target.secure) return { kind: "authority", context: null, id: "plain" };
    try {
      return { kind: "authority", ...authorities(ca) };
    } catch {
      return neverSent("tls_failed", "the private authority's certificate cannot be read");
    }
  }

  /** Tries the judged addresses in the order they came. A certificate that does not fit ends it: that is no outage. */
  async function open(
    target: Target,
    addresses: readonly string[],
    context: SecureContext | null,
    safe: boolean,
    stop: Stop,
  ): Promise<SeenNeverSent | { readonly kind: "opened"; readonly connection: Connection }> {
    let failure = neverSent("connect_refused", "no address");
    for (const address of addresses) {
      const dialled = await dial(target, address, context, settings.connectMs, stop);
      if (dialled.kind === "connected") {
        const idleMs = safe ? settings.idleMs : settings.effectIdleMs;
        const { responseHeaderBytes } = settings;
        const connection = openConnection(target.origin, address, dialled.socket, { idleMs, responseHeaderBytes });
        return { kind: "opened", connection };
      }
      failure = neverSent(dialled.reason, `${address}: ${dialled.detail}`);
      if (dialled.reason !== "connect_refused" && dialled.reason !== "connect_timeout") break;
    }
    return failure;
  }

  async function exchangeOn(
    group: Group,
    connection: Connection,
    request: OutboundHttp,
    target: Target,
    headers: readonly string[],
    credential: LentCredential | null,
    limits: SendLimits,
    stop: Stop,
  ): Promise<Exchanged> {
    const exchanged = await exchange(
      connection,
      {
        method: request.method,
        path: target.path,
        headers: withCredential(headers, credential),
        body: request.body,
        responseBytes: limits.responseBytes,
      },
      stop,
    );
    if (exchanged.kind === "answered") {
      connection.uses++;
      pool.release(group, connection);
    } else pool.discard(group, connection);
    return exchanged;
  }
}

/** A name with more addresses than this is tried at the first few. */
const ADDRESSES_TRIED = 4;
const AUTHORITIES_KEPT = 64;

interface SendState {
  readonly stop: Stop;
  connected: boolean;
}

type Unmeasured<Observation> = Observation extends unknown ? Omit<Observation, "elapsedMs" | "connected"> : never;
type Seen = Unmeasured<TransportObservation>;
type SeenNeverSent = Unmeasured<NeverSent>;

function neverSent(reason: NeverSent["reason"], detail: string): SeenNeverSent {
  return { kind: "never_sent", reason, detail };
}
