import { createPublicKey } from "node:crypto";
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { signAttestation } from "../src/audit/attestation.ts";
import type { AuditLog } from "../src/audit/audit-log.ts";
import { signCheckpoint } from "../src/audit/checkpoint/checkpoint.ts";
import { rewrapSeeds } from "../src/audit/read/rewrap.ts";
import { verifyLog } from "../src/audit/verify/verify.ts";
import {
  assemble,
  dissect,
  finishedEvent,
  handClock,
  intentEvent,
  openTestLog,
  rawKey,
  rechain,
  seededKey,
  seededRandom,
} from "../test/audit-kit.ts";

/**
 * Makes the test vectors of the log format: one log with every kind of frame and end, then copies of it with one thing
 * wrong each. All keys come from fixed seeds, so the files are the same on every run.
 */
const reading = seededKey("x25519", "vector reading key");
const auditor = seededKey("x25519", "vector auditor key");
const late = seededKey("x25519", "vector late key");
const approver = seededKey("ed25519", "vector approver key");
const keys = {
  readingKey: reading,
  recipient: createPublicKey(reading),
  approver,
  operator: rawKey(createPublicKey(approver)),
};
const clock = handClock(1_750_000_000_000);
const limits = { spaceBytes: 1_024 };

export interface VectorCase {
  readonly folder: string;
  readonly allow_unattested: boolean;
  readonly checkpoint: boolean;
  readonly exit: number;
  readonly code: string | null;
  readonly frame: number | null;
  readonly sealed_frame: number | null;
}

export async function makeLogVectors(root: string): Promise<readonly VectorCase[]> {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  const whole = join(root, "whole");
  await writeWhole(whole);
  const good = await verifyLog({ folder: whole, operators: [keys.operator] });
  if (good.sealed === null || good.logId === null)
    throw new Error(`the vector log has no seal: ${good.firstBreach?.code}`);
  const { frame, link, timeSeconds, seals } = good.sealed;
  const root6962 = Buffer.from(good.root, "hex");
  writeFileSync(
    join(root, "checkpoint.txt"),
    signCheckpoint({ logId: good.logId, seals, root: root6962, frame, link, timeSeconds }, approver),
  );
  const cases: VectorCase[] = [];
  cases.push(await judge(root, "whole", false, true));
  for (const [name, change] of Object.entries(changes)) {
    const folder = join(root, name);
    cpSync(whole, folder, { recursive: true });
    rmSync(join(folder, "writer.lock"), { force: true });
    change(folder);
    cases.push(await judge(root, name, false, name.startsWith("rolled-back")));
  }
  cases.push(await judge(root, "unattested", true, false));
  cpSync(whole, join(root, "vouched"), { recursive: true });
  await writeVouched(join(root, "vouched"));
  cases.push(await judge(root, "vouched", false, true));
  rmSync(join(root, "vouched", "writer.lock"), { force: true });
  rmSync(join(whole, "writer.lock"), { force: true });
  writeFileSync(
    join(root, "expected.json"),
    `${JSON.stringify(
      {
        operator_key: keys.operator.toString("hex"),
        reading_key: privateHex(reading),
        auditor_key: privateHex(auditor),
        late_key: privateHex(late),
        log_id: good.logId,
        root: good.root,
        cases,
      },
      null,
      2,
    )}\n`,
  );
  // The log is its owner's alone; vectors are for everyone.
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
  }
  return cases;
}

async function writeWhole(folder: string): Promise<void> {
  const recipients = [keys.recipient, createPublicKey(auditor)];
  let log = await openTestLog(folder, { keys, seed: "vector 1", clock, recipients, limits });
  await sign(log);
  await log.append([intentEvent(1)]);
  await log.append([finishedEvent(1), intentEvent(2), intentEvent(3), intentEvent(4), intentEvent(5)]);
  clock.advance(61_000);
  await log.rotate({ recipients: [keys.recipient] });
  await log.append([finishedEvent(2)]);
  await log.close();
  log = await openTestLog(folder, { keys, seed: "vector 2", clock, limits });
  await sign(log);
  await log.append([intentEvent(6)]);
  await log.append([intentEvent(7)]);
  // A killed process: keep the files as they are now, and break the last frame off.
  const kept = readFileSync(join(folder, "0000000003.gwlog"));
  await log.close();
  let end = kept.length;
  while (kept[end - 1] === 0) end--;
  writeFileSync(join(folder, "0000000003.gwlog"), Buffer.concat([kept.subarray(0, end - 100), Buffer.alloc(700)]));
  clock.advance(3_600_000);
  log = await openTestLog(folder, { keys, seed: "vector 3", clock, limits });
  await sign(log);
  await log.append([finishedEvent(6, { outcome: "unknown", remote_status: null })]);
  await log.close();
  rewrapSeeds(folder, reading, createPublicKey(late), seededRandom("vector rewrap"));
}

/** A start that ended before anybody signed in, and one in which an operator vouches for it. */
async function writeVouched(folder: string): Promise<void> {
  let log = await openTestLog(folder, { keys, seed: "vector 4", clock, limits });
  await log.append([intentEvent(8)]);
  await log.close();
  log = await openTestLog(folder, { keys, seed: "vector 5", clock, limits });
  await sign(log, true);
  await log.close();
}

async function sign(log: AuditLog, earlier = false): Promise<void> {
  const offer = await log.offerAttestation();
  await log.attest(signAttestation(offer, "ada", approver, Math.floor(clock.wallMs() / 1000), earlier));
}

const changes: Readonly<Record<string, (folder: string) => void>> = {
  "bit-flip": (folder) => edit(folder, 1, ({ pieces }) => void pieces[4]?.body.writeUInt8(0, 9)),
  "bit-flip-rechained": (folder) => {
    edit(folder, 1, ({ pieces }) => void pieces[4]?.body.writeUInt8(0, 9));
    rechain(folder);
  },
  "seal-stripped-rechained": (folder) => {
    edit(folder, 1, ({ pieces }) => void pieces.splice(1, 1));
    rechain(folder);
  },
  "record-dropped-rechained": (folder) => {
    edit(folder, 1, ({ pieces }) => void pieces.splice(5, 1));
    rechain(folder);
  },
  "segment-missing": (folder) => rmSync(join(folder, "0000000002.gwlog")),
  "torn-tail": (folder) => truncateSync(join(folder, "0000000004.gwlog"), sizeOf(folder, 4) - 7),
  "bytes-after-stop": (folder) => append(folder, 4, Buffer.from("tail")),
  "zeros-after-stop": (folder) => append(folder, 4, Buffer.alloc(512)),
  "undeclared-tail": (folder) => append(folder, 1, Buffer.from("tail")),
  "unsealed-tail": (folder) => edit(folder, 4, ({ pieces }) => void pieces.splice(-1)),
  "rolled-back": (folder) => edit(folder, 4, ({ pieces }) => void pieces.splice(-2)),
  unattested: (folder) => {
    for (const segment of [2, 3, 4]) rmSync(join(folder, `000000000${segment}.gwlog`));
    edit(folder, 1, ({ pieces }) => void pieces.splice(2));
  },
  "empty-segment": (folder) => writeFileSync(join(folder, "0000000004.gwlog"), ""),
};

function edit(folder: string, segment: number, change: Parameters<typeof dissectAnd>[1]): void {
  dissectAnd(join(folder, `000000000${segment}.gwlog`), change);
}

function dissectAnd(path: string, change: (parts: ReturnType<typeof dissect>) => void): void {
  const parts = dissect(path);
  change(parts);
  assemble(path, parts);
}

function append(folder: string, segment: number, bytes: Buffer): void {
  const path = join(folder, `000000000${segment}.gwlog`);
  writeFileSync(path, Buffer.concat([readFileSync(path), bytes]));
}

function sizeOf(folder: string, segment: number): number {
  return readFileSync(join(folder, `000000000${segment}.gwlog`)).length;
}

async function judge(
  root: string,
  name: string,
  allowUnattested: boolean,
  withCheckpoint: boolean,
): Promise<VectorCase> {
  const report = await verifyLog({
    folder: join(root, name),
    operators: [keys.operator],
    allowUnattested,
    ...(withCheckpoint ? { checkpoint: readFileSync(join(root, "checkpoint.txt"), "utf8") } : {}),
  });
  return {
    folder: name,
    allow_unattested: allowUnattested,
    checkpoint: withCheckpoint,
    exit: report.exit,
    code: report.firstBreach?.code ?? null,
    frame: report.firstBreach?.frame ?? null,
    sealed_frame: report.sealed?.frame ?? null,
  };
}

function privateHex(key: typeof reading): string {
  return key.export({ format: "der", type: "pkcs8" }).subarray(16).toString("hex");
}

if (import.meta.main) {
  for (const { folder, exit, code } of await makeLogVectors(join(import.meta.dirname, "../test/vectors/log"))) {
    console.log(`${folder}: exit ${exit} ${code ?? ""}`);
  }
}
