import { join } from "node:path";
import { isWriterLive } from "../../../audit/lock.ts";
import type { Random, Sleep } from "../../../kernel/clock.ts";
import { counted } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { Secret } from "../../../kernel/secret.ts";
import { unlockCounted } from "../../../vault/files/attempts.ts";
import { openHome, type VaultHome } from "../../../vault/files/home.ts";
import { findSlot, type OpenOperator } from "../../../vault/operator.ts";
import type { Vault } from "../../../vault/vault.ts";
import type { CliIo } from "../io.ts";
import { readSecretFile } from "./ask-secret.ts";
import { nameOfUser } from "./user-name.ts";

export interface WrongPassphrase {
  readonly home: string;
  readonly operator: string;
  readonly failedAttempts: number;
}

type Ports = Parameters<typeof unlockCounted>[4] & { afterWrongPassphrase(failure: WrongPassphrase): Promise<void> };

/** The one who was named, the only one, the one who is called as the person at this machine, or whom that person names. */
export async function chooseOperator(
  vault: Vault,
  { operator, passphraseFile }: { readonly operator?: string; readonly passphraseFile?: string },
  io: CliIo,
): Promise<string> {
  const names = vault.slots.map(({ name }) => name);
  if (operator !== undefined || names.length < 2) return findSlot(vault, operator).slot.name;
  const namesake = names.find((name) => name === nameOfUser());
  const asks = namesake === undefined && passphraseFile === undefined;
  return findSlot(vault, asks ? await io.ask(`Which operator are you (${names.join(", ")})? `) : namesake).slot.name;
}

/**
 * Before a gateway is started that is to be unlocked: whose passphrase, and where it comes from, as far as nobody has to be asked. False where a
 * passphrase would be typed in vain: the gateway itself says what is wrong.
 */
export async function isUnlockable(
  home: string,
  options: { readonly operator?: string; readonly passphraseFile?: string },
  io: CliIo,
  random: Random,
  requireStartable: () => Promise<void>,
): Promise<boolean> {
  let vault: Vault;
  try {
    await requireStartable();
    const opened = openHome(home, random);
    vault = opened.readVault();
    opened.readPolicy(vault);
  } catch {
    return false;
  }
  if (isWriterLive(join(home, "audit"))) return false;
  if (options.passphraseFile === undefined) io.requireTerminal?.("Passphrase:");
  else readSecretFile(options.passphraseFile).wipe();
  if (options.passphraseFile !== undefined || options.operator !== undefined) await chooseOperator(vault, options, io);
  return true;
}

/** Opens the keys with the passphrase, and tells of wrong ones: those before this one, and this one to the gateway. */
export async function unlockTold(
  home: VaultHome,
  vault: Vault,
  name: string,
  passphrase: Secret,
  io: CliIo,
  ports: Ports,
): Promise<{ readonly operator: OpenOperator; readonly wrongBefore: number }> {
  const sleep: Sleep = {
    sleep(ms) {
      if (ms > 0)
        io.err(`Wrong passphrases came before this one: checking it takes ${counted(ms / 1000, "second")} longer.`);
      return ports.sleep.sleep(ms);
    },
  };
  try {
    const { operator, before } = await unlockCounted(home.folder, vault, name, passphrase, { ...ports, sleep });
    if (before.failed > 0)
      io.err(
        `warning: ${counted(before.failed, "wrong passphrase")} since the last unlock, the last at ${before.lastAt}.`,
      );
    return { operator, wrongBefore: before.failed };
  } catch (error) {
    if (error instanceof Denied && error.code === "passphrase_wrong") {
      const { operator, failed_attempts: failed } = error.extra;
      await ports.afterWrongPassphrase({
        home: home.folder,
        operator: String(operator),
        failedAttempts: Number(failed),
      });
    }
    throw error;
  }
}
