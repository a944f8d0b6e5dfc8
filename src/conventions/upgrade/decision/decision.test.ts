import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { Denied } from "../../../kernel/failure.ts";
import { runsOf } from "../../../kernel/testing/whole.ts";
import type { OperatorKey } from "../../approval/decision.ts";
import type { Difference } from "../compare/difference.ts";
import { emptyReviewFile, type ReviewFile, readReviewFile, writeReviewFile } from "./review-file.ts";
import { type DecideRequest, decideDifferences, requireFinished, settleReview } from "./settle.ts";
import { type Reviewer, verdicts } from "./statement.ts";

function person(name: string): { readonly reviewer: Reviewer; readonly key: OperatorKey } {
  const { privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject } = generateKeyPairSync("ed25519");
  const keyId = `key-${name}`;
  return {
    reviewer: { operator: name, keyId, sign: (bytes) => sign(null, bytes, privateKey) },
    key: { name, keyId, publicKey },
  };
}

const ada = person("ada");
const bob = person("bob");
const mallory = person("ada");
const keys = [ada.key, bob.key];

function difference(id: string, group = `g-${id}`): Difference {
  return {
    id,
    group,
    surface: "action_reach",
    kind: "operation_added",
    change: "widens",
    subject: `POST /${id}`,
    at: "",
    says: "New.",
    before: null,
    after: "x",
    binding: null,
    notes: [],
    operations: [],
    scopes: [],
    lines: { before: null, after: null },
    effect: null,
    credential: null,
    flows: [],
  };
}

const request = (ids: readonly string[], verdict: DecideRequest["verdict"] = "accepted"): DecideRequest => ({
  ids,
  verdict,
  reason: "looked at it",
  narrowing: verdict === "narrowed" ? "label acme-narrow" : null,
  decidedAt: "2026-01-01T00:00:00.000Z",
});
const differences = [difference("d-1"), difference("d-2", "g-x"), difference("d-3", "g-x")];
const empty = emptyReviewFile("Acme");
const decide = (file: ReviewFile, ...args: Parameters<typeof request>): ReviewFile =>
  decideDifferences(differences, file, request(...args), ada.reviewer).file;

test("a difference blocks until a named reviewer accepts, rejects or narrows it", () => {
  const open = settleReview(differences, empty, keys);
  assert.equal(open.verdict, "open");
  assert.throws(
    () => requireFinished(open),
    (error) => error instanceof Denied && error.code === "upgrade_undecided",
  );
  const most = settleReview(differences, decide(empty, ["d-1", "d-2"]), keys);
  assert.deepEqual(
    most.open.map(({ id }) => id),
    ["d-3"],
  );
  const done = settleReview(differences, decide(decide(empty, ["d-1", "d-2"]), ["d-3"], "narrowed"), keys);
  assert.equal(done.verdict, "finished");
  assert.doesNotThrow(() => requireFinished(done));
});

test("a rejected difference refuses the upgrade until somebody decides anew", () => {
  const rejected = decide(decide(empty, ["d-1", "g-x"]), ["d-2"], "rejected");
  const refused = settleReview(differences, rejected, keys);
  assert.equal(refused.verdict, "refused");
  assert.throws(
    () => requireFinished(refused),
    (error) => error instanceof Denied && error.code === "upgrade_refused",
  );
  assert.equal(settleReview(differences, decide(rejected, ["d-2"]), keys).verdict, "finished");
});

test("a later run asks only about what is new", () => {
  const file = decide(empty, ["d-1", "g-x"]);
  const later = settleReview([...differences, difference("d-4", "g-x")], file, keys);
  assert.deepEqual(
    later.open.map(({ id }) => id),
    ["d-4"],
  );
});

test("a group id decides the members it has now and none that come later", () => {
  const { added } = decideDifferences(differences, empty, request(["g-x"]), ada.reviewer);
  assert.deepEqual(
    added.map(({ statement }) => statement.difference),
    ["d-2", "d-3"],
  );
});

test("an unknown id, a decision without a reason and a narrowing without words are refused", () => {
  const code = (work: () => unknown): string => {
    try {
      work();
    } catch (error) {
      assert.ok(error instanceof Denied);
      return error.code;
    }
    return "done";
  };
  assert.equal(
    code(() => decide(empty, ["d-9"])),
    "difference_unknown",
  );
  assert.equal(
    code(() => decideDifferences(differences, empty, { ...request(["d-1"]), reason: " " }, ada.reviewer)),
    "review_file_invalid",
  );
  assert.equal(
    code(() =>
      decideDifferences(differences, empty, { ...request(["d-1"], "narrowed"), narrowing: null }, ada.reviewer),
    ),
    "review_file_invalid",
  );
  assert.equal(
    code(() => decideDifferences(differences, empty, { ...request(["d-1"]), narrowing: "x" }, ada.reviewer)),
    "review_file_invalid",
  );
});

test("a signature by a key that is not enrolled under that name decides nothing", () => {
  const { file } = decideDifferences(differences, empty, request(["d-1", "g-x"]), mallory.reviewer);
  const settled = settleReview(differences, file, keys);
  assert.equal(settled.verdict, "open");
  assert.deepEqual(
    [...settled.states.values()].map(({ kind }) => kind),
    ["unverified", "unverified", "unverified"],
  );
  assert.equal(settleReview(differences, file, []).verdict, "open");
});

test("any changed word of a decision breaks it, and a broken one does not undo a good one", () => {
  const file = decide(empty, ["d-1"]);
  const [signed] = file.decisions;
  assert.ok(signed !== undefined);
  const { statement } = signed;
  const changes: readonly Partial<typeof statement>[] = [
    { difference: "d-2" },
    { verdict: "rejected" },
    { reason: "other" },
    { narrowing: "x" },
    { api: "Other" },
    { operator: "bob", operator_key_id: "key-bob" },
    { decided_at: "2027-01-01T00:00:00.000Z" },
  ];
  for (const change of changes) {
    const forged: ReviewFile = { ...file, decisions: [{ ...signed, statement: { ...statement, ...change } }] };
    assert.equal(settleReview(differences, forged, keys).open.length, 3, JSON.stringify(change));
    const after: ReviewFile = { ...file, decisions: [signed, ...forged.decisions] };
    assert.equal(settleReview(differences, after, keys).states.get("d-1")?.kind, "accepted", JSON.stringify(change));
  }
});

test("a decision about another API does not count, even with a good signature", () => {
  const other = decideDifferences(differences, emptyReviewFile("Other"), request(["d-1"]), ada.reviewer).file;
  assert.equal(settleReview(differences, { ...other, api: "Acme" }, keys).open.length, 3);
});

test("the review file is read back as it was written, whatever the reason says", () => {
  fc.assert(
    fc.property(
      fc.string({ maxLength: 200, unit: "grapheme" }).filter((text) => text.trim() !== "" && text.isWellFormed()),
      fc.constantFrom(...verdicts),
      (reason, verdict) => {
        const { file } = decideDifferences(
          differences,
          empty,
          { ...request(["d-1", "g-x"], verdict), reason },
          bob.reviewer,
        );
        const back = readReviewFile("r.yaml", Buffer.from(writeReviewFile(file)));
        assert.deepEqual(back, file);
        assert.equal(settleReview(differences, back, keys).open.length, 0);
      },
    ),
    { numRuns: runsOf(60) },
  );
});

test("a review file is added to at its end, so that version control shows what came", () => {
  const first = writeReviewFile(decide(empty, ["d-1"]));
  const second = writeReviewFile(decide(decide(empty, ["d-1"]), ["d-2"]));
  assert.ok(second.startsWith(first.slice(0, first.indexOf("signature"))));
});

test("a review file with anything unknown in it is refused whole", () => {
  const good = writeReviewFile(decide(empty, ["d-1"]));
  const bad = [
    good.replace("gw.upgrade-review/v1", "gw.upgrade-review/v2"),
    good.replace("api: Acme", "api: Acme\nextra: 1"),
    good.replace("verdict: accepted", "verdict: fine"),
    good.replace("reason: looked at it", "reason: [1]"),
    good.replace("    signature:", "    signed:"),
    "decisions: []",
    "[]",
  ];
  for (const text of bad) {
    assert.throws(
      () => readReviewFile("r.yaml", Buffer.from(text)),
      (error) => error instanceof Denied && error.code === "review_file_invalid",
      text,
    );
  }
});
