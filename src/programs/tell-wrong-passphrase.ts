import { Denied } from "../kernel/failure.ts";
import type { CliIo } from "../surfaces/cli/io.ts";
import type { WrongPassphrase } from "../surfaces/cli/vault/open-keys.ts";
import { openConnection, Unreachable } from "../surfaces/client/connection.ts";
import type { Door } from "../surfaces/place/place.ts";

/** Tells a running gateway that a passphrase was wrong: open to whoever can reach the socket, and it gives nothing away. */
export async function tellWrongPassphrase(
  door: Door,
  { operator, failedAttempts }: WrongPassphrase,
  io: Pick<CliIo, "err">,
): Promise<void> {
  const connection = openConnection(door);
  try {
    await connection.tell("/v1/unlock/failed", { body: { operator, failed_attempts: failedAttempts } });
  } catch (error) {
    if (error instanceof Unreachable) return;
    if (!(error instanceof Denied)) throw error;
    io.err(`warning: the running gateway did not record the wrong passphrase: ${error.code}: ${error.message}`);
  } finally {
    connection.close();
  }
}
