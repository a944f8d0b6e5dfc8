import { createPrivateKey, createPublicKey, randomBytes } from "node:crypto";
import type { AuditLog } from "../src/audit/audit-log.ts";
import type { NewEvent } from "../src/audit/event.ts";
import type { LogFiles } from "../src/audit/files.ts";
import { openLog } from "../src/audit/log.ts";
import { nodeLogFiles } from "../src/audit/node-files.ts";

/** What the log benches share: the events of a plausible day, a key pair, and a log with or without real flushes. */
const KEY = "302e020100300506032b656e04220420000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
export const readingKey = createPrivateKey({ key: Buffer.from(KEY, "hex"), format: "der", type: "pkcs8" });

/** Calls come as intent and result; every hundredth call begins or ends a session. About 500 bytes a record. */
export function benchEvent(index: number): NewEvent {
  const call = index >> 1;
  const id = String(call).padStart(26, "0");
  const run = `run_${String(Math.floor(call / 100)).padStart(26, "0")}`;
  const at = "2026-01-15T12:00:00.000Z";
  const request = {
    version_selector: "2026-01-01",
    normalized_operation: "POST /v1/reports",
    target_boundary: "api.acme.example",
    credential_label: "acme-token",
    decision: "allow",
    status: index % 2 === 0 ? null : 201,
    correlation_id: `cor_${id}`,
  };
  if (index % 200 === 0) {
    return {
      event_id: `evt_s${id}`,
      event_type: "session_started",
      occurred_at: at,
      run_id: run,
      session_id: `ses_${id}`,
      approval_id: `apr_${id}`,
      caller: "package record, not a signature: nodejs 24 (/usr/bin/node)",
      scope: ["acme.report.create", "acme.project.list", "acme.membership.plan"],
      approved_by: "ada",
      approved_at: at,
    };
  }
  if (index % 200 === 199) {
    return {
      event_id: `evt_e${id}`,
      event_type: "session_ended",
      occurred_at: at,
      run_id: run,
      session_id: `ses_${String(Math.floor(call / 100) * 100).padStart(26, "0")}`,
      end_reason: "process_exited",
      ended_at: at,
    };
  }
  if (index % 2 === 0) {
    return {
      event_id: `evt_i${id}`,
      event_type: "intent_accepted",
      occurred_at: at,
      run_id: run,
      attempt_id: `att_${id}`,
      action_id: "acme.report.create",
      operation_id: null,
      channel: "http",
      destination: "api.acme.example",
      method: "POST",
      path: "/v1/reports",
      payload_sha256: null,
      authorization: "session",
      request,
    };
  }
  return {
    event_id: `evt_f${id}`,
    event_type: "action_finished",
    occurred_at: at,
    run,
    attempt_id: `att_${id}`,
    parent_event_id: `evt_i${id}`,
    outcome: "succeeded",
    remote_status: 201,
    request_id: `req_${id}`,
    elapsed_ms: 41,
    request,
  };
}

/** A power of two, so that a mask picks one. */
const READY_EVENTS = 8_192;
const ready: readonly NewEvent[] = Array.from(
  { length: READY_EVENTS },
  (_, index) => JSON.parse(JSON.stringify(benchEvent(index))) as NewEvent,
);

/** Made beforehand, with flat texts as a parser leaves them: making events is the callers' work, not the log's. */
export function readyEvent(index: number): NewEvent {
  const event = ready[index & (READY_EVENTS - 1)];
  if (event === undefined) throw new Error(`there is no event ${index}`);
  return event;
}

/** Without flushes a large log is made quickly; what is measured then is reading it. */
export function openBenchLog(folder: string, durable: boolean): Promise<AuditLog> {
  return openLog({
    folder,
    recipients: [createPublicKey(readingKey)],
    vaultGeneration: 1,
    vaultHash: Buffer.alloc(32),
    clock: { wallMs: () => Date.now() },
    random: { bytes: (length) => randomBytes(length) },
    ...(durable ? {} : { files: withoutFlush(nodeLogFiles(folder)) }),
  });
}

function withoutFlush(files: LogFiles): LogFiles {
  return {
    ...files,
    create(name) {
      const file = files.create(name);
      return { ...file, syncInline: () => undefined, sync: () => Promise.resolve() };
    },
  };
}

/** A log of `events` events, `perFrame` in a frame. */
export async function writeBenchLog(folder: string, events: number, perFrame: number): Promise<void> {
  const log = await openBenchLog(folder, false);
  for (let index = 0; index < events; ) {
    const waiting: Promise<unknown>[] = [];
    for (let many = 0; many < perFrame && index < events; many++) waiting.push(log.append([benchEvent(index++)]));
    await Promise.all(waiting);
  }
  await log.close();
}
