import { conditionWords } from "../../../conventions/grant/condition.ts";
import type { Grant } from "../../../conventions/grant/grant.ts";
import { inclusionWord } from "../../../conventions/grant/grant.ts";
import { boundsWords, callerWords, grantRecord } from "../../../conventions/grant/record.ts";
import { showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { openHome } from "../../../vault/files/home.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { readTrustedPacks } from "../packs.ts";
import { applyPolicyChange, type VaultCliPorts, type VaultOptions, withOperator } from "../vault/session.ts";
import { readGrantCaller } from "./caller.ts";
import { draftGrant, type GrantWords } from "./draft.ts";

export type GrantAddOptions = VaultOptions & Omit<GrantWords, "name"> & { readonly caller: readonly string[] };

/** `gw grant add NAME`: an operator signs ahead what would be approved again and again. */
export function runGrantAdd(name: string, options: GrantAddOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, async () => {
    const caller = await readGrantCaller(options.caller, options.home);
    return withOperator(options, io, ports, async (session) => {
      const actions = readTrustedPacks(options.home, session.home.readPolicy(session.home.readVault())).flatMap(
        (pack) => [...pack.actions.values()],
      );
      const grant = draftGrant({ ...options, name }, caller, actions, ports.clock.wallMs());
      await applyPolicyChange(session, ports, { what: "grant_added", subject: name }, (policy) => {
        if (policy.grants.some((one) => one.name === name)) {
          throw new Denied(
            "grant_exists",
            `There is a grant ${name} already. Remove it first: gw grant remove ${name}`,
          );
        }
        return { ...policy, grants: [...policy.grants, grant] };
      });
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

export function runGrantList(options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () => {
    const grants = readGrants(options, ports);
    if (options.json) io.out(JSON.stringify(grants.map(grantRecord)));
    else if (grants.length === 0) io.out("No grants: a person is asked about every session. See gw grant add --help");
    for (const grant of options.json ? [] : grants) {
      const over = Date.parse(grant.until) <= ports.clock.wallMs();
      io.out(`${grant.name}  ${over ? "OVER since" : "until"} ${grant.until}  ${grant.actions.join(" ")}`);
    }
    return exits.done;
  });
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
      await applyPolicyChange(session, ports, { what: "grant_removed", subject: name }, (policy) => {
        requireGrant(policy.grants, name);
        return { ...policy, grants: policy.grants.filter((one) => one.name !== name) };
      });
      if (options.json) io.out(JSON.stringify({ grant: name, removed: true }));
      else io.out(`${name} is removed. Sessions that stand on it send nothing more.`);
      return exits.done;
    }),
  );
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

function grantLines(grant: Grant): readonly string[] {
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
  else if (caller.image === null && caller.authority === null)
    lines.push(`Every program and every script that user ${caller.uid} runs is covered.`);
  else if (caller.uid !== null)
    lines.push("If that image is an interpreter, every script that this user runs is covered.");
  if (conditions.length === 0) lines.push("It has no conditions: any arguments are covered. See --where.");
  return lines;
}
