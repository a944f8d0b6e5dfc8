import { STANDARD_CEILINGS } from "../../../conventions/budget/ceilings.ts";
import type { JsonValue } from "../../../kernel/json.ts";
import { openHome } from "../../../vault/files/home.ts";
import { CEILINGS, type CeilingName } from "../../../vault/policy/ceiling-entries.ts";
import { type Policy, type PolicyCeilings, type PolicySettings, SAFE_SETTINGS } from "../../../vault/policy/policy.ts";
import type { PolicyDraft } from "../../../vault/policy/verify.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { Misused } from "../misused.ts";
import { ruleWords } from "./passkeys.ts";
import { say, type VaultCliPorts, type VaultOptions, withOperator } from "./session.ts";
import { type SignChange, signerIn } from "./sign-change.ts";

/** The settings that this version of the gateway acts on, each with the words it takes; the first is the safe one. */
const settings = {
  headless_unlock: { name: "headlessUnlock", words: { off: false, on: true } },
  callbacks: { name: "callbacks", words: { off: "off", loopback: "loopback", network: "network" } },
} as const satisfies Readonly<
  Record<string, { readonly name: keyof PolicySettings; readonly words: Readonly<Record<string, boolean | string>> }>
>;

type SettingName = keyof typeof settings;

export function runPolicyShow(options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, async () => {
    const home = openHome(options.home, ports.random);
    const current = home.readPolicy(home.readVault()).settings;
    const rows = settingRows(current);
    const { ceilings: signed, decide } = home.readPolicy(home.readVault());
    const ceilings = ceilingRows(signed);
    const demands = [
      { rule: "decide_with", value: decide.passkey === null ? "any" : `passkey for ${ruleWords(decide.passkey)}` },
      { rule: "two_people", value: decide.twoPeople.length === 0 ? "nothing" : decide.twoPeople.join(" ") },
    ];
    if (options.json) io.out(JSON.stringify([...rows, ...ceilings, ...demands]));
    else {
      for (const { setting, value, safe } of rows) io.out(`${setting}  ${value}${value === safe ? "" : "  LOWERED"}`);
      for (const { ceiling, value } of ceilings)
        io.out(`${ceiling}  ${value === STANDARD ? `${STANDARD}, ${STANDARDS[ceiling]}` : value}`);
      for (const { rule, value } of demands) io.out(`${rule}  ${value}`);
    }
    return exits.done;
  });
}

/** `gw policy set SETTING VALUE`: an operator signs the next version of the policy with it. */
export function runPolicySet(
  setting: string,
  word: string,
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, () => {
    // Before anybody types a secret: whether there is such a setting, and whether it takes that.
    const chosen = readPolicyChoice(setting, word);
    return withOperator(options, io, ports, async (session) => {
      const said = await signPolicyChoice(chosen, signerIn(session, ports));
      say(io, options.json, said.record, said.words);
      if (said.lowered) io.err(`This lowers a protection: gw status and every verifier of the policy show ${setting}.`);
      return exits.done;
    });
  });
}

/** A setting or a ceiling, and what it is to be. */
export interface PolicyChoice {
  readonly subject: string;
  readonly change: (policy: Policy) => PolicyDraft;
  readonly record: Readonly<Record<string, unknown>>;
  readonly words: string;
  readonly lowered: boolean;
}

export function readPolicyChoice(setting: string, word: string): PolicyChoice {
  const subject = `${setting} ${word}`;
  if (Object.hasOwn(CEILINGS, setting)) return readCeiling(setting as CeilingName, word, subject);
  const { name, value } = readChoice(setting, word);
  const lowered = value !== SAFE_SETTINGS[name];
  return {
    subject,
    change: (policy) => ({ ...policy, settings: { ...policy.settings, [name]: value } }),
    record: { setting, value: word, lowered },
    words: `${setting} is ${word}.`,
    lowered,
  };
}

export async function signPolicyChoice(chosen: PolicyChoice, sign: SignChange): Promise<PolicyChoice> {
  await sign({ what: "policy_set", subject: chosen.subject }, chosen.change);
  return chosen;
}

/** What a ceiling is called where policy names no number. */
const STANDARD = "standard";

/** And what it is then, for a person who reads it. */
export const STANDARDS: Readonly<Record<CeilingName, number>> = {
  run_attempts: STANDARD_CEILINGS.attempts,
  run_side_effects: STANDARD_CEILINGS.sideEffects,
  run_seconds: STANDARD_CEILINGS.durationMs / 1000,
  run_spend_cents: STANDARD_CEILINGS.spendCents,
  day_spend_cents: STANDARD_CEILINGS.daySpendCents,
};

/** A ceiling that no run passes, whoever approves it. Several at once go by the narrower. */
function readCeiling(ceiling: CeilingName, word: string, subject: string): PolicyChoice {
  const { name, minimum, maximum } = CEILINGS[ceiling];
  const value = word === STANDARD ? null : /^\d{1,12}$/.test(word) ? Number(word) : Number.NaN;
  if (value !== null && !(value >= minimum && value <= maximum)) {
    throw new Misused(
      `${ceiling} is a whole number from ${minimum} to ${maximum}, or ${STANDARD} for the gateway's own.`,
    );
  }
  return {
    subject,
    change: (policy) => ({ ...policy, ceilings: { ...policy.ceilings, [name]: value } }),
    record: { ceiling, value: value ?? STANDARD },
    words: `${ceiling} is ${value === null ? `${STANDARD} again, ${STANDARDS[ceiling]}` : word}. Whoever approves, no run passes it.`,
    lowered: false,
  };
}

/** What gw policy show also tells of. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  decide_with: "gw policy decide-with any|passkey",
  two_people: "gw policy approvers ACTION 1|2",
};

function readChoice(setting: string, word: string): { readonly name: keyof PolicySettings; readonly value: JsonValue } {
  const known = Object.hasOwn(settings, setting) ? settings[setting as SettingName] : undefined;
  if (setting === "session_approval") {
    throw new Misused(
      "session_approval is gone, and an older policy that has it off opens without it: a person is asked about every session that no grant covers. Bound whom, what and how long with: gw grant add",
    );
  }
  if (Object.hasOwn(ELSEWHERE, setting))
    throw new Misused(`${setting} is signed with a command of its own: ${ELSEWHERE[setting]}`);
  if (known === undefined) {
    throw new Misused(
      `There is no setting ${setting}; there are ${[...Object.keys(settings), ...Object.keys(CEILINGS)].join(", ")}.`,
    );
  }
  const words: Readonly<Record<string, boolean | string>> = known.words;
  const value = Object.hasOwn(words, word) ? words[word] : undefined;
  if (value === undefined) {
    throw new Misused(`${setting} is one of ${Object.keys(words).join(", ")}.`);
  }
  return { name: known.name, value };
}

/** Each ceiling as it stands. */
export function ceilingRows(signed: PolicyCeilings) {
  return (Object.keys(CEILINGS) as CeilingName[]).map((ceiling) => ({
    ceiling,
    value: signed[CEILINGS[ceiling].name] ?? STANDARD,
  }));
}

/** Each setting as it stands, and the value that would be safe. */
export function settingRows(current: PolicySettings) {
  return (Object.keys(settings) as SettingName[]).map((setting) => rowOf(setting, current));
}

function rowOf(setting: SettingName, current: PolicySettings) {
  const { name, words } = settings[setting];
  const wordOf = (value: unknown): string => Object.entries(words).find(([, one]) => one === value)?.[0] ?? "";
  return { setting, value: wordOf(current[name]), safe: wordOf(SAFE_SETTINGS[name]), values: Object.keys(words) };
}
