import { join } from "node:path";
import { Denied } from "../../../kernel/failure.ts";
import { lineOf } from "../../../vault/anchor.ts";
import { openHome } from "../../../vault/files/home.ts";
import type { HighWater } from "../../../vault/high-water.ts";
import { answering } from "../answer.ts";
import { checkLog } from "../audit/check-log.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import type { OperatorOptions } from "../options.ts";
import { readPassphrase } from "../vault/ask-secret.ts";
import { chooseOperator, unlockTold } from "../vault/open-keys.ts";
import { highestSeen, readSeen, remember, removedBefore, seenAtHome } from "../vault/seen.ts";
import { say } from "../vault/session.ts";

/** `gw restore --accept`: this operator looks at what another one restored, and goes on with it. */
export function runAcceptRestore(options: OperatorOptions, deps: CliDeps): Promise<Exit> {
  const { io, vault: ports } = deps;
  return answering(io, async () => {
    const home = openHome(options.home, ports.random);
    const vault = home.readVault();
    const policy = home.readPolicy(vault);
    const seen = readSeen(ports.stateFolder, vault.vaultId);
    const gone = removedBefore(seen, options.home, vault);
    const back = vault.operators.filter(({ keyId }) => gone.has(keyId)).map(({ name }) => name);
    if (back.length > 0 || (vault.restored !== null && gone.has(vault.restored.by))) {
      throw new Denied(
        "restore_refused",
        back.length > 0
          ? `You saw ${back.join(", ")} being removed, and this home has them as operators again. Do not go on with it: restore a backup yourself with gw restore FILE, which removes them again.`
          : "You saw the operator who restored this home being removed. Do not go on with it: restore a backup yourself with gw restore FILE.",
      );
    }
    const report = await checkLog(join(options.home, "audit"), vault, { allowUnattested: true });
    if (report.exit !== 0 || report.sealed === null)
      throw new Denied("log_damaged", "The log of this home does not hold: gw audit verify. It was not accepted.");
    // A drill elsewhere has higher numbers than the home that goes on, and is none of its past.
    const here = seenAtHome(seen, options.home);
    if (!options.json) {
      const by = vault.operators.find(({ keyId }) => keyId === vault.restored?.by)?.name ?? vault.restored?.by;
      io.out(
        vault.restored === null
          ? "This home was not restored: it is the line that goes on from the vault's founding."
          : `Restored on ${vault.restored.at} by ${by} from vault generation ${vault.restored.generation}.`,
      );
      io.out(sayBefore(here, highestSeen(seen)));
      io.out(`It now has vault generation ${vault.generation} and policy version ${policy.version}.`);
    }
    const name = await chooseOperator(vault, options, io);
    using passphrase = await readPassphrase(options, io, `Passphrase of ${name}, to accept it: `);
    const { operator } = await unlockTold(home, vault, name, passphrase, io, ports);
    operator.wipe();
    const { frame, link } = report.sealed;
    await remember(ports.stateFolder, home.folder, vault, { policy, head: { frame, link } });
    say(
      io,
      options.json,
      { line: lineOf(vault), generation: vault.generation, policy_version: policy.version },
      "Accepted. From here on anything older than this is refused again.",
    );
    return exits.done;
  });
}

function sayBefore(here: HighWater | undefined, elsewhere: HighWater): string {
  const { vault, policy } = here ?? elsewhere;
  if (vault === null) return "You have not seen this vault before.";
  const where = here === undefined ? "In another place you" : "You";
  return `${where} saw vault generation ${vault.generation} and policy version ${policy?.version ?? "none"} before.`;
}
