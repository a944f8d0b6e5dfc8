import { createHash, generateKeyPairSync, hash, type KeyObject } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { signAttestation } from "../src/audit/attestation.ts";
import type { AuditLog, LogLimits } from "../src/audit/audit-log.ts";
import type { NewEvent } from "../src/audit/event.ts";
import type { LogFiles } from "../src/audit/files.ts";
import { takePrivateKey } from "../src/audit/keys/raw.ts";
import { openLog } from "../src/audit/log.ts";
import type { Scheduler } from "../src/audit/scheduler.ts";
import type { Random } from "../src/kernel/clock.ts";

/** Random bytes that are the same on every run. */
export function seededRandom(seed: string): Random {
  let counter = 0;
  return {
    bytes(length) {
      const parts: Buffer[] = [];
      for (let have = 0; have < length; have += 32) {
        parts.push(createHash("sha256").update(`${seed}:${counter++}`).digest());
      }
      return Buffer.concat(parts).subarray(0, length);
    },
  };
}

export interface HandClock {
  wallMs(): number;
  advance(ms: number): void;
}

export function handClock(startMs = 1_750_000_000_000): HandClock {
  let now = startMs;
  return {
    wallMs: () => now,
    advance(ms) {
      now += ms;
    },
  };
}

/** Timers that only move when told to. `soon` is real: it is order, not time. */
export interface HandScheduler extends Scheduler {
  advance(ms: number): void;
  readonly waiting: number;
}

export function handScheduler(flushMs: () => number = () => 0): HandScheduler {
  let now = 0;
  let timers: { at: number; run: () => void }[] = [];
  return {
    soon: (run) => void setImmediate(run),
    after(ms, run) {
      const timer = { at: now + ms, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    nowMs: () => {
      now += flushMs();
      return now;
    },
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const due = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (due === undefined) break;
        now = Math.max(now, due.at);
        timers = timers.filter((other) => other !== due);
        due.run();
      }
      now = end;
    },
    get waiting() {
      return timers.length;
    },
  };
}

export interface Keys {
  readonly readingKey: KeyObject;
  readonly recipient: KeyObject;
  readonly approver: KeyObject;
  readonly operator: Buffer;
}

export function makeKeys(): Keys {
  const reading = generateKeyPairSync("x25519");
  const approver = generateKeyPairSync("ed25519");
  return {
    readingKey: reading.privateKey,
    recipient: reading.publicKey,
    approver: approver.privateKey,
    operator: rawKey(approver.publicKey),
  };
}

export function rawKey(key: KeyObject): Buffer {
  return Buffer.from(key.export({ format: "der", type: "spki" }).subarray(12));
}

export function seededKey(curve: "ed25519" | "x25519", seed: string): KeyObject {
  return takePrivateKey(curve, createHash("sha256").update(seed).digest());
}

export interface TestLogOptions {
  readonly keys: Keys;
  readonly seed?: string;
  readonly clock?: HandClock;
  readonly scheduler?: Scheduler;
  readonly files?: LogFiles;
  readonly limits?: Partial<LogLimits>;
  readonly recipients?: readonly KeyObject[];
  /** What the log says that its gateway runs with. */
  readonly vault?: { readonly vaultGeneration: number; readonly vaultHash: string };
}

/** Small pieces of space set aside, so that attacks reach every byte quickly. */
export function openTestLog(folder: string, options: TestLogOptions): Promise<AuditLog> {
  return openLog({
    folder,
    recipients: options.recipients ?? [options.keys.recipient],
    vaultGeneration: options.vault?.vaultGeneration ?? 7,
    vaultHash:
      options.vault === undefined ? hash("sha256", "vault", "buffer") : Buffer.from(options.vault.vaultHash, "hex"),
    clock: options.clock ?? handClock(),
    random: seededRandom(options.seed ?? folder),
    scheduler: options.scheduler ?? handScheduler(),
    limits: { spaceBytes: 65_536, ...options.limits },
    ...(options.files === undefined ? {} : { files: options.files }),
  });
}

export async function attest(log: AuditLog, keys: Keys, operator = "ada", earlier = false): Promise<void> {
  await log.attest(signAttestation(await log.offerAttestation(), operator, keys.approver, 1_750_000_001, earlier));
}

let folders: string[] = [];

export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "gw-audit-"));
  folders.push(folder);
  return folder;
}

export function copyFolder(folder: string): string {
  const copy = freshFolder();
  cpSync(folder, copy, { recursive: true });
  return copy;
}

export function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  folders = [];
}

export function intentEvent(
  id: number | string,
  extra: Partial<Extract<NewEvent, { event_type: "intent_accepted" }>> = {},
): NewEvent {
  return {
    event_id: `evt_intent_${id}`,
    event_type: "intent_accepted",
    occurred_at: "2025-06-15T15:06:40.000Z",
    run_id: "run_1",
    call_id: `call_${id}`,
    attempt_id: `att_${id}`,
    action_id: `act_${id}`,
    operation_id: null,
    channel: "http",
    destination: "api.acme.example",
    method: "POST",
    path: "/v1/reports",
    payload_sha256: "sha256:00",
    authorization: "session",
    action: "acme.report.create",
    caller: "unsigned /usr/bin/node",
    request: requestFields(null),
    ...extra,
  };
}

export function finishedEvent(
  id: number | string,
  extra: Partial<Extract<NewEvent, { event_type: "action_finished" }>> = {},
): NewEvent {
  return {
    event_id: `evt_done_${id}`,
    event_type: "action_finished",
    occurred_at: "2025-06-15T15:06:41.000Z",
    run: "run_1",
    call_id: `call_${id}`,
    attempt_id: `att_${id}`,
    parent_event_id: `evt_intent_${id}`,
    outcome: "succeeded",
    remote_status: 201,
    request_id: `req_${id}`,
    request: requestFields(201),
    ...extra,
  };
}

export function requestFields(status: number | null) {
  return {
    version_selector: "2025-01-01",
    normalized_operation: "POST /v1/reports",
    target_boundary: "account acme",
    credential_label: "acme-token",
    decision: "allow",
    status,
    correlation_id: "cor_1",
  };
}

// Surgery on segments, for attacks.

export interface Piece {
  type: number;
  flags: number;
  frame: number;
  body: Buffer;
  link: Buffer;
}

export interface Dissected {
  linkBefore: Buffer;
  pieces: Piece[];
  rest: Buffer;
}

export function segmentFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".gwlog"))
    .sort()
    .map((name) => join(folder, name));
}

export function dissect(path: string): Dissected {
  const bytes = readFileSync(path);
  const pieces: Piece[] = [];
  let at = 40;
  while (at + 48 <= bytes.length && bytes[at + 4] !== 0) {
    const length = bytes.readUInt32LE(at);
    if (at + 48 + length > bytes.length) break;
    pieces.push({
      type: bytes.readUInt8(at + 4),
      flags: bytes.readUInt8(at + 5),
      frame: Number(bytes.readBigUInt64LE(at + 8)),
      body: Buffer.from(bytes.subarray(at + 16, at + 16 + length)),
      link: Buffer.from(bytes.subarray(at + 16 + length, at + 48 + length)),
    });
    at += 48 + length;
  }
  return { linkBefore: Buffer.from(bytes.subarray(8, 40)), pieces, rest: Buffer.from(bytes.subarray(at)) };
}

export function assemble(path: string, { linkBefore, pieces, rest }: Dissected): void {
  const parts = [Buffer.from("GWAUDIT1"), linkBefore];
  for (const piece of pieces) parts.push(headerOf(piece), piece.body, piece.link);
  writeFileSync(path, Buffer.concat([...parts, rest]));
}

/** What an attacker without keys can do: give every frame the next number and a link that fits. */
export function rechain(folder: string, renumber = true): void {
  let link: Buffer = Buffer.alloc(32);
  let frame = 0;
  for (const path of segmentFiles(folder)) {
    const segment = dissect(path);
    segment.linkBefore = link;
    for (const piece of segment.pieces) {
      if (renumber) piece.frame = frame++;
      piece.link = createHash("sha256").update(link).update(headerOf(piece)).update(piece.body).digest();
      link = piece.link;
    }
    assemble(path, segment);
  }
}

function headerOf({ type, flags, frame, body }: Piece): Buffer {
  const header = Buffer.alloc(16);
  header.writeUInt32LE(body.length, 0);
  header.writeUInt8(type, 4);
  header.writeUInt8(flags, 5);
  header.writeBigUInt64LE(BigInt(frame), 8);
  return header;
}
