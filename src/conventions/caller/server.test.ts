import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { test } from "node:test";
import { judgeServer, proveServer, requireProof } from "./server.ts";

const wanted = { uid: 1000, ownUid: 1000, child: null, image: "/opt/node" };
const refused = { code: "server_not_proven" };

test("another user's process is never handed the key, unless it is the user that dedicated mode names", () => {
  assert.throws(() => judgeServer({ pid: 7, uid: 1001, image: null }, wanted), refused);
  assert.equal(judgeServer({ pid: 7, uid: 900, image: null }, { ...wanted, uid: 900 }), "proven");
  assert.throws(() => judgeServer({ pid: 7, uid: 1000, image: null }, { ...wanted, uid: 900 }), refused);
});

test("gw up hands it to the process that it started and to no other", () => {
  assert.equal(judgeServer({ pid: 7, uid: 1000, image: null }, { ...wanted, child: 7 }), "proven");
  assert.throws(() => judgeServer({ pid: 8, uid: 1000, image: null }, { ...wanted, child: 7 }), refused);
});

test("a process that lets its user look at it is no gateway of ours", () => {
  assert.throws(() => judgeServer({ pid: 7, uid: 1000, image: "/opt/node" }, wanted), refused);
  assert.equal(judgeServer({ pid: 7, uid: 1000, image: null }, wanted), "must_prove");
});

test("what root may look at is no gateway unless it runs on our own executable, and even then it has to prove itself", () => {
  const root = { uid: 0, ownUid: 0, child: null, image: "/opt/node" };
  assert.equal(judgeServer({ pid: 7, uid: 0, image: "/opt/node" }, root), "must_prove");
  for (const image of ["/tmp/node", null])
    assert.throws(() => judgeServer({ pid: 7, uid: 0, image }, root), refused, String(image));
});

test("a proof is of this process, this question and an earlier unlocked life", () => {
  const key = createSecretKey(Buffer.alloc(32, 1));
  const proof = proveServer(key, "nonce", 7);
  requireProof(proof, key, "nonce", 7, false);
  assert.throws(() => requireProof(proof, key, "nonce", 8, true), refused);
  assert.throws(() => requireProof(proof, key, "other", 7, true), refused);
  assert.throws(() => requireProof(proof, createSecretKey(Buffer.alloc(32, 2)), "nonce", 7, true), refused);
  assert.throws(() => requireProof("", key, "nonce", 7, true), refused, "one that is cut short is none");
  assert.throws(() => requireProof(null, key, "nonce", 7, false), refused);
  requireProof(null, key, "nonce", 7, true);
});
