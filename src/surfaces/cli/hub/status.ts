import { connectHub, type HubConnection } from "../../../hub/connect.ts";
import { readHead } from "../../../hub/fetch-log.ts";
import { HUB_SCHEMA, shortBytes, shortText } from "../../../hub/schema.ts";
import {
  ENROLMENT_COLUMNS,
  type EnrolmentRow,
  eachGateway,
  hasLeft,
  LEAVE_COLUMNS,
  type LeaveRow,
  type Speaker,
  speakerOf,
} from "../../../hub/speaker.ts";
import type { Clock, Sleep } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { counted, showIdentifier } from "../../../kernel/display.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { openHome, type VaultHome } from "../../../vault/files/home.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import type { BaseOptions } from "../options.ts";
import { policyInForce } from "../vault/session.ts";
import { type HubLoginOptions, takeOperatorLogin } from "./login.ts";
import { recallFleet } from "./memory.ts";
import { findWaiting } from "./waiting.ts";

interface Row extends EnrolmentRow, LeaveRow {
  readonly statement: string | null;
  readonly signature: Buffer | null;
  readonly seconds: number | null;
}

/** Somebody asks in its name, with a key that the policy of this home does not name. */
const UNKNOWN_KEY = "unknown_key";

/** A gateway by its own signed word; how long ago that was is the database's. */
export interface GatewayState {
  readonly gateway: string;
  /** False where an operator of this vault did not sign for it, or it did not sign what stands there. */
  readonly signed: boolean;
  readonly tick: number | null;
  readonly frame: number | null;
  readonly vault: number | null;
  readonly policy: number | null;
  readonly silent_s: number | null;
  /** Null where it does not ask to be unlocked; else "waits", the code for which it would not be, or "unknown_key". */
  readonly waiting: string | null;
}

/** `gw status --hub URL`: all gateways of this vault. Nothing is asked for but the database's password. */
export function runHubStatus(
  options: BaseOptions & HubLoginOptions & { readonly hub: string },
  { io, random, clock, sleep, vault: { stateFolder } }: CliDeps,
): Promise<Exit> {
  return answering(io, async () => {
    const home = openHome(options.home, random);
    const login = await takeOperatorLogin(options, { io, random });
    using _wiped = login.password;
    const connection = await connectHub(login, null);
    try {
      const { states, answeredMs } = await readStates(connection, home, { clock, sleep }, stateFolder);
      const record = { hub_id: connection.hubId, answered_ms: answeredMs, gateways: states.map((one) => ({ ...one })) };
      if (options.json) io.out(JSON.stringify(record satisfies JsonObject, null, 2));
      else for (const line of linesOf(record.hub_id, answeredMs, states)) io.out(line);
      return states.every(({ signed }) => signed) ? exits.done : exits.denied;
    } finally {
      await connection.close();
    }
  });
}

/** All gateways of the vault, and how long the database took to say so. */
export async function readStates(
  connection: HubConnection & { readonly hubId: string },
  home: VaultHome,
  time: { readonly clock: Pick<Clock, "bootMs">; readonly sleep: Sleep },
  stateFolder: string,
): Promise<{ readonly states: readonly GatewayState[]; readonly answeredMs: number }> {
  const vault = home.readVault();
  const keys = vault.operators.map(({ approverKey }) => approverKey);
  const beforeMs = time.clock.bootMs();
  const rows = await readRows(connection);
  const answeredMs = Math.max(1, Math.round(time.clock.bootMs() - beforeMs));
  const speakers = rows.flatMap((row) => ownSpeaker(row, connection.hubId, vault.vaultId, keys));
  const policy = policyInForce(home, vault);
  const knows = { vault: vault.generation, policy: policy?.version ?? 0 };
  const seen = recallFleet(stateFolder, connection.hubId);
  const { waiting, unknown } = await findWaiting(time, connection, speakers, policy?.hub ?? null, knows, seen);
  const states = rows
    .flatMap((row) => stateOf(row, connection.hubId, vault.vaultId, keys))
    .map((one) => {
      const found = waiting.find(({ gateway }) => gateway === one.gateway);
      if (found !== undefined) return { ...one, waiting: found.refused?.code ?? "waits" };
      return { ...one, waiting: unknown.includes(one.gateway) ? UNKNOWN_KEY : null };
    });
  return { states, answeredMs };
}

function readRows(connection: HubConnection): Promise<readonly Row[]> {
  return connection.ask<Row>(
    eachGateway(
      `${ENROLMENT_COLUMNS}, ${LEAVE_COLUMNS}, ${shortText("h.statement")}, ${shortBytes("h.signature")}, extract(epoch from clock_timestamp() - h.seen_at)::float8 as seconds`,
      `left join ${HUB_SCHEMA}.log_head h on h.gateway = g.name`,
    ),
  );
}

function ownSpeaker(row: Row, hubId: string, vaultId: string, keys: readonly Buffer[]): readonly Speaker[] {
  const speaker = speakerOf(row, hubId, keys);
  return speaker?.vaultId === vaultId && !hasLeft(row, speaker, keys) ? [speaker] : [];
}

/** Gateways of other vaults are not ours to judge, and those that left say nothing any more. */
function stateOf(
  row: Row,
  hubId: string,
  vaultId: string,
  keys: readonly Buffer[],
): readonly Omit<GatewayState, "waiting">[] {
  const silent_s = row.seconds === null ? null : Math.round(row.seconds);
  const unsigned = { gateway: row.name, signed: false, tick: null, frame: null, vault: null, policy: null, silent_s };
  const speaker = speakerOf(row, hubId, keys);
  // What names no vault at all may have been one of ours.
  if (speaker === undefined) return (speakerOf(row, hubId, null)?.vaultId ?? vaultId) === vaultId ? [unsigned] : [];
  if (speaker.vaultId !== vaultId || hasLeft(row, speaker, keys)) return [];
  if (row.statement === null || row.signature === null) return [{ ...unsigned, signed: true }];
  const head = readHead({ text: row.statement, signature: row.signature }, speaker);
  if (head === undefined) return [unsigned];
  const { vault = null, policy = null } = head.knows ?? {};
  return [{ ...unsigned, signed: true, tick: head.tick, frame: head.next_frame - 1, vault, policy }];
}

export function isSilent({ silent_s }: GatewayState): boolean {
  return (silent_s ?? 0) * 1_000 >= defaults.hubSilentMs;
}

/** The newest signed files that any of them follows. */
export function newestOf(states: readonly GatewayState[]): { readonly vault: number; readonly policy: number } {
  const newest = (kind: "vault" | "policy"): number => Math.max(0, ...states.map((one) => one[kind] ?? 0));
  return { vault: newest("vault"), policy: newest("policy") };
}

function linesOf(hubId: string, answeredMs: number, states: readonly GatewayState[]): readonly string[] {
  const { vault, policy } = newestOf(states);
  return [
    `${showIdentifier(hubId)} answers in ${answeredMs} ms; ${counted(states.length, "gateway")}, ${states.filter(isSilent).length} silent`,
    ...states.map((one) => {
      const name = showIdentifier(one.gateway);
      if (!one.signed) return `  ${name}  NOT SIGNED: what stands there is not from it (gw audit verify --hub)`;
      if (one.tick === null) return `  ${name}  has joined and said nothing yet${waitingWords(one)}`;
      const behind =
        (one.vault ?? 0) < vault || (one.policy ?? 0) < policy ? `, BEHIND vault ${vault}, policy ${policy}` : "";
      const silent = isSilent(one) ? `, SILENT ${one.silent_s} s` : "";
      return `  ${name}  tick ${one.tick}, log to frame ${one.frame}, vault ${one.vault}, policy ${one.policy}${behind}${silent}${waitingWords(one)}`;
    }),
  ];
}

function waitingWords({ gateway, waiting }: GatewayState): string {
  if (waiting === null) return "";
  if (waiting === UNKNOWN_KEY)
    return ", asks to be unlocked with a key that policy.json here does not name: copy vault.json and policy.json here anew from a host that has the newest; if they are the newest, look at that host";
  return waiting === "waits"
    ? `, LOCKED and waits: gw unlock ${showIdentifier(gateway)} --hub URL`
    : `, LOCKED, asks, and would be refused: ${waiting}`;
}
