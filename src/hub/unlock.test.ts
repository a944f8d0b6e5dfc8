import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { test } from "node:test";
import { rawPublicOf } from "../audit/keys/raw.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { Secret } from "../kernel/secret.ts";
import { signHubWith, type UnlockStatement, type WaitingStatement } from "./statement.ts";
import {
  isFresh,
  type KnownGateway,
  offerOf,
  openUnlock,
  readUnlock,
  readWaiting,
  requireNotBack,
  sealUnlock,
} from "./unlock.ts";

const random = { bytes: (length: number) => randomBytes(length) };
const process1 = generateKeyPairSync("x25519").privateKey;
const signing = generateKeyPairSync("ed25519").privateKey;

const request: WaitingStatement = {
  format: "gw.hub-waiting/v1",
  hub_id: "hub_1",
  gateway: "web1",
  vault_id: "vlt_1",
  nonce: "n1",
  sealing_key: rawPublicOf("x25519", process1).toString("base64url"),
  knows: { vault: 4, policy: 12 },
  log_id: "log_1",
  frame: 103,
  attestation: {
    ...{ open_frame: 101, open_link: "b".repeat(64), head_frame: 103, head_link: "c".repeat(64) },
    ...{ before_frame: 100, before_link: "a".repeat(64), unclean: false },
  },
  hub_ms: 1_000_000,
};
const known: KnownGateway = {
  hubId: "hub_1",
  vaultId: "vlt_1",
  gateway: "web1",
  signingKey: rawPublicOf("ed25519", signing),
  knows: { vault: 4, policy: 12 },
  log: { id: "log_1", frame: 100, head: { frame: 100, link: "a".repeat(64) } },
};

test("a service key that was sealed to one request opens for no other gateway, vault, hub, process or request", () => {
  using key = Secret.take(Buffer.from("the service key of thirty-two b."));
  const sealed = sealUnlock(request, key, random);
  using opened = openUnlock(request, process1, sealed);
  assert.equal(opened?.equals(key), true);
  for (const name of ["hub_id", "gateway", "vault_id", "nonce", "sealing_key"] as const)
    assert.equal(openUnlock({ ...request, [name]: "other" }, process1, sealed), undefined, name);
  assert.equal(openUnlock(request, generateKeyPairSync("x25519").privateKey, sealed), undefined);
  for (const broken of ["", "AA", sealed.slice(4)]) assert.equal(openUnlock(request, process1, broken), undefined);
});

test("a request is this gateway's own word for this vault and hub, or nobody's", () => {
  const signed = signHubWith(request, signing);
  assert.deepEqual(readWaiting(signed, known), request);
  for (const other of [{ hubId: "hub_2" }, { gateway: "web2" }, { vaultId: "vlt_2" }])
    assert.equal(readWaiting(signed, { ...known, ...other }), undefined);
  const swapped = { ...signed, text: signed.text.replace(request.sealing_key, "A".repeat(43)) };
  assert.equal(readWaiting(swapped, known), undefined, "another key to seal to");
  const { attestation } = request;
  const oddly = [
    ...[
      { sealing_key: "short" },
      { sealing_key: 5 },
      { sealing_key: null },
      { nonce: 1 },
      { frame: -1 },
      { hub_ms: 1.5 },
    ],
    ...[{ knows: { vault: 4, policy: -1 } }, { knows: null }, { attestation: null }, { attestation: [] }],
    ...[{ before_frame: -1 }, { open_link: "x" }, { head_link: 1 }, { unclean: "no" }].map((one) => ({
      attestation: { ...attestation, ...one },
    })),
  ] as readonly object[];
  for (const odd of oddly)
    assert.equal(readWaiting(signHubWith({ ...request, ...odd }, signing), known), undefined, JSON.stringify(odd));
});

test("an owned host that asks with a key to which nothing can be sealed is refused", () => {
  using key = Secret.take(Buffer.from("the service key of thirty-two b."));
  const bound = { ...request, sealing_key: Buffer.alloc(32).toString("base64url") };
  assert.throws(
    () => sealUnlock(bound, key, random),
    (error) => error instanceof Denied && error.code === "signature_invalid",
  );
});

test("a log is signed for from elsewhere only where it goes on from the very frame that the hub has", () => {
  const offer = offerOf(request, known);
  assert.deepEqual([offer?.beforeFrame, offer?.openFrame, offer?.headFrame], [100, 101, 103]);
  const { log } = known;
  for (const head of [null, { frame: 99, link: "a".repeat(64) }, { frame: 101, link: "a".repeat(64) }])
    assert.equal(offerOf(request, { ...known, log: { ...log, head } }), null, JSON.stringify(head));
  const other = { ...request, attestation: { ...request.attestation, before_link: "d".repeat(64) } };
  assert.equal(offerOf(other, known), null);
});

test("an answer that lacks a part is nobody's, and is no fault of the gateway that reads it", () => {
  const approver = generateKeyPairSync("ed25519").privateKey;
  const operators = [{ name: "ada", keyId: "k1", approverKey: rawPublicOf("ed25519", approver) }];
  const { hub_id, gateway, vault_id, nonce, knows } = request;
  const said: UnlockStatement = {
    ...{
      format: "gw.hub-unlock/v1" as const,
      hub_id,
      gateway,
      vault_id,
      nonce,
      knows,
      sealed: "AA",
      attestation: null,
    },
    ...{ operator: "ada", operator_key_id: "k1", signed_at: "2026-01-01T00:00:00.000Z" },
  };
  assert.deepEqual(readUnlock(signHubWith(said, approver), operators), said);
  for (const odd of [{ knows: null }, { sealed: 1 }, { attestation: 1 }, { operator: "bo" }] as readonly object[])
    assert.equal(readUnlock(signHubWith({ ...said, ...odd }, approver), operators), undefined, JSON.stringify(odd));
});

test("a request that was said long ago by the hub's clock is over", () => {
  assert.equal(isFresh(request, request.hub_ms + defaults.hubSilentMs), true);
  assert.equal(isFresh(request, request.hub_ms + defaults.hubSilentMs + 1), false);
  assert.equal(isFresh(request, request.hub_ms - defaults.hubSilentMs - 1), false);
});

test("no key goes to a gateway that shows an older vault, policy or log than was seen", () => {
  const codeOf = (less: Partial<WaitingStatement>): string | null => {
    try {
      requireNotBack({ ...request, ...less }, known);
      return null;
    } catch (error) {
      if (error instanceof Denied) return error.code;
      throw error;
    }
  };
  assert.equal(codeOf({}), null);
  assert.equal(codeOf({ knows: { vault: 5, policy: 13 }, frame: 200 }), null);
  assert.equal(codeOf({ knows: { vault: 3, policy: 12 } }), "gateway_behind");
  assert.equal(codeOf({ knows: { vault: 4, policy: 11 } }), "gateway_behind");
  assert.equal(codeOf({ frame: 99 }), "log_rolled_back");
  const replaced = { ...request.attestation, before_link: "d".repeat(64) };
  assert.equal(codeOf({ attestation: replaced }), "log_rolled_back");
  assert.equal(codeOf({ log_id: "log_2" }), "log_rolled_back");
});
