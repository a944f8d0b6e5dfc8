import { accessSync, constants, realpathSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Cut } from "../../../audit/cut/cut.ts";
import { readMarks } from "../../../audit/read/marks.ts";
import { Denied } from "../../../kernel/failure.ts";
import { anchorOf, lineOf } from "../../../vault/anchor.ts";
import { withLock } from "../../../vault/files/lock.ts";
import { makeFolder } from "../../../vault/files/make-folder.ts";
import { readPlainFile } from "../../../vault/files/private-file.ts";
import { checkHighWater, type HighWater, higher } from "../../../vault/high-water.ts";
import type { KeyId } from "../../../vault/keys.ts";
import type { Policy } from "../../../vault/policy/policy.ts";
import { FIRST_LINE, type Vault } from "../../../vault/vault.ts";

/**
 * What this operator has seen of a vault, kept in their own state folder and outside every home: whoever can put old files
 * back into a home cannot put this back with them. One entry a line, so that a restored copy never speaks for the original.
 */
export interface Seen {
  /** Which line each home held, by its path. */
  readonly homes: Readonly<Record<string, string>>;
  readonly lines: Readonly<Record<string, SeenLine>>;
}

export interface SeenLine extends HighWater {
  /** The last head of the log. */
  readonly head: SeenHead | null;
  /** How far the log was checked, and when all of it was. Absent from what earlier versions remembered. */
  readonly checked?: SeenCheck;
  /** Who was removed from among the operators, by key. */
  readonly removed: readonly KeyId[];
}

export interface SeenHead {
  readonly frame: number;
  readonly link: string;
}

export interface SeenCheck {
  /** Where the next check begins; null while there is one segment only. */
  readonly cut: Cut | null;
  readonly wholeAtMs: number;
  /** The last seal of the log that was found good; absent from what earlier versions remembered. */
  readonly sealed?: SeenHead | null;
}

/** Far beyond what is written: earlier versions kept the last check of every line. */
const SEEN_BYTES = 67_108_864;
/** Of so many lines it is kept how far their log was checked; of the others it is read from its start. */
const CHECKS_KEPT = 32;

export const NOTHING: SeenLine = { vault: null, policy: null, head: null, removed: [] };

export function readSeen(stateFolder: string, vaultId: string): Seen {
  try {
    const text = readPlainFile(pathOf(stateFolder, vaultId, "seen"), SEEN_BYTES);
    if (text !== undefined) {
      const { homes, lines } = JSON.parse(text.toString("utf8")) as Seen;
      return { homes, lines };
    }
  } catch {
    throw new Denied(
      "memory_unreadable",
      `${pathOf(stateFolder, vaultId, "seen")}, where gw remembers what you last saw of this vault, cannot be read. Find out what damaged it; without it, an old copy of the home would pass for the newest.`,
    );
  }
  const head = readEarlierHead(stateFolder, vaultId);
  return { homes: {}, lines: head === null ? {} : { [FIRST_LINE]: { ...NOTHING, head } } };
}

/** What was seen of the line that a home holds now. */
export function seenOf(stateFolder: string, vault: Vault): SeenLine {
  return readSeen(stateFolder, vault.vaultId).lines[lineOf(vault)] ?? NOTHING;
}

/** What was seen of the line that this home held then, whichever it holds now; undefined where it was never seen. */
export function seenAtHome({ homes, lines }: Seen, home: string): SeenLine | undefined {
  return lines[homes[nameOf(home)] ?? ""];
}

/**
 * Refuses a home that holds less than this operator, or the log beside it, has seen: `vault_rolled_back`,
 * `policy_rolled_back`, `vault_forked`; and a line that an operator restored and this one has not accepted.
 */
export function checkSeen(stateFolder: string, home: string, vault: Vault, policy: Policy | null): void {
  const seen = readSeen(stateFolder, vault.vaultId);
  const line = lineOf(vault);
  const known = seen.lines[line];
  const held = seen.homes[nameOf(home)];
  if (known === undefined && vault.restored !== null) {
    throw new Denied(
      "restore_unaccepted",
      `This home was restored on ${vault.restored.at} by the operator with key ${vault.restored.by}, and you have not accepted that. Ask them; then look and accept with: gw restore --accept`,
    );
  }
  if (held !== undefined && held !== line) {
    throw new Denied(
      "vault_forked",
      `${home} held another line of this vault when you last saw it (${held}, and now ${line}): another copy was put in its place. Find out who did it. To go on with this one: gw restore --accept`,
    );
  }
  if (known !== undefined) checkHighWater(known, vault, policy);
  checkHighWater(readMarks(join(home, "audit")), vault, policy);
}

/** Without it nothing can be remembered: a home is not made before it stands. */
export function requireStateFolder(stateFolder: string): void {
  try {
    makeFolder(stateFolder);
    accessSync(stateFolder, constants.W_OK);
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : "it cannot be made";
    throw new Denied(
      "memory_unreadable",
      `${stateFolder}, where gw remembers what you last saw of a vault, cannot be written (${why}). Run it with your own HOME (sudo -H -u gw gw …), or name a folder of yours in XDG_STATE_HOME.`,
    );
  }
}

/** Adds what is seen now. It only ever rises within a line. */
export async function remember(
  stateFolder: string,
  home: string,
  vault: Vault,
  news: {
    readonly policy?: Policy | null;
    readonly head?: SeenHead;
    readonly log?: HighWater;
    readonly checked?: SeenCheck;
  },
): Promise<void> {
  requireStateFolder(stateFolder);
  await withLock(pathOf(stateFolder, vault.vaultId, "lock"), () => {
    const seen = readSeen(stateFolder, vault.vaultId);
    const line = lineOf(vault);
    const known = seen.lines[line] ?? NOTHING;
    const policy = news.policy == null ? null : { version: news.policy.version, digest: news.policy.digest };
    const now = higher(higher(known, news.log ?? NOTHING), { vault: anchorOf(vault), policy });
    const head = news.head !== undefined && news.head.frame >= (known.head?.frame ?? 0) ? news.head : known.head;
    const checked = news.checked ?? known.checked;
    const kept = { ...now, head, ...(checked === undefined ? {} : { checked }), removed: removedFrom(vault, known) };
    const lines = forgetOldChecks({ ...seen.lines, [line]: kept });
    const text = JSON.stringify({ format: "gw.seen/v1", homes: { ...seen.homes, [nameOf(home)]: line }, lines });
    const path = pathOf(stateFolder, vault.vaultId, "seen");
    writeFileSync(`${path}.new`, `${text}\n`, { mode: 0o600, flush: true });
    renameSync(`${path}.new`, path);
  });
}

/** A check takes kilobytes, and each restored copy is a line of its own. What was seen of a line stays: without it an old copy would pass. */
function forgetOldChecks(lines: Seen["lines"]): Seen["lines"] {
  const times = Object.values(lines).flatMap(({ checked }) => (checked === undefined ? [] : [checked.wholeAtMs]));
  const oldest = times.sort((a, b) => b - a)[CHECKS_KEPT - 1];
  if (oldest === undefined) return lines;
  return Object.fromEntries(
    Object.entries(lines).map(([name, { checked, ...seen }]) => [
      name,
      checked === undefined || checked.wholeAtMs < oldest ? seen : { ...seen, checked },
    ]),
  );
}

function removedFrom({ lineage }: Vault, { removed }: SeenLine): readonly KeyId[] {
  const gone = lineage.filter(({ change }) => change === "remove").map(({ keyId }) => keyId);
  return [...new Set([...removed, ...gone])];
}

/** Whom this operator saw being removed: in the line that a home holds, in the one it came from, or in the one held before. */
export function removedBefore(seen: Seen, home: string, vault: Vault): ReadonlySet<KeyId> {
  const names = [lineOf(vault), vault.restored?.from ?? FIRST_LINE, seen.homes[nameOf(home)] ?? FIRST_LINE];
  return new Set(names.flatMap((name) => seen.lines[name]?.removed ?? []));
}

/** The highest of all lines: a restoration goes on above it. */
export function highestSeen({ lines }: Seen): HighWater {
  return Object.values(lines).reduce<HighWater>(higher, NOTHING);
}

/** What versions before this one remembered: the head alone, for a vault and not for a line of it. */
function readEarlierHead(stateFolder: string, vaultId: string): SeenHead | null {
  try {
    const { frame, link } = JSON.parse(
      String(readPlainFile(pathOf(stateFolder, vaultId, "head"), SEEN_BYTES)),
    ) as SeenHead;
    const sound = Number.isSafeInteger(frame) && typeof link === "string" && /^[0-9a-f]{64}$/.test(link);
    return sound ? { frame, link } : null;
  } catch {
    return null;
  }
}

function nameOf(home: string): string {
  try {
    return realpathSync(home);
  } catch {
    return home;
  }
}

function pathOf(stateFolder: string, vaultId: string, what: "seen" | "head" | "lock"): string {
  const name = vaultId.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return join(stateFolder, what === "lock" ? `${name}.lock` : `${name}.${what}.json`);
}
