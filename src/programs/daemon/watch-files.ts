import { Denied } from "../../kernel/failure.ts";
import { fingerprintHome } from "../../vault/files/fingerprint.ts";
import type { VaultHome } from "../../vault/files/home.ts";
import type { StewardState } from "./steward-parts.ts";
import { readTrust } from "./trust.ts";

const LOOK_MS = 250;

/**
 * The gateway looks at its own files: what an operator signed is in force a moment later without anybody having to say so, and nobody
 * but an operator can make it look. While a command writes, it waits. Whoever copies a file here is in the midst of it for a moment:
 * what does not hold is acted on when it is still the same at the next look.
 */
export function watchFiles(
  home: VaultHome,
  state: Pick<StewardState, "files">,
  reload: () => Promise<void>,
  onFault: (error: unknown) => void,
): { close(): void } {
  let reading = false;
  let doubted = "";
  const timer = setInterval(() => {
    const files = fingerprintHome(home.folder);
    if (reading || files === state.files) return;
    reading = true;
    void home
      .undisturbed(async () => {
        if (files === doubted || isSound(home)) await reload();
        else doubted = files;
      })
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

function isSound(home: VaultHome): boolean {
  try {
    return readTrust(home).trouble === null;
  } catch {
    return false;
  }
}
