import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { Policy } from "../../../vault/policy/policy.ts";
import type { PolicyDraft } from "../../../vault/policy/verify.ts";
import { answering } from "../answer.ts";
import type { CliIo, Exit } from "../io.ts";
import { say, type VaultCliPorts, type VaultOptions } from "../vault/session.ts";
import { type SignChange, signTried } from "../vault/sign-change.ts";
import { listAuthorities } from "./list.ts";

/** `gw caller remove NAME_OR_DIGEST`. Running sessions go on; the next card no longer names the authority. */
export function runCallerRemove(which: string, options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  const told = `${showIdentifier(which)} vouches for no caller any more.`;
  return answering(io, () =>
    signTried(
      options,
      io,
      ports,
      (sign) => removeCaller(which, sign),
      () => say(io, options.json, { removed: which }, told),
    ),
  );
}

export async function removeCaller(which: string, sign: SignChange): Promise<void> {
  await sign({ what: "caller_removed", subject: which }, (policy) => withoutAuthority(policy, which));
}

/** Takes a name away wherever it stands: a person who withdraws trust means all of it. */
function withoutAuthority(policy: Policy, which: string): PolicyDraft {
  const callers = policy.callers.filter(({ authority, imageDigest }) => authority !== which && imageDigest !== which);
  const identities = policy.sigstore?.identities.filter(({ name }) => name !== which) ?? [];
  const imaKeys = policy.imaKeys.filter(({ name }) => name !== which);
  // The trusted root goes with its last identity: alone it vouches for nobody.
  const sigstore = policy.sigstore === null || identities.length === 0 ? null : { ...policy.sigstore, identities };
  if (listAuthorities({ callers, sigstore, imaKeys }).length === listAuthorities(policy).length) {
    throw new Denied(
      "not_found",
      `Nothing that vouches for callers is called ${showIdentifier(which)}: gw caller list.`,
    );
  }
  return { ...policy, callers, sigstore, imaKeys };
}
