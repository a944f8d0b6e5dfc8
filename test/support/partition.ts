import { mkdirSync } from "node:fs";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { Cluster } from "./postgres.ts";
import { messagesOf, queryOf, statementsOf, userOf } from "./postgres-wire.ts";

/** A way to the database that can be cut: what is on it stands still, and nothing new gets through. */
export interface Partition {
  /** To name in an address instead of the cluster's own. */
  readonly folder: string;
  cut(): void;
  heal(): void;
  close(): void;
  /** Every session forgets the statements that it had read under a name, as one does that a pooler gives to somebody else. */
  forget(): void;
  /** New connections go to another server from now on, and those that are there end. */
  lead(to: Cluster): void;
  /**
   * Once, when the first statement of `user` that holds `text` is about to reach the database, or when the database has committed it and
   * before anybody knows: `act`, and then that connection is gone, or stands still where all of them do. Resolves when that was.
   */
  at(user: string, text: string, moment: "before" | "after", act?: () => unknown): Promise<void>;
}

interface Trap {
  readonly user: string;
  readonly text: string;
  readonly moment: "before" | "after";
  spring(): Promise<void>;
}

export async function makePartition(cluster: Cluster): Promise<Partition> {
  const at = join(cluster.folder, "way");
  mkdirSync(at, { mode: 0o700 });
  const open = new Set<Socket>();
  const forgetting = new Set<() => void>();
  let to = cluster;
  let whole = true;
  let trap: Trap | null = null;
  const end = (): void => {
    for (const socket of open) socket.destroy();
  };
  const server: Server = createServer((near) => {
    const far = createConnection(join(to.folder, `.s.PGSQL.${to.port}`));
    for (const socket of [near, far]) {
      open.add(socket);
      socket
        .on("error", () => undefined)
        .on("close", () => {
          open.delete(socket);
          if (whole) for (const one of [near, far]) one.destroy();
        });
    }
    if (!whole) {
      for (const socket of [near, far]) socket.pause();
      return;
    }
    const [asked, answered, statementOf] = [messagesOf(true), messagesOf(false), statementsOf()];
    let caught: Trap | null = null;
    let user = "";
    // Who each answer that is still to come is for; the first is to the login.
    const awaited: ("client" | "nobody")[] = ["client"];
    const forget = (): void => {
      awaited.push("nobody");
      far.write(queryOf("deallocate all"));
    };
    forgetting.add(forget);
    near.on("close", () => forgetting.delete(forget));
    const spring = (sprung: Trap): void => {
      for (const socket of [near, far]) socket.pause();
      void sprung.spring().finally(() => {
        if (whole) for (const socket of [near, far]) socket.destroy();
      });
    };
    near.on("data", (bytes: Buffer) => {
      for (const message of asked(bytes)) {
        if (message.type === "") user = userOf(message);
        const statement = statementOf(message);
        if (trap?.user === user && statement?.includes(trap.text) === true) {
          caught = trap;
          trap = null;
          if (caught.moment === "before") return spring(caught);
        }
        if (caught?.moment === "before") continue;
        if (["Q", "S"].includes(message.type)) awaited.push("client");
        far.write(message.bytes);
      }
    });
    far.on("data", (bytes: Buffer) => {
      for (const message of answered(bytes)) {
        const own = message.type === "Z" ? awaited.shift() : awaited[0];
        if (own === "nobody") continue;
        if (caught === null) near.write(message.bytes);
        else if (message.type === "Z") return spring(caught);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(join(at, `.s.PGSQL.${cluster.port}`), resolve));
  return {
    folder: at,
    cut() {
      whole = false;
      for (const socket of open) socket.pause();
    },
    heal() {
      whole = true;
      end();
    },
    close() {
      end();
      server.close();
    },
    forget() {
      for (const session of forgetting) session();
    },
    lead(other) {
      to = other;
      end();
    },
    at: (user, text, moment, act) =>
      new Promise((resolve, reject) => {
        const spring = async (): Promise<void> => {
          await Promise.resolve(act?.()).then(() => resolve(), reject);
        };
        trap = { user, text, moment, spring };
      }),
  };
}
