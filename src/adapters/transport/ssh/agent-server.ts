import { createServer, type Server, type Socket } from "node:net";
import {
  AGENT_MESSAGE_BYTES_MAX,
  type AgentExpectation,
  type AgentOffence,
  type AgentState,
  algorithmOf,
  decideAgentMessage,
  freshAgent,
  refuseAgent,
  writeSignResponse,
} from "../../../conventions/ssh/agent.ts";
import type { SshSigner } from "../../../conventions/ssh/outbound.ts";
import { verifySsh } from "../../../kernel/ssh-key.ts";
import { readSsh, sshString } from "../../../kernel/ssh-wire.ts";
import { type ExpectedPeer, type PeerTrace, tracePeer } from "./peer.ts";

/** The ssh-agent protocol on a private socket, for one connection of one client, and for one signature. */
export interface AgentServer {
  readonly state: AgentState;
  /** Connections of processes that are not our client. They got no answer. */
  readonly strangers: readonly string[];
  /** From now on a connection is traced against this helper. Before, everybody is a stranger. */
  expect(peer: ExpectedPeer): void;
  close(): void;
}

const STRANGERS_MAX = 16;

export function serveAgent(path: string, expect: AgentExpectation, signer: SshSigner): Promise<AgentServer> {
  let state: AgentState = freshAgent;
  let peer: ExpectedPeer | null = null;
  let trace: PeerTrace | null = null;
  const strangers: string[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    const found = peer === null ? "nobody is expected yet" : tracePeer(socket, peer);
    if (typeof found === "string" || trace !== null) {
      if (typeof found !== "string") found.close();
      if (strangers.length < STRANGERS_MAX) {
        strangers.push(typeof found === "string" ? found : "the client connected again");
      }
      socket.destroy();
      return;
    }
    trace = found;
    sockets.add(socket);
    void converse(socket, found);
  });
  const converse = async (socket: Socket, client: PeerTrace): Promise<void> => {
    let pending: Buffer = Buffer.alloc(0);
    try {
      for await (const chunk of socket as AsyncIterable<Buffer>) {
        pending = Buffer.concat([pending, chunk]);
        for (let message = firstMessage(pending); message !== undefined; message = firstMessage(pending)) {
          if (message === "too_long") return;
          pending = pending.subarray(4 + message.length);
          socket.write(sshString(await answer(message, client)));
          if (state.offence !== null) return;
        }
      }
    } catch {
      // The client went away while it was asking: there is nobody left to answer.
    } finally {
      socket.destroySoon();
    }
  };
  const answer = async (message: Buffer, client: PeerTrace): Promise<Buffer> => {
    const before = client.recheck();
    if (before !== null) return refuse(before);
    const decision = decideAgentMessage(expect, state, message);
    state = decision.state;
    if (decision.kind === "reply") return decision.reply;
    const signature = await signOnce(signer, expect, decision.data, decision.flags);
    if (signature === undefined) return refuse("signer_refused");
    // A signature is only worth something to whoever gets it: look once more before it leaves.
    const after = client.recheck();
    return after === null ? writeSignResponse(signature) : refuse(after);
  };
  const refuse = (offence: AgentOffence): Buffer => {
    const refused = refuseAgent(state, offence);
    state = refused.state;
    return refused.reply;
  };
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen(path, () =>
      resolve({
        get state() {
          return state;
        },
        strangers,
        expect(helper) {
          peer = helper;
        },
        close() {
          server.close();
          for (const socket of sockets) socket.destroy();
          trace?.close();
          trace = null;
          peer = null;
        },
      }),
    );
  });
}

/** The signer is asked once. What it answers must be what the client asked for, or it does not leave. */
async function signOnce(
  signer: SshSigner,
  expect: AgentExpectation,
  data: Buffer,
  flags: number,
): Promise<Buffer | undefined> {
  try {
    const signature = await signer.sign(data, flags);
    const named = readSsh(signature, (reader) => {
      const algorithm = reader.text();
      reader.string();
      return algorithm;
    });
    return named === algorithmOf(expect, flags) && verifySsh(expect.key, data, signature) ? signature : undefined;
  } catch {
    return undefined;
  }
}

function firstMessage(pending: Buffer): Buffer | "too_long" | undefined {
  if (pending.length < 4) return undefined;
  const length = pending.readUInt32BE(0);
  if (length === 0 || length > AGENT_MESSAGE_BYTES_MAX) return "too_long";
  return pending.length < 4 + length ? undefined : pending.subarray(4, 4 + length);
}
