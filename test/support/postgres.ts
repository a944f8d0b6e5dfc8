import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createConnection, createServer as listenOn, type Server, type Socket } from "node:net";
import { join } from "node:path";
import pg from "pg";
import { createAuthority } from "../../src/conventions/box/authority.ts";
import { type Identity, until } from "./home.ts";

const VERSIONS = "/usr/lib/postgresql";

/** Where Debian keeps the newest server's programs; null where there is none. */
export function findPostgres(): string | null {
  if (!existsSync(VERSIONS)) return null;
  const found = readdirSync(VERSIONS)
    .filter((version) => existsSync(join(VERSIONS, version, "bin", "initdb")))
    .sort((one, other) => Number(other) - Number(one))[0];
  return found === undefined ? null : join(VERSIONS, found, "bin");
}

/** A database server of our own: a socket that trusts its user, and TLS with passwords on loopback. */
export interface Cluster {
  readonly folder: string;
  readonly port: number;
  readonly caFile: string;
  /** Of the database over the socket. */
  url(user: string, folder?: string): string;
  /** As the owner, who can do everything. */
  sql<Row extends object>(text: string, values?: readonly unknown[], user?: string): Promise<readonly Row[]>;
  /** As a power cut that spares the disk. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Postgres refuses root: where a test runs as root, `as` says who the server is. */
export async function makeCluster(programs: string, folder: string, as?: Identity, connections = 40): Promise<Cluster> {
  const data = join(folder, "data");
  if (as !== undefined) {
    chownSync(folder, as.uid, as.gid);
    // Others have their socket there.
    chmodSync(folder, 0o755);
  }
  const port = await freePort();
  const made = spawnSync(
    join(programs, "initdb"),
    ["-D", data, "-U", "owner", "-A", "trust", "--no-sync", "--locale=C", "--encoding=UTF8", "--no-instructions"],
    { encoding: "utf8", ...as },
  );
  assert.equal(made.status, 0, made.stderr);
  const authority = createAuthority({ wallMs: () => Date.now() }, { bytes: (length) => randomBytes(length) });
  const caFile = join(folder, "ca.pem");
  writeFileSync(caFile, authority.certificate);
  writeFileSync(join(data, "server.key"), authority.leafKey, { mode: 0o600 });
  if (as !== undefined) chownSync(join(data, "server.key"), as.uid, as.gid);
  writeFileSync(join(data, "server.crt"), authority.chainFor("localhost"));
  writeFileSync(join(data, "pg_hba.conf"), "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n");
  const settings = {
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: folder,
    ssl: "on",
    fsync: "off",
    shared_buffers: "16MB",
    max_connections: String(connections),
    autovacuum: "off",
    logging_collector: "off",
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  let server: ChildProcess | null = null;
  let exited = Promise.resolve();

  async function sql<Row extends object>(text: string, values: readonly unknown[] = [], user = "owner") {
    const client = new pg.Client({ host: folder, port, user, database: "postgres" });
    await client.connect();
    try {
      return (await client.query<Row>(text, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  async function start(): Promise<void> {
    await until("the database is up", async () => {
      if (server === null || server.exitCode !== null || server.signalCode !== null) {
        const child = spawn(join(programs, "postgres"), ["-D", data, ...flags], { stdio: "ignore", ...as });
        server = child;
        exited = new Promise((resolve) => child.once("exit", () => resolve()));
      }
      return await sql("select 1").then(
        () => true,
        () => false,
      );
    });
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    server?.kill(signal);
    await exited;
  };
  process.once("exit", () => server?.kill("SIGKILL"));
  await start();
  return {
    folder,
    port,
    caFile,
    url: (user, socket = folder) => `postgres://${user}@/postgres?host=${socket}&port=${port}`,
    sql,
    kill: () => end("SIGKILL"),
    start,
    stop: () => end("SIGQUIT"),
  };
}

/** A way to the database that can be cut: what is on it stands still, and nothing new gets through. */
export interface Partition {
  /** To name in an address instead of the cluster's own. */
  readonly folder: string;
  cut(): void;
  heal(): void;
  close(): void;
}

export async function makePartition({ folder, port }: Cluster): Promise<Partition> {
  const at = join(folder, "way");
  mkdirSync(at, { mode: 0o700 });
  const name = `.s.PGSQL.${port}`;
  const open = new Set<Socket>();
  let whole = true;
  const server: Server = listenOn((near) => {
    const far = createConnection(join(folder, name));
    for (const socket of [near, far]) {
      open.add(socket);
      socket
        .on("error", () => undefined)
        .on("close", () => {
          open.delete(socket);
          if (whole) for (const one of [near, far]) one.destroy();
        });
    }
    if (whole) near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(join(at, name), resolve));
  return {
    folder: at,
    cut() {
      whole = false;
      for (const socket of open) socket.unpipe().pause();
    },
    heal() {
      whole = true;
      for (const socket of open) socket.destroy();
    },
    close() {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

async function freePort(): Promise<number> {
  const server = listenOn().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
