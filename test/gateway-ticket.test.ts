import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import { renderCard } from "../src/conventions/approval/render.ts";
import type { WorkContext } from "../src/conventions/ticket/context.ts";
import { signContext } from "../src/conventions/ticket/sign.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { isoTime } from "../src/kernel/clock.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { type Bench, denies, operatorKeys, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { acmeTicketPack } from "./support/ticket-stand.ts";

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;

const APPLY = "acme.role.apply";
const ASKED = "acme.role.ask";

beforeEach(async () => {
  provider = await startProvider();
  bench = await startBench(
    acmeTicketPack(
      provider.origin,
      `      ticket_ref: { in: body, type: string, optional: true }
  role.ask:
    effect: write
    retry: idempotent_write
    needs: { ticket: true, approval: each_use }
    request: { method: POST, path: "/v1/projects/{project_id}/roles", body: application/json }
    input:
      project_id: { in: path, type: string }
      role: { in: body, type: string }
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
  return bench.openApproved(who, [APPLY, ASKED]);
}

function contextOf(run: Run, change: Partial<WorkContext> = {}): WorkContext {
  const nowMs = bench.time.clock.wallMs();
  return {
    ticket_ref: "jira:OPS-17",
    allowed_targets: [`${provider.origin}/v1/projects/p1/roles?role=viewer`],
    allowed_operations: [APPLY, ASKED],
    expires_at: isoTime(nowMs + 300_000),
    issued_for_run: run.id,
    issuer: "ada",
    issued_at: isoTime(nowMs),
    observed_state: "in progress",
    ...change,
  };
}

const sign = (context: WorkContext, keyId = "k1", key = operatorKeys.privateKey) =>
  signContext(context, { keyId, key });

async function attach(run: Run, change: Partial<WorkContext> = {}): Promise<void> {
  await bench.gateway.attachTicket(run.id, await sign(contextOf(run, change)));
}

function apply(run: Run, input: JsonObject = { project_id: "p1", role: "viewer" }, action = APPLY) {
  return bench.gateway.startCall(caller, run.id, { action, input }).done;
}

/** Nothing counts as its ticket: the call is asked about, its card says that one is needed, and a no ends it. */
async function hasNoTicket(run: Run, input?: JsonObject, action = APPLY): Promise<void> {
  const pending = apply(run, input, action);
  const { card } = await bench.waiting();
  assert.equal(card?.ticket, undefined);
  assert.equal(card?.ticket_needed?.operation, action);
  await bench.deny("no ticket");
  await assert.rejects(pending, denies("approval_denied"));
}

test("an action that needs a ticket is not carried out without one", async () => {
  const run = await openApproved();
  await hasNoTicket(run);
  await hasNoTicket(run, undefined, ASKED);
  assert.equal(provider.received.length, 0);
  const denials = bench.eventsOf("call_denied");
  assert.equal(denials.length, 2);
});

test("a reference that the agent supplies is a claim and never satisfies the need", async () => {
  const run = await openApproved();
  const input = { project_id: "p1", role: "viewer", ticket_ref: "jira:OPS-17" };
  await hasNoTicket(run, input);
  await assert.rejects(apply(run, { ...input, ticket: "jira:OPS-17" }), denies("schema_violation"));
  assert.equal(provider.received.length, 0);
});

test("a valid context opens exactly its operation and target, and the intent carries ticket and scope digest", async () => {
  const run = await openApproved();
  await attach(run);
  const { evidence } = bench.gateway.ticketOf(run.id);
  provider.answer((_request, response) => {
    const written = bench.events().map(({ event_type }) => event_type);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(written));
  });
  const result = await apply(run);
  assert.equal(result.outcome, "success");
  // Durable before the send: the provider's own answer lists it.
  assert.match(JSON.stringify(result.response?.body), /"action\.intent"/);
  const intent = bench.events().find(({ event_type }) => event_type === "action.intent");
  assert.ok(intent?.event_type === "action.intent");
  assert.deepEqual(
    [intent.agent_run_id, intent.ticket?.system, intent.ticket?.reference, intent.ticket?.scope_digest],
    [run.id, "jira", "OPS-17", evidence?.scopeDigest],
  );
  assert.equal(intent.action.target, `${provider.origin}/v1/projects/p1/roles`);
  assert.equal(intent.action.idempotency_id, provider.received[0]?.headers["idempotency-key"]);
  assert.deepEqual([intent.decision.reference_required, intent.decision.authorized_by], [true, "ada"]);
  assert.equal(intent.actor.human_requester, "ada");
  assert.equal(intent.emergency, undefined);
  const accepted = bench.events().find(({ event_type }) => event_type === "intent_accepted");
  assert.equal(intent.parent_event_id, accepted?.event_id);
  const [seen] = bench.eventsOf("ticket_observed");
  assert.deepEqual([seen?.accepted, seen?.ticket_ref, seen?.issued_for_run], [true, "OPS-17", run.id]);
});

test("another target, another argument and another operation are not covered", async () => {
  const run = await openApproved();
  await attach(run);
  await assert.rejects(apply(run, { project_id: "p2", role: "viewer" }), denies("ticket_scope_mismatch"));
  await assert.rejects(apply(run, { project_id: "p1", role: "owner" }), denies("ticket_scope_mismatch"));
  await attach(run, { allowed_operations: [ASKED] });
  await assert.rejects(apply(run), denies("ticket_scope_mismatch"));
  assert.equal(provider.received.length, 0);
});

test("the ticket of another run is refused and recorded, and changes nothing", async () => {
  const run = await openApproved();
  const other = await openApproved(scriptedCaller());
  const foreign = await sign(contextOf(other));
  await assert.rejects(bench.gateway.attachTicket(run.id, foreign), denies("ticket_wrong_run"));
  await hasNoTicket(run);
  const [seen] = bench.eventsOf("ticket_observed");
  assert.deepEqual([seen?.accepted, seen?.code, seen?.issued_for_run], [false, "ticket_wrong_run", other.id]);
});

test("an expired context is refused, and one that expires later stops to count, also while a person thinks", async () => {
  const run = await openApproved();
  const stale = contextOf(run, { expires_at: isoTime(bench.time.clock.wallMs()) });
  await assert.rejects(bench.gateway.attachTicket(run.id, await sign(stale)), denies("ticket_expired"));
  await attach(run, { expires_at: isoTime(bench.time.clock.wallMs() + 10_000) });
  assert.equal(bench.gateway.ticketOf(run.id).lapsed, null);
  const pending = apply(run, undefined, ASKED);
  const approval = await bench.waiting();
  await bench.time.advance(10_000);
  assert.equal(bench.gateway.ticketOf(run.id).lapsed?.code, "ticket_expired", "whoever looks is told too");
  await bench.gateway.desk.decide(bench.decision(approval));
  await assert.rejects(pending, denies("ticket_expired"));
  await assert.rejects(apply(run), denies("ticket_expired"));
  assert.equal(provider.received.length, 0);
});

test("a context never lasts longer than its run", async () => {
  const run = await openApproved();
  const long = contextOf(run, { expires_at: isoTime(Date.parse(run.budget.deadlineAt) + 1) });
  await assert.rejects(bench.gateway.attachTicket(run.id, await sign(long)), denies("ticket_outlives_run"));
});

test("a tampered context, a stranger's signature and plain text are refused without repeating their words", async () => {
  const run = await openApproved();
  const good = await sign(contextOf(run));
  const [header, , signature] = good.split(".");
  const wider = Buffer.from(JSON.stringify({ ...contextOf(run), allowed_operations: ["acme.*"] })).toString(
    "base64url",
  );
  const stranger = generateKeyPairSync("ed25519").privateKey;
  for (const token of [
    `${header}.${wider}.${signature}`,
    await sign(contextOf(run), "k1", stranger),
    await sign(contextOf(run), "k9"),
    "jira:OPS-17",
  ]) {
    await assert.rejects(bench.gateway.attachTicket(run.id, token), denies("ticket_signature_invalid"));
  }
  await hasNoTicket(run);
  assert.ok(
    bench.eventsOf("ticket_observed").every(({ accepted, ticket_ref }) => !accepted && ticket_ref === "unverified"),
  );
  assert.equal(bench.eventsOf("ticket_observed").length, 4);
});

test("a configured issuer's context counts while policy names that issuer, and no longer", async () => {
  const keys = generateKeyPairSync("ed25519");
  bench.issuers.push({ kind: "issuer", name: "tickets.example", keyId: "k-desk", publicKey: keys.publicKey });
  const run = await openApproved();
  const token = await sign(contextOf(run, { issuer: "tickets.example" }), "k-desk", keys.privateKey);
  await bench.gateway.attachTicket(run.id, token);
  assert.equal((await apply(run)).outcome, "success");
  const intent = bench.events().find(({ event_type }) => event_type === "action.intent");
  assert.ok(intent?.event_type === "action.intent" && intent.actor.human_requester === null);
  bench.issuers.pop();
  await assert.rejects(apply(run), denies("ticket_signature_invalid"));
  assert.equal(provider.received.length, 1);
});

test("the card shows the ticket, and what was shown is what is used", async () => {
  const run = await openApproved();
  await attach(run);
  const pending = apply(run, undefined, ASKED);
  const approval = await bench.waiting();
  assert.deepEqual(
    [approval.card?.ticket?.system, approval.card?.ticket?.reference, approval.card?.ticket?.issued_by],
    ["jira", "OPS-17", "ada"],
  );
  const card = approval.card;
  assert.ok(
    card !== null && card !== undefined && renderCard(card).some((line) => /ticket +OPS-17 in jira/.test(line)),
  );
  // A context attached meanwhile is not the one on the card.
  await attach(run, { ticket_ref: "jira:OPS-18" });
  await bench.gateway.desk.decide(bench.decision(approval));
  await assert.rejects(pending, denies("ticket_scope_mismatch"));
  assert.equal(provider.received.length, 0);
});

test("an approval brings no ticket along where the card asks for none", async () => {
  const run = await openApproved();
  await attach(run);
  const pending = apply(run, undefined, ASKED);
  const approval = await bench.waiting();
  const ticket_context = await sign(contextOf(run));
  const decision = bench.decision(approval, { ticket_context });
  await assert.rejects(bench.gateway.desk.decide(decision), denies("ticket_invalid"));
  await bench.gateway.desk.decide(bench.decision(approval));
  assert.equal((await pending).outcome, "success");
});

test("an emergency carries marker, reason, approver and the time the normal ticket was opened", async () => {
  const run = await openApproved();
  const emergency = { reason: "database down", normal_ticket_opened_at: "2030-01-01T00:00:00Z" };
  await attach(run, { emergency });
  const pending = apply(run, undefined, ASKED);
  const { card } = await bench.waiting();
  assert.ok(card !== null && card !== undefined);
  assert.ok(renderCard(card).some((line) => /EMERGENCY +"database down", declared by ada/.test(line)));
  await bench.approve();
  await pending;
  const intent = bench.events().find(({ event_type }) => event_type === "action.intent");
  assert.ok(intent?.event_type === "action.intent");
  assert.deepEqual({ ...intent.emergency }, { ...emergency, approver: "ada" });
});

test("a batch ties its attempts together by its identifier and manifest digest", async () => {
  const run = await openApproved();
  const batch = { change_execution_id: "chg-9", manifest_digest: `sha256:${"a".repeat(64)}` };
  await attach(run, { batch });
  await apply(run);
  await apply(run);
  const intents = bench.eventsOf("action.intent");
  assert.equal(new Set(intents.map(({ event_id }) => event_id)).size, 2);
  assert.deepEqual(
    intents.map((event) => event.event_type === "action.intent" && [event.change_execution_id, event.manifest_digest]),
    [Object.values(batch), Object.values(batch)],
  );
});

test("a redirect does not lead a ticketed call to a target that the ticket does not name", async () => {
  const run = await openApproved();
  await attach(run);
  provider.answer((request, response) => {
    if (request.url.includes("p1")) response.writeHead(307, { location: "/v1/projects/p2/roles" }).end();
    else response.writeHead(200).end();
  });
  assert.equal((await apply(run)).outcome, "unknown");
  assert.deepEqual(
    provider.received.map(({ url }) => url),
    ["/v1/projects/p1/roles"],
  );
});

test("a key that cannot verify anything is a fault of ours, and says nothing of the ticket", async () => {
  const run = await openApproved();
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  bench.issuers.push({ kind: "issuer", name: "desk", keyId: "k-rsa", publicKey });
  const token = await sign(contextOf(run, { issuer: "desk" }), "k-rsa");
  await assert.rejects(bench.gateway.attachTicket(run.id, token), (error) => !(error instanceof Denied));
  assert.equal(bench.eventsOf("ticket_observed").length, 0);
});

test("nothing is attached to a run that ended or never was", async () => {
  const run = await openApproved();
  const token = await sign(contextOf(run));
  caller.become({ kind: "gone" });
  await untilDone(bench.time, 0, () => run.state === "ended");
  await assert.rejects(bench.gateway.attachTicket(run.id, token), denies("run_ended"));
  await assert.rejects(bench.gateway.attachTicket(undefined, token), denies("not_found"));
  assert.throws(() => bench.gateway.ticketOf(undefined), denies("not_found"));
});
