import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { connectHub, type HubConnection, type HubLogin } from "../../../hub/connect.ts";
import { fetchLog, readHead } from "../../../hub/fetch-log.ts";
import { fleetFindings } from "../../../hub/findings.ts";
import { HUB_SCHEMA, shortBytes, shortText } from "../../../hub/schema.ts";
import { ENROLMENT_COLUMNS, type EnrolmentRow, eachGateway, type Speaker, speakerOf } from "../../../hub/speaker.ts";
import type { HeadStatement } from "../../../hub/statement.ts";
import type { Vault } from "../../../vault/vault.ts";
import { makeLogFolder } from "./log-folder.ts";

type Connected = HubConnection & { readonly hubId: string };

/** A gateway of the vault whose log is on the hub, those that left too, and how far it signed; null where that is not its own word. */
export interface LogOnHub {
  readonly speaker: Speaker;
  readonly head: HeadStatement | null;
  /** False for one that joined and has said nothing yet. */
  readonly isBegun: boolean;
}

/** One moment of the hub for each log and its head. */
export async function atOneMoment<Result>(
  connection: Connected,
  vault: Vault,
  work: (logs: readonly LogOnHub[]) => Promise<Result>,
): Promise<Result> {
  const keys = vault.operators.map(({ approverKey }) => approverKey);
  await connection.ask("begin transaction isolation level repeatable read read only");
  try {
    const rows = await connection.ask<EnrolmentRow & { statement: string | null; signature: Buffer | null }>(
      eachGateway(
        `${ENROLMENT_COLUMNS}, ${shortText("h.statement")}, ${shortBytes("h.signature")}`,
        `join ${HUB_SCHEMA}.log_head h on h.gateway = g.name`,
      ),
    );
    const logs = rows.flatMap((row) => {
      const speaker = speakerOf(row, connection.hubId, keys);
      if (speaker?.vaultId !== vault.vaultId) return [];
      const head = readHead({ text: row.statement, signature: row.signature }, speaker) ?? null;
      return [{ speaker, head, isBegun: row.statement !== null }];
    });
    return await work(logs);
  } finally {
    await connection.ask("commit").catch(() => undefined);
  }
}

/** What is wrong with the parts, in words; only a log whose every part its gateway signed is read. */
export async function fetchOne(
  connection: HubConnection,
  { speaker, head, isBegun }: LogOnHub,
  folder: string,
  since: HeadStatement | null = null,
): Promise<string | null> {
  if (head === null && isBegun) return fleetFindings.head_invalid;
  if (since !== null && (head?.tick ?? 0) < since.tick) return fleetFindings.rolled_back;
  if (head === null) return fleetFindings.head_missing;
  const wrong = await fetchLog(connection, speaker, head, folder, since);
  return wrong === null ? null : fleetFindings[wrong.code];
}

/** The logs of all gateways of the vault in folders of our own, brought up to what the hub has whenever somebody looks. */
export interface HubLogs {
  look(): Promise<HubLogsSeen>;
  close(): void;
}

export interface HubLogsSeen {
  readonly logs: readonly { readonly gateway: string; readonly folder: string }[];
  /** What is not shown, or not all of it, and why. */
  readonly wrong: readonly { readonly gateway: string; readonly words: string }[];
}

export function keepHubLogs(login: HubLogin, vault: () => Vault): HubLogs {
  const root = makeLogFolder();
  /** By the key that signs for it too: another one under the same name is another log. */
  const kept = new Map<
    string,
    { readonly folder: string; readonly head: HeadStatement | null; readonly wrong: string | null }
  >();
  let folders = 0;
  let connection: Connected | null = null;
  let looking: Promise<HubLogsSeen> | null = null;

  async function fetchAll(): Promise<HubLogsSeen> {
    connection ??= await connectHub(login, null);
    const live = connection;
    try {
      return await atOneMoment(live, vault(), async (logs) => {
        for (const one of logs) {
          const name = `${one.speaker.gateway} ${one.speaker.identityKey.toString("hex")}`;
          const log = kept.get(name) ?? { folder: join(root, String(++folders)), head: null, wrong: null };
          // What was found wrong once is not mended by asking again: what is there of it may be half. Nothing becomes a log.
          const isFinal = log.wrong !== null && log.wrong !== fleetFindings.head_missing;
          if (isFinal || (log.head !== null && log.head.tick === one.head?.tick)) continue;
          mkdirSync(log.folder, { mode: 0o700, recursive: true });
          // Where this is cut off, what came stands in the folder and nobody knows how much: the next begins anew.
          kept.delete(name);
          const wrong = await fetchOne(live, one, log.folder, log.head);
          if (wrong !== null) rmSync(log.folder, { recursive: true, force: true });
          kept.set(name, { folder: log.folder, head: one.head, wrong });
        }
        const all = [...kept].map(([name, log]) => ({ gateway: name.split(" ")[0] ?? "", ...log }));
        return {
          logs: all.filter(({ wrong }) => wrong === null),
          wrong: all.flatMap(({ gateway, wrong }) => (wrong === null ? [] : [{ gateway, words: wrong }])),
        };
      });
    } catch (error) {
      connection = null;
      await live.close();
      throw error;
    }
  }

  return {
    look() {
      looking ??= fetchAll().finally(() => {
        looking = null;
      });
      return looking;
    },
    close() {
      void connection?.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
