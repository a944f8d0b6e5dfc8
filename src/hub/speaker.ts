import { defaults } from "../kernel/defaults.ts";
import { HUB_SCHEMA, shortBytes, shortName, shortText } from "./schema.ts";
import {
  type EnrolmentStatement,
  type HubStatement,
  type LeaveStatement,
  peekEnrolment,
  readHubStatement,
  type SignedText,
} from "./statement.ts";

/** Whose rows are believed, as far as its key signed them. */
export interface Speaker {
  readonly hubId: string;
  readonly gateway: string;
  readonly vaultId: string;
  readonly logId: string;
  readonly identityKey: Buffer;
  /** When the operator signed that. */
  readonly joinedAt: string;
}

/** Of a row of `gateways`: what an operator signed of it. */
export interface EnrolmentRow {
  readonly name: string;
  readonly enrolment: string;
  readonly enrolment_signature: Buffer;
}

/** And whether that is over. */
export interface LeaveRow {
  readonly leave: string | null;
  readonly leave_signature: Buffer | null;
}

/** Their columns, of `gateways g`. */
export const ENROLMENT_COLUMNS = `g.name, ${shortText("g.enrolment")}, ${shortBytes("g.enrolment_signature")}`;
export const LEAVE_COLUMNS = `${shortText("g.leave")}, ${shortBytes("g.leave_signature")}`;

/**
 * Asks for all gateways in the order of their names (`g.name` is among the columns), with what is joined to `gateways g`. Logins come in turn: one that adds names without end takes
 * nobody else's place in the answer.
 */
export const eachGateway = (columns: string, joined = ""): string => `select * from (
  select ${columns} from (
    select *, row_number() over (partition by login order by name) as turn from ${HUB_SCHEMA}.gateways where ${shortName("name")}
  ) g ${joined} order by g.turn, g.name limit ${defaults.hubGateways}
) each order by name`;

/** Whom the operators named. Without a pin anybody may have named them, and whoever reports on it says so. */
export function speakerOf(row: EnrolmentRow, hubId: string, operators: readonly Buffer[] | null): Speaker | undefined {
  const given = { text: row.enrolment, signature: row.enrolment_signature };
  const enrolment =
    operators === null
      ? peekEnrolment(row.enrolment)
      : readSigned<EnrolmentStatement>(given, "gw.hub-gateway/v1", operators);
  const { identity_key: key, log_id: logId, vault_id: vaultId, signed_at: joinedAt } = enrolment ?? {};
  if (enrolment?.hub_id !== hubId || enrolment.gateway !== row.name) return undefined;
  if (typeof key !== "string" || typeof logId !== "string") return undefined;
  if (typeof vaultId !== "string" || typeof joinedAt !== "string") return undefined;
  return { hubId, gateway: row.name, vaultId, logId, identityKey: Buffer.from(key, "base64url"), joinedAt };
}

/** Whether an operator signed that this very enrolment is over. What one that was over long ago says ends no later one. */
export function hasLeft(row: LeaveRow, speaker: Speaker, operators: readonly Buffer[] | null): boolean {
  if (row.leave === null) return false;
  const given = { text: row.leave, signature: row.leave_signature ?? Buffer.alloc(0) };
  if (operators === null) return true;
  const said = readSigned<LeaveStatement>(given, "gw.hub-leave/v1", operators);
  return said?.hub_id === speaker.hubId && said.gateway === speaker.gateway && said.joined_at === speaker.joinedAt;
}

function readSigned<Statement extends HubStatement>(
  given: SignedText,
  format: Statement["format"],
  operators: readonly Buffer[],
): Statement | undefined {
  return operators
    .map((key) => readHubStatement<Statement>(given, format, key))
    .find((statement) => statement !== undefined);
}
