import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Clock, Random } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";

/**
 * Who may speak to the console. A link carries a token that is good once and for minutes; what it is changed for lives in the
 * memory of one page. There is no cookie, since a cookie of one loopback port reaches another.
 */
export interface Guard {
  /** For the part of a link that is never sent to a server. */
  newToken(): string;
  /** Changes a token for the page's own key. Denied for one that is unknown, old or used. */
  enter(token: string): string;
  /** Denied unless the request carries the key of a page that entered. */
  requirePage(headers: IncomingHttpHeaders): void;
}

export function createGuard(clock: Pick<Clock, "bootMs">, random: Random): Guard {
  let tokens: { readonly hash: Buffer; readonly untilMs: number }[] = [];
  const pages: Buffer[] = [];
  const hashOf = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();
  return {
    newToken() {
      const token = random.bytes(32).toString("base64url");
      tokens = [...tokens, { hash: hashOf(token), untilMs: clock.bootMs() + defaults.consoleTokenMs }].slice(
        -defaults.consoleTokens,
      );
      return token;
    },
    enter(token) {
      const hash = hashOf(token);
      const found = tokens.find((one) => timingSafeEqual(one.hash, hash));
      tokens = tokens.filter((one) => one !== found && one.untilMs > clock.bootMs());
      if (found === undefined || found.untilMs <= clock.bootMs()) {
        throw new Denied(
          "console_link_spent",
          "This link was used already, or is too old. If you have not opened it before, somebody else has: stop gw console and look who is on this machine. Another link stands in its terminal.",
        );
      }
      const key = random.bytes(32).toString("base64url");
      pages.push(hashOf(key));
      if (pages.length > defaults.consolePages) pages.shift();
      return key;
    },
    requirePage({ authorization }) {
      const hash = hashOf(authorization?.startsWith("Bearer ") ? authorization.slice(7) : "");
      if (pages.some((one) => timingSafeEqual(one, hash))) return;
      throw new Denied(
        "console_not_entered",
        "This page is not one that gw console let in, or it is of an earlier start. Open the newest link in its terminal.",
      );
    },
  };
}

/**
 * Whether a request comes from our own page in a browser that we meant: the name it was asked for (a name that was rebound to
 * this address is another), the page that sent it, and what the browser says of how it came about.
 */
export function requireOwnOrigin(method: string, headers: IncomingHttpHeaders, origin: string): void {
  const host = new URL(origin).host;
  const { origin: from, "sec-fetch-site": site } = headers;
  const page = method === "GET";
  const rightHost = headers.host === host;
  const rightOrigin = from === undefined ? page : from === origin;
  const rightSite = site === undefined || site === "same-origin" || (page && site === "none");
  if (rightHost && rightOrigin && rightSite) return;
  throw new Denied("console_origin_foreign", `The console answers its own page at ${origin}, and nobody else.`);
}
