import { enrolmentChallenge, readRegistration } from "../conventions/passkey/enrol.ts";
import { type EnrolledPasskey, signEnrolment } from "../conventions/passkey/passkey.ts";
import { type Clock, isoTime, type Random } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { JsonObject } from "../kernel/json.ts";
import { removePasskey, withPasskey } from "../surfaces/cli/vault/passkeys.ts";
import type { SignChange } from "../surfaces/cli/vault/sign-change.ts";
import type { OpenOperator } from "../vault/operator.ts";
import { textOf } from "./http.ts";

export interface EnrolPorts {
  readonly clock: Pick<Clock, "bootMs" | "wallMs">;
  readonly random: Random;
  readonly operator: OpenOperator;
  readonly origin: string;
  /** There a login names no passkey: the authenticator has to know it by itself. */
  readonly remote: boolean;
  /** All that policy holds. */
  passkeys(): readonly EnrolledPasskey[];
  readonly sign: SignChange;
  /** Told to whoever looks at the terminal: nobody enrols in silence. */
  onEnrolled(passkey: EnrolledPasskey): void;
}

const NAME = /^[\x21-\x7e](?:[\x20-\x7e]{0,62}[\x21-\x7e])?$/;

/** Enrolling happens where a browser can ask for a passkey; the operator's key signs for it here. */
export function createEnrolment(ports: EnrolPorts) {
  const { clock, random, operator, origin, remote, passkeys, sign } = ports;
  const rpId = new URL(origin).hostname;
  let begun: { readonly challenge: Buffer; readonly untilMs: number } | null = null;
  return {
    begin(): JsonObject {
      const challenge = enrolmentChallenge(random.bytes(32));
      begun = { challenge, untilMs: clock.bootMs() + defaults.consoleDraftMs };
      return {
        challenge: challenge.toString("base64url"),
        rp_id: rpId,
        user: operator.name,
        user_id: Buffer.from(operator.keyId, "utf8").toString("base64url"),
        resident: remote,
        known: passkeys().map(({ credentialId }) => credentialId),
      };
    },
    async finish(body: JsonObject): Promise<EnrolledPasskey> {
      const asked = begun;
      begun = null;
      if (asked === null || asked.untilMs <= clock.bootMs()) {
        throw new Denied("console_draft_gone", "That took too long, or was begun twice. Begin again.");
      }
      const name = textOf(body, "name", 64).trim();
      if (!NAME.test(name)) throw new Denied("value_not_allowed", "A name is plain text of at most 64 characters.");
      const registration = {
        authenticator_data: textOf(body, "authenticator_data", 8_192),
        client_data: textOf(body, "client_data", 8_192),
      };
      const found = readRegistration(registration, asked.challenge, { rpId, origin });
      const passkey = {
        ...found,
        name,
        operator: operator.name,
        operatorKeyId: operator.keyId,
        enrolledAt: isoTime(clock.wallMs()),
      };
      const enrolled = signEnrolment(passkey, operator.vaultId, operator.approver);
      await sign({ what: "passkey_added", subject: name }, (policy) => withPasskey(policy, enrolled));
      ports.onEnrolled(enrolled);
      return enrolled;
    },
    remove: (which: string) => removePasskey(which, sign),
  };
}
