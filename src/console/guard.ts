import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Clock, Random } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";

/** How a page was let in. */
export type Entered = "link" | "passkey";

/**
 * Who may speak to the console. A link carries a token that is good once and for minutes; what it is changed for lives in the
 * memory of one page. There is no cookie, since a cookie of one loopback port reaches another.
 */
export interface Guard {
  /** For the part of a link that is never sent to a server. */
  newToken(): string;
  /** Changes a token for the page's own key. Denied for one that is unknown, old or used. */
  enter(token: string): string;
  /** The key of a page whose person answered with a passkey; it is good for hours. */
  admit(): string;
  /** Denied unless the request carries the key of a page that entered. */
  requirePage(headers: IncomingHttpHeaders): Entered;
}

interface Page {
  readonly hash: Buffer;
  readonly entered: Entered;
  readonly untilMs: number;
}

export function createGuard(clock: Pick<Clock, "bootMs">, random: Random): Guard {
  let tokens: { readonly hash: Buffer; readonly untilMs: number }[] = [];
  const pages: Page[] = [];
  const hashOf = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();
  const newPage = (entered: Entered, untilMs: number): string => {
    const key = random.bytes(32).toString("base64url");
    pages.push({ hash: hashOf(key), entered, untilMs });
    if (pages.length > defaults.consolePages) pages.shift();
    return key;
  };
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
      return newPage("link", Number.POSITIVE_INFINITY);
    },
    admit: () => newPage("passkey", clock.bootMs() + defaults.consoleLoginMs),
    requirePage({ authorization }) {
      const hash = hashOf(authorization?.startsWith("Bearer ") ? authorization.slice(7) : "");
      const page = pages.find((one) => timingSafeEqual(one.hash, hash));
      if (page !== undefined && page.untilMs > clock.bootMs()) return page.entered;
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
