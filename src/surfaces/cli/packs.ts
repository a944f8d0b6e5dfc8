import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Pack } from "../../conventions/action/pack.ts";
import { placePack } from "../../conventions/action/place.ts";
import { readPack } from "../../conventions/action/read.ts";
import type { OperatorKey } from "../../conventions/approval/decision.ts";
import { defaults } from "../../kernel/defaults.ts";
import { showIdentifier } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import { openHome } from "../../vault/files/home.ts";
import { makeFolder } from "../../vault/files/make-folder.ts";
import { isPackTrusted, type Policy, removePack, trustPack } from "../../vault/policy/policy.ts";
import { summariesOf } from "../../vault/summary.ts";
import type { Vault } from "../../vault/vault.ts";
import { answering } from "./answer.ts";
import { type CliIo, type Exit, exits } from "./io.ts";
import { misfitsOf } from "./pack-credential.ts";
import { readGivenFile } from "./read-given-file.ts";
import { keepReplaced, keepTrustedCopy, readTrustedCopy } from "./upgrade/load-change.ts";
import { type ReviewedOptions, requireReviewed } from "./upgrade/require-review.ts";
import {
  applyPolicyChange,
  say,
  type VaultCliPorts,
  type VaultOptions,
  type VaultSession,
  withOperator,
} from "./vault/session.ts";
import { trialOf } from "./vault/sign-change.ts";

/** `gw pack add FILE`: copies a sound pack into the home. Nothing is trusted by that. */
export function runPackAdd(file: string, options: VaultOptions, io: CliIo): Promise<Exit> {
  return answering(io, () => {
    const bytes = readBounded(file);
    const pack = requireSound(bytes, file);
    const folder = join(options.home, "packs");
    makeFolder(folder);
    keepReplaced(options.home, pack.name);
    writeFileSync(join(folder, `${pack.name}.yaml`), bytes, { mode: 0o600 });
    say(
      io,
      options.json,
      { pack: pack.name, digest: pack.digest, trusted: false },
      `${pack.name} added (${pack.digest}). Read it, then: gw pack trust ${pack.name}`,
    );
    return exits.done;
  });
}

export function runPackList(options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, () => {
    const home = openHome(options.home, ports.random);
    const policy = home.readPolicy(home.readVault());
    const rows = listPackTrust(options.home, policy);
    if (options.json) io.out(JSON.stringify(rows, null, 2));
    else if (rows.length === 0) io.out("No packs yet: gw pack add FILE");
    else {
      for (const row of rows) {
        const state = packState(policy, { name: row.pack, digest: row.digest });
        io.out(`${showIdentifier(row.pack)}  ${state}  ${row.actions} actions  ${row.digest ?? row.trouble}`);
      }
    }
    return exits.done;
  });
}

/** Whether the policy trusts it as it is. The gateway goes on with the trusted version while another waits. */
export function packState(
  policy: Policy,
  pack: { readonly name: string; readonly digest: Pack["digest"] | null },
): string {
  if (pack.digest !== null && trusts(policy, pack.name, pack.digest)) return "trusted";
  return policy.packs.some((one) => one.pack === pack.name)
    ? `NEW VERSION WAITS, the old one serves (gw pack show ${pack.name})`
    : "NOT TRUSTED";
}

export interface HomePack {
  readonly pack: Pack;
  readonly bytes: Buffer;
}

/** The file of this home, whether it is trusted or not. */
export function readHomePack(home: string, name: string): HomePack {
  const path = packPath(home, name);
  if (!existsSync(path)) throw packUnknown(name);
  const bytes = readBounded(path);
  return { pack: requireSound(bytes, `${name}.yaml`), bytes };
}

/** `gw pack trust NAME`: an operator signs the digest of the exact bytes into policy. */
export function runPackTrust(
  name: string,
  options: VaultOptions & ReviewedOptions,
  io: CliIo,
  ports: VaultCliPorts,
  operatorKeys: () => Promise<readonly OperatorKey[]>,
  tellChanges: (pack: Pack, bytes: Buffer) => readonly string[],
): Promise<Exit> {
  return answering(io, async () => {
    const home = openHome(options.home, ports.random);
    const vault = home.readVault();
    const { pack, bytes } = readHomePack(options.home, name);
    // Before anybody types a secret: what would change, and whether it was reviewed.
    for (const line of tellChanges(pack, bytes)) io.err(line);
    const standing = { vault, policy: home.readPolicy(vault), readingKey: null };
    await requireReviewed(pack, bytes, standing, options, operatorKeys);
    return await withOperator(options, io, ports, async (session) => {
      const vault = await trustHomePack({ pack, bytes }, session, options, ports, operatorKeys);
      const actions = [...pack.actions.values()].map(
        ({ qualifiedName, effect }) => `  ${effect.padEnd(8)}  ${qualifiedName}`,
      );
      const lines = [
        `${pack.name} is trusted at ${pack.digest}:`,
        ...actions,
        ...sayAbsent(vault, pack),
        ...sayMisfits(session, pack),
      ];
      say(io, options.json, { pack: pack.name, digest: pack.digest, trusted: true }, lines.join("\n"));
      return exits.done;
    });
  });
}

/** Signs for exactly these bytes. One that differs from what was trusted needs its finished review. */
export async function trustHomePack(
  { pack, bytes }: HomePack,
  session: VaultSession,
  options: ReviewedOptions,
  ports: VaultCliPorts,
  operatorKeys: () => Promise<readonly OperatorKey[]>,
): Promise<Vault> {
  const vault = session.home.readVault();
  const { readingKey } = session.operator;
  const standing = { vault, policy: session.home.readPolicy(vault), readingKey };
  await requireReviewed(pack, bytes, standing, options, operatorKeys);
  await applyPolicyChange(session, ports, { what: "pack_trusted", subject: pack.name }, (policy) => ({
    ...policy,
    ...trustPack(policy, { pack: pack.name, digest: pack.digest }),
  }));
  keepTrustedCopy(options.home, pack.name, bytes);
  return vault;
}

/** What a call of it would stumble over. */
function sayAbsent(vault: Vault, pack: Pack): readonly string[] {
  const held = new Set(summariesOf(vault).map(({ label }) => label));
  const absent = [...new Set(labelsOf(pack))].filter((label) => !held.has(label));
  if (absent.length === 0) return [];
  return [
    `Not in the vault yet: ${absent.map(showIdentifier).join(", ")}. Next: gw credential add ${absent[0]} --kind …`,
  ];
}

function sayMisfits({ home }: VaultSession, { name }: Pack): readonly string[] {
  const vault = home.readVault();
  return misfitsOf(readTrustedPacks(home.folder, home.readPolicy(vault)), summariesOf(vault))
    .filter(({ pack }) => pack === name)
    .map(({ detail, mend }) => `No call leaves yet. ${detail}. Next: ${mend}`);
}

/** The credentials that a pack's calls go out with. */
export function labelsOf({ provider, actions }: Pack): readonly string[] {
  const own = [...actions.values()].map((action) => ("credential" in action ? action.credential : null));
  return [provider?.credential ?? null, ...own].flatMap((label) => (label === null ? [] : [label]));
}

export function runPackRemove(name: string, options: VaultOptions, io: CliIo, ports: VaultCliPorts): Promise<Exit> {
  return answering(io, async () => {
    await trialOf(options, ports)(removalOf(name), withoutPack(options.home, name));
    return withOperator(options, io, ports, async (session) => {
      await removeHomePack(name, options.home, session, ports);
      say(io, options.json, { pack: name, removed: true }, `${name} is no longer trusted, and its file is gone.`);
      return exits.done;
    });
  });
}

export async function removeHomePack(
  name: string,
  home: string,
  session: VaultSession,
  ports: VaultCliPorts,
): Promise<void> {
  await applyPolicyChange(session, ports, removalOf(name), withoutPack(home, name));
  rmSync(packPath(home, name), { force: true });
}

function removalOf(name: string) {
  return { what: "pack_removed", subject: name };
}

function withoutPack(home: string, name: string) {
  const path = packPath(home, name);
  return (policy: Policy) => {
    if (!existsSync(path) && !policy.packs.some(({ pack }) => pack === name)) throw packUnknown(name);
    return { ...policy, ...removePack(policy, name) };
  };
}

/** Every pack of this home, and whether the policy trusts it as it is. */
export function listPackTrust(home: string, policy: Policy): readonly (PackRow & { readonly trusted: boolean })[] {
  return listPacks(home).map((row) => ({
    ...row,
    trusted: row.digest !== null && trusts(policy, row.pack, row.digest),
  }));
}

/** The packs of this home that the policy trusts as they are. */
export function readTrustedPacks(home: string, policy: Policy): readonly Pack[] {
  return listPacks(home).flatMap(({ pack }) => {
    const trusted = policy.packs.find((one) => one.pack === pack);
    const kept = trusted === undefined ? null : readTrustedCopy(home, pack, trusted.digest);
    if (kept === null) return [];
    return [
      placePack(
        kept.pack,
        policy.places.find((place) => place.pack === pack),
      ),
    ];
  });
}

interface PackRow {
  readonly pack: string;
  readonly digest: Pack["digest"] | null;
  readonly actions: number;
  readonly trouble: string | null;
}

function listPacks(home: string): readonly PackRow[] {
  let files: string[];
  try {
    files = readdirSync(join(home, "packs")).filter((file) => file.endsWith(".yaml"));
  } catch {
    return [];
  }
  return files.sort().map((file) => {
    const name = file.slice(0, -".yaml".length);
    try {
      const { digest, actions } = requireSound(readBounded(join(home, "packs", file)), file);
      return { pack: name, digest, actions: actions.size, trouble: null };
    } catch (error) {
      if (!(error instanceof Denied)) throw error;
      return { pack: name, digest: null, actions: 0, trouble: error.message };
    }
  });
}

function trusts(policy: Policy, name: string, digest: Pack["digest"]): boolean {
  return isPackTrusted(policy, name, digest);
}

function packUnknown(name: string): Denied {
  return new Denied(
    "pack_unknown",
    `This home has no pack ${name}. See: gw pack list. To bring one in: gw pack add FILE`,
  );
}

function packPath(home: string, name: string): string {
  if (!/^[a-z][a-z0-9-]{0,63}$/.test(name)) throw new Denied("pack_malformed", "A pack's name is a-z, 0-9 and dashes.");
  return join(home, "packs", `${name}.yaml`);
}

function requireSound(bytes: Buffer, file: string): Pack {
  const { pack, findings } = readPack(bytes, file);
  const first = findings.find(({ severity }) => severity === "error");
  if (pack === null || first !== undefined) {
    const place = first === undefined ? file : `${first.file}:${first.line}:${first.column}`;
    throw new Denied(
      "pack_malformed",
      `${place}: ${first?.message ?? "it cannot be read"}. See all of it with: gw pack lint ${file}`,
    );
  }
  return pack;
}

function readBounded(path: string): Buffer {
  return readGivenFile(path, defaults.packBytes, "pack_malformed", "pack_too_large");
}
