import { createHash, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import {
  checkServerIdentity as checkIdentity,
  connect as connectTls,
  createSecureContext,
  type PeerCertificate,
  type SecureContext,
  type TLSSocket,
} from "node:tls";
import type { LentCredential } from "../../../gateway/ports.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { sayOpenssl } from "../../../kernel/openssl.ts";
import type { Stop } from "./stop.ts";
import type { Target } from "./target.ts";

/** A connection that is ready for its first request byte, or why there is none. Nothing of a request is written here. */
export type Dialled =
  | { readonly kind: "connected"; readonly socket: Socket }
  | { readonly kind: "failed"; readonly reason: DialFailure; readonly detail: string };

export type DialFailure = "connect_refused" | "connect_timeout" | "tls_failed" | "aborted" | "deadline";

/**
 * Connects to exactly this address. The name in the URL is what the certificate must carry and what SNI says; it is
 * never looked up again. TLS settings are spelled out so that no environment variable can weaken them.
 */
export function dial(
  target: Target,
  address: string,
  authority: SecureContext | null,
  connectMs: number,
  stop: Stop,
): Promise<Dialled> {
  if (stop.cause !== null) return Promise.resolve({ kind: "failed", reason: stop.cause, detail: "not connected yet" });
  return new Promise((resolve) => {
    let opened = false;
    const socket = authority === null ? connectTcp({ host: address, port: target.port }) : openTls(authority);
    const timer = setTimeout(() => fail("connect_timeout", `no connection after ${connectMs} ms`), connectMs);
    stop.onStop = (cause) => fail(cause, "the connection was not ready");
    socket.setNoDelay(true);
    // For life: an error between this stage and the next must not become an uncaught exception.
    socket.on("error", () => {});
    socket.once("connect", () => {
      opened = true;
      if (authority === null) succeed();
    });
    if (authority !== null) socket.once("secureConnect", succeed);
    socket.once("error", onError);
    socket.once("close", onClose);

    function openTls(secureContext: SecureContext): TLSSocket {
      return connectTls({
        host: address,
        port: target.port,
        servername: target.literal ? "" : target.hostname,
        secureContext,
        rejectUnauthorized: true,
        checkServerIdentity,
        ALPNProtocols: ["http/1.1"],
      });
    }
    function onError(error: NodeJS.ErrnoException): void {
      if (opened && authority !== null) fail("tls_failed", describe(error));
      else fail(error.code === "ETIMEDOUT" ? "connect_timeout" : "connect_refused", describe(error));
    }
    function onClose(): void {
      fail(opened && authority !== null ? "tls_failed" : "connect_refused", "the connection was closed");
    }
    function leave(): void {
      clearTimeout(timer);
      stop.onStop = null;
      socket.removeListener("error", onError);
      socket.removeListener("close", onClose);
    }
    function succeed(): void {
      leave();
      resolve({ kind: "connected", socket });
    }
    function fail(reason: DialFailure, detail: string): void {
      leave();
      socket.destroy();
      resolve({ kind: "failed", reason, detail });
    }
  });
}

/** Node falls back to the subject's common name where no DNS name is listed; that has been retired (RFC 9525). */
function checkServerIdentity(hostname: string, certificate: PeerCertificate): Error | undefined {
  if (isIP(hostname) === 0 && !certificate.subjectaltname?.includes("DNS:")) {
    return Object.assign(new Error("no DNS name in the certificate"), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
  }
  return checkIdentity(hostname, certificate);
}

const MIN_VERSION = "TLSv1.2";

/** Whom we trust at the other end. */
interface Authority {
  readonly context: SecureContext;
  readonly id: string;
  readonly ca: string | null;
}

/** A certificate that no connection can be made with, and why. */
interface Unusable {
  readonly unusable: string;
}

/** The same authority, and who we are. Not kept: it holds a private key, for the one connection that is made with it. */
export function showing(
  { ca }: Authority,
  { label, certificate, key }: NonNullable<LentCredential["certificate"]>,
): SecureContext | Unusable {
  const own = key.use((bytes) => ({ cert: certificate, key: bytes.toString("latin1") }));
  try {
    return createSecureContext({ minVersion: MIN_VERSION, ...(ca === null ? {} : { ca }), ...own });
  } catch (cause) {
    return { unusable: `no connection can be made with the certificate ${label}: ${sayOpenssl(cause)}` };
  }
}

/** Keeps one TLS context per private authority: making one reads and parses every certificate. */
export function createAuthorities(keep: number): (ca: string | null) => Authority {
  const known = new Map<string, Authority>();
  return (given) => {
    const file = given === null || given.includes("-----BEGIN ") ? null : stampOf(given);
    const id = given === null ? "system" : createHash("sha256").update(`${given} ${file}`).digest("base64url");
    const held = known.get(id);
    if (held !== undefined) return held;
    const ca = given === null || file === null ? given : readFileSync(given, "utf8");
    if (ca !== null) checkAuthority(ca);
    const context = createSecureContext({ minVersion: MIN_VERSION, ...(ca === null ? {} : { ca }) });
    const oldest = known.size >= keep ? known.keys().next().value : undefined;
    if (oldest !== undefined) known.delete(oldest);
    const made = { context, id, ca };
    known.set(id, made);
    return made;
  };
}

/** A pack names a file: it is read again once it has changed. */
function stampOf(path: string): string {
  const { size, mtimeNs, ino } = statSync(path, { bigint: true });
  if (size > BigInt(defaults.authorityFileBytes)) throw new Error("the file of the authority is too large");
  return `${ino} ${size} ${mtimeNs}`;
}

/** Node skips a certificate it cannot read, and takes an empty text for "trust the system's authorities". */
function checkAuthority(ca: string): void {
  const blocks = ca.split("-----BEGIN CERTIFICATE-----").slice(1);
  if (blocks.length === 0) throw new Error("no certificate in the authority");
  for (const block of blocks) new X509Certificate(`-----BEGIN CERTIFICATE-----${block}`);
}

/** Codes only: a peer can put its own words into an error's message. */
function describe(error: NodeJS.ErrnoException): string {
  return error.code ?? "unnamed error";
}
