import assert from "node:assert/strict";
import { createHash, createPublicKey, generateKeyPairSync } from "node:crypto";
import { createRequire } from "node:module";
import { test } from "node:test";
import fc from "fast-check";
import { rawPublicOf } from "../keys/raw.ts";
import { readCheckpoint, signCheckpoint } from "./checkpoint.ts";
import { isNoteSignedBy, noteKeyHash, parseNote, signNote } from "./note.ts";
import { growTree } from "./tree.ts";

const pair = generateKeyPairSync("ed25519");
const raw = rawPublicOf("ed25519", pair.publicKey);
const checkpoint = {
  logId: "00112233445566778899aabbccddeeff",
  seals: 5,
  root: createHash("sha256").update("root").digest(),
  frame: 77,
  link: "ab".repeat(32),
  timeSeconds: 1_750_000_000,
};

/** RFC 6962 section 2.1, word for word: the slow way. */
function plainRoot(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return createHash("sha256").digest();
  const [only] = leaves;
  if (leaves.length === 1 && only !== undefined) return createHash("sha256").update("\0").update(only).digest();
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return createHash("sha256")
    .update("\u0001")
    .update(plainRoot(leaves.slice(0, split)))
    .update(plainRoot(leaves.slice(split)))
    .digest();
}

test("the tree grown leaf by leaf is the tree of RFC 6962", () => {
  const tree = growTree();
  const leaves: Buffer[] = [];
  for (let size = 0; size <= 70; size++) {
    assert.deepEqual(tree.root(), plainRoot(leaves), `size ${size}`);
    assert.equal(tree.size(), size);
    const leaf = Buffer.from(`leaf ${size}`);
    leaves.push(leaf);
    tree.add(leaf);
  }
});

test("the roots are those of the test data of RFC 6962 implementations", () => {
  const tree = growTree();
  const known = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  ];
  for (const [index, leaf] of ["", "00", "10"].entries()) {
    tree.add(Buffer.from(leaf, "hex"));
    assert.equal(tree.root().toString("hex"), known[index]);
  }
});

test("a checkpoint is read back with who signed it", () => {
  const note = signCheckpoint(checkpoint, pair.privateKey);
  assert.deepEqual(readCheckpoint(note, [raw]), { ...checkpoint, signedBy: raw });
  assert.equal(readCheckpoint(note, [])?.signedBy, undefined);
  assert.equal(readCheckpoint(note, [Buffer.alloc(32, 1)])?.signedBy, undefined);
});

test("a note changed in any character is no longer signed, or no note", () => {
  const note = signCheckpoint(checkpoint, pair.privateKey);
  for (let at = 0; at < note.length; at++) {
    const changed = `${note.slice(0, at)}${note[at] === "0" ? "1" : "0"}${note.slice(at + 1)}`;
    const read = readCheckpoint(changed, [raw]);
    assert.ok(read === undefined || read.signedBy === undefined, `character ${at} of ${JSON.stringify(changed)}`);
  }
});

test("the signed note is verified by an implementation that is not ours", () => {
  const require = createRequire(import.meta.url);
  const { verifyCheckpoint } = require("@sigstore/verify/dist/tlog/checkpoint.js") as {
    verifyCheckpoint(entry: object, logs: readonly object[]): { origin: string; logSize: bigint; logHash: Buffer };
  };
  const envelope = signCheckpoint(checkpoint, pair.privateKey);
  const name = `gw-audit/${checkpoint.logId}`;
  const log = { logID: noteKeyHash(name, raw), baseURL: name, publicKey: createPublicKey(pair.privateKey) };
  const entry = { inclusionProof: { checkpoint: { envelope } } };
  const seen = verifyCheckpoint(entry, [log]);
  assert.equal(seen.origin, name);
  assert.equal(Number(seen.logSize), checkpoint.seals);
  assert.deepEqual(Buffer.from(seen.logHash), checkpoint.root);
  const other = { ...log, publicKey: generateKeyPairSync("ed25519").publicKey };
  assert.throws(() => verifyCheckpoint(entry, [other]));
});

test("a note signed by several is signed by each of them", () => {
  const other = generateKeyPairSync("ed25519");
  const first = signNote("hello\n", "a.example", pair.privateKey);
  const line = signNote("hello\n", "b.example", other.privateKey).split("\n\n")[1];
  const note = parseNote(first + line);
  assert.equal(note?.signatures.length, 2);
  assert.ok(note !== undefined && isNoteSignedBy(note, raw));
  assert.ok(note !== undefined && isNoteSignedBy(note, rawPublicOf("ed25519", other.publicKey)));
});

test("no text makes the note parser throw", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.string(), fc.constantFrom("\n", "\n\n", "\u2014 ", "a b", "gw-audit/")), { maxLength: 9 }),
      (parts) => {
        readCheckpoint(parts.join(""), [raw]);
      },
    ),
  );
});
