import { openHome } from "../../../vault/files/home.ts";
import type { Policy } from "../../../vault/policy/policy.ts";
import type { PolicyDraft } from "../../../vault/policy/verify.ts";
import type { Vault } from "../../../vault/vault.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import {
  applyPolicyChange,
  type VaultCliPorts,
  type VaultOptions,
  type VaultSession,
  withOperator,
} from "./session.ts";

/** Signs one change of policy: for a command that unlocked an operator for it, or for a console that holds one open. */
export type SignChange = (
  news: { readonly what: string; readonly subject: string },
  change: (policy: Policy, vault: Vault) => PolicyDraft,
) => Promise<void>;

export function signerIn(session: VaultSession, ports: VaultCliPorts): SignChange {
  return (news, change) => applyPolicyChange(session, ports, news, change);
}

/** What would be refused is refused before anybody types a secret for it; then an operator signs. */
export async function signTried<Result>(
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
  change: (sign: SignChange) => Promise<Result>,
  tell: (made: Result, session: VaultSession) => void,
): Promise<Exit> {
  await change(trialOf(options, ports));
  return await withOperator(options, io, ports, async (session) => {
    tell(await change(signerIn(session, ports)), session);
    return exits.done;
  });
}

/** Signs nothing. */
export function trialOf({ home }: Pick<VaultOptions, "home">, { random }: Pick<VaultCliPorts, "random">): SignChange {
  return async (_news, change) => {
    const opened = openHome(home, random);
    const vault = opened.readVault();
    change(opened.readPolicy(vault), vault);
  };
}
