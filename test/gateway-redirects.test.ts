import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import { signContext } from "../src/conventions/ticket/sign.ts";
import type { Approval } from "../src/gateway/approval/question.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { isoTime } from "../src/kernel/clock.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { type ManualTime, untilDone } from "./support/clock.ts";
import { type Bench, operatorKeys, startBench } from "./support/gateway.ts";
import { grantFor } from "./support/grant.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

const PLAIN = "acme.role.apply";
const TICKETED = "acme.role.ticketed";

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
let run: Run;
let folder: string;
let status: number;

beforeEach(async () => {
  provider = await startProvider();
  folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  status = 307;
  provider.answer(({ url }, response) => {
    if (url === "/v1/elsewhere") response.writeHead(200, { "content-type": "application/json" }).end("{}");
    else response.writeHead(status, { location: "/v1/elsewhere" }).end();
  });
  caller = scriptedCaller();
  await startGateway();
  run = await openApproved();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

const write = (name: string, needs: string): string => `
  ${name}:
    effect: write
    retry: non_idempotent_write
    ${needs}
    request: { method: POST, path: "/v1/roles/{id}", body: application/json }
    input: { id: { in: path, type: string }, role: { in: body, type: string } }`;

async function startGateway(time?: ManualTime): Promise<void> {
  const pack = `
format: gw.pack/v1
pack: acme
provider:
  origin: ${provider.origin}
  credential: acme-token
  auth: { scheme: bearer }
  network: private
  redirects: { origins: [], others: ask }
actions:
  role.list:
    effect: read
    request: { method: GET, path: "/v1/teams/{team}/roles" }
    input: { team: { in: path, type: string }, of: { in: query, type: string } }
  role.vault:
    effect: read
    request: { method: GET, path: "/v1/teams/vault/roles" }
  role.ask:
    effect: read
    needs: { approval: each_use }
    request: { method: GET, path: "/v1/teams/{team}/roles" }
    input: { team: { in: path, type: string } }${write("role.apply", "needs: { approval: session }")}${write("role.ticketed", "needs: { ticket: true }")}
`;
  bench = await startBench(pack, {
    folder,
    ...(time === undefined ? {} : { time }),
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
  });
}

async function openApproved(): Promise<Run> {
  return bench.openApproved(caller, [PLAIN, TICKETED]);
}

const call = (action = PLAIN): Promise<CallResult> =>
  bench.gateway.startCall(caller, run.id, { action, input: { id: "7", role: "viewer" } }).done;
const sent = (): readonly string[] => provider.received.map(({ method, url }) => `${method} ${url}`);

async function redirectCard(): Promise<Approval> {
  const approval = await bench.waiting();
  assert.equal(approval.mode, "redirect");
  assert.equal(approval.card?.call?.target, `${provider.origin}/v1/elsewhere`);
  return approval;
}

/** What a card says of a redirect. */
const notesOf = ({ card }: Approval): string => card?.notes.join("; ") ?? "";
const read = (run: Run, action: string, input: JsonObject) =>
  bench.gateway.startCall(caller, run.id, { action, input });

async function attachTicket(...paths: readonly string[]): Promise<void> {
  const nowMs = bench.time.clock.wallMs();
  const context = {
    ticket_ref: "jira:OPS-17",
    allowed_targets: paths.map((path) => `${provider.origin}${path}?role=viewer`),
    allowed_operations: [TICKETED],
    expires_at: isoTime(nowMs + 50_000),
    issued_for_run: run.id,
    issuer: "ada",
    issued_at: isoTime(nowMs),
    observed_state: "in progress",
  };
  await bench.gateway.attachTicket(run.id, await signContext(context, { keyId: "k1", key: operatorKeys.privateKey }));
}

test("an approved redirect rests on the card that was signed for it, and on no other", async () => {
  const calling = call();
  const { approvalId } = await redirectCard();
  await bench.approve();
  const result = await calling;
  assert.equal(result.outcome, "success");
  assert.deepEqual(sent(), ["POST /v1/roles/7", "POST /v1/elsewhere"]);
  assert.equal(provider.received[1]?.body, '{"role":"viewer"}');
  const [first, second] = bench.eventsOf("intent_accepted");
  assert.match(String(first?.authorization), /^session:/);
  assert.equal(second?.authorization, `each_use:${approvalId}`);
  assert.equal(second?.path, "/v1/elsewhere");
  const granted = bench.eventsOf("authorization_granted").at(-1);
  assert.equal(granted?.approval_id, approvalId);
  assert.equal(granted?.target, `${provider.origin}/v1/elsewhere`);
});

test("a 303 of an approved write fetches an answer with GET and nothing else, and that is no receipt of the write", async () => {
  status = 303;
  const calling = call();
  await redirectCard();
  await bench.approve();
  const result = await calling;
  assert.deepEqual(sent(), ["POST /v1/roles/7", "GET /v1/elsewhere"]);
  assert.equal(provider.received[1]?.body, "");
  assert.equal(provider.received[1]?.headers["content-type"], undefined);
  assert.equal(result.outcome, "unknown");
  assert.notEqual(result.operation_id, null);
});

test("what nobody agreed to is not sent on, and stays unknown", async () => {
  const calling = call();
  await redirectCard();
  await bench.deny("no");
  assert.equal((await calling).outcome, "unknown");
  assert.deepEqual(sent(), ["POST /v1/roles/7"]);
});

test("a ticket covers the new place too, or the redirect is not sent although a person agreed", async () => {
  await attachTicket("/v1/roles/7");
  const refused = call(TICKETED);
  await redirectCard();
  await bench.approve();
  assert.equal((await refused).outcome, "unknown");
  assert.deepEqual(sent(), ["POST /v1/roles/7"]);
  await bench.gateway.settle(bench.settlement(String((await refused).operation_id), false));
  await attachTicket("/v1/roles/7", "/v1/elsewhere");
  const covered = call(TICKETED);
  assert.equal((await redirectCard()).card?.ticket?.reference, "OPS-17");
  await bench.approve();
  assert.equal((await covered).outcome, "success");
  assert.deepEqual(sent().slice(1), ["POST /v1/roles/7", "POST /v1/elsewhere"]);
});

test("a ticket that ran out while the person thought is no ticket any more", async () => {
  await attachTicket("/v1/roles/7", "/v1/elsewhere");
  const calling = call(TICKETED);
  await redirectCard();
  await bench.time.advance(60_000);
  await bench.approve();
  assert.equal((await calling).outcome, "unknown");
  assert.deepEqual(sent(), ["POST /v1/roles/7"]);
  assert.equal(run.budget.attemptsUsed, 1, "what is refused for its ticket is no attempt");
});

test("a call that was killed between two sends is recovered from its claim alone, and the same call is not sent", async () => {
  call().catch(() => undefined);
  await redirectCard();
  await untilDone(bench.time, 0, () => bench.rows("attempts", "sent").length === 0);
  assert.deepEqual(bench.rows("attempts", "unknown"), []);
  const { time } = bench;
  await bench.abandon();
  await startGateway(time);
  run = await openApproved();
  const refusal = await call().then(
    () => assert.fail("it was sent"),
    (error: unknown) => error,
  );
  assert.ok(refusal instanceof Denied && refusal.code === "outcome_unsettled", String(refusal));
  assert.equal((refusal.extra["open"] as { readonly state: string }).state, "create_unknown");
  assert.deepEqual(
    bench.eventsOf("operation_transition").map(({ to }) => to),
    ["create_pending", "create_unknown"],
  );
  const [operation = assert.fail()] = bench.gateway.operations.list();
  assert.equal(operation.id, refusal.extra["operation_id"]);
  assert.deepEqual([operation.state, operation.action], ["create_unknown", PLAIN]);
  assert.deepEqual(sent(), ["POST /v1/roles/7"]);
});

test("a redirect within the action's own path goes where a person let its arguments go, and elsewhere needs a card", async () => {
  const one = (input: string, value: string) =>
    ({ action: "acme.role.list", kind: "one_of", input, values: [value] }) as const;
  for (const [where, location, sends] of [
    [[], "/v1/teams/b/roles?of=y", 2],
    [[one("team", "a")], "/v1/teams/a/roles?of=y", 2],
    [[one("team", "a")], "/v1/teams/b/roles?of=x", 1],
    [[one("of", "x")], "/v1/teams/b/roles?of=x", 2],
    [[one("of", "x")], "/v1/teams/a/roles?of=y", 1],
  ] as const) {
    const before = provider.received.length;
    provider.answer(({ url }, response) => {
      if (provider.received.length > before + 1)
        response.writeHead(200, { "content-type": "application/json" }).end("{}");
      else response.writeHead(url === "/v1/teams/a/roles?of=x" ? 302 : 500, { location }).end();
    });
    const narrowed = await bench.openRun(caller, ["acme.role.list"]);
    await bench.approve({ actions: null, request_bytes: null, budget: null, where });
    await narrowed.admission?.session;
    const input = { team: "a", of: "x" };
    const listing = bench.gateway.startCall(caller, narrowed.id, { action: "acme.role.list", input }).done;
    if (sends === 1) {
      assert.equal((await bench.waiting()).mode, "redirect");
      await bench.deny("not there");
    }
    assert.equal((await listing).outcome, sends === 1 ? "error" : "success", JSON.stringify({ where, location }));
    assert.equal(provider.received.length, before + sends);
  }
});

test("the credential stays behind where it is not bound, and does not come back from there", async () => {
  const other = await startProvider();
  try {
    other.answer((_request, response) =>
      response.writeHead(302, { location: `${provider.origin}/v1/elsewhere` }).end(),
    );
    provider.answer(({ url }, response) =>
      url === "/v1/elsewhere"
        ? response.writeHead(200).end()
        : response.writeHead(302, { location: `${other.origin}/v1/roles` }).end(),
    );
    const run = await bench.openApproved(caller, ["acme.role.list"]);
    const listing = read(run, "acme.role.list", { team: "a", of: "x" });
    for (const url of [`${other.origin}/v1/roles`, `${provider.origin}/v1/elsewhere`]) {
      const approval = await bench.waiting();
      assert.deepEqual(listing.wait, { approvalId: approval.approvalId });
      assert.equal(approval.card?.call?.target, url);
      assert.match(notesOf(approval), /the credential stays behind/);
      await bench.approve();
      await untilDone(bench.time, 0, () => !bench.gateway.desk.list().includes(approval));
    }
    assert.equal((await listing.done).outcome, "success");
    assert.equal(listing.wait, null);
    const lent = [...provider.received, ...other.received].map(({ headers }) => headers.authorization !== undefined);
    assert.deepEqual(lent, [true, false, false]);
  } finally {
    await other.close();
  }
});

test("a credential that asks on every use asks for a redirect within the own path too, and for a retry as what it is", async () => {
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  const answers = [503, 302];
  provider.answer((_request, response) =>
    response.writeHead(answers.shift() ?? 200, { location: "/v1/teams/b/roles?of=y" }).end(),
  );
  const run = await bench.openRun(caller, ["acme.role.list"]);
  const { done } = read(run, "acme.role.list", { team: "a", of: "x" });
  const cards: string[] = [];
  let over = false;
  void done.finally(() => (over = true));
  await untilDone(bench.time, 200, () => {
    const [asked] = bench.gateway.desk.list();
    if (asked === undefined || asked.card === null) return over;
    cards.push(/answered with a redirect/.test(notesOf(asked)) ? "redirect" : "no redirect");
    void bench.gateway.desk.decide(bench.decision(asked, cards.length < 3 ? {} : { decision: "deny", reason: "no" }));
    return over;
  });
  assert.equal((await done).outcome, "error");
  assert.deepEqual(cards, ["no redirect", "no redirect", "redirect"]);
  assert.deepEqual(sent(), Array(2).fill("GET /v1/teams/a/roles?of=x"));
});

test("what a person takes away on the card of a redirect is not sent there", async () => {
  const calling = call();
  await redirectCard();
  await bench.approve({ actions: [TICKETED], request_bytes: null, budget: null });
  assert.equal((await calling).outcome, "unknown");
  assert.deepEqual(sent(), ["POST /v1/roles/7"]);
});

test("what a grant puts on the arguments holds after a redirect", async () => {
  provider.answer((_request, response) => response.writeHead(302, { location: "/v1/teams/b/roles?of=x" }).end());
  const conditions = [{ kind: "one_of", input: "team", values: ["a"] }] as const;
  bench.grants.push(grantFor(bench, "acme.role.list", { conditions }));
  const granted = await bench.openRun(caller, ["acme.role.list"]);
  const { done } = read(granted, "acme.role.list", { team: "a", of: "x" });
  assert.equal((await bench.waiting()).mode, "redirect");
  await bench.deny("not there");
  assert.equal((await done).outcome, "error");
  assert.deepEqual(sent(), ["GET /v1/teams/a/roles?of=x"]);
});

test("a redirect to the path of another action is none within the own path", async () => {
  provider.answer((_request, response) => response.writeHead(302, { location: "/v1/teams/vault/roles" }).end());
  const reading = await bench.openApproved(caller, ["acme.role.list"]);
  const input = { team: "a", of: "x" };
  const listing = bench.gateway.startCall(caller, reading.id, { action: "acme.role.list", input }).done;
  assert.equal((await bench.waiting()).mode, "redirect");
  await bench.deny("not there");
  assert.equal((await listing).outcome, "error");
  assert.deepEqual(sent(), ["GET /v1/teams/a/roles?of=x"]);
});

test("what a person put on the arguments holds after a redirect that they agreed to, and for a call with a card of its own", async () => {
  provider.answer(({ url }, response) => {
    const location = url?.startsWith("/v1/teams/a") === true ? "/v1/elsewhere" : "/v1/teams/b/roles";
    response.writeHead(302, { location }).end();
  });
  const one = (action: string) => ({ action, kind: "one_of", input: "team", values: ["a"] }) as const;
  const all = { actions: null, request_bytes: null, budget: null };
  const narrowed = await bench.openRun(caller, ["acme.role.list", "acme.role.ask"]);
  await bench.approve({ ...all, where: [one("acme.role.list")] });
  await narrowed.admission?.session;
  const start = (action: string, input: { team: string; of?: string }) =>
    bench.gateway.startCall(caller, narrowed.id, { action, input }).done;
  const listing = start("acme.role.list", { team: "a", of: "x" });
  await redirectCard();
  await bench.approve();
  assert.equal((await bench.waiting()).card?.call?.target, `${provider.origin}/v1/teams/b/roles`);
  await bench.deny("not there");
  assert.equal((await listing).outcome, "error");
  assert.deepEqual(sent(), ["GET /v1/teams/a/roles?of=x", "GET /v1/elsewhere"]);
  provider.answer((_request, response) => response.writeHead(302, { location: "/v1/teams/b/roles" }).end());
  const asking = start("acme.role.ask", { team: "a" });
  await bench.waiting();
  await bench.approve({ ...all, where: [one("acme.role.ask")] });
  assert.equal((await bench.waiting()).mode, "redirect");
  await bench.deny("nor here");
  assert.equal((await asking).outcome, "error");
  assert.deepEqual(sent().slice(2), ["GET /v1/teams/a/roles"]);
});
