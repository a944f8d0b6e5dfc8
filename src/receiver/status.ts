import { readFileSync } from "node:fs";
import type { JsonObject } from "../kernel/json.ts";
import type { Recorder } from "./record.ts";

/**
 * What became of an earlier request, from the host's own record. An identifier that was never seen is claimed here and
 * now, so that `absent` is a proof and not a moment: a request still on its way will be refused when it arrives.
 */
export function tellStatus(recorder: Recorder, requestId: string, at: string): JsonObject {
  const fenced = recorder.claim(requestId, { event: "request_fenced", at, request_id: requestId });
  const events = fenced ? [] : (recorder.read(requestId) ?? []);
  const named = (name: string) => events.find((event) => event["event"] === name);
  if (fenced || named("request_fenced") !== undefined) return { request_id: requestId, state: "absent" };
  const finished = named("action_finished");
  if (finished !== undefined) {
    const { exit_status = null, signal = null, timed_out = false } = finished;
    return { request_id: requestId, state: "finished", exit_status, signal, timed_out };
  }
  const started = named("action_started");
  return { request_id: requestId, state: started !== undefined && lives(started) ? "running" : "interrupted" };
}

/** Names this process so that another one with its number is not taken for it. */
export function nameProcess(): JsonObject {
  return { receiver_pid: process.pid, receiver_start: startTimeOf(process.pid) ?? "", boot_id: bootId() };
}

function lives(started: JsonObject): boolean {
  const { receiver_pid: pid, receiver_start: start, boot_id: boot } = started;
  return typeof pid === "number" && boot === bootId() && startTimeOf(pid) === start;
}

function startTimeOf(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

function bootId(): string {
  return readText("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}
