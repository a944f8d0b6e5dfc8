import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonValue } from "../../kernel/json.ts";
import type { ReasonToAsk } from "../approval/reason.ts";
import { conditionWords, holds, readCondition, typeCondition } from "./condition.ts";
import { type CallerFacts, type CallFacts, coverCall, coverCaller } from "./cover.ts";
import { type Grant, namesAction, readInclusion } from "./grant.ts";
import { hoursWords, isWithin, readHours } from "./hours.ts";

const NOW = Date.parse("2026-11-18T10:00:00.000Z"); // a Wednesday
const IMAGE = `sha256:${"ab".repeat(32)}`;

const grant: Grant = {
  name: "triage",
  caller: { authority: null, image: IMAGE, command: null, uid: null },
  actions: ["github.issue.*"],
  effects: ["read", "write"],
  conditions: [
    { kind: "one_of", input: "owner", values: ["acme"] },
    { kind: "one_of", input: "repo", values: ["docs", "site"] },
  ],
  includes: [],
  limits: { attempts: 10, sideEffects: 2, durationMs: 60_000, spendCents: 0 },
  callsPerDay: 5,
  createdAt: "2026-11-01T00:00:00.000Z",
  until: "2027-01-01T00:00:00.000Z",
  hours: null,
  idleDays: null,
};

const caller: CallerFacts = {
  evidence: {
    authority: { kind: "unsigned", note: null },
    cdhash: IMAGE,
    interpreter: null,
    process: { pid: 7, startTime: "70", uid: 1040, pidfdInode: null },
    unownedMappings: [],
    namespaces: "own",
  },
  ownUser: true,
};

const call: CallFacts = {
  action: "github.issue.comment",
  effect: "write",
  input: { owner: "acme", repo: "site", number: 4 },
  credential: "github",
  because: [],
};

const covers = (given: Grant, facts: CallFacts): boolean => coverCall(given, facts).kind === "covered";
const lets = (given: Grant, facts: CallerFacts, atMs = NOW): boolean =>
  coverCaller(given, facts, { wallMs: atMs, latestMs: atMs, lastUsedDay: null }).kind === "covered";
const withEvidence = (change: Partial<CallerFacts["evidence"]>): CallerFacts => ({
  ...caller,
  evidence: { ...caller.evidence, ...change },
});

test("a grant covers a call of its actions, effects and conditions", () => {
  assert.ok(covers(grant, call));
  assert.ok(!covers(grant, { ...call, action: "github.issues.list" }), "another name that begins alike");
  assert.ok(!covers(grant, { ...call, effect: "send" }));
  assert.ok(!covers(grant, { ...call, input: { owner: "acme" } }), "a missing argument");
});

test("a grant with conditions never allows what its conditions exclude", () => {
  const values = fc.oneof(
    fc.constantFrom<JsonValue>(
      "acme",
      "Acme",
      "acme ",
      "\u0430cme",
      "acme\u0000",
      "a\u0301cme",
      ["acme"],
      { acme: 1 },
      null,
      true,
      0,
    ),
    fc.string(),
    fc.integer(),
    fc.double(),
  ) as fc.Arbitrary<JsonValue>;
  fc.assert(
    fc.property(values, values, fc.boolean(), (owner, repo, hidden) => {
      const input = Object.assign(Object.create(hidden ? { owner: "acme", repo: "site" } : null), {
        ...(owner === null ? {} : { owner }),
        repo,
      });
      const allowed = Object.hasOwn(input, "owner") && owner === "acme" && (repo === "site" || repo === "docs");
      assert.equal(covers(grant, { ...call, input }), allowed);
    }),
  );
});

test("a number in another form, below zero or beyond what is exact is not at most the maximum", () => {
  const condition = { kind: "at_most", input: "count", maximum: 10 } as const;
  for (const count of [0, 10]) assert.ok(holds(condition, { count }), String(count));
  for (const count of [11, -1, 0.5, "5", null, Number.MAX_SAFE_INTEGER + 1, Number.NaN, [5], true])
    assert.ok(!holds(condition, { count } as never), String(count));
});

test("nothing behind a prefix climbs out of it again", () => {
  const condition = { kind: "prefix", input: "path", prefix: "docs/" } as const;
  for (const path of ["docs/", "docs/a/b.md", "docs/..a", "docs/a..b", "docs/a b"])
    assert.ok(holds(condition, { path }), path);
  for (const path of [
    "doc",
    "Docs/a",
    "docs/../x",
    "docs/a/..",
    "docs/./x",
    "docs/%2e%2e/x",
    "docs\\..\\x",
    "docs/\u0000",
    "docs/\u007f",
    5,
  ])
    assert.ok(!holds(condition, { path } as never), String(path));
});

test("what a person types as a condition is typed against the argument, or refused", () => {
  const typed = (text: string, type: string) => {
    const draft = readCondition(text);
    return draft === null ? null : typeCondition(draft, type);
  };
  assert.deepEqual(typed("owner=acme", "string"), { kind: "one_of", input: "owner", values: ["acme"] });
  assert.deepEqual(typed("repo in site, docs", "string"), { kind: "one_of", input: "repo", values: ["docs", "site"] });
  assert.deepEqual(typed("count<=10", "integer"), { kind: "at_most", input: "count", maximum: 10 });
  assert.deepEqual(typed("on=true", "boolean"), { kind: "one_of", input: "on", values: [true] });
  assert.deepEqual(typed("path^=docs/", "string"), { kind: "prefix", input: "path", prefix: "docs/" });
  assert.deepEqual(typed("on=false", "boolean"), { kind: "one_of", input: "on", values: [false] });
  assert.deepEqual(typed("n in 2,10", "integer"), { kind: "one_of", input: "n", values: [10, 2] });
  assert.deepEqual(typed("n=5", "number"), { kind: "one_of", input: "n", values: [5] });
  assert.deepEqual(typed("count<=9007199254740991", "number"), {
    ...{ kind: "at_most", input: "count", maximum: Number.MAX_SAFE_INTEGER },
  });
  assert.deepEqual(typed("a=b=c", "string"), { kind: "one_of", input: "a", values: ["b=c"] });
  for (const [text, type] of [
    ["count<=1e3", "integer"],
    ["count<=-1", "integer"],
    ["count=010", "integer"],
    ["owner<=5", "string"],
    ["n^=1", "integer"],
    ["repo in a,,b", "string"],
    ["x=1", "object"],
    ["x=true", "object"],
    ["on=yes", "boolean"],
    ["n=9007199254740992", "integer"],
  ] as const)
    assert.equal(typeof typed(text, type), "string", text);
  for (const text of ["", "owner", "=x", "1a=b", "owner!=acme"]) assert.equal(readCondition(text), null, text);
  const again = readCondition(conditionWords({ kind: "one_of", input: "repo", values: ["docs", "site"] }));
  assert.deepEqual(again?.words, ["docs", "site"]);
});

test("a grant never covers an interpreter without a user of the agent's own", () => {
  const script = withEvidence({ interpreter: { name: "node", script: "agent.js" } });
  assert.ok(!lets(grant, script));
  const bound = { ...grant, caller: { ...grant.caller, uid: 1040 } };
  assert.ok(lets(bound, script));
  assert.ok(!lets(bound, { ...script, ownUser: false }), "a person or the gateway runs as that user too");
});

test("all that a grant says of its caller has to hold at once, and now", () => {
  assert.ok(lets(grant, caller));
  assert.ok(!lets(grant, withEvidence({ cdhash: `sha256:${"cd".repeat(32)}` })));
  assert.ok(!lets(grant, withEvidence({ unownedMappings: ["/tmp/evil.so"] })), "code that nothing vouches for");
  assert.ok(!lets(grant, withEvidence({ namespaces: "other" })));
  assert.ok(!lets(grant, caller, Date.parse(grant.until)), "it is over");
  assert.ok(!lets(grant, caller, Date.parse(grant.createdAt) - 1), "before it was signed");
  assert.ok(
    !lets({ ...grant, caller: { authority: null, image: null, command: null, uid: null } }, caller),
    "nobody is not everybody",
  );
  const named = { ...grant, caller: { authority: "Acme", image: null, command: null, uid: null } };
  assert.ok(!lets(named, caller));
  const vouched: readonly CallerFacts["evidence"]["authority"][] = [
    { kind: "sigstore", name: "Acme" } as never,
    { kind: "ima", name: "Acme" } as never,
  ];
  for (const authority of vouched) assert.ok(lets(named, withEvidence({ authority })), authority.kind);
  assert.ok(!lets(named, withEvidence({ authority: { kind: "unsigned", name: "Acme" } as never })), "its own word");
  assert.ok(lets(named, withEvidence({ authority: { kind: "enrolled", name: "Acme", by: null } })));
  assert.ok(
    !lets(
      named,
      withEvidence({ authority: { kind: "package", vendor: "Acme", package: "a", version: "1", record: "dpkg" } }),
    ),
  );
  assert.ok(
    !lets(
      { ...named, caller: { ...named.caller, uid: 7 } },
      withEvidence({ authority: { kind: "enrolled", name: "Acme", by: null } }),
    ),
  );
});

test("a grant that nobody used for as long as it says is over, and each use begins that time anew", () => {
  const at = (wallMs: number, lastUsedDay: string | null, idleDays: number | null = 10): boolean =>
    coverCaller({ ...grant, idleDays }, caller, { wallMs, latestMs: wallMs, lastUsedDay }).kind === "covered";
  const signed = Date.parse(grant.createdAt);
  const day = 86_400_000;
  assert.ok(at(signed + 10 * day - 1, null));
  assert.ok(!at(signed + 10 * day, null), "never used");
  assert.ok(at(signed + 10 * day, "2026-11-02"));
  assert.ok(!at(Date.parse("2026-11-13T00:00:00.000Z"), "2026-11-02"), "ten days after the day of the last use");
  assert.ok(!at(signed + 10 * day, "2026-10-01"), "a use of an earlier grant of that name");
  assert.ok(
    at(signed + 29 * day, null, null) && !at(signed + 30 * day, null, null),
    "one signed before grants said so",
  );
  const back = { wallMs: signed + day, latestMs: signed + 10 * day, lastUsedDay: null };
  assert.ok(
    coverCaller({ ...grant, idleDays: 10 }, caller, back).kind !== "covered",
    "a clock set back revives nothing",
  );
});

test("a grant that ended stays ended when the clock is set back, and says which of the two it was", () => {
  const untilMs = Date.parse(grant.until);
  const why = (wallMs: number, latestMs: number): string | null => {
    const cover = coverCaller(grant, caller, { wallMs, latestMs, lastUsedDay: "2026-12-31" });
    return cover.kind === "covered" ? null : cover.why;
  };
  assert.equal(why(untilMs - 1, untilMs - 1), null);
  assert.equal(why(untilMs, untilMs), `it ended on ${grant.until}`);
  assert.match(why(untilMs - 1, untilMs) ?? "", /the clock was set back behind that since/);
});

test("a wrapped command is covered by its digest below a wrapper alone, and the wrapper only opens the run", () => {
  const wrapped: Grant = { ...grant, caller: { authority: null, image: null, command: IMAGE, uid: null } };
  assert.ok(lets(wrapped, { ...caller, wrapping: "wrapped" }));
  assert.ok(!lets(wrapped, caller), "on its own it is nobody");
  const other = withEvidence({ cdhash: `sha256:${"cd".repeat(32)}` });
  assert.ok(!lets(wrapped, { ...other, wrapping: "wrapped" }));
  assert.ok(lets(wrapped, { ...other, wrapping: "wrapper" }));
  const script = withEvidence({ interpreter: { name: "sh", script: null } });
  assert.ok(!lets(wrapped, { ...script, wrapping: "wrapped" }), "an interpreter needs a user of its own");
  const owned = { ...wrapped, caller: { ...wrapped.caller, uid: 1040 } };
  assert.ok(lets(owned, { ...script, wrapping: "wrapped" }));
  assert.ok(!lets({ ...wrapped, caller: { ...wrapped.caller, uid: 7 } }, { ...other, wrapping: "wrapper" }));
});

test("what asks on every use is covered only where the grant names it", () => {
  const reasons: readonly [ReasonToAsk["kind"], string][] = [
    ["each_use_credential", "each_use:github"],
    ["each_use_action", "each_use_actions"],
    ["previewless", "unpreviewed"],
    ["purchase", "purchases"],
    ["uncapped_cost", "uncapped_cost"],
    ["plan", "plans"],
  ];
  for (const [kind, word] of reasons) {
    const facts = { ...call, because: [{ kind, words: "" }] };
    assert.ok(!covers(grant, facts), kind);
    const inclusion = readInclusion(word);
    assert.ok(inclusion !== null && covers({ ...grant, includes: [inclusion] }, facts), kind);
    for (const [, other] of reasons.filter(([one]) => one !== kind)) {
      const wrong = readInclusion(other);
      assert.ok(wrong !== null && !covers({ ...grant, includes: [wrong] }, facts), `${kind} by ${other}`);
    }
  }
  const other = readInclusion("each_use:gitlab");
  assert.ok(other !== null);
  assert.ok(
    !covers({ ...grant, includes: [other] }, { ...call, because: [{ kind: "each_use_credential", words: "" }] }),
  );
  const spends = { ...call, because: [{ kind: "unapproved_spend", words: "" }] } as const;
  assert.ok(!covers(grant, spends));
  assert.ok(covers({ ...grant, limits: { ...grant.limits, spendCents: 1 } }, spends));
  const everything = reasons.flatMap(([, word]) => readInclusion(word) ?? []);
  assert.ok(!covers({ ...grant, includes: everything }, { ...call, because: [{ kind: "other", words: "" }] }));
});

test("hours are days and hours of the UTC week", () => {
  const office = readHours("mon-fri 08-18");
  assert.ok(office !== null);
  assert.equal(hoursWords(office), "mon,tue,wed,thu,fri 08-18 UTC");
  assert.ok(isWithin(office, NOW));
  assert.ok(!isWithin(office, NOW + 8 * 3_600_000), "18:00 is past it");
  assert.ok(!isWithin(office, NOW + 3 * 86_400_000), "Saturday");
  assert.deepEqual(readHours("08-09"), { days: [0, 1, 2, 3, 4, 5, 6], fromHour: 8, toHour: 9 });
  assert.deepEqual(readHours("sun,tue 08-09")?.days, [0, 2]);
  assert.deepEqual(readHours("sat-sun 08-09")?.days, [0, 6]);
  assert.deepEqual(readHours("fri-mon 00-24")?.days, [0, 1, 5, 6]);
  for (const text of [
    "",
    "8-18",
    "mon 18-08",
    "mon 08-25",
    "mon--fri 08-18",
    "day 08-18",
    "mon,08-18",
    "mon 08-08",
    "mon-tue-wed 08-18",
    "mon-day 08-18",
    "day-mon 08-18",
  ])
    assert.equal(readHours(text), null, text);
});

test("a pattern names what begins with all of it, up to its dot", () => {
  assert.ok(namesAction(["github.issue.*"], "github.issue.list"));
  for (const action of ["github.issues.list", "github.issue", "xgithub.issue.list"])
    assert.ok(!namesAction(["github.issue.*"], action));
  assert.ok(namesAction(["github.issue.list"], "github.issue.list"));
  assert.ok(!namesAction(["github.issue.list"], "github.issue.list.all"));
  assert.ok(namesAction(["slack.*", "github.issue.list"], "github.issue.list"), "any of them");
  assert.equal(readInclusion("everything"), null);
});
