import { requireKeyFileOrNone, writeKeyFile } from "../../../vault/files/key-file.ts";
import { requireOperator } from "../../../vault/operator.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { say, type VaultCliPorts, type VaultOptions, withPassphrase } from "./session.ts";

/** `gw unlock --write-key-file FILE`: for a machine that starts without a person. The policy has to allow its use. */
export function runWriteKeyFile(path: string, options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () => {
    requireKeyFileOrNone(path);
    return withPassphrase(options, io, ports, async ({ home, operator }) => {
      const vault = home.readVault();
      requireOperator(vault, operator);
      writeKeyFile(path, vault.vaultId, operator.serviceKey, ports.random);
      say(
        io,
        options.json,
        { key_file: path, vault_id: vault.vaultId },
        `Wrote ${path}. It opens the credentials and nothing else.`,
      );
      if (!home.readPolicy(vault).settings.headlessUnlock) {
        io.err(
          "The policy does not allow unlocking without a person yet, so the gateway will not use it: gw policy set headless_unlock on.",
        );
      }
      return exits.done;
    });
  });
}
