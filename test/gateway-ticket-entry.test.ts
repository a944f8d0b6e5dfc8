import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import type { Card } from "../src/conventions/approval/card.ts";
import { renderCard } from "../src/conventions/approval/render.ts";
import { type Assignment, composeContext } from "../src/conventions/ticket/compose.ts";
import type { WorkContext } from "../src/conventions/ticket/context.ts";
import { signContext } from "../src/conventions/ticket/sign.ts";
import type { Approval } from "../src/gateway/approval/question.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { isoTime } from "../src/kernel/clock.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { type Bench, denies, operatorKeys, secondOperator, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { acmeTicketPack } from "./support/ticket-stand.ts";

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;

const APPLY = "acme.role.apply";
const CLEAR = "acme.role.clear";
const VIEW = { project_id: "p1", role: "viewer" };

beforeEach(async () => {
  provider = await startProvider();
  bench = await startBench(
    acmeTicketPack(
      provider.origin,
      `      ticket_ref: { in: body, type: string, optional: true }
  role.clear:
    effect: write
    needs: { ticket: true }
    request: { method: POST, path: "/v1/projects/*/clear" }
`,
    ),
  );
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  caller = scriptedCaller();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

async function openApproved(who = caller): Promise<Run> {
  return bench.openApproved(who, [APPLY]);
}

const apply = (run: Run, input: JsonObject = VIEW) =>
  bench.gateway.startCall(caller, run.id, { action: APPLY, input }).done;

function needOn({ card }: Approval): NonNullable<Card["ticket_needed"]> {
  assert.ok(card?.ticket_needed !== undefined, "the card says that a ticket is needed");
  return card.ticket_needed;
}

/** What an operator's client writes from the card. */
function contextFor(approval: Approval, change: Partial<Assignment & WorkContext> = {}): WorkContext {
  const need = needOn(approval);
  const { run } = approval.card as Card;
  const assignment = {
    ref: "jira:OPS-17",
    operations: [need.operation],
    targets: [need.target],
    state: null,
    emergency: null,
    ...change,
  };
  const bounds = { id: change.issued_for_run ?? run.run_id, deadlineMs: Date.parse(run.deadline_at) };
  const context = composeContext(assignment, bounds, change.issuer ?? "ada", bench.time.clock.wallMs());
  return change.expires_at === undefined ? context : { ...context, expires_at: change.expires_at };
}

async function decideWith(approval: Approval, context: WorkContext, keyId = "k1", key = operatorKeys.privateKey) {
  const ticket_context = await signContext(context, { keyId, key });
  return bench.gateway.desk.decide(bench.decision(approval, { ticket_context }));
}

test("a call that needs a ticket and has none is asked about, and its card says what is missing", async () => {
  const run = await openApproved();
  const pending = apply(run);
  const approval = await bench.waiting();
  assert.deepEqual(needOn(approval), {
    operation: APPLY,
    target: `${provider.origin}/v1/projects/p1/roles?project_id=p1&role=viewer`,
  });
  const lines = renderCard(approval.card as Card);
  assert.ok(lines.some((line) => /ticket +NEEDED/.test(line)));
  assert.ok(approval.card?.call?.because.some((reason) => reason.includes("needs a ticket")));
  assert.equal(provider.received.length, 0);
  await bench.deny("no ticket, no change");
  await assert.rejects(pending, denies("approval_denied"));
  assert.equal(provider.received.length, 0);
});

test("a call at a place that no ticket can name is denied, and nobody is asked", async () => {
  const run = await bench.openApproved(caller, [CLEAR]);
  const { done } = bench.gateway.startCall(caller, run.id, { action: CLEAR, input: {} });
  let settled = false;
  done.catch(() => undefined).finally(() => (settled = true));
  await untilDone(bench.time, 0, () => settled || bench.gateway.desk.list().length > 0);
  assert.equal(bench.gateway.desk.list().length, 0);
  await assert.rejects(done, denies("ticket_required"));
  assert.equal(provider.received.length, 0);
});

test("approving it without a ticket is refused, decides nothing, and the card stays open", async () => {
  const run = await openApproved();
  const pending = apply(run);
  const approval = await bench.waiting();
  await assert.rejects(bench.approve(), denies("approval_needs_ticket"));
  assert.equal(bench.gateway.desk.find(approval.approvalId)?.state, "pending");
  assert.equal(provider.received.length, 0);
  assert.equal(bench.eventsOf("decision_refused").at(-1)?.code, "approval_needs_ticket");
  await decideWith(approval, contextFor(approval));
  assert.equal((await pending).outcome, "success");
});

test("the ticket named with the approval opens exactly this call, and the intent carries it with its scope digest", async () => {
  const run = await openApproved();
  const pending = apply(run);
  const approval = await bench.waiting();
  await decideWith(approval, contextFor(approval));
  assert.equal((await pending).outcome, "success");
  const [intent] = bench.eventsOf("action.intent");
  const [observed] = bench.eventsOf("ticket_observed");
  assert.deepEqual([intent?.ticket?.system, intent?.ticket?.reference], ["jira", "OPS-17"]);
  assert.equal(intent?.ticket?.scope_digest, observed?.scope_digest);
  assert.deepEqual([intent?.actor.human_requester, intent?.decision.authorized_by], ["ada", "ada"]);
  assert.equal(observed?.accepted, true);
  // It was this call's, not the run's: the next one is asked about again.
  assert.equal(bench.gateway.ticketOf(run.id).evidence, null);
  const next = apply(run);
  needOn(await bench.waiting());
  await bench.deny("once was enough");
  await assert.rejects(next, denies("approval_denied"));
  assert.equal(provider.received.length, 1);
});

test("a reference that the agent supplies stays a claim on the card and satisfies nothing", async () => {
  const run = await openApproved();
  const pending = apply(run, { ...VIEW, ticket_ref: "jira:OPS-17" });
  const approval = await bench.waiting();
  needOn(approval);
  assert.equal(approval.card?.ticket, undefined);
  await assert.rejects(bench.approve(), denies("approval_needs_ticket"));
  await bench.deny("whose ticket is that?");
  await assert.rejects(pending, denies("approval_denied"));
});

test("what is signed for another run, operation, target, time or by somebody else is not taken with an approval", async () => {
  const run = await openApproved();
  const other = await openApproved(scriptedCaller());
  const desk = generateKeyPairSync("ed25519");
  bench.issuers.push({ kind: "issuer", name: "tickets.example", keyId: "k-desk", publicKey: desk.publicKey });
  const pending = apply(run);
  const approval = await bench.waiting();
  const { target } = needOn(approval);
  const now = bench.time.clock.wallMs();
  const wrong: readonly (readonly [Partial<Assignment & WorkContext>, Parameters<typeof denies>[0]])[] = [
    [{ issued_for_run: other.id }, "ticket_wrong_run"],
    [{ operations: [APPLY, "acme.other"] }, "ticket_scope_mismatch"],
    [{ operations: ["acme.other"] }, "ticket_scope_mismatch"],
    [{ targets: [`${provider.origin}/v1/projects/p1/roles`] }, "ticket_scope_mismatch"],
    [{ targets: [target, `${provider.origin}/v1/projects/p2/roles`] }, "ticket_scope_mismatch"],
    [{ expires_at: isoTime(now) }, "ticket_expired"],
    [{ expires_at: isoTime(Date.parse(run.budget.deadlineAt) + 1) }, "ticket_outlives_run"],
    [{ issuer: "bob" }, "ticket_signature_invalid"],
  ];
  for (const [change, code] of wrong) {
    await assert.rejects(decideWith(approval, contextFor(approval, change)), denies(code), JSON.stringify(change));
  }
  const issuers = contextFor(approval, { issuer: "tickets.example" });
  await assert.rejects(decideWith(approval, issuers, "k-desk", desk.privateKey), denies("ticket_signature_invalid"));
  // An operator too, but not the one who approves.
  const bobs = contextFor(approval, { issuer: "bob" });
  await assert.rejects(decideWith(approval, bobs, "k2", secondOperator.privateKey), denies("ticket_signature_invalid"));
  const plain = bench.decision(approval, { ticket_context: "jira:OPS-17" });
  await assert.rejects(bench.gateway.desk.decide(plain), denies("ticket_signature_invalid"));
  assert.equal(bench.gateway.desk.find(approval.approvalId)?.state, "pending");
  assert.equal(bench.eventsOf("ticket_observed").filter(({ accepted }) => accepted).length, 0);
  await bench.deny("enough");
  await assert.rejects(pending, denies("approval_denied"));
  assert.equal(provider.received.length, 0);
});

test("a context swapped in after signing breaks the decision's own signature", async () => {
  const run = await openApproved();
  const pending = apply(run);
  const approval = await bench.waiting();
  const sign = (context: WorkContext) => signContext(context, { keyId: "k1", key: operatorKeys.privateKey });
  const signed = bench.decision(approval, { ticket_context: await sign(contextFor(approval)) });
  const swapped = { ...signed.statement, ticket_context: await sign(contextFor(approval, { ref: "jira:OTHER-1" })) };
  await assert.rejects(bench.gateway.desk.decide({ ...signed, statement: swapped }), denies("signature_invalid"));
  const { ticket_context: _, ...without } = signed.statement;
  await assert.rejects(bench.gateway.desk.decide({ ...signed, statement: without }), denies("signature_invalid"));
  await bench.gateway.desk.decide(signed);
  assert.equal((await pending).outcome, "success");
  // Used twice it opens nothing: the card is decided.
  await assert.rejects(bench.gateway.desk.decide(signed), denies("approval_not_pending"));
});

test("a context of an earlier card does not come along to the next one", async () => {
  const run = await openApproved();
  const first = apply(run);
  const approval = await bench.waiting();
  const replayed = contextFor(approval);
  await decideWith(approval, replayed);
  await first;
  const second = apply(run, { project_id: "p2", role: "owner" });
  const next = await bench.waiting();
  await assert.rejects(decideWith(next, replayed), denies("ticket_scope_mismatch"));
  await bench.deny("no");
  await assert.rejects(second, denies("approval_denied"));
  assert.equal(provider.received.length, 1);
});

test("two decisions at once about one such card: one counts", async () => {
  const run = await openApproved();
  const pending = apply(run);
  const approval = await bench.waiting();
  const context = contextFor(approval);
  const both = await Promise.allSettled([decideWith(approval, context), decideWith(approval, context)]);
  assert.deepEqual(both.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  assert.equal((await pending).outcome, "success");
  assert.equal(provider.received.length, 1);
  assert.equal(bench.eventsOf("approval_approved").filter(({ call_id }) => call_id !== undefined).length, 1);
});

test("an entered ticket does not lead a redirect to another target, and ends with its time", async () => {
  const run = await openApproved();
  provider.answer((request, response) => {
    if (request.url.includes("p1")) response.writeHead(307, { location: "/v1/projects/p2/roles" }).end();
    else response.writeHead(200).end();
  });
  const pending = apply(run);
  const approval = await bench.waiting();
  await decideWith(approval, contextFor(approval));
  assert.equal((await pending).outcome, "unknown");
  assert.deepEqual(
    provider.received.map(({ url }) => url),
    ["/v1/projects/p1/roles"],
  );
});

test("an emergency can be declared where a ticket is needed, and is marked as one", async () => {
  const run = await openApproved();
  const pending = apply(run);
  const approval = await bench.waiting();
  const emergency = { reason: "database down", normal_ticket_opened_at: null };
  await decideWith(approval, contextFor(approval, { ref: null, emergency }));
  await pending;
  assert.deepEqual({ ...bench.eventsOf("action.intent")[0]?.emergency }, { ...emergency, approver: "ada" });
});

test("a card that asks for a whole session is not held up by a call in it that needs a ticket", async () => {
  const run = await bench.openRun(caller, [APPLY]);
  const pending = apply(run);
  const session = await bench.waiting();
  assert.deepEqual([session.card?.asks, session.card?.ticket_needed], ["session", undefined]);
  await bench.approve();
  const approval = await bench.waiting();
  assert.equal(approval.card?.asks, "call");
  await decideWith(approval, contextFor(approval));
  assert.equal((await pending).outcome, "success");
});

test("a person who lets a run begin can assign its work in the same decision", async () => {
  const run = await bench.openRun(caller, [APPLY]);
  const approval = await bench.waiting();
  const context = composeContext(
    {
      ref: "jira:OPS-20",
      operations: [APPLY],
      targets: [`${provider.origin}/v1/projects/p1/roles`],
      state: "open",
      emergency: null,
    },
    { id: run.id, deadlineMs: Date.parse(run.budget.deadlineAt) },
    "ada",
    bench.time.clock.wallMs(),
  );
  const foreign = { ...context, issued_for_run: "run_00000000000000000000000000" };
  await assert.rejects(decideWith(approval, foreign), denies("ticket_wrong_run"));
  assert.equal(run.state, "pending");
  await decideWith(approval, context);
  await run.admission?.session;
  assert.equal(bench.gateway.ticketOf(run.id).evidence?.context.ticket_ref, "jira:OPS-20");
  assert.equal((await apply(run)).outcome, "success");
  await assert.rejects(apply(run, { project_id: "p2", role: "viewer" }), denies("ticket_scope_mismatch"));
});

test("a run that is granted less time than it asked for has no ticket beyond it", async () => {
  const run = await bench.openRun(caller, [APPLY]);
  const approval = await bench.waiting();
  const budget = { attempts: 40, side_effects: 5, duration_seconds: 300, spend_cents: 0 };
  const narrow = { actions: null, request_bytes: null, budget };
  const contextUntil = (deadlineMs: number) =>
    composeContext(
      {
        ref: "jira:OPS-20",
        operations: [APPLY],
        targets: [`${provider.origin}/v1/projects/p1/roles`],
        state: null,
        emergency: null,
      },
      { id: run.id, deadlineMs },
      "ada",
      bench.time.clock.wallMs(),
    );
  const asked = Date.parse(run.budget.deadlineAt);
  const decide = async (deadlineMs: number) => {
    const signer = { keyId: "k1", key: operatorKeys.privateKey };
    const ticket_context = await signContext(contextUntil(deadlineMs), signer);
    return bench.gateway.desk.decide(bench.decision(approval, { narrow, ticket_context }));
  };
  await assert.rejects(decide(asked), denies("ticket_outlives_run"));
  assert.equal(run.state, "pending");
  await decide(asked - 300_000);
  await run.admission?.session;
  assert.equal(bench.gateway.ticketOf(run.id).evidence?.context.expires_at, run.budget.deadlineAt);
});
