import { isIP } from "node:net";
import type { HttpSend } from "../../../gateway/ports.ts";

/** Where one request goes, read from a URL that is already in its one canonical spelling. */
export interface Target {
  readonly origin: string;
  readonly secure: boolean;
  /** Without the brackets of an IPv6 literal. */
  readonly hostname: string;
  readonly port: number;
  readonly path: string;
  /** The origin spells an address: there is no name to resolve. */
  readonly literal: boolean;
}

export type Read<Value> =
  | { readonly kind: "ok"; readonly value: Value }
  | { readonly kind: "refused"; readonly why: string };

/** Methods whose repetition a provider must not mind (RFC 9110, 9.2.1). TRACE and CONNECT are never sent. */
const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);
const METHODS = new Set([...SAFE, "POST", "PUT", "PATCH", "DELETE"]);

export function isSafe(method: string): boolean {
  return SAFE.has(method);
}

/**
 * The URL must be exactly what the parser would write: dot segments, default ports, upper-case or Unicode hosts and
 * stray characters are refused instead of repaired, so that what was approved is what goes on the wire.
 */
export function readTarget(request: Pick<HttpSend, "method" | "url">): Read<Target> {
  if (!METHODS.has(request.method)) return refused("the method is not one that is sent");
  const url = URL.parse(request.url);
  if (url === null) return refused("the URL cannot be read");
  if (url.href !== request.url) return refused("the URL is not in canonical form");
  if (url.protocol !== "https:" && url.protocol !== "http:") return refused("the URL is neither https nor http");
  if (url.username !== "" || url.password !== "") return refused("the URL carries user information");
  if (request.url.includes("#")) return refused("the URL carries a fragment");
  const hostname = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  if (hostname.endsWith(".")) return refused("the host name ends in a dot");
  const secure = url.protocol === "https:";
  return {
    kind: "ok",
    value: {
      origin: url.origin,
      secure,
      hostname,
      port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
      // The text itself: of an empty query the parser tells nothing.
      path: request.url.slice(url.origin.length),
      literal: isIP(hostname) !== 0,
    },
  };
}

function refused(why: string): Read<never> {
  return { kind: "refused", why };
}
