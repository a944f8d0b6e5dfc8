import assert from "node:assert/strict";
import { test } from "node:test";
import type { VerifyReport } from "./report.ts";
import { describeReport } from "./words.ts";

const report: VerifyReport = {
  verdict: "intact",
  exit: 0,
  logId: "00",
  segments: 1,
  frames: 5,
  bytes: 500,
  sealed: { segment: 1, frame: 4, link: "11", timeSeconds: 1_750_000_000, seals: 2 },
  head: { segment: 1, frame: 4, link: "11" },
  root: "22",
  firstBreach: null,
  breaches: [],
  notices: [],
  eras: [],
  uncleanEnds: [],
  attestations: [],
  hands: [],
  operatorsPinned: true,
  largestUnsealed: 3,
  checkpoint: { seals: 2, signed: true, held: true },
  heads: [{ frame: 3, held: true }],
  cut: null,
  begins: { segment: 1, frame: 0 },
  trouble: null,
};
const says = (change: Partial<VerifyReport>): string => describeReport({ ...report, ...change }).join("\n");

test("a person reads whether the log extends what they kept, as the report has it", () => {
  assert.match(says({}), /^The log extends the checkpoint of 2 seals, signed by a pinned operator\.$/m);
  assert.match(says({}), /^The log extends the head seen at frame 3\.$/m);
  const held = { seals: 2, signed: false, held: false };
  assert.match(
    says({ checkpoint: held }),
    /^The log does not extend the checkpoint .* which no pinned operator signed\.$/m,
  );
  assert.match(says({ checkpoint: held, operatorsPinned: false }), /whose signature was not checked/);
  const at = { segment: 3, file: "x", offset: 0, frame: 4, detail: "" };
  const archived = says({ checkpoint: held, notices: [{ ...at, code: "checkpoint_archived" }] });
  assert.doesNotMatch(archived, /extend the checkpoint/);
  assert.match(archived, /^Note, frame 4: the checkpoint stands in a part that was moved away/m);
  assert.match(says({ heads: [{ frame: 3, held: false }] }), /^The log does not extend the head seen at frame 3\.$/m);
});

test("what no log can prove is said where it applies, and only there", () => {
  const [unpinned, unseen] = [/No operator was pinned/, /Without a checkpoint or a remembered head/];
  assert.doesNotMatch(says({}), unpinned);
  assert.match(says({ operatorsPinned: false }), unpinned);
  assert.doesNotMatch(says({ checkpoint: null }), unseen);
  assert.doesNotMatch(says({ heads: [] }), unseen);
  assert.match(says({ checkpoint: null, heads: [] }), unseen);
  assert.match(says({}), /No log can prove that an event which never reached it did not happen/);
});

test("a seal dated where no calendar reaches is told all the same", () => {
  const sealed = { segment: 1, frame: 4, link: "11", timeSeconds: 9_000_000_000_000_000, seals: 2 };
  assert.match(says({ sealed }), /^Proven up to frame 4, sealed at 9000000000000000 s after 1970: /m);
});

test("a note stands with its detail where it has one, and nobody's text acts on the terminal", () => {
  const at = { segment: 1, file: "x", offset: 0, frame: 4 };
  assert.match(
    says({ notices: [{ ...at, code: "cut", detail: "ada\u001b[2J" }] }),
    /by the operator who signed it \(ada\\u\{1b\}\[2J\)\.$/m,
  );
  assert.match(says({ notices: [{ ...at, code: "writer_live", detail: "" }] }), /may be in motion\.$/m);
});

test("a part that nobody attested is told with who vouched for it later, once", () => {
  const part = { firstSegment: 1, lastSegment: 1, vaultGeneration: 1, vaultHash: "00", attestedBy: [] };
  const eras = [{ ...part, firstFrame: 0, lastFrame: 3, reason: "genesis" as const }];
  const at = { frame: 9, operator: "ada", keyId: "00", headFrame: 8, timeSeconds: 1, unclean: false, pinned: true };
  const notices = [{ segment: 1, file: "x", offset: 0, frame: 0, code: "vouched_later" as const, detail: "ada" }];
  const told = says({ eras, notices, attestations: [{ ...at, earlier: true }] });
  assert.equal(told.match(/vouched/g)?.length, 1);
  assert.match(told, /^Frames 0 to 3 .* attested by nobody while it was written; ada vouched for it later\.$/m);
  assert.match(says({ eras, attestations: [{ ...at, earlier: false }] }), /^Frames 0 to 3 .* attested by nobody\.$/m);
  assert.match(says({ eras, attestations: [{ ...at, earlier: true, pinned: false }] }), /attested by nobody\.$/m);
});
