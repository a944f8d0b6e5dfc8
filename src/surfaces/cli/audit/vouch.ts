import type { KeyObject } from "node:crypto";
import { join } from "node:path";
import { keyIdOf, rawPublicOf } from "../../../audit/keys/raw.ts";
import { openReader } from "../../../audit/read/reader.ts";
import type { Era } from "../../../audit/verify/era.ts";
import { type VerifyReport, vouchedBy } from "../../../audit/verify/report.ts";
import { counted, showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { openHome } from "../../../vault/files/home.ts";
import type { Vault } from "../../../vault/vault.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { signOffer, withGateway } from "../operator/session.ts";
import type { OperatorOptions } from "../options.ts";
import { sayProse } from "../say-prose.ts";
import { say } from "../vault/session.ts";
import { checkLog, cuttersOf } from "./check-log.ts";
import { printReport } from "./verify.ts";

export interface VouchOptions extends OperatorOptions {
  /** The last frame of the last part that was looked at, for who is not asked. */
  readonly through?: number;
  /** Folders that segments were moved to: what stands in them is looked at too. */
  readonly archive?: readonly string[];
}

/** A part of the log that was written by a process which ended before anybody signed in who is an operator today. */
interface Part {
  readonly era: Era;
  /** Who signed for it all the same, and does not count. */
  readonly signedBy: readonly string[];
  readonly from: string | null;
  readonly to: string | null;
  readonly events: ReadonlyMap<string, number>;
}

/** What another operator attested or vouches for: for whoever pins one key alone, that one's signature comes to cover it too. */
interface Other {
  readonly operator: string;
  readonly parts: number;
  readonly firstFrame: number;
  readonly lastFrame: number;
}

/**
 * `gw audit vouch`: what a gateway wrote that started without a person, and ended before one signed in, no sign-in can attest. A person
 * looks at what those parts say, and signs for them: from then on the log is proven with them, and says who vouched.
 */
export function runVouch(options: VouchOptions, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, async () => {
    const folder = join(options.home, "audit");
    const before = await look(folder, options, deps);
    if (before.exit !== 0) return tellBroken(before, options, deps.io);
    requireWhole(before, options);
    if (openParts(before).length === 0) return tellNothing(before, options, deps.io);
    requireNamed(options, openParts(before), deps.io);
    return await withGateway(options, deps, async (session) => {
      const looked = await look(folder, options, deps);
      const eras = openParts(looked);
      if (looked.exit !== 0) return tellBroken(looked, options, deps.io);
      requireWhole(looked, options);
      if (eras.length === 0) return tellNothing(looked, options, deps.io);
      const { operator } = session;
      const vault = session.home.readVault();
      const parts = await readParts([...(options.archive ?? []), folder], operator.readingKey, looked, (keyId) =>
        signerOf(vault, keyId),
      );
      const others = othersIn(looked, keyIdOf(rawPublicOf("ed25519", operator.approver.key)).toString("hex"));
      if (!options.json) for (const line of describe(parts, others, looked.begins.frame)) sayProse(deps.io, line, 2);
      if (!(await isMeant(options, eras, deps.io))) {
        deps.io.out("Nothing was signed.");
        return exits.denied;
      }
      await signOffer(folder, looked, session, session.client, deps.vault, true);
      const { name } = operator;
      const from = looked.begins.frame;
      const done = { operator: name, looked_from: from, parts: parts.map(told), others: others.map(toldOther) };
      say(deps.io, options.json, done, `${name} vouches for ${counted(parts.length, "part")}. See: gw audit verify`);
      return exits.done;
    });
  });
}

/** Those count whose keys a verifier is given (`gw operator list`): a removed operator signs for nothing, whatever time they write. */
function look(folder: string, { home, archive }: VouchOptions, { random }: CliDeps): Promise<VerifyReport> {
  const vault = openHome(home, random).readVault();
  const operators = vault.operators.map(({ approverKey }) => approverKey);
  const archives = archive === undefined ? {} : { archives: archive };
  return checkLog(folder, vault, { operators, ...archives, allowUnattested: true });
}

/** Who names what was moved away wants all of it looked at: a check falls back to the cut where a segment is missing. */
function requireWhole({ exit, begins }: VerifyReport, { archive }: VouchOptions): void {
  if (archive === undefined || exit !== 0 || begins.frame === 0) return;
  throw new Denied(
    "value_not_allowed",
    `The folders given with --archive do not hold all that stands before segment ${begins.segment}. Name every folder that segments were moved to, each with --archive.`,
  );
}

/** The last one is still written, and is attested by signing in. */
function openParts({ eras, attestations }: VerifyReport): readonly Era[] {
  return eras.slice(0, -1).filter((era) => era.attestedBy.length === 0 && vouchedBy(era, attestations) === null);
}

/** By the name that the list of operators has: the one in an attestation is what its signer wrote there. */
function signerOf(vault: Pick<Vault, "lineage">, keyId: string): string {
  const was = cuttersOf(vault).find(({ key }) => keyIdOf(key).toString("hex") === keyId);
  return was === undefined ? `key ${keyId}, of no operator` : `${was.name}, who is no operator any more`;
}

function othersIn({ eras, attestations }: VerifyReport, ownKey: string): readonly Other[] {
  const own = attestations.filter(({ keyId }) => keyId === ownKey);
  const others = new Map<string, Other>();
  for (const era of eras.slice(0, -1)) {
    const [operator = vouchedBy(era, attestations)] = era.attestedBy;
    if (operator === null || own.some((one) => isIn(era, one)) || vouchedBy(era, own) !== null) continue;
    const { parts = 0, firstFrame = era.firstFrame } = others.get(operator) ?? {};
    others.set(operator, { operator, parts: parts + 1, firstFrame, lastFrame: era.lastFrame });
  }
  return [...others.values()];
}

function isIn(era: Era, { frame }: { readonly frame: number }): boolean {
  return frame >= era.firstFrame && frame <= era.lastFrame;
}

function tellBroken(report: VerifyReport, { json }: VouchOptions, io: CliIo): Exit {
  io.err("Nothing was signed: the log is vouched for only while it holds.");
  printReport(report, json, io);
  return report.exit === 2 ? exits.usage : exits.denied;
}

function tellNothing({ begins: { frame } }: VerifyReport, { json }: VouchOptions, io: CliIo): Exit {
  const words =
    frame === 0
      ? "Every earlier part of the log is attested or vouched for. There is nothing to sign."
      : `Every earlier part of the log from frame ${frame} on is attested or vouched for. There is nothing to sign. What stood before it was archived, and was not looked at: gw audit vouch --archive DIR`;
  say(io, json, { looked_from: frame, parts: [], others: [] }, words);
  return exits.done;
}

function isUnseen({ json, passphraseFile }: VouchOptions, io: CliIo): boolean {
  return json || passphraseFile !== undefined || !io.isTty;
}

/** Who is not asked names how far they looked, so that no script signs for what came since. */
function requireNamed(options: VouchOptions, eras: readonly Era[], io: CliIo): void {
  const last = eras.at(-1)?.lastFrame ?? 0;
  if (options.through === last || (options.through === undefined && !isUnseen(options, io))) return;
  throw new Denied(
    "value_not_allowed",
    `Frames ${eras[0]?.firstFrame} to ${last} hold what nobody attested. Look at them (gw audit export, and of an archive with --log DIR), then${options.archive === undefined ? "" : ", with the same archives"}: gw audit vouch --through ${last}`,
  );
}

async function isMeant(options: VouchOptions, eras: readonly Era[], io: CliIo): Promise<boolean> {
  requireNamed(options, eras, io);
  if (options.through !== undefined) return true;
  return (await io.ask("Were these starts yours? y signs for them, anything else leaves it: ")).trim() === "y";
}

/** What the parts say. All that was found good a moment before has to be there still: an archive may have moved it away since. */
export async function readParts(
  folders: readonly string[],
  readingKey: KeyObject,
  looked: VerifyReport,
  nameOf: (keyId: string) => string,
): Promise<readonly Part[]> {
  const eras = openParts(looked);
  const partOf = (frame: number): Era | undefined => eras.find((era) => isIn(era, { frame }));
  const found = new Map<Era, { from: string | null; to: string | null; events: Map<string, number> }>();
  for (const era of eras) found.set(era, { from: null, to: null, events: new Map() });
  // The beginning of the first may have been archived.
  const from = { segment: Math.max(eras[0]?.firstSegment ?? 1, looked.begins.segment), offset: 0 };
  const reader = openReader(folders, readingKey, from, (frame) => partOf(frame) !== undefined);
  const opened = new Set<number>();
  try {
    for await (const item of reader) {
      if (item.kind === "opened") opened.add(item.segment);
      const era = partOf(item.frame);
      const part = era === undefined ? undefined : found.get(era);
      if (part === undefined) continue;
      const type = item.kind === "record" ? item.event.event_type : item.kind === "opened" ? null : item.kind;
      if (item.kind === "record") {
        part.from ??= item.event.occurred_at;
        part.to = item.event.occurred_at;
      }
      if (type !== null) part.events.set(type, (part.events.get(type) ?? 0) + 1);
    }
  } finally {
    reader.close();
  }
  for (const { firstSegment, lastSegment } of eras)
    for (let segment = Math.max(firstSegment, from.segment); segment <= lastSegment; segment++)
      if (!opened.has(segment))
        throw new Denied(
          "log_attestation_refused",
          `Segment ${segment} was moved away while it was to be read. Nothing was signed. Look again.`,
        );
  return eras.map((era) => {
    const signers = looked.attestations.filter((one) => isIn(era, one)).map(({ keyId }) => nameOf(keyId));
    const read = found.get(era) ?? { from: null, to: null, events: new Map() };
    return { era, signedBy: [...new Set(signers)], ...read };
  });
}

function* describe(parts: readonly Part[], others: readonly Other[], begin: number): Generator<string> {
  yield "No operator signed in while these parts of the log were written, each by one process that has ended:";
  for (const { era, signedBy, from, to, events } of parts) {
    // Whoever wrote the part chose its times, in whatever words.
    const when = from === null || to === null ? "no record" : `${showIdentifier(from)} to ${showIdentifier(to)}`;
    const what = [...events].map(([type, count]) => `${type} ${count}`).join(", ");
    const how = era.reason === "crash" ? ", after one that did not stop cleanly" : "";
    const by = signedBy.map((name) => `, signed by ${name}`).join("");
    yield `Frames ${era.firstFrame} to ${era.lastFrame}, ${when}${how}${by}: ${what === "" ? "nothing" : what}`;
    if (events.has("unreadable"))
      yield "NOT ALL OF THAT PART IS COUNTED: some of it does not open with your key. Have somebody look who reads it.";
  }
  if (begin > 0)
    yield `What stood before frame ${begin} was archived, and is not shown or counted here. Your signature is over it too: to look at it first, gw audit vouch --archive DIR`;
  yield "What each record says: gw audit export, and of an archive with --log DIR. Whoever could write to the home could have written them.";
  for (const { operator, parts: count, firstFrame, lastFrame } of others)
    yield `For who trusts your key alone, you vouch for what ${showIdentifier(operator)} attested too: ${counted(count, "part")}, between frames ${firstFrame} and ${lastFrame}.`;
}

function told({ era, signedBy, from, to, events }: Part) {
  const { firstFrame, lastFrame, reason } = era;
  const frames = { first_frame: firstFrame, last_frame: lastFrame };
  return { ...frames, reason, signed_by: signedBy, from, to, events: Object.fromEntries(events) };
}

function toldOther({ operator, parts, firstFrame, lastFrame }: Other) {
  return { operator, parts, first_frame: firstFrame, last_frame: lastFrame };
}
