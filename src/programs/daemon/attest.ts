import { readAttestation } from "../../audit/attestation.ts";
import type { ResumableLog } from "../../audit/resumable.ts";
import { Denied } from "../../kernel/failure.ts";
import type { Steward } from "../../surfaces/operator/steward.ts";
import type { Trust } from "./trust.ts";

/** An operator vouches for where the log stands: what there is to sign, and the signature taken into the log. */
export function attesting(
  log: Pick<ResumableLog, "logId" | "offerAttestation" | "attest">,
  trust: () => Trust,
): Pick<Steward, "offerAttestation" | "attest"> {
  return {
    async offerAttestation() {
      const offer = await log.offerAttestation();
      return {
        log_id: offer.logId.toString("hex"),
        open_frame: offer.openFrame,
        open_link: offer.openLink.toString("hex"),
        head_frame: offer.headFrame,
        head_link: offer.headLink.toString("hex"),
        before_frame: offer.beforeFrame,
        before_link: offer.beforeLink.toString("hex"),
        unclean: offer.unclean,
      };
    },
    async attest(statement) {
      requireOperator(trust(), log.logId, statement);
      const { segment, frame, link } = await log.attest(statement);
      return { segment, frame, link };
    },
  };
}

/** The log checks what is attested; who may attest is for us to know. */
function requireOperator({ vault }: Trust, logId: string, statement: Buffer): void {
  const attestation = readAttestation(Buffer.from(logId, "hex"), statement[0] ?? 0, statement.subarray(1));
  const known = vault.operators.some(
    ({ name, approverKey }) => attestation?.operator === name && attestation.operatorKey.equals(approverKey),
  );
  if (!known) throw new Denied("signature_invalid", "The attestation is not signed by an operator of this vault.");
}
