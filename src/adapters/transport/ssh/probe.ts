import type { ClientMode } from "../../../conventions/ssh/client-options.ts";
import type { SshSigner } from "../../../conventions/ssh/outbound.ts";
import { hasListener, judgeProbe, type ProbeResult, type ProbeSeen, probes } from "../../../conventions/ssh/probe.ts";
import { keepDiagnostics } from "./diagnostics.ts";
import type { SshTransportOptions } from "./options.ts";
import { openSession, planSession, type Session, type SshTarget } from "./session.ts";

const LINE_BYTES_MAX = 4_096;
/** Makes an sftp server answer, should one be there: SSH_FXP_INIT, version 3. */
const SFTP_HELLO = Buffer.from("000000050100000003", "hex");

/** Tries, with the real key, everything that the host must refuse. One connection and one signature each. */
export function probeHost(
  options: SshTransportOptions,
  target: SshTarget,
  signer: SshSigner,
  waitMs: number,
): Promise<ProbeResult[]> {
  return Promise.all(probes.map((probe) => tryOne(options, target, signer, probe, waitMs)));
}

async function tryOne(
  options: SshTransportOptions,
  target: SshTarget,
  signer: SshSigner,
  probe: ClientMode,
  waitMs: number,
): Promise<ProbeResult> {
  const plan = planSession(options, target, signer, probe);
  if (typeof plan === "string") return { probe, verdict: "unclear", detail: plan };
  const session = await openSession(options, plan);
  if (typeof session === "string") return { probe, verdict: "unclear", detail: session };
  try {
    if (probe === "try_sftp") session.helper.input.write(SFTP_HELLO);
    return judgeProbe(probe, await watch(session, waitMs));
  } finally {
    session.close();
  }
}

function watch(session: Session, waitMs: number): Promise<ProbeSeen> {
  const { helper, agent } = session;
  let output: Buffer = Buffer.alloc(0);
  const diagnostics = keepDiagnostics(helper.diagnostics);
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      const newline = output.indexOf(0x0a);
      const firstLine = newline < 0 ? output : output.subarray(0, newline);
      const { signed, offence } = agent.state;
      resolve({ signed: signed && offence === null, firstLine, diagnostics: diagnostics() });
    };
    const timer = setTimeout(end, waitMs);
    helper.output.on("data", (chunk: Buffer) => {
      if (output.length < LINE_BYTES_MAX) output = Buffer.concat([output, chunk]).subarray(0, LINE_BYTES_MAX);
      if (output.includes(0x0a) || output.length === LINE_BYTES_MAX) end();
    });
    helper.diagnostics.on("data", () => {
      if (hasListener(diagnostics())) end();
    });
    void helper.ended.then(end);
  });
}
