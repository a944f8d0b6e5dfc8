import { join } from "node:path";
import type { Pack } from "../../../conventions/action/pack.ts";
import { conditionWords } from "../../../conventions/grant/condition.ts";
import type { Grant, GrantCaller } from "../../../conventions/grant/grant.ts";
import { endsUnused, inclusionWord } from "../../../conventions/grant/grant.ts";
import { boundsWords, callerWords, grantRecord } from "../../../conventions/grant/record.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { openHome, type VaultHome } from "../../../vault/files/home.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { readTrustedPacks } from "../packs.ts";
import {
  findLogin,
  say,
  type VaultCliPorts,
  type VaultOptions,
  type VaultSession,
  withReader,
} from "../vault/session.ts";
import { type SignChange, signerIn, signTried } from "../vault/sign-change.ts";
import { readGrantCaller } from "./caller.ts";
import { draftGrant, type GrantWords } from "./draft.ts";
import { followLastUses } from "./last-use.ts";
import { readGrantLine } from "./line.ts";

export type GrantAddOptions = VaultOptions & Omit<GrantWords, "name"> & { readonly caller: readonly string[] };

/** `gw grant add NAME`: an operator signs ahead what would be approved again and again. */
export function runGrantAdd(name: string, options: GrantAddOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, async () => {
    const caller = await readGrantCaller(options.caller, options.home);
    const home = openHome(options.home, ports.random);
    return await signTried(
      options,
      io,
      ports,
      (sign) => signGrant({ ...options, name }, caller, placeAt(home, sign), ports),
      (grant) => {
        if (options.json) io.out(JSON.stringify(grantRecord(grant)));
        else saySigned(grant, io);
        for (const line of warnings(grant)) io.err(line);
      },
    );
  });
}

/** What a person is told who just signed one. */
export function saySigned(grant: Grant, io: CliIo): void {
  io.out(`Signed: ${grant.name} lets calls pass without a card, from now on.`);
  for (const line of grantLines(grant)) io.out(line);
}

/** Where grants are signed: in a home, or on a hub for all gateways of a vault. */
export interface GrantPlace {
  /** Those that policy trusts. */
  packs(): Promise<readonly Pack[]>;
  readonly sign: SignChange;
}

export function placeIn({ home, operator }: VaultSession, ports: VaultCliPorts): GrantPlace {
  return placeAt(home, signerIn({ home, operator }, ports));
}

function placeAt(home: VaultHome, sign: SignChange): GrantPlace {
  return { packs: async () => readTrustedPacks(home.folder, home.readPolicy(home.readVault())), sign };
}

/** A grant that was written on one line, beside a card. */
export async function signGrantLine(
  line: string,
  place: GrantPlace,
  { home }: Pick<VaultOptions, "home">,
  ports: Pick<VaultCliPorts, "clock">,
): Promise<Grant> {
  const words = readGrantLine(line);
  return await signGrant(words, await readGrantCaller(words.caller, home), place, ports);
}

export async function signGrant(
  words: GrantWords,
  caller: GrantCaller,
  { packs, sign }: GrantPlace,
  { clock }: Pick<VaultCliPorts, "clock">,
): Promise<Grant> {
  const { name } = words;
  const actions = (await packs()).flatMap((pack) => [...pack.actions.values()]);
  const grant = draftGrant(words, caller, actions, clock.wallMs());
  await sign({ what: "grant_added", subject: name }, (policy) => {
    if (policy.grants.some((one) => one.name === name)) {
      throw new Denied("grant_exists", `There is a grant ${name} already. Remove it first: gw grant remove ${name}`);
    }
    return { ...policy, grants: [...policy.grants, grant] };
  });
  return grant;
}

/** `gw grant list`. Who may read the log, by `gw login` or a passphrase file, also sees when each was last used. */
export function runGrantList(options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, async () => {
    const grants = readGrants(options, ports);
    const tell = (uses: ReadonlyMap<string, string> | null): Exit => {
      sayGrants(grants, uses, options, io, ports.clock);
      if (uses === null && grants.length > 0 && !options.json)
        io.err("gw login, and it also shows when each was last used.");
      return exits.done;
    };
    const vault = openHome(options.home, ports.random).readVault();
    const keeper = await findLogin(options, vault, ports);
    keeper?.close();
    if (grants.length === 0 || (keeper === null && options.passphraseFile === undefined)) return tell(null);
    return await withReader(options, io, ports, async ({ operator: { readingKey } }) =>
      tell(followLastUses(join(options.home, "audit"), readingKey)()),
    );
  });
}

export function sayGrants(
  grants: readonly Grant[],
  uses: ReadonlyMap<string, string> | null,
  { json }: Pick<VaultOptions, "json">,
  io: CliIo,
  clock: VaultCliPorts["clock"],
): void {
  const used = (name: string): string | null => uses?.get(name) ?? null;
  const records = grants.map((grant) =>
    uses === null ? grantRecord(grant) : { ...grantRecord(grant), last_used_at: used(grant.name) },
  );
  if (json) io.out(JSON.stringify(records));
  else if (grants.length === 0) io.out("No grants: a person is asked about every session. See gw grant add --help");
  for (const grant of json ? [] : grants) {
    const over = Date.parse(grant.until) <= clock.wallMs();
    const use = uses === null ? "" : `  ${useWords(grant, used(grant.name), clock.wallMs())}`;
    io.out(`${grant.name}  ${over ? "OVER since" : "until"} ${grant.until}${use}  ${grant.actions.join(" ")}`);
  }
}

/** When it was used last, and what becomes of it without another use. */
function useWords(grant: Grant, last: string | null, wallMs: number): string {
  const endsMs = endsUnused(grant, last === null ? null : last.slice(0, 10));
  const said = last === null ? "NEVER USED" : `last used ${last.slice(0, 19)}Z`;
  const day = isoTime(endsMs).slice(0, 10);
  return `${said}, ${endsMs <= wallMs ? `ENDED unused on ${day}` : `ends unused on ${day}`}`;
}

export function runGrantShow(name: string, options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () => {
    showGrant(requireGrant(readGrants(options, ports), name), options, io);
    return exits.done;
  });
}

export function showGrant(grant: Grant, { json }: Pick<VaultOptions, "json">, io: CliIo): void {
  if (json) io.out(JSON.stringify(grantRecord(grant)));
  else for (const line of [grant.name, ...grantLines(grant)]) io.out(line);
}

/** `gw grant remove NAME`: it counts no longer, in sessions that stand on it either. */
export function runGrantRemove(name: string, options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  const told = `${name} is removed. Sessions that stand on it send nothing more.`;
  return answering(io, () =>
    signTried(
      options,
      io,
      ports,
      (sign) => removeGrant(name, sign),
      () => say(io, options.json, { grant: name, removed: true }, told),
    ),
  );
}

export async function removeGrant(name: string, sign: SignChange): Promise<void> {
  await sign({ what: "grant_removed", subject: name }, (policy) => {
    requireGrant(policy.grants, name);
    return { ...policy, grants: policy.grants.filter((one) => one.name !== name) };
  });
}

export function readGrants(options: VaultOptions, ports: VaultCliPorts): readonly Grant[] {
  const home = openHome(options.home, ports.random);
  return home.readPolicy(home.readVault()).grants;
}

export function requireGrant(grants: readonly Grant[], name: string): Grant {
  const grant = grants.find((one) => one.name === name);
  if (grant === undefined) throw new Denied("not_found", `There is no grant ${name}. See: gw grant list`);
  return grant;
}

export function grantLines(grant: Grant): readonly string[] {
  const rows: readonly (readonly [string, string])[] = [
    ["who", callerWords(grant)],
    ["what", `${grant.actions.join(" ")} (${grant.effects.join(", ")})`],
    ...grant.conditions.map((condition) => ["where", conditionWords(condition)] as const),
    ...grant.includes.map((inclusion) => ["also", inclusionWord(inclusion)] as const),
    ["bounds", boundsWords(grant)],
  ];
  return rows.map(([word, text]) => `  ${word.padEnd(8)}${showText(text)}`);
}

/** What a person who signs this should have thought of. */
export function warnings({ caller, conditions }: Grant): readonly string[] {
  const lines: string[] = [];
  if (caller.uid === null)
    lines.push("An interpreter (node, python, a shell) is never covered without --caller uid:N.");
  else if (caller.image === null && caller.authority === null && caller.command === null)
    lines.push(`Every program and every script that user ${caller.uid} runs is covered.`);
  else if (caller.uid !== null)
    lines.push("If that image is an interpreter, every script that this user runs is covered.");
  if (conditions.length === 0) lines.push("It has no conditions: any arguments are covered. See --where.");
  return lines;
}
