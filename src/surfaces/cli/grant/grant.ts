import { join } from "node:path";
import { conditionWords } from "../../../conventions/grant/condition.ts";
import type { Grant, GrantCaller } from "../../../conventions/grant/grant.ts";
import { endsUnused, inclusionWord } from "../../../conventions/grant/grant.ts";
import { boundsWords, callerWords, grantRecord } from "../../../conventions/grant/record.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { openHome } from "../../../vault/files/home.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { readTrustedPacks } from "../packs.ts";
import {
  applyPolicyChange,
  findLogin,
  type VaultCliPorts,
  type VaultOptions,
  type VaultSession,
  withOperator,
  withReader,
} from "../vault/session.ts";
import { type SignChange, signerIn } from "../vault/sign-change.ts";
import { readGrantCaller } from "./caller.ts";
import { draftGrant, type GrantWords } from "./draft.ts";
import { followLastUses } from "./last-use.ts";
import { readGrantLine } from "./line.ts";

export type GrantAddOptions = VaultOptions & Omit<GrantWords, "name"> & { readonly caller: readonly string[] };

/** `gw grant add NAME`: an operator signs ahead what would be approved again and again. */
export function runGrantAdd(name: string, options: GrantAddOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, async () => {
    const caller = await readGrantCaller(options.caller, options.home);
    return withOperator(options, io, ports, async (session) => {
      const grant = await signGrant({ ...options, name }, caller, session, options, ports);
      if (options.json) io.out(JSON.stringify(grantRecord(grant)));
      else {
        io.out(`Signed: ${name} lets calls pass without a card, from now on.`);
        for (const line of grantLines(grant)) io.out(line);
      }
      for (const line of warnings(grant)) io.err(line);
      return exits.done;
    });
  });
}

/** A grant that was written on one line, beside a card. */
export async function signGrantLine(
  line: string,
  session: VaultSession,
  options: Pick<VaultOptions, "home">,
  ports: VaultCliPorts,
): Promise<Grant> {
  const words = readGrantLine(line);
  return await signGrant(words, await readGrantCaller(words.caller, options.home), session, options, ports);
}

async function signGrant(
  words: GrantWords,
  caller: GrantCaller,
  session: VaultSession,
  { home }: Pick<VaultOptions, "home">,
  ports: VaultCliPorts,
): Promise<Grant> {
  const { name } = words;
  const packs = readTrustedPacks(home, session.home.readPolicy(session.home.readVault()));
  const actions = packs.flatMap((pack) => [...pack.actions.values()]);
  const grant = draftGrant(words, caller, actions, ports.clock.wallMs());
  await applyPolicyChange(session, ports, { what: "grant_added", subject: name }, (policy) => {
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
      const used = (name: string): string | null => uses?.get(name) ?? null;
      const records = grants.map((grant) =>
        uses === null ? grantRecord(grant) : { ...grantRecord(grant), last_used_at: used(grant.name) },
      );
      if (options.json) io.out(JSON.stringify(records));
      else if (grants.length === 0) io.out("No grants: a person is asked about every session. See gw grant add --help");
      for (const grant of options.json ? [] : grants) {
        const over = Date.parse(grant.until) <= ports.clock.wallMs();
        const use = uses === null ? "" : `  ${useWords(grant, used(grant.name), ports.clock.wallMs())}`;
        io.out(`${grant.name}  ${over ? "OVER since" : "until"} ${grant.until}${use}  ${grant.actions.join(" ")}`);
      }
      if (uses === null && grants.length > 0 && !options.json)
        io.err("gw login, and it also shows when each was last used.");
      return exits.done;
    };
    const vault = openHome(options.home, ports.random).readVault();
    const keeper = await findLogin(options, vault, ports);
    keeper?.close();
    if (grants.length === 0 || (keeper === null && options.passphraseFile === undefined)) return tell(null);
    return await withReader(options, io, ports, async ({ readingKey }) =>
      tell(followLastUses(join(options.home, "audit"), readingKey)()),
    );
  });
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
    const grant = requireGrant(readGrants(options, ports), name);
    if (options.json) io.out(JSON.stringify(grantRecord(grant)));
    else for (const line of [name, ...grantLines(grant)]) io.out(line);
    return exits.done;
  });
}

/** `gw grant remove NAME`: it counts no longer, in sessions that stand on it either. */
export function runGrantRemove(name: string, options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () =>
    withOperator(options, io, ports, async (session) => {
      await removeGrant(name, signerIn(session, ports));
      if (options.json) io.out(JSON.stringify({ grant: name, removed: true }));
      else io.out(`${name} is removed. Sessions that stand on it send nothing more.`);
      return exits.done;
    }),
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
function warnings({ caller, conditions }: Grant): readonly string[] {
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
