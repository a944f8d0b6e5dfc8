import { Denied } from "../../kernel/failure.ts";
import { deniedByFiles } from "../../kernel/file-trouble.ts";
import { fingerprintHome } from "../../vault/files/fingerprint.ts";
import type { VaultHome } from "../../vault/files/home.ts";
import type { StewardState } from "./steward-parts.ts";
import { readTrust } from "./trust.ts";

const LOOK_MS = 250;

/**
 * The gateway looks at its own files: what an operator signed is in force a moment later without anybody having to say so, and nobody
 * but an operator can make it look. While a command writes, it waits. Whoever copies a file here is in the midst of it for a moment:
 * what does not hold is acted on when it is still the same at the next look. A home that cannot be looked at ends nothing: what was in
 * force stays so, the status says why, and it is told once.
 */
export function watchFiles(
  home: VaultHome,
  state: Pick<StewardState, "files" | "filesRefused">,
  reload: () => Promise<void>,
  onFault: (error: unknown) => void,
): { close(): void } {
  let reading = false;
  let doubted = "";
  /** Why it cannot look, and what the status says when it can again. */
  let blind: string | null = null;
  let refused = state.filesRefused;

  function failed(error: unknown): void {
    const denied = deniedByFiles(error) ?? error;
    // What was refused stands in the log and in the status; a busy vault is looked at again.
    if (denied instanceof Denied && denied.code !== "file_unusable") return;
    const why = denied instanceof Error ? denied.message : String(denied);
    if (denied instanceof Denied) state.filesRefused = denied;
    if (blind !== why) onFault(denied);
    blind = why;
  }

  function look(): void {
    if (reading) return;
    if (blind === null) refused = state.filesRefused;
    const files = fingerprintHome(home.folder);
    if (files === state.files) {
      if (blind !== null) state.filesRefused = refused;
      blind = null;
      return;
    }
    reading = true;
    void home
      .undisturbed(async () => {
        if (files !== doubted && !isSound(home)) {
          doubted = files;
          return;
        }
        await reload();
        blind = null;
      })
      .catch(failed)
      .finally(() => {
        reading = false;
      });
  }

  const timer = setInterval(() => {
    try {
      look();
    } catch (error) {
      failed(error);
    }
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
