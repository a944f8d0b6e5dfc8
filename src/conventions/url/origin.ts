import type { Brand } from "../../kernel/brand.ts";
import { Denied } from "../../kernel/failure.ts";

/** Scheme, host and port in the one spelling that the URL parser gives them. */
export type Origin = Brand<string, "Origin">;

/** Reads an origin that is written exactly as a parser would print it, so that a reviewer reads what is called. */
export function readOrigin(text: string): Origin {
  const trouble = troubleWithOrigin(text);
  if (trouble !== null) throw new Denied("origin_refused", trouble);
  return text as Origin;
}

/** What is wrong with an origin, in words for the person who wrote it; null when nothing is. */
export function troubleWithOrigin(text: string): string | null {
  if (!URL.canParse(text)) return "expected an origin such as https://api.example.com";
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return "expected an https origin";
  if (url.origin !== text) return `expected the origin alone, in its plain spelling: ${url.origin}`;
  if (url.hostname.endsWith(".")) return "a host name is written without a final dot";
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) return "http is for loopback only; expected https";
  return null;
}

export function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);
}

/** An address that is private on its face. Names are judged when they are resolved, not here. */
export function isPrivateHost(hostname: string): boolean {
  if (isLoopbackHost(hostname)) return true;
  if (/^\[f[cd][0-9a-f]{2}:|^\[fe[89ab][0-9a-f]:/.test(hostname)) return true;
  return /^(?:10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2,3}$/.test(hostname);
}

/**
 * Where a URL leads, read off its text. That is so for the one spelling that the parser gives it, and the transport sends no
 * other; of another spelling this is no origin that anything is bound to.
 */
export function placeOf(url: string): { readonly origin: string; readonly path: string } {
  const host = url.indexOf("://") + "://".length;
  const slash = url.indexOf("/", host);
  if (slash < 0) return { origin: url, path: "/" };
  const query = url.indexOf("?", slash);
  return { origin: url.slice(0, slash), path: query < 0 ? url.slice(slash) : url.slice(slash, query) };
}

/** The origin of an absolute URL that was already parsed or built by this room. */
export function originOf(url: URL): Origin {
  return url.origin as Origin;
}
