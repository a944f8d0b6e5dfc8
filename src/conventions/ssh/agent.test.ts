import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { decodeSshPublicKey, encodeSshPublicKey, type SshPublicKey, signSsh } from "../../kernel/ssh-key.ts";
import { readSsh, sshString, sshU32 } from "../../kernel/ssh-wire.ts";
import { type AgentExpectation, type AgentState, decideAgentMessage, freshAgent, writeSignResponse } from "./agent.ts";

const FAILURE = "05";
const SUCCESS = "06";
const host = generateKeyPairSync("ed25519").privateKey;
const user = generateKeyPairSync("ed25519").privateKey;
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const stranger = generateKeyPairSync("ed25519").privateKey;
const sessionId = Buffer.alloc(32, 7);

function publicOf(key: KeyObject): SshPublicKey {
  const decoded = decodeSshPublicKey(encodeSshPublicKey(key) ?? Buffer.alloc(0));
  assert.ok(decoded);
  return decoded;
}

const expect: AgentExpectation = { hostKey: publicOf(host), user: "gw", key: publicOf(user) };

interface Bind {
  readonly name?: string;
  readonly key?: KeyObject;
  readonly signer?: KeyObject;
  readonly session?: Buffer;
  readonly signed?: Buffer;
  readonly forwarding?: number;
}

function bind({
  name = "session-bind@openssh.com",
  key = host,
  signer = key,
  session = sessionId,
  signed = session,
  forwarding = 0,
}: Bind = {}): Buffer {
  const signature = signSsh(signer, signed, 0) ?? Buffer.alloc(0);
  const parts = [name, publicOf(key).blob, session, signature].map((part) => sshString(part));
  return Buffer.concat([Buffer.of(27), ...parts, Buffer.of(forwarding)]);
}

interface Userauth {
  readonly session?: Buffer;
  readonly type?: number;
  readonly user?: string | Buffer;
  readonly service?: string;
  readonly method?: string;
  readonly signed?: number;
  readonly algorithm?: string;
  readonly key?: Buffer;
  readonly hostKey?: Buffer;
  readonly tail?: Buffer;
}

function userauth(more: Userauth = {}): Buffer {
  return Buffer.concat([
    sshString(more.session ?? sessionId),
    Buffer.of(more.type ?? 50),
    sshString(more.user ?? "gw"),
    sshString(more.service ?? "ssh-connection"),
    sshString(more.method ?? "publickey"),
    Buffer.of(more.signed ?? 1),
    sshString(more.algorithm ?? "ssh-ed25519"),
    sshString(more.key ?? publicOf(user).blob),
    ...(more.hostKey === undefined ? [] : [sshString(more.hostKey)]),
    more.tail ?? Buffer.alloc(0),
  ]);
}

function signRequest(data: Buffer, flags = 0, key = publicOf(user).blob): Buffer {
  return Buffer.concat([Buffer.of(13), sshString(key), sshString(data), sshU32(flags)]);
}

/** Sends messages in order; the last decision counts. */
function play(messages: readonly Buffer[], who: AgentExpectation = expect) {
  let state: AgentState = freshAgent;
  let last = decideAgentMessage(who, state, messages[0] ?? Buffer.alloc(0));
  for (const message of messages.slice(1)) {
    state = last.state;
    last = decideAgentMessage(who, state, message);
  }
  return last;
}

function expectOffence(messages: readonly Buffer[], offence: string): void {
  const last = play(messages);
  assert.equal(last.kind, "reply");
  assert.equal(last.state.offence, offence);
  assert.equal(last.state.signed && offence !== "signed_already", false);
  if (last.kind === "reply") assert.equal(last.reply.toString("hex"), FAILURE);
}

test("a bound session of the pinned host may ask for the key and for one signature", () => {
  const bound = play([bind()]);
  assert.ok(bound.kind === "reply" && bound.reply.toString("hex") === SUCCESS);
  const listed = play([bind(), Buffer.of(11)]);
  assert.ok(listed.kind === "reply");
  const keys = readSsh(listed.reply, (reader) => [reader.byte(), reader.u32(), reader.string(), reader.text()]);
  assert.deepEqual(keys, [12, 1, publicOf(user).blob, "gw"]);
  const signed = play([bind(), Buffer.of(11), signRequest(userauth())]);
  assert.ok(signed.kind === "sign");
  assert.deepEqual(signed.data, userauth());
  assert.equal(signed.state.signed, true);
  assert.deepEqual(
    readSsh(writeSignResponse(Buffer.from("sig")), (reader) => [reader.byte(), reader.string().toString()]),
    [14, "sig"],
  );
});

test("the host-bound method is taken with the pinned host key only", () => {
  const method = "publickey-hostbound-v00@openssh.com";
  assert.equal(play([bind(), signRequest(userauth({ method, hostKey: publicOf(host).blob }))]).kind, "sign");
  expectOffence([bind(), signRequest(userauth({ method, hostKey: publicOf(stranger).blob }))], "other_host_key");
  expectOffence([bind(), signRequest(userauth({ method }))], "data_not_userauth");
});

test("RSA signs with SHA-2 and the algorithm that the request names", () => {
  const who = { ...expect, key: publicOf(rsa) };
  const ask = (algorithm: string, flags: number) =>
    play([bind(), signRequest(userauth({ algorithm, key: publicOf(rsa).blob }), flags, publicOf(rsa).blob)], who);
  assert.equal(ask("rsa-sha2-512", 4).kind, "sign");
  assert.equal(ask("rsa-sha2-256", 2).kind, "sign");
  for (const [algorithm, flags] of [
    ["ssh-rsa", 0],
    ["rsa-sha2-256", 4],
    ["rsa-sha2-512", 0],
    ["ssh-rsa", 4],
  ] as const) {
    assert.equal(ask(algorithm, flags).state.offence, "algorithm_refused", `${algorithm} ${flags}`);
  }
});

const attacks: readonly (readonly [string, readonly Buffer[], string])[] = [
  ["identities without a bind", [Buffer.of(11)], "not_bound"],
  ["a signature without a bind", [signRequest(userauth())], "not_bound"],
  ["a bind for another host", [bind({ key: stranger })], "bind_other_host"],
  ["a bind that another key signed", [bind({ signer: stranger })], "bind_forged"],
  ["a bind whose signature is over another session", [bind({ signed: Buffer.alloc(32, 8) })], "bind_forged"],
  ["a bind of a forwarded agent", [bind({ forwarding: 1 })], "bind_forwarding"],
  ["a bind of an empty session", [bind({ session: Buffer.alloc(0) })], "message_malformed"],
  ["a second bind", [bind(), bind()], "bound_twice"],
  ["a second bind to another session", [bind(), bind({ session: Buffer.alloc(32, 9) })], "bound_twice"],
  ["another extension", [bind({ name: "query" })], "message_refused"],
  ["a bind with bytes behind it", [Buffer.concat([bind(), Buffer.of(0)])], "message_refused"],
  ["another session", [bind(), signRequest(userauth({ session: Buffer.alloc(32, 8) }))], "other_session"],
  ["another user", [bind(), signRequest(userauth({ user: "root" }))], "other_user"],
  ["a user with a NUL behind", [bind(), signRequest(userauth({ user: "gw\0" }))], "other_user"],
  ["another service", [bind(), signRequest(userauth({ service: "ssh-userauth" }))], "other_service"],
  ["another method", [bind(), signRequest(userauth({ method: "hostbased" }))], "other_method"],
  ["another message type", [bind(), signRequest(userauth({ type: 80 }))], "data_not_userauth"],
  ["a request that is not to be signed", [bind(), signRequest(userauth({ signed: 0 }))], "data_not_userauth"],
  ["bytes behind the request", [bind(), signRequest(userauth({ tail: Buffer.of(0) }))], "data_not_userauth"],
  ["arbitrary data", [bind(), signRequest(Buffer.from("SSHSIG please sign this"))], "data_not_userauth"],
  ["no data", [bind(), signRequest(Buffer.alloc(0))], "data_not_userauth"],
  ["another key in the request", [bind(), signRequest(userauth(), 0, publicOf(stranger).blob)], "other_key"],
  ["another key in the data", [bind(), signRequest(userauth({ key: publicOf(stranger).blob }))], "other_key"],
  ["another algorithm", [bind(), signRequest(userauth({ algorithm: "ssh-rsa" }))], "algorithm_refused"],
  ["flags that the key does not know", [bind(), signRequest(userauth(), 4)], "algorithm_refused"],
  ["a second signature", [bind(), signRequest(userauth()), signRequest(userauth())], "signed_already"],
  ["half a sign request", [bind(), signRequest(userauth()).subarray(0, 40)], "message_malformed"],
  ["identities with bytes behind", [bind(), Buffer.of(11, 0)], "message_malformed"],
];
for (const [name, messages, offence] of attacks) {
  test(`the agent refuses ${name}`, () => expectOffence(messages, offence));
}

test("every other message of the agent protocol is refused: add, remove, lock, cards, constraints", () => {
  for (let type = 0; type < 256; type++) {
    if ([11, 13, 27].includes(type)) continue;
    expectOffence([Buffer.concat([Buffer.of(type), sshString("x")])], "message_refused");
    expectOffence([bind(), Buffer.of(type)], "message_refused");
  }
  expectOffence([Buffer.alloc(0)], "message_refused");
});

test("after one offence nothing is answered any more", () => {
  const last = play([bind(), Buffer.of(17), bind(), Buffer.of(11), signRequest(userauth())]);
  assert.ok(last.kind === "reply" && last.reply.toString("hex") === FAILURE);
  assert.equal(last.state.offence, "message_refused");
});

test("no bytes make the agent throw, and none but a whole request make it sign", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(), (bytes, at) => {
      assert.equal(play([bind(), Buffer.from(bytes)]).kind, "reply");
      const request = signRequest(userauth());
      const bent = Buffer.from(request);
      const index = at % bent.length;
      bent[index] = (bent[index] ?? 0) ^ (1 + (at % 255));
      if (!bent.equals(request)) assert.equal(play([bind(), bent]).kind, "reply");
    }),
  );
});
