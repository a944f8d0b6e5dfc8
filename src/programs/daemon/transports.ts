import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createLocalSources } from "../../adapters/platform/local-sources.ts";
import { systemRandom as random, systemSleep as sleep } from "../../adapters/platform/system.ts";
import { createHttpTransport } from "../../adapters/transport/http/transport.ts";
import type { SshTransportOptions } from "../../adapters/transport/ssh/options.ts";
import { probeHost } from "../../adapters/transport/ssh/probe.ts";
import { createSshTransport } from "../../adapters/transport/ssh/transport.ts";
import type { Clock } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { ProbeHost } from "./check-host.ts";
import type { Facts } from "./facts.ts";
import { createRecorder } from "./recorder.ts";
import { signRequest } from "./sign-request.ts";
import type { StewardState } from "./steward-parts.ts";
import { auditRecipientsOf } from "./trust.ts";

interface Parts {
  /** The home, in which SSH keeps what it needs while it runs. */
  readonly folder: string;
  readonly auditFolder: string;
  readonly clock: Clock;
  readonly state: Pick<StewardState, "trust" | "compartment">;
  readonly facts: Facts;
}

/** The ways out of this process: HTTP, SSH, and the places on this machine that secrets are got from. */
export function openTransports({ folder, auditFolder, clock, state, facts }: Parts) {
  const http = createHttpTransport();
  const sources = createLocalSources(process.env["CREDENTIALS_DIRECTORY"]);
  const sshOptions: SshTransportOptions = {
    folder: sshFolder(folder),
    helper: { command: process.execPath, arguments: ["--disable-sigusr1", programFile("gw-ssh")] },
    sshPath: "/usr/bin/ssh",
    clock,
    sleep,
    connectTimeoutMs: defaults.sshConnectTimeoutMs,
    spareHelperMs: defaults.sshSpareHelperMs,
    signRequest: (data) => signRequest(state.compartment, data),
    recorder: createRecorder(auditFolder, () => auditRecipientsOf(state.trust), random, facts),
    recordingBytes: defaults.sshRecordingBytes,
  };
  const probe: ProbeHost = (target, signer) => probeHost(sshOptions, target, signer, defaults.sshProbeWaitMs);
  return { http, ssh: createSshTransport(sshOptions), sources, probe };
}

/** Made private and emptied at start: what a killed gateway left there is of no use to anybody. */
function sshFolder(home: string): string {
  const path = join(home, "ssh");
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { mode: 0o700 });
  return path;
}

function programFile(name: string): string {
  return join(import.meta.dirname, "..", `${name}.${import.meta.filename.endsWith(".ts") ? "ts" : "js"}`);
}
