import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer as listenOn } from "node:net";
import { join } from "node:path";
import pg from "pg";
import { embeddedPostgres } from "../../scripts/suite/embedded-postgres.ts";
import { createAuthority } from "../../src/conventions/box/authority.ts";
import { standInAccount } from "../ssh-stand.ts";
import { type Identity, until } from "./home.ts";

const VERSIONS = "/usr/lib/postgresql";

/** Where Debian keeps each server's programs, the newest first, and after them what was fetched of another major. */
export function everyPostgres(): readonly string[] {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS) : [];
  const debian = versions
    .sort((one, other) => Number(other) - Number(one))
    .map((version) => join(VERSIONS, version, "bin"))
    .filter((programs) => existsSync(join(programs, "initdb")));
  return [...debian, ...[embeddedPostgres()].filter((one) => one !== null)];
}

/** Null where there is none. */
export function findPostgres(): string | null {
  return everyPostgres()[0] ?? null;
}

/** For a file of tests that need a database: its programs, or why there are none. Postgres refuses root, and wants its user to have a name. */
export function needPostgres(file: string): { readonly programs: string; readonly skip: string | false } {
  standInAccount(file);
  const programs = findPostgres();
  if (programs === null) return { programs: "", skip: "Debian's postgresql is not installed" };
  return { programs, skip: process.getuid?.() === 0 ? "root proves nothing" : false };
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
  /** A session over the socket, for what takes more than one statement. */
  open(user: string): Promise<pg.Client>;
  /** As a power cut that spares the disk. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Another server in `folder` that follows this one, and has all of it by now. */
  standby(folder: string): Promise<Standby>;
}

export interface Standby extends Cluster {
  caughtUp(): Promise<unknown>;
  /** From now on it learns nothing of what the first is told. */
  fallBehind(): Promise<void>;
  promote(): Promise<void>;
}

const ends = new Set<() => unknown>();
process.once("exit", () => {
  for (const end of ends) end();
});

/** Postgres refuses root: where a test runs as root, `as` says who the server is. */
export async function makeCluster(
  programs: string,
  folder: string,
  as?: Identity,
  { connections = 50, fsync = false }: { readonly connections?: number; readonly fsync?: boolean } = {},
): Promise<Cluster> {
  const data = join(folder, "data");
  if (as !== undefined) {
    chownSync(folder, as.uid, as.gid);
    // Others have their socket there.
    chmodSync(folder, 0o755);
  }
  makeData(programs, data, as);
  const authority = createAuthority({ wallMs: () => Date.now() }, { bytes: (length) => randomBytes(length) });
  const caFile = join(folder, "ca.pem");
  writeFileSync(caFile, authority.certificate);
  writeFileSync(join(data, "server.key"), authority.leafKey, { mode: 0o600 });
  if (as !== undefined) chownSync(join(data, "server.key"), as.uid, as.gid);
  // Without the authority, as servers have it.
  const [leaf = ""] = authority.chainFor("localhost").split(/(?<=-----END CERTIFICATE-----\n)/);
  writeFileSync(join(data, "server.crt"), leaf);
  writeFileSync(
    join(data, "pg_hba.conf"),
    "local all all trust\nlocal replication all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n",
  );
  return await serve({ programs, folder, caFile, as, connections, fsync });
}

/** The files of an empty server, made once for all test files of a run of the suite, and copied. */
function makeData(programs: string, data: string, as: Identity | undefined): void {
  const run = (...[command = "", ...args]: readonly string[]): void => {
    const done = spawnSync(command, args, { encoding: "utf8", ...as });
    assert.equal(done.status, 0, `${command}: ${done.stderr}`);
  };
  const options = ["-U", "owner", "-A", "trust", "--no-sync", "--locale=C", "--encoding=UTF8", "--no-instructions"];
  const init = (at: string): void => run(join(programs, "initdb"), "-D", at, ...options);
  const made = process.env["GW_TEST_MADE"];
  if (made === undefined) {
    init(data);
    return;
  }
  const kept = join(made, "clusters", `${as?.uid ?? process.getuid?.()}${programs.replaceAll("/", "-")}`);
  if (!existsSync(kept)) {
    const own = `${kept}.${process.pid}`;
    init(own);
    try {
      renameSync(own, kept);
    } catch {
      // Another file was first.
      rmSync(own, { recursive: true });
    }
  }
  run("cp", "-a", kept, data);
}

interface Server {
  readonly programs: string;
  readonly folder: string;
  readonly caFile: string;
  readonly as: Identity | undefined;
  readonly connections: number;
  /** What is measured waits for the disk; what is only tested loses nothing but the machine. */
  readonly fsync: boolean;
}

async function serve(made: Server): Promise<Cluster> {
  const { programs, folder, caFile, as, connections, fsync } = made;
  const data = join(folder, "data");
  const port = await freePort();
  const settings = {
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: folder,
    ssl: "on",
    fsync: fsync ? "on" : "off",
    shared_buffers: "16MB",
    max_connections: String(connections),
    // Whoever waits for each other is found soon.
    deadlock_timeout: "300ms",
    autovacuum: "off",
    logging_collector: "off",
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  let server: ChildProcess | null = null;
  let exited = Promise.resolve();

  async function open(user: string): Promise<pg.Client> {
    const client = new pg.Client({ host: folder, port, user, database: "postgres" });
    client.on("error", () => undefined);
    await client.connect();
    return client;
  }

  /** A few sessions that stay for the next statement: to begin one is a process of the server, which has room for so many. */
  function openOwner(): pg.Pool {
    const login = { host: folder, port, user: "owner", database: "postgres" };
    return new pg.Pool({ ...login, max: 2, allowExitOnIdle: true }).on("error", () => undefined);
  }
  let owner = openOwner();

  async function sql<Row extends object>(text: string, values: readonly unknown[] = [], user = "owner") {
    if (user === "owner") return (await owner.query<Row>(text, [...values])).rows;
    const client = await open(user);
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
    // A session may outlive its server for a moment, and would answer for the next one.
    const old = owner;
    owner = openOwner();
    void old.end();
    server?.kill(signal);
    await exited;
  };

  /** By the low-level way, which every build of the server has: some come without the program for it. */
  async function standby(at: string): Promise<Standby> {
    if (as !== undefined) {
      chownSync(at, as.uid, as.gid);
      chmodSync(at, 0o755);
    }
    const copy = join(at, "data");
    const client = await open("owner");
    try {
      await client.query("select pg_backup_start('standby', true)");
      // What the server removes meanwhile is not missed.
      spawnSync("cp", ["-a", data, copy], { stdio: "ignore", ...as });
      const { rows } = await client.query<{ labelfile: string }>("select labelfile from pg_backup_stop(false)");
      for (const name of ["postmaster.pid", "postmaster.opts"]) rmSync(join(copy, name), { force: true });
      for (const name of readdirSync(join(copy, "pg_wal")).filter((one) => /^[0-9A-F]{24}$/.test(one)))
        rmSync(join(copy, "pg_wal", name));
      const primary = `host=${folder} port=${port} user=owner application_name=standby`;
      const files = {
        backup_label: rows[0]?.labelfile ?? "",
        "standby.signal": "",
        "postgresql.auto.conf": `primary_conninfo = '${primary}'\n`,
      };
      for (const [name, text] of Object.entries(files)) {
        writeFileSync(join(copy, name), text);
        if (as !== undefined) chownSync(join(copy, name), as.uid, as.gid);
      }
    } finally {
      await client.end();
    }
    const second = await serve({ ...made, folder: at });
    const caughtUp = (): Promise<unknown> =>
      until("the standby has all", async () => {
        const [row] = await sql<{ same: boolean }>(
          "select replay_lsn >= pg_current_wal_lsn() as same from pg_stat_replication where application_name = 'standby'",
        );
        return row?.same === true;
      });
    await caughtUp();
    return {
      ...second,
      caughtUp,
      async fallBehind() {
        await second.sql("alter system set primary_conninfo = ''");
        await second.sql("select pg_reload_conf()");
        await until("nothing comes any more", async () => {
          return (await sql("select from pg_stat_replication where application_name = 'standby'")).length === 0;
        });
      },
      async promote() {
        await second.sql("select pg_promote(true, 60)");
        await until("it takes writes", async () => {
          const [row] = await second.sql<{ standby: boolean }>("select pg_is_in_recovery() as standby");
          return row?.standby === false;
        });
      },
    };
  }

  ends.add(() => server?.kill("SIGKILL"));
  await start();
  return {
    folder,
    port,
    caFile,
    url: (user, socket = folder) => `postgres://${user}@/postgres?host=${socket}&port=${port}`,
    open,
    sql,
    kill: () => end("SIGKILL"),
    start,
    stop: () => end("SIGQUIT"),
    standby,
  };
}

async function freePort(): Promise<number> {
  const server = listenOn().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
