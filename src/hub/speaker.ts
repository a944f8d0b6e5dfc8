import { type EnrolmentStatement, peekEnrolment, readHubStatement } from "./statement.ts";

/** Whose rows are believed, as far as its key signed them. */
export interface Speaker {
  readonly hubId: string;
  readonly gateway: string;
  readonly vaultId: string;
  readonly logId: string;
  readonly identityKey: Buffer;
}

/** Whom the operators named. Without a pin anybody may have named them, and whoever reports on it says so. */
export function speakerOf(
  row: { readonly name: string; readonly enrolment: string; readonly enrolment_signature: Buffer },
  hubId: string,
  operators: readonly Buffer[] | null,
): Speaker | undefined {
  const given = { text: row.enrolment, signature: row.enrolment_signature };
  const enrolment =
    operators === null
      ? peekEnrolment(row.enrolment)
      : operators
          .map((key) => readHubStatement<EnrolmentStatement>(given, "gw.hub-gateway/v1", key))
          .find((statement) => statement !== undefined);
  const { identity_key: key, log_id: logId, vault_id: vaultId } = enrolment ?? {};
  if (enrolment?.hub_id !== hubId || enrolment.gateway !== row.name) return undefined;
  if (key === undefined || logId === undefined || vaultId === undefined) return undefined;
  return { hubId, gateway: row.name, vaultId, logId, identityKey: Buffer.from(key, "base64url") };
}
