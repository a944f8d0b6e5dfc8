import { Denied } from "../../../kernel/failure.ts";
import type { Secret } from "../../../kernel/secret.ts";
import { slowerWords, unlockCounted } from "../../../vault/files/attempts.ts";
import { checkPin } from "../../../vault/passphrase/pin.ts";
import type { VaultCliPorts, VaultSession } from "../vault/session.ts";
import type { SecretAnswer } from "./prompt.ts";

/** Checks what was typed, and wipes it whatever happens. A passphrase counts as a try of this home like any other. */
export async function checkSecret(
  which: "pin" | "passphrase",
  secret: Secret,
  { operator, home }: Pick<VaultSession, "operator" | "home">,
  ports: VaultCliPorts,
): Promise<SecretAnswer> {
  try {
    if (which === "pin") {
      return { kind: "pin", right: operator.pin !== null && (await checkPin(operator.pin, secret)) };
    }
    const opened = await unlockCounted(home.folder, home.readVault(), operator.name, secret, ports);
    const right = opened.operator.keyId === operator.keyId;
    opened.operator.wipe();
    return { kind: "passphrase", right, why: right ? null : "Your key in the vault has changed: start gw watch again" };
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    if (error.code !== "passphrase_wrong")
      return { kind: "passphrase", right: false, why: `${error.code}: ${error.message}` };
    const failedAttempts = Number(error.extra["failed_attempts"]);
    await ports.afterWrongPassphrase({ home: home.folder, operator: operator.name, failedAttempts });
    const why = `That is not the passphrase.${slowerWords(failedAttempts)}`;
    return { kind: "passphrase", right: false, why };
  } finally {
    secret.wipe();
  }
}
