import type { VerifyReport } from "../audit/verify/report.ts";
import type { HubConnection } from "./connect.ts";
import { fetchLog, readHead } from "./fetch-log.ts";
import type { FleetFinding } from "./findings.ts";
import { HUB_SCHEMA, shortBytes, shortText } from "./schema.ts";
import {
  ENROLMENT_COLUMNS,
  type EnrolmentRow,
  eachGateway,
  hasLeft,
  LEAVE_COLUMNS,
  type LeaveRow,
  speakerOf,
} from "./speaker.ts";
import type { HeadStatement } from "./statement.ts";

/** What somebody remembers of a gateway, outside the hub. */
export interface SeenGateway {
  readonly identityKey: string;
  /** Of the enrolment that stood then. */
  readonly joinedAt?: string;
  readonly tick: number;
  readonly frame: number;
  readonly link: string;
}

export interface GatewayReport {
  readonly gateway: string;
  readonly left: boolean;
  /** How far this gateway signed; null where that is not known. */
  readonly head: HeadStatement | null;
  readonly log: VerifyReport | null;
  readonly findings: readonly FleetFinding[];
  /** To remember; null where something is wrong. */
  readonly seen: SeenGateway | null;
}

export interface FleetCheck {
  readonly hubId: string;
  /** Raw keys of the operators whose word on gateways counts; null: nobody is pinned. */
  readonly operators: readonly Buffer[] | null;
  readonly remembered: Readonly<Record<string, SeenGateway>>;
  /** An empty folder of our own for the time of `work`. */
  inFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result>;
  verify(folder: string, heads: readonly { readonly frame: number; readonly link: string }[]): Promise<VerifyReport>;
}

interface GatewayRow extends EnrolmentRow, LeaveRow {
  readonly statement: string | null;
  readonly signature: Buffer | null;
}

/** Every gateway of a hub, from the hub alone: who signed what, whether all of it is there, and whether each log holds. */
export async function checkFleet(connection: HubConnection, check: FleetCheck): Promise<readonly GatewayReport[]> {
  // One moment of the hub for all of them: what gateways add meanwhile would look like parts without a head.
  await connection.ask("begin transaction isolation level repeatable read read only");
  const rows = await connection.ask<GatewayRow>(
    eachGateway(
      `${ENROLMENT_COLUMNS}, ${LEAVE_COLUMNS}, ${shortText("h.statement")}, ${shortBytes("h.signature")}`,
      `left join ${HUB_SCHEMA}.log_head h on h.gateway = g.name`,
    ),
  );
  const reports: GatewayReport[] = [];
  for (const row of rows) reports.push(await checkGateway(connection, row, check));
  await connection.ask("commit");
  const there = new Set(rows.map(({ name }) => name));
  const gone = Object.keys(check.remembered).filter((name) => !there.has(name));
  return [...reports, ...gone.map((name) => reportOf(name, [{ code: "gateway_gone", detail: "" }]))];
}

async function checkGateway(connection: HubConnection, row: GatewayRow, check: FleetCheck): Promise<GatewayReport> {
  const { name: gateway } = row;
  const speaker = speakerOf(row, check.hubId, check.operators);
  if (speaker === undefined) return reportOf(gateway, [{ code: "enrolment_invalid", detail: "" }]);
  const known = check.remembered[gateway];
  const identityKey = speaker.identityKey.toString("base64url");
  const findings: FleetFinding[] = [];
  if (known !== undefined && known.identityKey !== identityKey) findings.push({ code: "key_replaced", detail: "" });
  if (known?.joinedAt !== undefined && speaker.joinedAt < known.joinedAt)
    findings.push({ code: "rolled_back", detail: `it joined at ${known.joinedAt}` });
  const left = row.leave !== null;
  if (left && !hasLeft(row, speaker, check.operators)) findings.push({ code: "leave_invalid", detail: "" });
  if (row.statement === null || row.signature === null) {
    // One that joined a moment ago has said nothing yet; one that was heard before has.
    const code = known === undefined ? "head_missing" : "rolled_back";
    return { ...reportOf(gateway, [...findings, { code, detail: "" }]), left };
  }
  const head = readHead({ text: row.statement, signature: row.signature }, speaker);
  if (head === undefined) return { ...reportOf(gateway, [...findings, { code: "head_invalid", detail: "" }]), left };
  if (known !== undefined && head.tick < known.tick)
    findings.push({ code: "rolled_back", detail: `tick ${head.tick}, and you saw ${known.tick}` });
  return await check.inFolder(async (folder) => {
    const wrong = await fetchLog(connection, speaker, head, folder);
    if (wrong !== null) findings.push(wrong);
    const signed = { frame: head.next_frame - 1, link: head.link };
    const heads = known === undefined || isSame(known, signed) ? [signed] : [known, signed];
    const log = await check.verify(folder, wrong === null ? heads : []);
    if (log.logId !== null && log.logId !== speaker.logId) findings.push({ code: "other_log", detail: log.logId });
    if (log.exit !== 0 && wrong === null)
      findings.push({ code: "log_not_intact", detail: log.firstBreach?.code ?? log.trouble ?? "unreadable" });
    const seen = { identityKey, joinedAt: speaker.joinedAt, tick: head.tick, ...signed };
    return { gateway, left, head, log, findings, seen: findings.length === 0 ? seen : null };
  });
}

function isSame(one: Pick<SeenGateway, "frame" | "link">, other: Pick<SeenGateway, "frame" | "link">): boolean {
  return one.frame === other.frame && one.link === other.link;
}

function reportOf(gateway: string, findings: readonly FleetFinding[]): GatewayReport {
  return { gateway, left: false, head: null, log: null, findings, seen: null };
}
