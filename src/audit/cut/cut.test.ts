import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { rawPublicOf } from "../keys/raw.ts";
import { type Cut, type Cutter, isCut, judgeCutter, readCut, signCut } from "./cut.ts";

const [ada, bob] = [0, 1].map(() => generateKeyPairSync("ed25519"));
assert.ok(ada !== undefined && bob !== undefined);
const cut: Cut = {
  logId: "0".repeat(32),
  segment: 4,
  nextFrame: 90,
  link: "a".repeat(64),
  previousLength: 4_000,
  tailLength: 0,
  tailHash: "b".repeat(64),
  endedBy: "rotate",
  sealKey: "c".repeat(64),
  sealed: null,
  open: null,
  era: null,
  attestable: [[88, "d".repeat(64)]],
  seals: 1,
  peaks: ["e".repeat(64)],
};
const REMOVED_AT = 1_000;
const cutters: readonly Cutter[] = [
  { key: rawPublicOf("ed25519", ada.privateKey), name: "ada", removedAtSeconds: null },
  { key: rawPublicOf("ed25519", bob.privateKey), name: "bob", removedAtSeconds: REMOVED_AT },
];

function judge(text: string, openedSeconds: number) {
  const read = readCut(text);
  assert.ok(read !== undefined);
  return judgeCutter(read, cutters, openedSeconds);
}

test("a cut is read back as it was signed, and its signer has the name that the list of operators gives", () => {
  const text = signCut(cut, ada.privateKey);
  assert.deepEqual(readCut(text)?.cut, cut);
  assert.deepEqual(judge(text, REMOVED_AT + 1), { kind: "signed", by: "ada" });
});

test("a former operator's cut counts while the segment after it was opened before the removal, and not after", () => {
  const text = signCut(cut, bob.privateKey);
  assert.deepEqual(judge(text, REMOVED_AT - 1), { kind: "signed", by: "bob" });
  assert.deepEqual(judge(text, REMOVED_AT), { kind: "refused", why: "cut_signer_removed" });
});

test("a stranger's cut, and one that was changed, count for nothing", () => {
  const stranger = generateKeyPairSync("ed25519").privateKey;
  assert.deepEqual(judge(signCut(cut, stranger), 0), { kind: "refused", why: "cut_signature" });
  const changed = signCut(cut, ada.privateKey).replace('"segment":4', '"segment":5');
  assert.deepEqual(judge(changed, 0), { kind: "refused", why: "cut_signature" });
  for (const text of ["", "gw-audit-cut/x\n{}\n", signCut(cut, ada.privateKey).replace('"seals":1', '"seals":-1')])
    assert.equal(readCut(text), undefined);
});

test("what a walk would begin with has its shape in every part, or is no cut", () => {
  const hash = "f".repeat(64);
  const sealed = { segment: 3, frame: 80, link: hash, timeSeconds: 9, seals: 1 };
  const open = { frame: 70, link: hash, before: hash, unclean: false };
  const place = { firstSegment: 1, lastSegment: 3, firstFrame: 0, lastFrame: 89 };
  const era = { ...place, reason: "boot" as const, vaultGeneration: 2, vaultHash: hash, attestedBy: ["ada"] };
  const whole: Cut = { ...cut, sealed, open, era };
  assert.ok(isCut(whole));
  const odd: readonly Readonly<Record<string, unknown>>[] = [
    ...["sealed", "open", "era"].map((part) => ({ [part]: undefined })),
    ...Object.keys(sealed).map((member) => ({ sealed: { ...sealed, [member]: -1 } })),
    ...Object.keys(open).map((member) => ({ open: { ...open, [member]: "x" } })),
    ...Object.keys(era).map((member) => ({ era: { ...era, [member]: null } })),
    { era: { ...era, attestedBy: [1] } },
    ...[[], [1], [-1, hash], [1, "x"], [1, hash, 1], { 0: 1, 1: hash, length: 2 }].map((one) => ({
      attestable: [one],
    })),
    { attestable: hash },
    { peaks: [1] },
    { peaks: { 0: hash } },
  ];
  for (const change of odd) assert.equal(isCut({ ...whole, ...change } as Cut), false, JSON.stringify(change));
});
