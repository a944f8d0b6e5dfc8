import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { type Admission, admitRequest } from "../conventions/ssh/admit.ts";
import type { FinishedFrame } from "../conventions/ssh/frames.ts";
import { type Manifest, readManifest } from "../conventions/ssh/manifest.ts";
import type { RefusalCode } from "../conventions/ssh/refusal.ts";
import { REQUEST_BYTES_MAX, type ReceiverRequest, readRequest } from "../conventions/ssh/request.ts";
import { readInput } from "./input.ts";
import { operate, type WorkEnd } from "./operate.ts";
import { openRecorder, type Recorder } from "./record.ts";
import { createSpeaker, type Speaker } from "./speaker.ts";
import { nameProcess, tellStatus } from "./status.ts";
import { findBreach } from "./surroundings.ts";
import { resolveTrusted, type Trust } from "./trusted-file.ts";

/**
 * The forced command of a host: says `ready`, reads one request, refuses it or runs one fixed program for it.
 * `started` is said after the start is on disk, `finished` after the end is; a gateway that goes away changes nothing.
 */
export interface Receiver {
  readonly manifestPath: string;
  readonly trust: Trust;
  readonly environment: NodeJS.ProcessEnv;
  readonly input: Readable;
  readonly output: Writable;
}

const REQUEST_WAIT_MS = 60_000;
const DRAIN_MS = 10_000;

export async function receive(receiver: Receiver): Promise<void> {
  const speaker = createSpeaker(receiver.output);
  const breach = findBreach(receiver.environment);
  const manifest = breach === null ? loadManifest(receiver.manifestPath, receiver.trust) : undefined;
  const recorder = manifest === undefined ? undefined : openRecorder(manifest.state);
  if (breach !== null) refuse(speaker, null, breach);
  else if (manifest === undefined) refuse(speaker, null, "manifest_invalid");
  else if (recorder === undefined) refuse(speaker, null, "state_unavailable");
  else await serve(receiver, speaker, manifest, recorder);
  await speaker.drain(DRAIN_MS);
}

function loadManifest(path: string, trust: Trust): Manifest | undefined {
  const real = resolveTrusted(path, trust);
  if (real === undefined) return undefined;
  try {
    const reading = readManifest(readFileSync(real));
    return reading.kind === "manifest" ? reading.manifest : undefined;
  } catch {
    // There, and not readable for this account.
    return undefined;
  }
}

async function serve(receiver: Receiver, speaker: Speaker, manifest: Manifest, recorder: Recorder): Promise<void> {
  const nonce = randomBytes(16).toString("base64url");
  speaker.say({ kind: "ready", nonce });
  const input = await readInput(receiver.input, REQUEST_BYTES_MAX, REQUEST_WAIT_MS);
  if (input.kind !== "whole") return refuse(speaker, null, `request_${input.kind}`);
  const reading = readRequest(input.bytes);
  if (reading.kind === "refused") return refuse(speaker, null, reading.code);
  const { request } = reading;
  const admission = admitRequest(manifest, request, nonce);
  if (admission.kind === "refused") return refuse(speaker, request.requestId, admission.code);
  const executable = admission.kind === "operate" ? resolveWork(admission, receiver.trust) : null;
  if (executable === undefined) return refuse(speaker, request.requestId, "executable_invalid");
  let claimed: boolean;
  try {
    claimed = recorder.claim(request.requestId, startEvent(request, receiver.environment));
  } catch {
    return refuse(speaker, request.requestId, "state_unavailable");
  }
  if (!claimed) return refuse(speaker, request.requestId, "request_repeated");
  speaker.say({ kind: "started", requestId: request.requestId });
  const end = await perform(manifest, recorder, admission, executable, speaker);
  recorder.add(request.requestId, endEvent(request, end));
  if (end.kind === "ended") speaker.say(finishedFrame(request, end));
}

function perform(
  manifest: Manifest,
  recorder: Recorder,
  admission: Exclude<Admission, { readonly kind: "refused" }>,
  executable: string | null,
  speaker: Speaker,
): Promise<WorkEnd> | WorkEnd {
  if (admission.kind === "status" || executable === null) {
    const status = admission.kind === "status" ? tellStatus(recorder, admission.of, now()) : {};
    speaker.say({ kind: "output", stream: "stdout", data: Buffer.from(`${JSON.stringify(status)}\n`, "utf8") });
    return { kind: "ended", exitStatus: 0, signal: null, timedOut: false, truncated: false };
  }
  const { operation, argv } = admission;
  const bounds = { timeoutMs: operation.timeoutS * 1000, outputBytes: operation.outputBytes };
  const elevated = operation.elevated !== null;
  const work = { executable, argv, cwd: operation.cwd, environment: manifest.environment, ...bounds, elevated };
  return operate(work, (frame) => speaker.say(frame));
}

/** The program that runs and, with sudo, the one it raises: both must be files that only root can change. */
function resolveWork(admission: Admission & { readonly kind: "operate" }, trust: Trust): string | undefined {
  const { executable, elevated } = admission.operation;
  if (elevated !== null && resolveTrusted(elevated, trust) === undefined) return undefined;
  // The path as written is run, not the resolved one: some programs act by the name they are called.
  return resolveTrusted(executable, trust) === undefined ? undefined : executable;
}

function startEvent(request: ReceiverRequest, environment: NodeJS.ProcessEnv) {
  const fields = Object.fromEntries(request.fields);
  const from = environment["SSH_CONNECTION"] ?? "";
  const what = { request_id: request.requestId, operation: request.action, fields, from };
  return { event: "action_started", at: now(), ...what, ...nameProcess() };
}

function endEvent(request: ReceiverRequest, end: WorkEnd) {
  const common = { at: now(), request_id: request.requestId };
  switch (end.kind) {
    case "ended": {
      const { exitStatus, signal, timedOut, truncated } = end;
      return { event: "action_finished", ...common, exit_status: exitStatus, signal, timed_out: timedOut, truncated };
    }
    case "abandoned":
      return { event: "action_abandoned", ...common };
  }
}

function finishedFrame(request: ReceiverRequest, end: WorkEnd & { readonly kind: "ended" }): FinishedFrame {
  const { exitStatus, signal, timedOut, truncated } = end;
  return { kind: "finished", requestId: request.requestId, exitStatus, signal, timedOut, truncated };
}

function refuse(speaker: Speaker, requestId: string | null, code: RefusalCode): void {
  speaker.say({ kind: "refused", requestId, code });
}

function now(): string {
  return new Date().toISOString();
}
