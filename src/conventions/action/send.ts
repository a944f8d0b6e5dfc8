import { canonicalJson } from "../../kernel/canonical-json.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { placeOf } from "../url/origin.ts";
import type { SentBody } from "./spooled.ts";

/**
 * One request as it goes out, by the kind of its transport. Whatever differs between kinds is asked here or in a switch
 * that the compiler proves whole, so that another kind shows where it is missing.
 */
export type Send = HttpSend | SshSend;

/** One HTTP exchange: redirects are answers, and the gateway decides about them. */
export interface HttpSend {
  readonly kind: "http";
  readonly method: string;
  readonly url: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: SentBody | null;
  /** `private` only where the pack's own origin names such an address. */
  readonly network: "public" | "private";
  readonly ca: string | null;
  readonly echo: "withhold" | "redact";
  /** A field of the answer that the definition reads, beside those that every answer keeps. In lower case. */
  readonly answerHeader?: string | undefined;
}

/** One operation of one host's receiver. */
export interface SshSend {
  readonly kind: "ssh";
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly hostKey: string;
  readonly operation: string;
  readonly fields: JsonObject;
  readonly recording: "off" | "on";
}

/** A send in the words that rows, cards and the log have for every kind. */
export interface SendWords {
  readonly method: string;
  readonly url: string;
  readonly payload: SentBody | null;
  readonly mediaType: string | null;
}

export function describeSend(send: Send): SendWords {
  switch (send.kind) {
    case "http": {
      const { method, url, body, headers } = send;
      return { method, url, payload: body, mediaType: headers["content-type"] ?? null };
    }
    case "ssh": {
      const payload = Buffer.from(canonicalJson(send.fields), "utf8");
      return { method: send.kind, url: `${sshPlace(send)}/${send.operation}`, payload, mediaType: null };
    }
  }
}

/** Where it goes: `destination` is the other side, `target` what of it the log names as reached. `shownUrl` hides what must be hidden. */
export function reachedBy(
  send: Send,
  shownUrl: string,
): { readonly destination: string; readonly target: string; readonly path: string } {
  switch (send.kind) {
    case "http": {
      const { origin, path } = shownUrl === send.url ? placeOf(shownUrl) : placeIn(shownUrl);
      return { destination: origin, target: `${origin}${path}`, path };
    }
    case "ssh": {
      const destination = `${send.user}@${send.host}:${send.port}`;
      return { destination, target: destination, path: new URL(shownUrl).pathname };
    }
  }
}

/** Of what is shown in the place of what is sent. */
function placeIn(shownUrl: string): { readonly origin: string; readonly path: string } {
  const { origin, pathname: path } = new URL(shownUrl);
  return { origin, path };
}

/** The place that a ticket's target names: everything before the query of a URL, or the user on the host. */
export function locationOf(send: Send): string {
  switch (send.kind) {
    case "http": {
      const { origin, pathname } = new URL(send.url);
      return `${origin}${pathname}`;
    }
    case "ssh":
      return sshPlace(send);
  }
}

function sshPlace({ user, host, port }: SshSend): string {
  return `ssh://${user}@${host}:${port}`;
}
