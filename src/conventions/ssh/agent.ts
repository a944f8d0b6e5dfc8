import {
  chooseSshAlgorithm,
  decodeSshPublicKey,
  type SshPublicKey,
  type SshSignatureAlgorithm,
  verifySsh,
} from "../../kernel/ssh-key.ts";
import { readSsh, sshString, sshU32 } from "../../kernel/ssh-wire.ts";

/**
 * What the gateway's ssh-agent answers. It signs once, for one user, with one key, in a session that the pinned host has
 * proven to be its own. The first message that is anything else is an offence, and after one it answers nothing more.
 */
export interface AgentExpectation {
  readonly hostKey: SshPublicKey;
  readonly user: string;
  readonly key: SshPublicKey;
}

export interface AgentState {
  readonly sessionId: Buffer | null;
  readonly signed: boolean;
  readonly offence: AgentOffence | null;
}

export type AgentOffence =
  | "message_refused"
  | "message_malformed"
  | "bind_other_host"
  | "bind_forged"
  | "bind_forwarding"
  | "bound_twice"
  | "not_bound"
  | "other_key"
  | "algorithm_refused"
  | "data_not_userauth"
  | "other_session"
  | "other_user"
  | "other_service"
  | "other_method"
  | "other_host_key"
  | "signed_already"
  | "signer_refused"
  | "peer_changed"
  /** The client, or the helper that started it, ended while it asked: nobody is left to sign for. */
  | "peer_gone";

export type AgentDecision =
  | { readonly kind: "reply"; readonly state: AgentState; readonly reply: Buffer }
  | { readonly kind: "sign"; readonly state: AgentState; readonly data: Buffer; readonly flags: number };

export const freshAgent: AgentState = { sessionId: null, signed: false, offence: null };
export const AGENT_MESSAGE_BYTES_MAX = 16_384;

const FAILURE = 5;
const SUCCESS = 6;
const REQUEST_IDENTITIES = 11;
const IDENTITIES_ANSWER = 12;
const SIGN_REQUEST = 13;
const SIGN_RESPONSE = 14;
const EXTENSION = 27;
const SESSION_BIND = "session-bind@openssh.com";
const USERAUTH_REQUEST = 50;
const SERVICE = "ssh-connection";
const HOST_BOUND = "publickey-hostbound-v00@openssh.com";
const SESSION_ID_BYTES_MAX = 64;

/** Decides one message, without its length prefix. `sign` marks the state as signed before anything is signed. */
export function decideAgentMessage(expect: AgentExpectation, state: AgentState, message: Buffer): AgentDecision {
  if (state.offence !== null) return refuseAgent(state, state.offence);
  switch (message[0]) {
    case REQUEST_IDENTITIES:
      return message.length === 1 ? listIdentities(expect, state) : refuseAgent(state, "message_malformed");
    case SIGN_REQUEST:
      return decideSign(expect, state, message.subarray(1));
    case EXTENSION:
      return decideBind(expect, state, message.subarray(1));
    default:
      return refuseAgent(state, "message_refused");
  }
}

export function refuseAgent(state: AgentState, offence: AgentOffence): AgentDecision & { readonly kind: "reply" } {
  return { kind: "reply", state: { ...state, offence }, reply: Buffer.of(FAILURE) };
}

export function writeSignResponse(signature: Buffer): Buffer {
  return Buffer.concat([Buffer.of(SIGN_RESPONSE), sshString(signature)]);
}

/** The algorithm that the client's request names; a signer that answers with another one is not believed. */
export function algorithmOf(expect: AgentExpectation, flags: number): SshSignatureAlgorithm | undefined {
  return chooseSshAlgorithm(expect.key.type, flags);
}

function listIdentities(expect: AgentExpectation, state: AgentState): AgentDecision {
  if (state.sessionId === null) return refuseAgent(state, "not_bound");
  const answer = [Buffer.of(IDENTITIES_ANSWER), sshU32(1), sshString(expect.key.blob), sshString("gw")];
  return { kind: "reply", state, reply: Buffer.concat(answer) };
}

function decideBind(expect: AgentExpectation, state: AgentState, body: Buffer): AgentDecision {
  const bind = readSsh(body, (reader) =>
    reader.text() === SESSION_BIND
      ? {
          hostKey: reader.string(),
          sessionId: reader.string(),
          signature: reader.string(),
          forwarding: reader.byte() !== 0,
        }
      : undefined,
  );
  if (bind === undefined) return refuseAgent(state, "message_refused");
  if (state.sessionId !== null) return refuseAgent(state, "bound_twice");
  if (bind.forwarding) return refuseAgent(state, "bind_forwarding");
  if (!bind.hostKey.equals(expect.hostKey.blob)) return refuseAgent(state, "bind_other_host");
  if (bind.sessionId.length === 0 || bind.sessionId.length > SESSION_ID_BYTES_MAX) {
    return refuseAgent(state, "message_malformed");
  }
  const hostKey = decodeSshPublicKey(bind.hostKey);
  if (hostKey === undefined || !verifySsh(hostKey, bind.sessionId, bind.signature)) {
    return refuseAgent(state, "bind_forged");
  }
  const bound = { ...state, sessionId: Buffer.from(bind.sessionId) };
  return { kind: "reply", state: bound, reply: Buffer.of(SUCCESS) };
}

function decideSign(expect: AgentExpectation, state: AgentState, body: Buffer): AgentDecision {
  const request = readSsh(body, (reader) => ({ key: reader.string(), data: reader.string(), flags: reader.u32() }));
  if (request === undefined) return refuseAgent(state, "message_malformed");
  if (state.sessionId === null) return refuseAgent(state, "not_bound");
  if (state.signed) return refuseAgent(state, "signed_already");
  if (!request.key.equals(expect.key.blob)) return refuseAgent(state, "other_key");
  const algorithm = algorithmOf(expect, request.flags);
  if (algorithm === undefined) return refuseAgent(state, "algorithm_refused");
  const offence = judgeUserauth(expect, state.sessionId, algorithm, request.data);
  if (offence !== null) return refuseAgent(state, offence);
  return { kind: "sign", state: { ...state, signed: true }, data: request.data, flags: request.flags };
}

/** RFC 4252 section 7: what is signed must be this user's authentication in this session, to the last byte. */
function judgeUserauth(
  expect: AgentExpectation,
  sessionId: Buffer,
  algorithm: SshSignatureAlgorithm,
  data: Buffer,
): AgentOffence | null {
  const parts = readSsh(data, (reader) => {
    const head = { session: reader.string(), type: reader.byte(), user: reader.string() };
    const body = { service: reader.text(), method: reader.text(), signed: reader.byte() };
    const key = { algorithm: reader.text(), blob: reader.string() };
    return { ...head, ...body, key, hostKey: body.method === HOST_BOUND ? reader.string() : null };
  });
  if (parts === undefined || parts.type !== USERAUTH_REQUEST || parts.signed !== 1) return "data_not_userauth";
  if (!parts.session.equals(sessionId)) return "other_session";
  if (!parts.user.equals(Buffer.from(expect.user, "utf8"))) return "other_user";
  if (parts.service !== SERVICE) return "other_service";
  if (parts.method !== "publickey" && parts.method !== HOST_BOUND) return "other_method";
  if (!parts.key.blob.equals(expect.key.blob)) return "other_key";
  if (parts.key.algorithm !== algorithm) return "algorithm_refused";
  if (parts.hostKey !== null && !parts.hostKey.equals(expect.hostKey.blob)) return "other_host_key";
  return null;
}
