import { defaults } from "../../../kernel/defaults.ts";
import { counted } from "../../../kernel/display.ts";
import { openHome } from "../../../vault/files/home.ts";
import { findSlot, openSlot } from "../../../vault/operator.ts";
import { answering } from "../answer.ts";
import { readDuration } from "../audit/read-time.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { say, type VaultCliPorts, type VaultOptions, withPassphrase } from "../vault/session.ts";

/** `gw login`: the keys stay in a program of their own for a while. Reading asks nothing then; a decision still asks. */
export function runLogin(
  options: VaultOptions & { readonly for?: string },
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, async () => {
    const maxHours = defaults.loginMsMax / 3_600_000;
    const forMs = options.for === undefined ? defaults.loginMs : readDuration("--for", options.for, maxHours);
    return await withPassphrase(options, io, ports, async ({ home, operator, passphrase }) => {
      const vault = home.readVault();
      const { slot } = findSlot(vault, operator.name);
      const keys = await openSlot(vault.vaultId, slot, passphrase);
      try {
        await endLogin(vault.vaultId, ports);
        const { name, keyId, vaultId } = operator;
        await ports.logins.start({ operator: name, keyId, vaultId }, keys, forMs);
      } finally {
        keys.wipe();
      }
      const asks = keys.pin === null ? "the passphrase; gw operator pin sets a PIN for it" : "the PIN";
      const minutes = Math.round(forMs / 6_000) / 10;
      const record = { operator: operator.name, for_seconds: forMs / 1000, pin: keys.pin !== null };
      say(
        io,
        options.json,
        record,
        `${operator.name} is logged in for ${counted(minutes, "minute")}. Reading asks nothing; what decides or changes asks ${asks}. End it with: gw logout`,
      );
      return exits.done;
    });
  });
}

/** `gw logout`. */
export function runLogout(options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, async () => {
    const { vaultId } = openHome(options.home, ports.random).readVault();
    const ended = await endLogin(vaultId, ports);
    say(io, options.json, { logged_out: ended }, ended ? "Logged out; the keys are gone." : "Nobody was logged in.");
    return exits.done;
  });
}

/** True where there was one. */
export async function endLogin(vaultId: string, { logins }: Pick<VaultCliPorts, "logins">): Promise<boolean> {
  const keeper = await logins.find(vaultId);
  if (keeper === null) return false;
  try {
    await keeper.logout();
    return true;
  } finally {
    keeper.close();
  }
}
