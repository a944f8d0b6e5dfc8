import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import { CUT_NAME, MAX_CUT_BYTES, readCut } from "../../audit/cut/cut.ts";
import { segmentName, segmentOf } from "../../audit/frame/layout.ts";
import type { Random, Sleep } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { anchorOf, checkAnchor } from "../../vault/anchor.ts";
import { replaceFile } from "../../vault/files/atomic-write.ts";
import { openHome, POLICY_NAME, VAULT_NAME, type VaultHome } from "../../vault/files/home.ts";
import { withLock } from "../../vault/files/lock.ts";
import { makeFolder } from "../../vault/files/make-folder.ts";
import { readPlainFile } from "../../vault/files/private-file.ts";
import { isGoingBack } from "../../vault/high-water.ts";
import type { Policy } from "../../vault/policy/policy.ts";
import { checkPolicyVersion, parsePolicy } from "../../vault/policy/verify.ts";
import type { Vault } from "../../vault/vault.ts";
import { parseVault } from "../../vault/verify.ts";
import { homeAnswer, logBytesAnswer, logFilesAnswer } from "../operator/answers.ts";
import type { Door } from "../place/place.ts";
import { type Connection, openConnection } from "./connection.ts";

/**
 * An operator's own copy of a home that only the gateway's user can read: the signed files and the sealed log. Commands
 * work in it as they do in a home of their own; a change goes back signed, over the operator plane.
 */
type ServedHome = FromSchema<typeof homeAnswer>;

const PACK = /^[a-z][a-z0-9-]{0,63}$/;
const LOG_FILE = /^(?:[a-z]{1,32}\/)?[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/;

/** Brings the copy up to date. What is served is checked as a file would be, and is never older than the copy. */
export async function refreshMirror(door: Door, folder: string, random: Random, sleep: Sleep): Promise<void> {
  const connection = openConnection(door);
  try {
    await takeNewest(connection, folder, random, sleep);
    await takeLog(connection, folder, random);
  } finally {
    connection.close();
  }
}

/**
 * Another command of this operator may have brought the copy further while this one waited for its answer, or is just sending a change
 * that stands in the copy already: the gateway is asked again before anybody is accused. One that went back serves what is older each time.
 */
async function takeNewest(connection: Connection, folder: string, random: Random, sleep: Sleep): Promise<void> {
  for (let left: number = defaults.copyLooks; ; left--) {
    const served = await connection.ask(homeAnswer, "GET", "/v1/home");
    makeFolder(folder);
    try {
      await alone(folder, () => takeFiles(served, folder, random, left > 0));
      return;
    } catch (error) {
      if (left === 0 || !(error instanceof Denied) || !isGoingBack(error.code)) throw error;
    }
    await sleep.sleep(defaults.copyPauseMs);
  }
}

/** Of the commands of one operator one at a time writes to a file. Never across an answer: a console brings it up to date in one process. */
function alone(folder: string, work: () => void): Promise<void> {
  return withLock(join(folder, "copy.lock"), work);
}

/** After a change that the gateway did not take: the next refresh starts from what it has. */
export function dropMirrored(folder: string): void {
  for (const name of [VAULT_NAME, POLICY_NAME]) rmSync(join(folder, name), { force: true });
}

/** What the gateway needs of a change: the signed texts, and the bytes of the packs that the policy names. */
export function mirroredChange(folder: string, vaultChanged: boolean, policyChanged: boolean): JsonValue {
  const text = (name: string): string => readFileSync(join(folder, name), "utf8");
  const policy = policyChanged ? parsePolicy(text(POLICY_NAME), parseVault(text(VAULT_NAME))) : null;
  const packs = (policy?.packs ?? []).flatMap(({ pack }) => {
    const path = join(folder, "packs", `${pack}.yaml`);
    const same = join(folder, "packs", "trusted", `${pack}.yaml`);
    const bytes = readPlainFile(path, defaults.packBytes);
    if (bytes === undefined || readPlainFile(same, defaults.packBytes)?.equals(bytes) === true) return [];
    return [{ pack, bytes: bytes.toString("base64") }];
  });
  return {
    ...(vaultChanged ? { vault: text(VAULT_NAME) } : {}),
    ...(policyChanged ? { policy: text(POLICY_NAME) } : {}),
    ...(packs.length === 0 ? {} : { packs }),
  };
}

/** With `askedAgain` an older policy is not taken either. What a command that was cut off has left of one does not stay for good. */
function takeFiles(
  { vault: vaultText, policy, packs }: ServedHome,
  folder: string,
  random: Random,
  askedAgain: boolean,
): void {
  makeFolder(join(folder, "packs", "trusted"));
  const vault = parseVault(vaultText);
  const before = openHome(folder, random);
  if (before.exists()) {
    const known = before.readVault();
    if (known.vaultId !== vault.vaultId) {
      throw new Denied(
        "vault_foreign",
        `The gateway serves vault ${vault.vaultId}, and ${known.vaultId} was used here before. If it was made anew on purpose: rm -r ${folder}`,
      );
    }
    checkAnchor(anchorOf(known), vault);
    if (askedAgain) checkPolicyHeld(before, known, parsePolicy(policy, vault));
  }
  parsePolicy(policy, vault);
  replaceFile(join(folder, POLICY_NAME), Buffer.from(policy, "utf8"), random);
  replaceFile(join(folder, VAULT_NAME), Buffer.from(vaultText, "utf8"), random);
  for (const { pack, bytes } of packs.filter((one) => PACK.test(one.pack))) takePack(folder, pack, bytes, random);
}

/** One that does not hold is nothing that was seen. */
function checkPolicyHeld(copy: VaultHome, known: Vault, served: Policy): void {
  let held: Policy;
  try {
    held = copy.readPolicy(known);
  } catch (error) {
    if (error instanceof Denied) return;
    throw error;
  }
  checkPolicyVersion(held, served);
}

/** A pack that the operator has put beside it, and not trusted yet, stays. */
function takePack(folder: string, pack: string, bytes: string, random: Random): void {
  const served = Buffer.from(bytes, "base64");
  const own = join(folder, "packs", `${pack}.yaml`);
  const trusted = join(folder, "packs", "trusted", `${pack}.yaml`);
  const held = readPlainFile(own, defaults.packBytes);
  const untouched = held === undefined || readPlainFile(trusted, defaults.packBytes)?.equals(held) === true;
  replaceFile(trusted, served, random);
  if (untouched) replaceFile(own, served, random);
}

/** What was named a moment before may be archived by now: then it is asked anew what there is. */
async function takeLog(connection: Connection, copy: string, random: Random): Promise<void> {
  for (let left: number = defaults.filesLooks; ; left--) {
    try {
      const served = await takeLogFiles(connection, copy, random);
      dropArchived(copy, new Set(served), random);
      return;
    } catch (error) {
      if (left === 0 || !(error instanceof Denied) || error.code !== "not_found") throw error;
    }
  }
}

/** Files of the log only grow, but for zeros written ahead: what is not zero is never fetched twice. The cut alone is replaced. */
async function takeLogFiles(connection: Connection, copy: string, random: Random): Promise<readonly string[]> {
  const folder = join(copy, "audit");
  makeFolder(folder);
  const files = (await connection.ask(logFilesAnswer, "GET", "/v1/log/files")).filter(({ name }) =>
    LOG_FILE.test(name),
  );
  for (const { name, size } of files) {
    const path = join(folder, name);
    if (name === CUT_NAME) {
      const cut = await readPart(connection, name, 0);
      if (readPlainFile(path, MAX_CUT_BYTES)?.equals(cut) !== true)
        await alone(copy, () => replaceFile(path, cut, random));
      continue;
    }
    makeFolder(dirname(path));
    const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      await takeFile(connection, copy, file, { name, size });
    } catch (error) {
      // What nothing came for is not there.
      if (fstatSync(file).size === 0) rmSync(path, { force: true });
      throw error;
    } finally {
      closeSync(file);
    }
  }
  return files.map(({ name }) => name);
}

/**
 * What is served no more, and an operator signed a cut for, goes from the copy as well. It may be there in part only, which nothing could
 * complete any more: the copy would not hold for good.
 */
function dropArchived(copy: string, served: ReadonlySet<string>, random: Random): void {
  const folder = join(copy, "audit");
  const read = readCut(readPlainFile(join(folder, CUT_NAME), MAX_CUT_BYTES)?.toString("utf8") ?? "");
  const admitted = openHome(copy, random)
    .readVault()
    .lineage.flatMap((one) => (one.change === "admit" ? [one.approverKey] : []));
  if (read?.signedBy(admitted) === undefined || !served.has(CUT_NAME)) return;
  for (const name of readdirSync(folder)) {
    const segment = segmentOf(name.slice(0, segmentName(1).length));
    if (segment !== undefined && segment < read.cut.segment && !served.has(name)) rmSync(join(folder, name));
  }
}

/**
 * Every byte is written to its own place, and no zeros: two commands of one operator may bring the same copy up to date at the same time,
 * and what was not yet written when a part was read may be there when it comes.
 */
async function takeFile(
  connection: Connection,
  copy: string,
  file: number,
  { name, size }: { readonly name: string; readonly size: number },
): Promise<void> {
  for (let from = writtenBytes(file); from < size; ) {
    const part = await readPart(connection, name, from);
    if (part.length === 0) break;
    const at = from;
    await alone(copy, () => writeWhole(file, withoutZeros(part), at));
    from += part.length;
  }
  if (fstatSync(file).size === size) return;
  await alone(copy, () => {
    if (writtenBytes(file) <= size) ftruncateSync(file, size);
  });
}

/** A disk with little room left may take a part at a time: no hole stays. */
function writeWhole(file: number, bytes: Buffer, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, at + done);
}

async function readPart(connection: Connection, name: string, from: number): Promise<Buffer> {
  const { bytes } = await connection.ask(logBytesAnswer, "POST", "/v1/log/files/read", { body: { name, from } });
  return Buffer.from(bytes, "base64");
}

/** Looked for from the end: a console asks often, and segments are large. */
function writtenBytes(file: number): number {
  const block = Buffer.alloc(LOOK_BYTES);
  for (let end = fstatSync(file).size; end > 0; ) {
    const start = Math.max(0, end - LOOK_BYTES);
    const got = readSync(file, block, 0, end - start, start);
    const { length } = withoutZeros(block.subarray(0, got));
    if (length > 0) return start + length;
    end = start;
  }
  return 0;
}

const LOOK_BYTES = 65_536;

function withoutZeros(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return bytes.subarray(0, end);
}
