import { Denied } from "../../kernel/failure.ts";
import { fingerprintHome } from "../../vault/files/fingerprint.ts";
import type { VaultHome } from "../../vault/files/home.ts";
import type { StewardState } from "./steward-parts.ts";

const LOOK_MS = 250;

/**
 * The gateway looks at its own files: what an operator signed is in force a moment later without anybody having to say so, and nobody
 * but an operator can make it look. While somebody writes, it waits.
 */
export function watchFiles(
  home: VaultHome,
  state: StewardState,
  reload: () => Promise<void>,
  onFault: (error: unknown) => void,
): { close(): void } {
  let reading = false;
  const timer = setInterval(() => {
    if (reading || fingerprintHome(home.folder) === state.files) return;
    reading = true;
    void home
      .undisturbed(reload)
      .catch((error: unknown) => {
        // What was refused stands in the log and in the status; a busy vault is looked at again.
        if (!(error instanceof Denied)) onFault(error);
      })
      .finally(() => {
        reading = false;
      });
  }, LOOK_MS).unref();
  return { close: () => clearInterval(timer) };
}
