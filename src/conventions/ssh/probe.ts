import type { ClientMode } from "./client-options.ts";
import { type Frame, readFrame } from "./frames.ts";
import type { RefusalCode } from "./refusal.ts";

/** What one attempt to do a forbidden thing showed. `unclear` is never read as refused. */
export interface ProbeResult {
  readonly probe: ClientMode;
  readonly verdict: "refused" | "permitted" | "unclear";
  readonly detail: string;
}

export interface ProbeSeen {
  /** The host accepted our key. */
  readonly signed: boolean;
  /** The first line, without its newline; empty when none came. */
  readonly firstLine: Buffer;
  readonly diagnostics: string;
}

export const probes = [
  "run",
  "try_command",
  "try_sftp",
  "try_terminal",
  "try_agent",
  "try_environment",
  "try_local_forward",
  "try_remote_forward",
] as const satisfies readonly ClientMode[];

/** What the receiver says when its server granted what it should not have. */
const breaches: Readonly<Partial<Record<ClientMode, RefusalCode>>> = {
  try_terminal: "terminal_not_allowed",
  try_agent: "forwarding_not_allowed",
  try_environment: "environment_not_allowed",
};

/** The attempt that must succeed is `run`: its `permitted` means that the receiver answers. */
export function judgeProbe(probe: ClientMode, seen: ProbeSeen): ProbeResult {
  if (!seen.signed) return { probe, verdict: "unclear", detail: `the key was not used: ${seen.diagnostics}` };
  const frame = readFrame(seen.firstLine);
  switch (probe) {
    case "run":
      return frame?.kind === "ready" ? say(probe, "permitted", "the receiver answers") : sayFrame(probe, frame, seen);
    case "try_command":
    case "try_sftp":
      if (frame !== undefined) return say(probe, "refused", "only the receiver runs");
      if (seen.firstLine.length > 0) return say(probe, "permitted", "something else than the receiver answered");
      // A server without the subsystem, the more closed one, refuses it before our command could run.
      return probe === "try_sftp" && seen.diagnostics.includes("subsystem request failed")
        ? say(probe, "refused", "the server refused")
        : vague(probe, seen);
    case "try_terminal":
      if (seen.diagnostics.includes("PTY allocation request failed"))
        return say(probe, "refused", "the server refused");
      return sayFrame(probe, frame, seen);
    case "try_agent":
    case "try_environment":
      if (frame?.kind === "ready") return say(probe, "refused", "the server did not grant it");
      return sayFrame(probe, frame, seen);
    case "try_local_forward":
      if (seen.firstLine.length > 0) return say(probe, "permitted", "a connection through the host was opened");
      // Where nobody takes the connection on the host, the server has tried to open it all the same.
      if (seen.diagnostics.includes("open failed: connect failed"))
        return say(probe, "permitted", "the host tried to open a connection for us");
      return /open failed: (?:administratively prohibited|unknown channel type)/.test(seen.diagnostics)
        ? say(probe, "refused", "the server refused")
        : vague(probe, seen);
    case "try_remote_forward":
      if (hasListener(seen.diagnostics)) return say(probe, "permitted", "the host listens for us");
      return seen.diagnostics.includes("remote port forwarding failed")
        ? say(probe, "refused", "the server refused")
        : vague(probe, seen);
  }
}

/** The client asked for any port, and names the one that the host opened: nothing else would end that attempt. */
export function hasListener(diagnostics: string): boolean {
  return diagnostics.includes("Allocated port");
}

function sayFrame(probe: ClientMode, frame: Frame | undefined, seen: ProbeSeen): ProbeResult {
  if (frame?.kind !== "refused") return vague(probe, seen);
  if (frame.code === breaches[probe])
    return say(probe, "permitted", "the server granted it; the receiver refused to go on");
  return say(probe, "unclear", `the receiver refuses: ${frame.code}`);
}

function vague(probe: ClientMode, seen: ProbeSeen): ProbeResult {
  return say(probe, "unclear", seen.diagnostics === "" ? "no answer that says either" : seen.diagnostics);
}

function say(probe: ClientMode, verdict: ProbeResult["verdict"], detail: string): ProbeResult {
  return { probe, verdict, detail };
}
