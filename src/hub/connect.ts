import { createHash } from "node:crypto";
import { isIP, type Socket } from "node:net";
import type { Client } from "pg";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { Secret } from "../kernel/secret.ts";
import { type HubAddress, isSocket } from "./address.ts";
import { HUB_CHANNEL, HUB_SCHEMA, HUB_VERSION } from "./schema.ts";

/** How somebody logs in to a hub's database. */
export interface HubLogin {
  readonly address: HubAddress;
  readonly password: Secret | null;
  /** PEM; null for the public authorities, as Node brings them. */
  readonly authority: string | null;
}

export interface HubConnection {
  /**
   * Rows of one statement; what the database or the network refuses is Denied `hub_…`. What is asked `often` has a name of its own: the
   * database reads and plans it once a session, which takes it longer than doing it.
   */
  ask<Row extends object>(text: string, values?: readonly unknown[], often?: string | null): Promise<readonly Row[]>;
  /**
   * Called whenever somebody says that there is something to look at, and what: a hint, nothing more. Needs a session of its own, not a
   * pooler's. Whoever listens for a while only ends it with what this resolves to.
   */
  listen(told: (what: string) => void): Promise<() => void>;
  /** Called once, when the connection is gone. */
  onLost(told: () => void): void;
  close(): Promise<void>;
}

/** The first host that answers and takes writes. Whoever makes the hub has none to look at yet. */
export async function connectHub(login: HubLogin, expected: string | null): Promise<HubConnection & { hubId: string }> {
  const connection = await connectDatabase(login);
  try {
    const hub = await readHub(connection);
    if (hub === null)
      throw new Denied("hub_unknown", "There is no hub in this database. Its owner makes one: gw hub init URL");
    if (expected !== null && hub.hubId !== expected) {
      throw new Denied(
        "hub_unknown",
        `This database holds hub ${hub.hubId}, and this gateway joined ${expected}. Nothing goes there. Look where the address leads by now, and what became of the database.`,
      );
    }
    return { ...connection, hubId: hub.hubId };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Null where the schema is not there; a schema of another version is refused. */
export async function readHub(connection: HubConnection): Promise<{ readonly hubId: string } | null> {
  const hub = await lookAtHub(connection);
  if (hub === null || hub.version === HUB_VERSION) return hub;
  const older = hub.version < HUB_VERSION ? " Its owner brings it up to that: gw hub init URL" : "";
  throw new Denied("hub_unknown", `The hub has format ${hub.version}, and this gw knows ${HUB_VERSION}.${older}`);
}

/** Of whatever version. */
export async function lookAtHub(
  connection: HubConnection,
): Promise<{ readonly hubId: string; readonly version: number } | null> {
  const [there] = await connection.ask<{ readonly there: boolean }>(
    `select to_regclass('${HUB_SCHEMA}.hub') is not null as there`,
  );
  if (there?.there !== true) return null;
  const [hub] = await connection.ask<{ readonly hub_id: string; readonly version: number }>(
    `select left(hub_id, 128) as hub_id, version from ${HUB_SCHEMA}.hub`,
  );
  return { hubId: hub?.hub_id ?? "", version: hub?.version ?? 0 };
}

export async function connectDatabase(login: HubLogin): Promise<HubConnection> {
  let trouble: unknown;
  for (const at of login.address.hosts) {
    let connection: HubConnection | null = null;
    try {
      connection = await open(login, at);
      if (login.address.hosts.length === 1 || (await takesWrites(connection))) return connection;
    } catch (error) {
      trouble ??= error;
    }
    await connection?.close();
  }
  throw refusalOf(trouble ?? new Error("no host takes writes"));
}

async function takesWrites(connection: HubConnection): Promise<boolean> {
  const [row] = await connection.ask<{ readonly standby: boolean }>("select pg_is_in_recovery() as standby");
  return row?.standby === false;
}

async function open(
  { address, password, authority }: HubLogin,
  at: HubAddress["hosts"][number],
): Promise<HubConnection> {
  // The library fills what it is not told from these. The launcher drops them; whoever starts us otherwise may not.
  for (const name of Object.keys(process.env)) if (name.startsWith("PG")) delete process.env[name];
  const { default: pg } = await import("pg");
  const client = new pg.Client({
    host: at.host,
    port: at.port,
    user: address.user,
    database: address.database,
    // A function, also where there is none: else the library looks for a password file.
    password: () => password?.use((bytes) => bytes.toString("utf8")) ?? "",
    ssl: isSocket(at)
      ? false
      : {
          rejectUnauthorized: true,
          minVersion: "TLSv1.2",
          ...(isIP(at.host) === 0 ? { servername: at.host } : {}),
          ...(authority === null ? {} : { ca: authority }),
        },
    enableChannelBinding: true,
    application_name: "gw",
    connectionTimeoutMillis: defaults.hubConnectMs,
    query_timeout: defaults.hubQueryMs,
    keepAlive: true,
  });
  // Without a listener a lost connection would end the process.
  client.on("error", () => undefined);
  const wire = (client as unknown as { readonly connection: Wire }).connection;
  const attach = wire.attachListeners.bind(wire);
  let replies: Replies = { reset: () => undefined };
  // From the first byte on, which is before anybody has logged in.
  wire.attachListeners = (stream) => {
    attach(stream);
    replies = boundReplies(stream);
  };
  try {
    await client.connect();
  } catch (error) {
    // Whoever refuses a login need not hang up: each try would leave one more connection open.
    wire.stream.destroy();
    throw error;
  }
  return connectionOf(client, wire.stream, replies);
}

/** What the library reads from: after TLS has begun another stream than before. */
interface Wire {
  readonly stream: Socket;
  attachListeners(stream: Socket): void;
}

interface Replies {
  reset(): void;
}

/** What the database answers is read up to a bound; more, or what is no answer at all, ends this connection and nothing else. */
function boundReplies(stream: Socket): Replies {
  let read = 0;
  const readers = stream.listeners("data");
  stream.removeAllListeners("data");
  stream.on("data", (bytes: Buffer) => {
    read += bytes.length;
    try {
      if (read > defaults.hubReplyBytes) throw new Error("it answered with more than gw reads");
      for (const reader of readers) reader.call(stream, bytes);
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error("it answered with what gw does not read"));
    }
  });
  return {
    reset: () => {
      read = 0;
    },
  };
}

function connectionOf(client: Client, stream: Socket, replies: Replies): HubConnection {
  let names = true;
  const named = new Map<string, string>();
  /** With a digest of the statement: behind a pooler another version of this program may have named another one so. */
  const nameOf = (often: string, text: string): string => {
    const known = named.get(text);
    if (known !== undefined) return known;
    const name = `gw ${often} ${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
    named.set(text, name);
    return name;
  };
  return {
    async ask<Row extends object>(text: string, values: readonly unknown[] = [], often: string | null = null) {
      const query = (name: string | null) =>
        client.query<Row>({ text, values: [...values], ...(name === null ? {} : { name }) });
      replies.reset();
      try {
        const asked = query(names && often !== null ? nameOf(often, text) : null);
        const { rows } = await asked.catch((error: unknown) => {
          if (!isForgotten(error)) throw error;
          // A pooler in between gave us another session. Nothing was done; from here on every statement comes whole.
          names = false;
          return query(null);
        });
        return rows;
      } catch (error) {
        throw refusalOf(error);
      }
    },
    async listen(told) {
      const hear = ({ payload }: { readonly payload?: string | undefined }): void => told(payload ?? "");
      client.on("notification", hear);
      await client.query(`listen ${HUB_CHANNEL}`).catch((error: unknown) => {
        client.off("notification", hear);
        throw refusalOf(error);
      });
      return () => void client.off("notification", hear);
    },
    onLost: (told) => void client.once("end", told),
    close: async () => {
      const stop = new AbortController();
      // A connection to somebody who no longer answers is not waited for.
      const gone = new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, defaults.hubAgainMs);
        stop.signal.addEventListener("abort", () => clearTimeout(timer));
      });
      await Promise.race([client.end().catch(() => undefined), gone]);
      stop.abort();
      stream.destroy();
    },
  };
}

/** The session does not know a statement by its name, or has one of that name from somebody else. */
function isForgotten(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "26000" || error.code === "42P05");
}

/** What the server itself answers, by the class of its SQLSTATE; a server that stops, or has no room, is one that is away. */
function refusalOf(error: unknown): Denied {
  if (error instanceof Denied) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const message = (error instanceof Error ? error.message : String(error)).slice(0, 300);
  if (code === "3D000")
    return new Denied(
      "hub_unknown",
      `The database server says: ${message}. Make that database, or correct the address.`,
    );
  if (["42P01", "3F000"].includes(code))
    return new Denied("hub_unknown", `This database holds no hub: ${message}. Its owner makes one: gw hub init URL.`);
  if (code === "23505") return new Denied("hub_forked", `Somebody wrote there already: ${message}.`);
  if (code.startsWith("28") && code.length === 5)
    return new Denied("hub_refused", `The database refuses this login: ${message}. Check user and password.`);
  if (code === "42501") return new Denied("hub_refused", `The database refuses: ${message}. ${ROLES}`);
  if (["22", "23", "42"].includes(code.slice(0, 2)) && code.length === 5)
    return new Denied("hub_refused", `The database refuses: ${message}.`);
  if (/CERT|ISSUER|VERIFY_LEAF/.test(code))
    return new Denied(
      "hub_unreachable",
      `The database's certificate is not trusted for its name: ${message.replace(NODES_ADVICE, "")}. ${TRUST}`,
    );
  return new Denied("hub_unreachable", `The hub's database does not answer: ${message || code || "no reason given"}.`);
}

const ROLES = "A gateway's login has to be a member of gw_gateway, an operator's of gw_operator.";
const TRUST =
  "Name the authority that vouches for it with --hub-ca FILE (what the system trusts beside the public ones is not asked), and the host as the certificate does.";
/** Nobody can do that: the launcher takes no options for Node. */
const NODES_ADVICE = /; if the root CA is installed locally.*$/;
