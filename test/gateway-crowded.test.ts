import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { createHttpTransport } from "../src/adapters/transport/http/transport.ts";
import type { AuditEvent } from "../src/audit/event.ts";
import type { Credentials } from "../src/gateway/ports.ts";
import { createEnvelope } from "../src/gateway/record/record.ts";
import { type Bell, createBell } from "../src/gateway/webhook/bell.ts";
import { createIds, type PlanId } from "../src/kernel/ids.ts";
import { Secret } from "../src/kernel/secret.ts";
import { checkHost } from "../src/programs/daemon/check-host.ts";
import { suspendCredentials } from "../src/programs/daemon/upgrade.ts";
import { openHome } from "../src/vault/files/home.ts";
import { openService } from "../src/vault/lend.ts";
import { firstPolicy } from "../src/vault/policy/change.ts";
import { signPolicy } from "../src/vault/policy/verify.ts";
import { founding, HOST_KEY, ORIGIN, ports, refuses, withTokens } from "../src/vault/testing/fixture.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack, previewBody } from "./support/consequential.ts";
import { type CrowdedLog, crowdedLog } from "./support/crowded-log.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;
let log: CrowdedLog;
let caller: ScriptedCaller;

beforeEach(async () => {
  provider = await startProvider();
  log = crowdedLog();
  caller = scriptedCaller();
  bench = await startBench(consequentialPack(provider.origin), {
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    wrapAudit: log.wrapAudit,
  });
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

/** What it comes to once there is room; nothing came of it before. */
async function onceRoom<Value>(work: Promise<Value>): Promise<Value> {
  let done = false;
  const note = () => {
    done = true;
  };
  work.then(note, note);
  await untilDone(bench.time, 0, () => log.full);
  await bench.time.advance(1_000);
  assert.equal(done, false);
  log.fullAfter = null;
  log.full = false;
  await untilDone(bench.time, 50, () => done);
  return work;
}

/** What writes for the gateway beside its own rooms. */
const envelope = () => createEnvelope(createIds(bench.time.clock, { bytes: randomBytes }), bench.time.clock);

const told = (type: AuditEvent["event_type"]): number => bench.eventsOf(type).length;

test("a plan that its provider refused as stale is told so once the log has room, and the agent hears of it", async () => {
  provider.answer((request, response) => {
    if (request.url.endsWith("/plan")) return answerJson(response, 200, previewBody());
    return answerJson(response, 409, { code: "plan_stale", changed: ["projects/p1"] });
  });
  const run = await bench.openApproved(caller, ["acme.membership.*"]);
  const input = { project_id: "p1", subject_id: "u1", role: "editor", if_match: "r7" };
  const { plan } = await bench.gateway.startPlan(caller, run.id, { action: "acme.membership.apply", input }).done;
  const { done } = bench.gateway.startExecution(caller, plan?.["plan_id"] as PlanId, "r7");
  log.fullAfter = "attempt_ended";
  await bench.approve();
  await assert.rejects(onceRoom(done), denies("plan_stale"));
  assert.deepEqual([told("plan_rejected"), bench.rows("plans", "rejected").length], [1, 1]);
});

test("what a probe came to is told once the log has room", async () => {
  const run = await bench.gateway.probes.open({
    api: "Acme",
    versions: [{ base: provider.origin, header: null }],
    credentials: [{ label: "main", present: "bearer", name: null, token: Secret.fromText("probe-t0ken") }],
    requests: 10,
    sideEffects: 0,
    operator: "ada",
    operatorKeyId: "k1",
  });
  log.full = true;
  await onceRoom(bench.gateway.probes.close(run, "k1", null));
  assert.equal(told("upgrade_probe_finished"), 1);
});

/** A bell on this gateway, whose one webhook is the provider. */
async function withBell(work: (bell: Bell, givenUp: readonly string[]) => Promise<void>): Promise<void> {
  const http = createHttpTransport();
  const givenUp: string[] = [];
  const { desk, ledger } = bench.gateway;
  const bell = createBell({
    ...{ ...bench.time, http, desk, ledger, envelope: envelope() },
    webhooks: () => [
      {
        ...{ name: "phone", url: `${provider.origin}/ring`, format: "ntfy", secret: null, tellsArguments: false },
        ...{ console: "http://gw.localhost:7717", network: "private" },
      },
    ],
    onGivenUp: (name) => void givenUp.push(name),
    credentials: () => ({ lendHmac: () => assert.fail("no secret"), lendHttp: () => assert.fail("no secret") }),
  });
  try {
    await work(bell, givenUp);
  } finally {
    bell.close();
    await http.close();
  }
}

const rings = (): number => provider.received.filter(({ url }) => url === "/ring").length;

/** What the log says of a card and of who was told, in its order. */
const story = (): readonly string[] =>
  bench.events().flatMap((event) => {
    if (event.event_type === "webhook_sending") return [`sending ${event.attempt}`];
    if (event.event_type === "webhook_ended") return [`${event.result} ${event.attempt}`];
    return event.event_type === "approval_requested" && event.mode !== "session" ? ["asked"] : [];
  });

test("somebody is told of a card that came while the log was full, once there is room, and that was the first try", async () => {
  const run = await bench.openApproved(caller, ["acme.thing.get"]);
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  await withBell(async (bell, givenUp) => {
    log.full = true;
    bench.gateway.startCall(caller, run.id, { action: "acme.thing.get", input: { id: "1" } });
    await bench.waiting();
    await bench.time.advance(10_000);
    assert.deepEqual([rings(), story()], [0, []]);
    log.full = false;
    await untilDone(bench.time, 50, () => story().length === 3);
    assert.deepEqual(story(), ["asked", "sending 1", "delivered 1"]);
    assert.deepEqual([rings(), givenUp, bell.status()[0]?.last?.result], [1, [], "delivered"]);
  });
});

test("how it ended to tell somebody is in the log once there is room, before it is tried again", () =>
  withBell(async () => {
    provider.answer((_request, response) => answerJson(response, rings() === 1 ? 503 : 200, {}));
    log.fullAfter = "webhook_sending";
    await bench.openRun(caller, ["acme.thing.get"]);
    await untilDone(bench.time, 0, () => rings() === 1);
    await bench.time.advance(10_000);
    assert.deepEqual([story(), rings()], [["sending 1"], 1]);
    log.fullAfter = null;
    log.full = false;
    await untilDone(bench.time, 50, () => story().length === 4);
    assert.deepEqual(story(), ["sending 1", "refused 1", "sending 2", "delivered 2"]);
  }));

test("what is refused while the log is full is counted, and told once it has room", async () => {
  const run = await bench.openApproved(caller, ["acme.thing.get"]);
  const refused = () =>
    assert.rejects(
      bench.gateway.startCall(caller, run.id, { action: "acme.thing.post", input: { name: "x" } }).done,
      denies("action_not_permitted"),
    );
  log.full = true;
  for (let time = 0; time < 3; time++) await refused();
  await bench.time.advance(5_000);
  assert.equal(told("denials_counted"), 0);
  log.full = false;
  await untilDone(bench.time, 500, () => told("denials_counted") > 0);
  assert.deepEqual(
    bench.eventsOf("denials_counted").map(({ code, count }) => [code, count]),
    [["action_not_permitted", 3]],
  );
  await refused();
  assert.deepEqual([told("denials_counted"), told("call_denied")], [1, 1]);
});

const login = { operator: "ada", operatorKeyId: "k1", readsOnly: false };

test("what the check of a host showed is told once the log has room, and the operator has it before", async () => {
  const { ledger } = bench.gateway;
  const shown = [{ probe: "try_sftp", verdict: "refused", detail: "only the receiver runs" }] as const;
  const probe = async () => {
    log.full = true;
    return shown;
  };
  let lent = 0;
  const signer = { label: "key", publicKeyBlob: Buffer.alloc(0), algorithm: "ssh-ed25519" as const };
  const credentials = {
    lendSshSigner: () => ({ ...signer, sign: () => assert.fail("nobody connects"), release: () => void lent++ }),
  } as unknown as Credentials;
  const target = { host: "web1", port: 22, user: "gw", hostKey: HOST_KEY, credential: "key" };
  const seen = await checkHost({ ledger, envelope: envelope(), probe }, credentials, target, login);
  assert.deepEqual([seen, lent, told("ssh_check_started"), told("ssh_check_finished")], [shown, 1, 1, 0]);
  log.full = false;
  await untilDone(bench.time, 50, () => told("ssh_check_finished") === 1);
});

test("a credential that is suspended while the log is full is lent no more at once, and that is told once there is room", async () => {
  const { ledger } = bench.gateway;
  const founded = await founding();
  const vault = await withTokens(founded, { acme: "tok-5ecret" });
  const [founder] = vault.operators;
  assert.ok(founder !== undefined);
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  try {
    const home = openHome(join(folder, "home"), ports.random);
    await home.create(vault, signPolicy(firstPolicy(founder), null, founded.operator, vault, ports.clock));
    const service = openService(vault, founded.operator.serviceKey);
    const wallMs = bench.time.clock.wallMs();
    const asked = { labels: ["acme", "none"], reason: "seen elsewhere", wallMs, of: null };
    log.full = true;
    const { suspended } = await suspendCredentials({ ledger, envelope: envelope() }, home, service, asked, null);
    assert.deepEqual([suspended, told("vault_changed")], [["acme"], 0]);
    refuses(() => service.lendHttp("acme", ORIGIN), "credential_disabled");
    log.full = false;
    await untilDone(bench.time, 50, () => told("vault_changed") === 1);
    const [event] = bench.eventsOf("vault_changed");
    assert.deepEqual([event?.change, event?.credential_label], ["disabled", "acme"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
