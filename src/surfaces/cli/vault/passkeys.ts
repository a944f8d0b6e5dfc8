import type { DecisionRules, PasskeyRule } from "../../../conventions/passkey/demand.ts";
import { RULE_EFFECTS } from "../../../conventions/passkey/demand.ts";
import { type EnrolledPasskey, isEnrolledBy, passkeyRecord } from "../../../conventions/passkey/passkey.ts";
import { printable, showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { openHome } from "../../../vault/files/home.ts";
import { publicKeyOf } from "../../../vault/keys.ts";
import type { Policy, PolicyContent } from "../../../vault/policy/policy.ts";
import type { Vault } from "../../../vault/vault.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { Misused } from "../misused.ts";
import { readTrustedPacks } from "../packs.ts";
import { sayProse } from "../say-prose.ts";
import { say, type VaultCliPorts, type VaultOptions, type VaultSession } from "./session.ts";
import { type SignChange, signTried } from "./sign-change.ts";

/** `gw passkey list`: the keys that only a hand can use, and whose they are. */
export function runPasskeyList(options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, async () => {
    const home = openHome(options.home, ports.random);
    const vault = home.readVault();
    const rows = home.readPolicy(vault).passkeys.map((one) => ({ ...passkeyRecord(one), counts: counts(one, vault) }));
    if (options.json) io.out(JSON.stringify(rows));
    else if (rows.length === 0) io.out("No passkeys. Enrol one in the console, under People: gw console");
    else
      for (const { name, operator, credential_id, origin, enrolled_at, counts } of rows as never as Shown[]) {
        const state = counts ? "" : "  DECIDES NOTHING: its operator is gone, or did not sign for it";
        const words = `${showText(name)}  ${showText(operator)}  ${credential_id}  ${origin}  ${enrolled_at}${state}`;
        sayProse(io, words, 2);
      }
    return exits.done;
  });
}

type Shown = Readonly<Record<"name" | "operator" | "credential_id" | "origin" | "enrolled_at", string>> & {
  readonly counts: boolean;
};

function counts(passkey: EnrolledPasskey, { vaultId, operators }: Vault): boolean {
  const keys = operators.map(({ name, keyId, approverKey }) => ({
    ...{ name, keyId, publicKey: publicKeyOf("ed25519", approverKey) },
  }));
  return isEnrolledBy(passkey, vaultId, keys);
}

/** `gw passkey remove NAME`: it decides nothing from now on. */
export function runPasskeyRemove(which: string, options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () =>
    signTried(
      options,
      io,
      ports,
      (sign) => removePasskey(which, sign),
      ({ name, operator, credentialId }) =>
        say(io, options.json, { removed: credentialId }, `${name} of ${operator} decides nothing any more.`),
    ),
  );
}

/** By its own name or by the authenticator's for it. One that is the last is kept while a rule demands passkeys. */
export async function removePasskey(which: string, sign: SignChange): Promise<EnrolledPasskey> {
  let gone: EnrolledPasskey | undefined;
  await sign({ what: "passkey_removed", subject: which }, (policy, vault) => {
    const found = policy.passkeys.filter(({ name, credentialId }) => name === which || credentialId === which);
    if (found.length > 1)
      throw new Denied("value_not_allowed", "Several have that name: give the long one of the list.");
    gone = found[0];
    if (gone === undefined) throw new Denied("passkey_unknown", `There is no passkey ${which}. See: gw passkey list`);
    const passkeys = policy.passkeys.filter((one) => one !== gone);
    requireFit(policy.decide, { passkeys }, vault);
    return { ...policy, passkeys };
  });
  return gone as EnrolledPasskey;
}

/** The policy with one more. Its name is its operator's only one of that name. */
export function withPasskey(policy: Policy, added: EnrolledPasskey): PolicyContent {
  const { name, credentialId } = added;
  if (policy.passkeys.some((one) => one.credentialId === credentialId || one.name === name)) {
    throw new Denied("value_not_allowed", `A passkey of that name, or this very one, is enrolled already: ${name}.`);
  }
  return { ...policy, passkeys: [...policy.passkeys, added] };
}

export interface RuleAsked {
  readonly all?: boolean;
  readonly effect?: readonly string[];
  readonly credential?: readonly string[];
  readonly pack?: readonly string[];
}

export type DecideWithOptions = VaultOptions & RuleAsked;

/** `gw policy decide-with passkey|any`: what a yes needs. It replaces the rule that stood. */
export function runDecideWith(
  word: string,
  options: DecideWithOptions,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, () => {
    const passkey = readRule(word, options);
    const tell = (subject: string, session: VaultSession): void => {
      const { credentials } = session.home.readVault();
      const { packs } = policyOf(session);
      for (const name of options.pack ?? [])
        if (!packs.some(({ pack }) => pack === name)) warnUnknown(io, `no pack ${name} is trusted`, "gw pack list");
      for (const name of options.credential ?? [])
        if (!credentials.some(({ label }) => label === name))
          warnUnknown(io, `the vault has no credential ${name}`, "gw credential list");
      say(io, options.json, { decide_with: passkey }, `A yes needs ${subject}.`);
    };
    return signTried(options, io, ports, (sign) => signRule(passkey, sign), tell);
  });
}

/** Returns what a yes needs from now on, in words. */
export async function signRule(passkey: PasskeyRule | null, sign: SignChange): Promise<string> {
  const subject = passkey === null ? "any key" : `a passkey for ${ruleWords(passkey)}`;
  await sign({ what: "decide_with", subject }, (policy, vault) => {
    const decide = { ...policy.decide, passkey };
    requireFit(decide, policy, vault);
    return { ...policy, decide };
  });
  return subject;
}

/** `gw policy approvers ACTION 1|2`. */
export function runApprovers(
  action: string,
  count: string,
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, () => {
    if (count !== "1" && count !== "2") throw new Misused("One approver or two: 1 or 2.");
    const tell = (words: string, session: VaultSession): void => {
      const actions = readTrustedPacks(options.home, policyOf(session)).flatMap((pack) => [...pack.actions.values()]);
      if (count === "2" && !actions.some(({ qualifiedName }) => qualifiedName === action))
        warnUnknown(io, `no trusted pack has an action ${action}`, "gw actions");
      say(io, options.json, { action, approvers: Number(count) }, `${action}: ${words}.`);
    };
    return signTried(options, io, ports, (sign) => signApprovers(action, count, sign), tell);
  });
}

/** What is demanded may be signed before its pack is trusted; a name that was mistyped protects nothing. */
function warnUnknown(io: CliIo, what: string, look: string): void {
  io.err(printable(`warning: ${what}: if the name is wrong, nothing is held to this rule. Look: ${look}`));
}

function policyOf({ home }: VaultSession): Policy {
  return home.readPolicy(home.readVault());
}

export async function signApprovers(action: string, count: "1" | "2", sign: SignChange): Promise<string> {
  await sign({ what: "approvers", subject: `${action} ${count}` }, (policy, vault) => {
    const others = policy.decide.twoPeople.filter((one) => one !== action);
    if (count === "1" && others.length === policy.decide.twoPeople.length)
      throw new Denied("not_found", `Two people are not asked for ${action}. See: gw policy show`);
    const decide = { ...policy.decide, twoPeople: count === "2" ? [...others, action] : others };
    requireFit(decide, policy, vault);
    return { ...policy, decide };
  });
  return count === "2" ? "two operators have to approve it" : "one operator is enough";
}

/** A rule that nobody could satisfy would only be found out when something waits. */
function requireFit(rules: DecisionRules, content: Pick<PolicyContent, "passkeys">, vault: Vault): void {
  const why = whyUnfit(rules, content, vault);
  if (why !== null) throw new Denied("decision_rule_unfit", why);
}

/** What keeps enough people from meeting the rules; null where nothing does. */
export function whyUnfit(
  { passkey, twoPeople }: DecisionRules,
  { passkeys }: Pick<PolicyContent, "passkeys">,
  vault: Vault,
): string | null {
  const owners = new Set(passkeys.filter((one) => counts(one, vault)).map(({ operatorKeyId }) => operatorKeyId));
  if (passkey !== null && owners.size === 0)
    return "Policy would demand a passkey, and none would be enrolled: nobody could approve. Enrol one first, in the console: gw console. Or demand none: gw policy decide-with any";
  if (twoPeople.length > 0 && vault.operators.length < 2)
    return "Two people would have to approve, and this vault has one operator. Add another first: gw operator add NAME";
  if (passkey !== null && twoPeople.length > 0 && owners.size < 2)
    return "Two people would need a passkey each, and only one operator has one. The other enrols theirs first, in the console: gw console";
  return null;
}

export function readRule(
  word: string,
  { all, effect = [], credential = [], pack = [] }: RuleAsked,
): PasskeyRule | null {
  const named = effect.length + credential.length + pack.length;
  if (word === "any" && all !== true && named === 0) return null;
  if (word !== "passkey" || (all === true) === named > 0) {
    throw new Misused(
      "Either any, or passkey with --all, or passkey with at least one --effect, --credential or --pack.",
    );
  }
  const odd = effect.find((one) => !(RULE_EFFECTS as readonly string[]).includes(one));
  if (odd !== undefined) throw new Misused(`--effect is one of ${RULE_EFFECTS.join(", ")}.`);
  return { all: all === true, effects: effect, credentials: credential, packs: pack };
}

export function ruleWords({ all, effects, credentials, packs }: PasskeyRule): string {
  if (all) return "everything";
  return [
    ...effects.map((effect) => `effect ${effect}`),
    ...credentials.map((label) => `credential ${label}`),
    ...packs.map((pack) => `pack ${pack}`),
  ].join(", ");
}
