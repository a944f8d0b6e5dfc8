import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, test } from "node:test";
import type { Card } from "../src/conventions/approval/card.ts";
import { renderCard } from "../src/conventions/approval/render.ts";
import { composeContext } from "../src/conventions/ticket/compose.ts";
import type { TicketService } from "../src/conventions/ticket/lookup.ts";
import { signContext } from "../src/conventions/ticket/sign.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { defaults } from "../src/kernel/defaults.ts";
import type { JsonObject, JsonValue } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { type Bench, denies, operatorKeys, startBench } from "./support/gateway.ts";
import { type Received, startProvider, type TestProvider } from "./support/provider.ts";
import { acmeTicketPack } from "./support/ticket-stand.ts";

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
/** What the ticket service says of any ticket that it is asked for; the test changes it. */
let ticketAnswer: (request: Received, response: ServerResponse) => void;
let applyAnswer: (request: Received, response: ServerResponse) => void;

const APPLY = "acme.role.apply";
const VIEW = { project_id: "p1", role: "viewer" };
const service: TicketService = {
  system: "tracker",
  action: "acme.ticket.get",
  referenceInput: "key",
  referenceField: "/key",
  stateField: "/status/name",
  openStates: ["In Progress"],
  targetsField: null,
  operationsField: null,
};
const open = { key: "OPS-17", status: { name: "In Progress" } };
const say = (body: JsonValue, status = 200) => {
  ticketAnswer = (_request, response) =>
    void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
};

beforeEach(async () => {
  provider = await startProvider();
  say(open);
  applyAnswer = (_request, response) => void response.writeHead(200, { "content-type": "application/json" }).end("{}");
  provider.answer((request, response) =>
    request.url.startsWith("/tickets/") ? ticketAnswer(request, response) : applyAnswer(request, response),
  );
  bench = await startBench(packText(provider.origin));
  prepare();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

const packText = (origin: string): string =>
  acmeTicketPack(
    origin,
    `  ticket.get:
    effect: read
    request: { method: GET, path: "/tickets/{key}" }
    input:
      key: { in: path, type: string, maxLength: 64 }
  ticket.ask:
    effect: read
    needs: { approval: each_use }
    request: { method: GET, path: "/tickets/{key}" }
    input:
      key: { in: path, type: string, maxLength: 64 }
  ticket.close:
    effect: write
    request: { method: POST, path: "/tickets/{key}/close" }
    input:
      key: { in: path, type: string, maxLength: 64 }
  ticket.list:
    effect: read
    request: { method: GET, path: "/tickets/{key}/all" }
    input:
      key: { in: path, type: string, maxLength: 64 }
    pages: { items: data, cursor: next, cursor_param: after }
  ticket.guarded:
    effect: read
    needs: { ticket: true }
    request: { method: GET, path: "/tickets/{key}/guarded" }
    input:
      key: { in: path, type: string, maxLength: 64 }
  ticket.two:
    effect: read
    request: { method: GET, path: "/tickets/{key}/{part}" }
    input:
      key: { in: path, type: string, maxLength: 64 }
      part: { in: path, type: string, maxLength: 64 }
`,
  );

function prepare(): void {
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  bench.services.push(service);
  caller = scriptedCaller();
}

async function openAssigned(ref = "tracker:OPS-17"): Promise<Run> {
  const run = await bench.openApproved(caller, [APPLY]);
  const assignment = {
    ref,
    operations: [APPLY],
    targets: [`${provider.origin}/v1/projects/p1/roles`, `${provider.origin}/v1/projects/p2/roles`],
    state: "as I was told",
    emergency: null,
  };
  const bounds = { id: run.id, deadlineMs: Date.parse(run.budget.deadlineAt) };
  const context = composeContext(assignment, bounds, "ada", bench.time.clock.wallMs());
  await bench.gateway.attachTicket(run.id, await signContext(context, { keyId: "k1", key: operatorKeys.privateKey }));
  return run;
}

const apply = (run: Run, input: JsonObject = VIEW) =>
  bench.gateway.startCall(caller, run.id, { action: APPLY, input }).done;

const asked = (): readonly string[] => provider.received.map(({ method, url }) => `${method} ${url}`);

test("at the checkpoint the gateway reads the ticket itself, and the intent carries what it saw beside who assigned it", async () => {
  const run = await openAssigned();
  const before = run.budget.attemptsUsed;
  assert.equal((await apply(run)).outcome, "success");
  assert.deepEqual(asked(), ["GET /tickets/OPS-17", "POST /v1/projects/p1/roles"]);
  assert.equal(run.budget.attemptsUsed - before, 2, "the read is an attempt of the run");
  const [read, write] = bench.eventsOf("intent_accepted");
  assert.deepEqual([read?.action, write?.action], ["acme.ticket.get", APPLY]);
  const [intent] = bench.eventsOf("action.intent");
  const seen = bench.eventsOf("ticket_observed").at(-1);
  assert.deepEqual([intent?.ticket?.reference, intent?.ticket?.observed_state], ["OPS-17", "In Progress"]);
  assert.equal(intent?.ticket?.observed_at, seen?.observed_at);
  assert.deepEqual({ ...intent?.ticket_lookup }, { action: "acme.ticket.get", attempt_id: read?.event_id });
  assert.equal(intent?.actor.human_requester, "ada");
  assert.deepEqual([seen?.accepted, seen?.observed_state], [true, "In Progress"]);
});

test("a ticket that is not open, a lying, silent or broken service: nothing is sent", async () => {
  const run = await openAssigned();
  const lies: readonly (readonly [JsonValue, number, Parameters<typeof denies>[0]])[] = [
    [{ ...open, status: { name: "Closed" } }, 200, "ticket_not_open"],
    [{ ...open, key: "OPS-18" }, 200, "ticket_unconfirmed"],
    [{ ...open, key: ["OPS-17"] }, 200, "ticket_unconfirmed"],
    [{ key: "OPS-17" }, 200, "ticket_unconfirmed"],
    [[open], 200, "ticket_unconfirmed"],
    [open, 404, "ticket_unconfirmed"],
    [open, 500, "ticket_unconfirmed"],
  ];
  for (const [body, status, code] of lies) {
    say(body, status);
    await assert.rejects(apply(run), denies(code), JSON.stringify(body));
  }
  ticketAnswer = (_request, response) => void response.socket?.destroy();
  await assert.rejects(apply(run), denies("ticket_unconfirmed"));
  ticketAnswer = (_request, response) =>
    void response.writeHead(200, { "content-type": "application/json" }).end('{"key":"OPS-17","key":"OPS-17"}');
  await assert.rejects(apply(run), denies("ticket_unconfirmed"));
  ticketAnswer = (_request, response) => void response.writeHead(302, { location: "/tickets/OPS-99" }).end();
  await assert.rejects(apply(run), denies("ticket_unconfirmed"));
  assert.ok(asked().every((line) => line === "GET /tickets/OPS-17"));
  const refused = bench.eventsOf("ticket_observed").filter(({ accepted }) => !accepted);
  assert.equal(refused.length, lies.length + 3);
  assert.equal(bench.eventsOf("action.intent").length, 0);
});

test("the reference that is looked up is the signed one, whatever the agent writes", async () => {
  const run = await openAssigned();
  await assert.rejects(apply(run, { ...VIEW, key: "OPS-99" }), denies("schema_violation"));
  await assert.rejects(
    apply(run, { project_id: "p1", role: "viewer", ticket: "tracker:OPS-99" }),
    denies("schema_violation"),
  );
  await apply(run, { project_id: "p1", role: "tracker:OPS-99" });
  assert.deepEqual(asked(), ["GET /tickets/OPS-17", "POST /v1/projects/p1/roles"]);
});

test("where the service limits targets and operations, it and the signed context both have to cover the call", async () => {
  bench.services.splice(0, 1, { ...service, targetsField: "/targets", operationsField: "/operations" });
  const run = await openAssigned();
  const target = `${provider.origin}/v1/projects/p1/roles?role=viewer`;
  say({ ...open, targets: [target], operations: [APPLY] });
  assert.equal((await apply(run)).outcome, "success");
  await assert.rejects(apply(run, { project_id: "p1", role: "owner" }), denies("ticket_scope_mismatch"));
  await assert.rejects(apply(run, { project_id: "p2", role: "viewer" }), denies("ticket_scope_mismatch"));
  say({ ...open, targets: [target], operations: ["acme.other"] });
  await assert.rejects(apply(run), denies("ticket_scope_mismatch"));
  // The service allows p3, the signed context does not: nobody is even asked.
  say({ ...open, targets: [`${provider.origin}/v1/projects/p3/roles`], operations: [APPLY] });
  const reads = asked().length;
  await assert.rejects(apply(run, { project_id: "p3", role: "viewer" }), denies("ticket_scope_mismatch"));
  assert.equal(asked().length, reads);
});

test("a redirect leads a confirmed write nowhere", async () => {
  const run = await openAssigned();
  applyAnswer = (_request, response) => void response.writeHead(307, { location: "/v1/projects/p2/roles" }).end();
  assert.equal((await apply(run)).outcome, "unknown");
  assert.deepEqual(asked(), ["GET /tickets/OPS-17", "POST /v1/projects/p1/roles"]);
});

test("where a person lets a redirect lead a confirmed write, the service is asked again, about that place", async () => {
  await bench.close();
  const asks = "network: private\n  redirects: { origins: [], others: ask }\n";
  bench = await startBench(packText(provider.origin).replace("network: private\n", asks));
  prepare();
  bench.services.splice(0, 1, { ...service, targetsField: "/targets" });
  applyAnswer = ({ url }, response) => {
    if (url === "/v1/projects/p2/roles") return response.writeHead(200).end("{}");
    return response.writeHead(307, { location: "/v1/projects/p2/roles" }).end();
  };
  const run = await openAssigned();
  const targets = ["p1", "p2"].map((id) => `${provider.origin}/v1/projects/${id}/roles`);
  const once = ["GET /tickets/OPS-17", "POST /v1/projects/p1/roles", "GET /tickets/OPS-17"];
  for (const [named, role] of [
    [1, "viewer"],
    [2, "owner"],
  ] as const) {
    say({ ...open, targets: targets.slice(0, named) });
    const before = asked().length;
    const applying = apply(run, { project_id: "p1", role });
    await bench.approve();
    assert.equal((await applying).outcome, named === 1 ? "unknown" : "success");
    assert.deepEqual(asked().slice(before), named === 1 ? once : [...once, "POST /v1/projects/p2/roles"]);
  }
});

test("what the service said counts for a while and is then asked again, also before a retry", async () => {
  const run = await openAssigned();
  let tries = 0;
  applyAnswer = (_request, response) => {
    tries++;
    const wait = { "retry-after": String(defaults.ticketObservedMs / 1000) };
    if (tries === 1) response.writeHead(503, wait).end();
    else response.writeHead(200, { "content-type": "application/json" }).end("{}");
  };
  const pending = apply(run);
  const ended = pending.then(
    () => true,
    () => true,
  );
  for (let done = false; !done; ) {
    await bench.time.advance(5_000);
    done = await Promise.race([ended, new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))]);
  }
  assert.equal((await pending).outcome, "success");
  assert.deepEqual(asked(), [
    "GET /tickets/OPS-17",
    "POST /v1/projects/p1/roles",
    "GET /tickets/OPS-17",
    "POST /v1/projects/p1/roles",
  ]);
});

test("what the service said is too old when a send had to wait for longer: nothing is sent", async () => {
  const wait = () => bench.time.advance(defaults.ticketObservedMs);
  const counted = { settle: () => undefined, giveBack: () => undefined };
  for (const moment of ["count", "beforeSend"] as const) {
    await bench.close();
    bench = await startBench(packText(provider.origin), {
      hub: {
        admit: () => undefined,
        beforeSend: () => (moment === "beforeSend" ? wait() : Promise.resolve()),
        // The read of the ticket waits as well, and is none that a ticket is needed for.
        count: () => (moment === "count" ? wait().then(() => counted) : null),
        holdsAnswers: () => false,
        beforeAnswer: () => Promise.resolve(),
      },
    });
    prepare();
    const run = await openAssigned();
    const told = await apply(run).catch((error: unknown) => error);
    if (moment === "count") assert.ok(denies("ticket_unconfirmed")(told));
    else assert.match(JSON.stringify(told), /never_sent.*ticket_unconfirmed/);
  }
  assert.deepEqual(asked(), Array(2).fill("GET /tickets/OPS-17"));
});

test("a ticket closed between two tries stops the second", async () => {
  const run = await openAssigned();
  applyAnswer = (_request, response) => {
    say({ ...open, status: { name: "Closed" } });
    response.writeHead(503, { "retry-after": String(defaults.ticketObservedMs / 1000) }).end();
  };
  const pending = apply(run);
  const settled = Promise.allSettled([pending]);
  for (let done = false; !done; ) {
    await bench.time.advance(5_000);
    done = await Promise.race([
      settled.then(() => true),
      new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
    ]);
  }
  assert.equal(asked().filter((line) => line.startsWith("POST")).length, 1);
  assert.equal(asked().at(-1), "GET /tickets/OPS-17");
});

test("a read that is not trusted any more, asks on each use or has another credential's mark confirms nothing", async () => {
  const run = await openAssigned();
  for (const name of [
    "ticket.gone",
    "ticket.ask",
    "ticket.close",
    "ticket.list",
    "ticket.guarded",
    "ticket.two",
    "role.apply",
  ]) {
    bench.services.splice(0, 1, { ...service, action: `acme.${name}` });
    await assert.rejects(apply(run), denies("ticket_unconfirmed"), name);
  }
  bench.services.splice(0, 1, { ...service, referenceInput: "id" });
  await assert.rejects(apply(run), denies("ticket_unconfirmed"));
  bench.services.splice(0, 1, service);
  const long = await openAssigned(`tracker:${"x".repeat(65)}`);
  await assert.rejects(apply(long), denies("ticket_unconfirmed"), "a reference that the read does not take");
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  const marked = apply(await openAssigned());
  await bench.approve();
  await assert.rejects(marked, denies("ticket_unconfirmed"), "nobody is asked about the read");
  assert.equal(provider.received.length, 0);
});

test("a system without a service, and an emergency without a ticket, rest on whoever signed them", async () => {
  const run = await openAssigned("jira:OPS-17");
  assert.equal((await apply(run)).outcome, "success");
  assert.deepEqual(asked(), ["POST /v1/projects/p1/roles"]);
  assert.equal(bench.eventsOf("action.intent")[0]?.ticket_lookup, undefined);
  assert.equal(bench.eventsOf("action.intent")[0]?.ticket?.observed_state, "as I was told");
});

test("a ticket that a person names while approving is confirmed by the service before the call is sent", async () => {
  const run = await bench.openApproved(caller, [APPLY]);
  const attempt = async (): Promise<ReturnType<typeof apply>> => {
    const pending = apply(run);
    pending.catch(() => undefined);
    const approval = await bench.waiting();
    const card = approval.card as Card;
    assert.ok(card.ticket_needed !== undefined);
    const assignment = {
      ref: "tracker:OPS-17",
      operations: [card.ticket_needed.operation],
      targets: [card.ticket_needed.target],
      state: null,
      emergency: null,
    };
    const bounds = { id: run.id, deadlineMs: Date.parse(run.budget.deadlineAt) };
    const context = composeContext(assignment, bounds, "ada", bench.time.clock.wallMs());
    const ticket_context = await signContext(context, { keyId: "k1", key: operatorKeys.privateKey });
    await bench.gateway.desk.decide(bench.decision(approval, { ticket_context }));
    return pending;
  };
  assert.equal((await attempt()).outcome, "success");
  const [intent] = bench.eventsOf("action.intent");
  assert.deepEqual([intent?.ticket?.observed_state, intent?.actor.human_requester], ["In Progress", "ada"]);
  say({ ...open, status: { name: "Closed" } });
  await assert.rejects(attempt(), denies("ticket_not_open"));
  assert.equal(asked().filter((line) => line.startsWith("POST")).length, 1);
});

test("the card says which service will be asked, and hostile words of the service reach no card", async () => {
  const run = await bench.openApproved(caller, [APPLY]);
  const pending = apply(run);
  const { card } = await bench.waiting();
  assert.ok(card !== null);
  assert.ok(renderCard(card).some((line) => line.includes("acme.ticket.get")));
  await bench.deny("seen");
  await assert.rejects(pending, denies("approval_denied"));
  // Also where the run has its ticket and the credential asks on every use; a ticket that no service confirms is not read.
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  for (const [ref, read] of [
    ["tracker:OPS-17", true],
    ["jira:OPS-17", false],
  ] as const) {
    caller = scriptedCaller();
    const call = apply(await openAssigned(ref));
    const { card } = await bench.waiting();
    assert.ok(card?.ticket !== undefined);
    assert.equal(
      renderCard(card).some((line) => line.includes("acme.ticket.get")),
      read,
    );
    await bench.deny("seen");
    await assert.rejects(call, denies("approval_denied"));
  }
});
