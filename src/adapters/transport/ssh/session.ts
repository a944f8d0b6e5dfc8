import { type ClientMode, type ClientPlan, findUnsoundPlan } from "../../../conventions/ssh/client-options.ts";
import type { OutboundSsh, SshSigner } from "../../../conventions/ssh/outbound.ts";
import {
  decodeSshPublicKey,
  readSshPublicLine,
  type SshPublicKey,
  writeSshPublicLine,
} from "../../../kernel/ssh-key.ts";
import { type AgentServer, serveAgent } from "./agent-server.ts";
import type { SshTransportOptions } from "./options.ts";
import { pinProgram } from "./peer.ts";
import { makePrivateFolder, type PrivateFolder } from "./private-folder.ts";
import { type RunningHelper, startHelper, type WaitingHelper } from "./start-helper.ts";

export type SshTarget = Pick<OutboundSsh, "host" | "port" | "user" | "hostKey">;

/** A connection that may be tried. */
export interface SessionPlan {
  readonly client: ClientPlan;
  readonly hostKey: SshPublicKey;
  readonly userKey: SshPublicKey;
  readonly signer: SshSigner;
  readonly program: string;
}

/** A helper at work, and the agent that signs for its client. */
export interface Session {
  readonly helper: RunningHelper;
  readonly agent: AgentServer;
  /** The pinned key, in its one form. */
  readonly hostKey: string;
  close(): void;
}

/** Everything that can be known to be wrong before a process is started; a text says what. */
export function planSession(
  options: SshTransportOptions,
  target: SshTarget,
  signer: SshSigner,
  mode: ClientMode,
): SessionPlan | string {
  if (process.platform !== "linux")
    return "SSH actions need Linux: elsewhere the client cannot be told from a stranger";
  const hostKey = readSshPublicLine(target.hostKey);
  if (hostKey === undefined) return "the pinned host key is not a key that we can check";
  const userKey = decodeSshPublicKey(signer.publicKeyBlob);
  if (userKey === undefined) return "the credential is not a key that we can use";
  const client: ClientPlan = {
    host: target.host,
    port: target.port,
    user: target.user,
    hostKeyType: hostKey.type,
    userKeyType: userKey.type,
    connectTimeoutS: Math.max(1, Math.ceil(options.connectTimeoutMs / 1000)),
    mode,
  };
  const unsound = findUnsoundPlan(client);
  if (unsound !== undefined) return `the ${unsound} of the destination has no safe form`;
  const program = pinProgram(options.sshPath);
  if (typeof program === "string") return `the OpenSSH client cannot be used: ${program}`;
  return { client, hostKey, userKey, signer, program: program.inode };
}

/** A text says why nothing was started. */
export async function openSession(
  options: SshTransportOptions,
  plan: SessionPlan,
  takeHelper: () => WaitingHelper | string = () => startHelper(options.helper),
): Promise<Session | string> {
  let folder: PrivateFolder | undefined;
  let agent: AgentServer | undefined;
  try {
    folder = makePrivateFolder(options.folder, plan.hostKey, plan.userKey);
    const expect = { hostKey: plan.hostKey, user: plan.client.user, key: plan.userKey };
    agent = await serveAgent(folder.agentSocket, expect, plan.signer);
    const waiting = takeHelper();
    if (typeof waiting === "string") throw new Error(waiting);
    const helper = waiting.follow({ sshPath: options.sshPath, folder: folder.path, plan: plan.client });
    agent.expect({ helperPid: helper.pid, helperLives: helper.lives, program: plan.program });
    const [serving, place] = [agent, folder];
    return {
      helper,
      agent,
      hostKey: writeSshPublicLine(plan.hostKey),
      close() {
        serving.close();
        helper.kill();
        place.remove();
      },
    };
  } catch (error) {
    agent?.close();
    folder?.remove();
    return error instanceof Error ? error.message : String(error);
  }
}
