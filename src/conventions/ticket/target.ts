import { showBounded } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";

/**
 * One target of a ticket: a place, and the arguments that must have exactly these values. It is written as a URL, the
 * arguments by their input names in its query: `https://api.acme.example/memberships?project_id=p1`,
 * `ssh://gw@app-1.acme.example:22?worker=web-1`. There are no wildcards and no prefixes.
 */
export interface TicketTarget {
  readonly text: string;
  readonly location: string;
  readonly pins: ReadonlyMap<string, string>;
}

/** Where one request goes, and with what. */
export interface CallTarget {
  readonly location: string;
  readonly arguments: JsonObject;
}

/** Reads a target as a person or an issuer wrote it; `text` is the one form that is signed and compared. */
export function readTarget(text: string): TicketTarget {
  const url = URL.parse(text);
  if (url === null || !["https:", "http:", "ssh:"].includes(url.protocol) || url.hash !== "" || url.password !== "") {
    throw malformed(text, "write it as a URL: https://HOST/PATH?ARGUMENT=VALUE or ssh://USER@HOST:PORT?ARGUMENT=VALUE");
  }
  if (url.pathname.includes("*")) throw malformed(text, "targets are exact, there are no wildcards");
  const ssh = url.protocol === "ssh:";
  if (ssh ? url.username === "" || url.port === "" || url.pathname.length > 1 : url.username !== "") {
    throw malformed(text, ssh ? "an SSH target names user, host and port, and no path" : "it holds a user name");
  }
  const location = ssh ? `ssh://${url.username}@${url.hostname}:${url.port}` : `${url.origin}${url.pathname}`;
  const pins = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    if (pins.has(name)) throw malformed(text, `it gives the argument "${name}" twice`);
    pins.set(name, value);
  }
  const query = new URLSearchParams([...pins].sort(([one], [other]) => (one < other ? -1 : 1))).toString();
  return { text: query === "" ? location : `${location}?${query}`, location, pins };
}

export function coversTarget(target: TicketTarget, call: CallTarget): boolean {
  return target.location === call.location && pinsMissed(target, call).length === 0;
}

/** The place of a call that none of them covers, and which arguments the nearest one for that place pins to something else. */
export function sayUncovered(targets: readonly TicketTarget[], call: CallTarget): string {
  const missed = targets.filter(({ location }) => location === call.location).map((target) => pinsMissed(target, call));
  const [nearest] = missed.sort((one, other) => one.length - other.length);
  if (nearest === undefined) return call.location;
  return `${call.location} with what this call has for ${showBounded(nearest.join(" and "), 200)}`;
}

function pinsMissed({ pins }: TicketTarget, call: CallTarget): readonly string[] {
  return [...pins.keys()].filter((name) => {
    const value = Object.hasOwn(call.arguments, name) ? call.arguments[name] : undefined;
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return true;
    return String(value) !== pins.get(name);
  });
}

function malformed(text: string, why: string): Denied {
  return new Denied("ticket_invalid", `The target "${text.slice(0, 200)}" cannot be used: ${why}.`);
}
