import assert from "node:assert/strict";
import { test } from "node:test";
import type { DecisionStatement, Verified } from "../../conventions/approval/decision.ts";
import { openBudget } from "../../conventions/budget/budget.ts";
import { Denied } from "../../kernel/failure.ts";
import type { Question } from "../approval/question.ts";
import type { LiveCaller } from "../ports.ts";
import { createKin, joinAsDescendant } from "./descendants.ts";
import type { RunNeeds } from "./needs.ts";
import type { Kin, Run, Session } from "./run.ts";

const denies = (code: string) => (error: unknown) => error instanceof Denied && error.code === code;
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const OWN = "sha256:own";
const reach = { effect: "read", channel: "http", destination: "https://a.example", hostKey: null } as const;
const scope = {
  actions: ["acme.a", "acme.b"].map((action) => ({ ...reach, action, credential: null, method: "GET", path: "/a" })),
  requestBytes: 9,
};

interface Stood extends LiveCaller {
  life: "same" | "gone";
}

function callerOf(key: string, pid: number, cdhash: string, parents: readonly number[] = []): Stood {
  const caller: Stood = {
    ...{ key, pid, uid: 1000, binding: "process", life: "same" },
    evidence: {
      process: { pid, startTime: `${pid}0`, uid: 1000, pidfdInode: `${pid}1` },
      ...{ pathObserved: "/bin/x", signingIdentifier: null, designatedRequirement: null, cdhash, validity: "unsigned" },
      ...{ authority: { kind: "unsigned", note: null }, interpreter: null, unownedMappings: [], ancestors: [] },
      ...{ namespaces: "own", binding: "process" },
    },
    ancestry: () => parents.map((above) => ({ pid: above, startTime: `${above}0`, path: null })),
    check: () => ({ kind: caller.life }),
    onExit: () => undefined,
    retain: () => caller,
    close: () => undefined,
  } as unknown as Stood;
  return caller;
}

/** A run whose wrapper a person approved, and a desk whose questions the test answers. */
function stand(change: Partial<Session> = {}) {
  const wrapper = callerOf("wrapper", 7, OWN);
  const owner = {
    ...{
      id: "ses_1",
      runId: "run_1",
      caller: wrapper,
      scope,
      approvalId: "apr_1",
      approvedBy: "ada",
      approvedAt: "then",
    },
    ...{ grant: null, state: "approved", endedAt: null, endReason: null, ...change },
  } as unknown as Session;
  const limits = { attempts: 40, sideEffects: 5, durationMs: 600_000, spendCents: 0 };
  const kin: Kin = createKin();
  const run = {
    ...{
      id: "run_1",
      ownerKey: "wrapper",
      state: "open",
      endReason: null,
      kin,
      purpose: "p",
      command: null,
      notes: [],
    },
    sessions: new Map([["wrapper", owner]]),
    untold: new Set(),
    told: Promise.resolve(),
    budget: openBudget("run_1" as Run["id"], limits, { wallMs: 0, bootMs: 0, bootId: "b" }),
  } as unknown as Run;
  const asked: (PromiseWithResolvers<Verified<DecisionStatement>> & { readonly question: Question })[] = [];
  let serial = 1;
  const core = {
    ports: { ids: { next: (kind: string) => `${kind}_${++serial}` }, clock: { wallMs: () => 0 } },
    book: { addSession: () => undefined, forgetSession: () => undefined, run: () => run },
    ledger: { record: async () => undefined },
    envelope: (event_type: string) => ({ event_type }),
    posture: () => ({ mode: "dedicated" }),
    acceptTicket: () => undefined,
    grants: () => [{ name: "another" }],
    desk: {
      ask(question: Question) {
        const answer = Promise.withResolvers<Verified<DecisionStatement>>();
        asked.push({ ...answer, question });
        return { approvalId: "apr_x", answer: answer.promise };
      },
    },
  } as unknown as RunNeeds;
  const join = (caller: LiveCaller): Promise<Session> => joinAsDescendant(core, run, kin, caller);
  return { run, kin, wrapper, asked, join };
}

const yes = (narrow: object | null = null) =>
  ({ statement: { approval_id: "apr_2", operator: "bob", decided_at: "now", narrow } }) as Verified<DecisionStatement>;

test("a process with the wrapper's image acts on the wrapper's approval, and nobody is asked", async () => {
  const { run, asked, join } = stand();
  const session = await join(callerOf("child", 8, OWN, [7]));
  assert.deepEqual([session.approvedBy, session.approvalId, session.scope], ["ada", "apr_1", scope]);
  assert.equal(run.sessions.get("child"), session);
  assert.equal(asked.length, 0);
});

test("a person is asked once about another image, and what they left of the scope is what it has", async () => {
  const { asked, join } = stand();
  const [one, other] = [callerOf("one", 8, "sha256:x", [7]), callerOf("other", 9, "sha256:x", [8, 7])];
  const sessions = [one, other, one].map(join);
  await settle();
  assert.equal(asked.length, 1);
  assert.deepEqual([asked[0]?.question.mode, asked[0]?.question.callerKey], ["join", "one"]);
  asked[0]?.resolve(yes({ actions: ["acme.b"], request_bytes: null, budget: null }));
  const [first, second, again] = await Promise.all(sessions);
  assert.equal(again, first, "two calls of one process wait for one session");
  for (const { approvedBy, approvalId, grant, scope: had } of [first, second] as Session[]) {
    assert.deepEqual([approvedBy, approvalId, grant, had.actions.length], ["bob", "apr_2", null, 1]);
  }
  await join(callerOf("third", 10, "sha256:x", [7]));
  assert.equal(asked.length, 1, "the image was shown");
  void join(callerOf("fourth", 11, "sha256:y", [7])).catch(() => undefined);
  await settle();
  assert.equal(asked.length, 2, "another image was not");
});

test("each process of which nobody can say what it runs is asked about, also below a wrapper like it", async () => {
  for (const image of ["unproven:1", ""]) {
    const { asked, join, wrapper } = stand();
    Object.assign(wrapper.evidence, { cdhash: image });
    const first = join(callerOf("first", 8, image, [7]));
    await settle();
    asked[0]?.resolve(yes());
    assert.equal((await first).approvedBy, "bob");
    const second = join(callerOf("second", 9, image, [7]));
    await settle();
    assert.equal(asked.length, 2);
    asked[1]?.reject(new Denied("approval_denied", "no"));
    await assert.rejects(second, denies("approval_denied"));
    void join(callerOf("third", 10, image, [7])).catch(() => undefined);
    await settle();
    assert.equal(asked.length, 3);
  }
});

test("a no stands for the run, and a question that nobody answered may be asked again", async () => {
  const { asked, join } = stand();
  const child = () => callerOf("child", 8, "sha256:x", [7]);
  const refuse = async (code: Denied["code"], count: number): Promise<void> => {
    const joining = join(child());
    await settle();
    assert.equal(asked.length, count);
    asked.at(-1)?.reject(new Denied(code, "no"));
    await assert.rejects(joining, denies(code));
    await settle();
  };
  await refuse("approval_expired", 1);
  await refuse("approval_denied", 2);
  await assert.rejects(join(child()), denies("approval_denied"));
  assert.equal(asked.length, 2);
});

test("whoever is no longer below the live wrapper when the answer comes gets nothing", async () => {
  for (const end of [
    ({ wrapper }: ReturnType<typeof stand>) => {
      wrapper.life = "gone";
      return "not_found";
    },
    ({ run }: ReturnType<typeof stand>) => {
      Object.assign(run, { state: "ended", endReason: "run_over" });
      return "run_ended";
    },
  ]) {
    const stood = stand();
    const joining = stood.join(callerOf("child", 8, "sha256:x", [7]));
    await settle();
    const code = end(stood);
    stood.asked[0]?.resolve(yes());
    await assert.rejects(joining, denies(code));
    assert.equal(stood.run.sessions.has("child"), false);
  }
});

test("a stranger is not even asked about", async () => {
  const { asked, join } = stand();
  await assert.rejects(join(callerOf("stranger", 8, "sha256:x", [9])), denies("not_found"));
  assert.equal(asked.length, 0);
});

test("under a grant the wrapper's image alone lets nobody in: a person is asked where the grant does not cover it", async () => {
  const { asked, join } = stand({ grant: { name: "triage", digest: "sha256:1" } as Session["grant"] });
  const joining = join(callerOf("child", 8, OWN, [7]));
  await settle();
  assert.equal(asked.length, 1);
  asked[0]?.resolve(yes());
  assert.equal((await joining).grant, null, "it stands on the person's word and not on the grant");
});

test("of processes that are gone two hundred ended sessions are kept, the newest, and the wrapper's always", async () => {
  const { run, join } = stand();
  const ended = (endReason: string | null) => ({ endReason, state: "ended" }) as unknown as Session;
  for (let at = 0; at < 202; at++) run.sessions.set(`gone${at}`, ended("process_exited"));
  run.sessions.set("revoked", ended("operator_revoked"));
  await join(callerOf("child", 8, OWN, [7]));
  const keys = [...run.sessions.keys()];
  assert.deepEqual(keys.slice(0, 3), ["wrapper", "gone2", "gone3"]);
  assert.deepEqual(keys.slice(-2), ["revoked", "child"]);
  assert.equal(keys.length, 203);
  const few = stand();
  few.run.sessions.set("gone", ended("process_exited"));
  await few.join(callerOf("child", 8, OWN, [7]));
  assert.ok(few.run.sessions.has("gone"));
});
