import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Clock, Random } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";

/** How a page was let in. */
export type Entered = "link" | "passkey";

/** A page that was let in. It can be so no longer a moment later: whoever keeps it looks again. */
export interface Page {
  readonly entered: Entered;
  isIn(): boolean;
  end(): void;
}

/**
 * Who may speak to the console. A link carries a token that is good once and for minutes; what it is changed for lives in the
 * memory of one page. There is no cookie, since a cookie of one loopback port reaches another.
 */
export interface Guard {
  /** For the part of a link that is never sent to a server. */
  newToken(): string;
  /** Changes a token for the page's own key. Denied for one that is unknown, old or used. */
  enter(token: string): string;
  /** The key of a page whose person answered with this passkey; it is good for hours, and as long as the passkey is enrolled. */
  admit(credentialId: string): string;
  /** Denied unless the request carries the key of a page that entered. */
  requirePage(headers: IncomingHttpHeaders): Page;
}

export interface GuardPorts {
  readonly clock: Pick<Clock, "bootMs">;
  readonly random: Random;
  /** It listens beyond this machine: a link is for minutes there, to enrol a passkey. */
  readonly remote: boolean;
  isEnrolled(credentialId: string): boolean;
  /** A link was refused on this machine while none is good any more: its person needs another. */
  onNoneLeft(): void;
}

export function createGuard({ clock, random, remote, isEnrolled, onNoneLeft }: GuardPorts): Guard {
  let tokens: { readonly hash: Buffer; readonly untilMs: number }[] = [];
  let pages: (Page & { readonly hash: Buffer })[] = [];
  const hashOf = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();
  const newPage = (forMs: number, credentialId: string | null): string => {
    const key = random.bytes(32).toString("base64url");
    const untilMs = clock.bootMs() + forMs;
    const page = {
      hash: hashOf(key),
      entered: credentialId === null ? ("link" as const) : ("passkey" as const),
      isIn: () =>
        pages.includes(page) && clock.bootMs() < untilMs && (credentialId === null || isEnrolled(credentialId)),
      end() {
        pages = pages.filter((one) => one !== page);
      },
    };
    pages = [...pages, page].slice(-defaults.consolePages);
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
        if (!remote && tokens.length === 0) onNoneLeft();
        const another = remote
          ? "For another one start gw console with --enrol again."
          : "Another one stands in the terminal of gw console.";
        throw new Denied(
          "console_link_spent",
          `This link was used already, or is older than ${defaults.consoleTokenMs / 60_000} minutes. ${another} If it is new and you have not opened it, somebody else has: stop gw console and look who is on this machine.`,
        );
      }
      return newPage(remote ? defaults.consoleTokenMs : Number.POSITIVE_INFINITY, null);
    },
    admit: (credentialId) => newPage(defaults.consoleLoginMs, credentialId),
    requirePage({ authorization }) {
      const hash = hashOf(authorization?.startsWith("Bearer ") ? authorization.slice(7) : "");
      const page = pages.find((one) => timingSafeEqual(one.hash, hash));
      if (page?.isIn() === true) return page;
      throw new Denied(
        "console_not_entered",
        remote
          ? "This page is not logged in, or no longer: its hours are over, its passkey was removed, or gw console was started anew. Log in with your passkey."
          : "This page is not one that gw console let in, or it is of an earlier start. Open the newest link in its terminal.",
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
