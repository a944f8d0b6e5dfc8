import { Denied } from "../kernel/failure.ts";

/** Where a hub's database is. Several hosts are tried in turn: one of them is the one that takes writes. */
export interface HubAddress {
  /** As it was given, without anything secret. */
  readonly url: string;
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly user: string;
  readonly database: string;
}

const MAX_URL = 1_024;
const MAX_HOSTS = 8;
const POSTGRES_PORT = 5432;

/**
 * `postgres://USER@HOST[:PORT][,HOST…]/DATABASE`, or `postgres://USER@/DATABASE?host=/folder/of/the/socket[&port=N]`. Read here
 * and not by the client library, which would take files, weaker TLS and a password from it.
 */
export function readHubAddress(url: string): HubAddress {
  if (url.length > MAX_URL) throw refused("it is too long");
  const scheme = ["postgres://", "postgresql://"].find((one) => url.startsWith(one));
  if (scheme === undefined) throw refused("it does not begin with postgres://");
  const rest = url.slice(scheme.length);
  const slash = rest.indexOf("/");
  const at = rest.lastIndexOf("@", slash < 0 ? rest.length : slash);
  if (at < 1 || slash < at) throw refused("it names no user or no database");
  const user = decoded(rest.slice(0, at));
  if (rest.slice(0, at).includes(":")) {
    throw refused(
      "it holds a password, which every program on this machine could read; leave it out and it is asked for",
    );
  }
  const [path = "", query = "", more] = rest.slice(slash + 1).split("?");
  const database = decoded(path);
  if (more !== undefined || database === "" || database.includes("/")) throw refused("it names no database");
  const hosts = readHosts(rest.slice(at + 1, slash), new URLSearchParams(query));
  return { url, hosts, user, database };
}

/** A socket of this machine; whoever serves it is its owner by the file system. Everything else goes by TLS. */
export function isSocket({ host }: { readonly host: string }): boolean {
  return host.startsWith("/");
}

function readHosts(authority: string, query: URLSearchParams): HubAddress["hosts"] {
  const unknown = [...query.keys()].find((name) => name !== "host" && name !== "port");
  if (unknown !== undefined) throw refused(`it has a parameter ${unknown}; there are host and port, for a socket`);
  if (authority === "") {
    const host = query.get("host") ?? "";
    if (!host.startsWith("/")) throw refused("it names no host");
    return [{ host, port: readPort(query.get("port") ?? String(POSTGRES_PORT)) }];
  }
  if (query.size > 0) throw refused("host and port are parameters of a socket alone");
  const names = authority.split(",");
  if (names.length > MAX_HOSTS) throw refused(`it names more than ${MAX_HOSTS} hosts`);
  return names.map((name) => {
    const parts = /^(\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9.-]{1,253})(?::(\d{1,5}))?$/.exec(name);
    if (parts?.[1] === undefined) throw refused(`${name} is no host`);
    return { host: parts[1].replaceAll(/[[\]]/g, ""), port: readPort(parts[2] ?? String(POSTGRES_PORT)) };
  });
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw refused(`${text} is no port`);
  return port;
}

function decoded(text: string): string {
  try {
    const plain = decodeURIComponent(text);
    if (/^[\x21-\x7e]{1,63}$/.test(plain)) return plain;
  } catch {
    // Falls through to the one refusal.
  }
  throw refused("its user or its database has an odd name");
}

function refused(why: string): Denied {
  return new Denied(
    "value_not_allowed",
    `This is no address of a hub: ${why}. It is written postgres://USER@HOST:PORT/DATABASE, or postgres://USER@/DATABASE?host=/folder/of/the/socket`,
  );
}
