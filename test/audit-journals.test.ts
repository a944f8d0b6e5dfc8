import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { AuditEvent, NewEvent } from "../src/audit/event.ts";
import { foldActivity } from "../src/audit/journals/activity.ts";
import { foldSessions } from "../src/audit/journals/sessions.ts";
import { fromNewest } from "../src/audit/read/place.ts";
import type { LogItem } from "../src/audit/read/reader.ts";
import { runAuditCheckpoint } from "../src/surfaces/cli/audit/checkpoint.ts";
import { runAuditExport } from "../src/surfaces/cli/audit/export.ts";
import { readJournal } from "../src/surfaces/cli/audit/journals.ts";
import { runAuditVerify } from "../src/surfaces/cli/audit/verify.ts";
import type { CliIo } from "../src/surfaces/cli/io.ts";
import {
  attest,
  copyFolder,
  dissect,
  finishedEvent,
  freshFolder,
  intentEvent,
  type Keys,
  makeKeys,
  openTestLog,
  removeFolders,
  requestFields,
} from "./audit-kit.ts";

const AT = "2025-06-15T15:06:40.000Z";
const keys: Keys = makeKeys();
let folder: string;

after(removeFolders);
before(async () => {
  folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  await attest(log, keys);
  await log.append(sessionEvents("run_1", "ses_1"));
  await log.append([intentEvent(1)]);
  await log.append([finishedEvent(1)]);
  await log.append([intentEvent(2)]);
  await log.append([unobserved(2)]);
  await log.append([denied("run_1")]);
  await log.append([previewing()]);
  await log.append([previewed()]);
  await log.append([reconciled(2)]);
  await log.append([ended("run_1", "ses_1")]);
  await log.append([intentEvent(3)]);
  await log.close();
});

function envelope<Type extends NewEvent["event_type"]>(event_type: Type, id: string) {
  return { event_id: `evt_${id}`, event_type, occurred_at: AT };
}

function sessionEvents(run_id: string, session_id: string): NewEvent[] {
  return [
    {
      ...envelope("run_started", `start_${run_id}`),
      run_id,
      caller_id: "node",
      purpose: "make \u202ereports\u0007",
      actions: ["acme.report.create"],
      budget: { attempts: 40, duration_ms: 600_000, spend_cents: 0, side_effects: 5 },
    },
    {
      ...envelope("caller_evidence", `caller_${run_id}`),
      run_id,
      session: session_id,
      caller: {
        process: { pid: 4, start_time: "9", uid: 1000, pidfd_inode: null },
        path_observed: "/usr/bin/node",
        signing_identifier: null,
        designated_requirement: null,
        cdhash: "sha256:00",
        validity: "package_record",
      },
      authority: "package record, not a signature: nodejs",
      approval: "apr_1",
      action: null,
      result: "approved",
    },
    {
      ...envelope("session_started", `session_${run_id}`),
      run_id,
      session_id,
      approval_id: "apr_1",
      caller: "node",
      scope: ["acme.report.create"],
      approved_by: "ada",
      approved_at: AT,
    },
  ];
}

function ended(run_id: string, session_id: string): NewEvent {
  return {
    ...envelope("session_ended", `end_${run_id}`),
    run_id,
    session_id,
    end_reason: "process_exited",
    ended_at: AT,
  };
}

function unobserved(id: number): NewEvent {
  return {
    ...envelope("outcome_unobserved", `unobserved_${id}`),
    run_id: "run_1",
    attempt_id: `att_${id}`,
    parent_event_id: `evt_intent_${id}`,
    reason: "timeout",
  };
}

function reconciled(id: number): NewEvent {
  return {
    ...envelope("reconciled_success", `reconciled_${id}`),
    run_id: "run_1",
    attempt_id: `att_${id}`,
    receipt: "job_9",
    source: "GET /v1/jobs/9",
  };
}

function denied(run_id: string): NewEvent {
  return { ...envelope("call_denied", "denied"), run_id, code: "out_of_scope", action: "acme.other", caller: "node" };
}

function previewing(): NewEvent {
  return {
    ...envelope("preview_requested", "previewing"),
    run_id: "run_1",
    call_id: "call_9",
    attempt_id: "evt_previewing",
    action: "acme.report.plan",
    request_digest: "sha256:00",
    request: requestFields(null),
  };
}

function previewed(): NewEvent {
  return {
    ...envelope("preview_finished", "preview"),
    run_id: "run_1",
    call_id: "call_9",
    attempt_id: "evt_previewing",
    plan_id: "plan_1",
    executable: true,
    outcome: "succeeded",
    request_digest: "sha256:00",
    request: requestFields(200),
  };
}

/** What a reader would give, without a log. */
function itemsOf(...events: readonly (NewEvent | LogItem)[]): LogItem[] {
  const counts = new Map<string, number>();
  return events.map((event, frame) => {
    if ("kind" in event) return event;
    const journal = event.event_type.startsWith("preview")
      ? "previews"
      : /^(run|session|caller)/.test(event.event_type)
        ? "sessions"
        : "activity";
    const sequence = (counts.get(journal) ?? 0) + 1;
    counts.set(journal, sequence);
    return {
      kind: "record",
      segment: 1,
      frame,
      index: 0,
      journal: "activity",
      event: { ...event, sequence } as AuditEvent,
    };
  });
}

const opened = (reason: "boot" | "crash" | "genesis" | "rotate"): LogItem => ({
  kind: "opened",
  segment: 1,
  frame: 0,
  reason,
  timeSeconds: 0,
});

test("a call is one entry, with the evidence there is for it in order", () => {
  const started: NewEvent = { ...envelope("transport_started", "t"), run_id: "run_1", attempt_id: "att_1" };
  const [entry, ...rest] = foldActivity(itemsOf(intentEvent(1), started, finishedEvent(1)));
  assert.deepEqual(rest, []);
  assert.ok(entry?.kind === "call");
  assert.equal(entry.outcome, "succeeded");
  assert.equal(entry.status, 201);
  assert.equal(entry.credential_label, "acme-token");
  assert.deepEqual(entry.evidence, ["intent_accepted", "transport_started", "action_finished"]);
});

test("a completion finds its intent by the parent event when it names no attempt", () => {
  const { attempt_id: _i, ...intent } = intentEvent(1) as NewEvent & { attempt_id: string };
  const { attempt_id: _f, ...finished } = finishedEvent(1) as NewEvent & { attempt_id: string };
  const entries = foldActivity(itemsOf(intent as NewEvent, finished as NewEvent));
  assert.equal(entries.length, 1);
  assert.ok(entries[0]?.kind === "call" && !entries[0].gap && entries[0].action === "acme.report.create");
});

test("a ticket-linked intent and an accepted intent of one attempt are one call", () => {
  const ticket: NewEvent = {
    ...envelope("action.intent", "ticket"),
    agent_run_id: "run_1",
    attempt_id: "att_1",
    actor: { agent_process: "node", human_requester: "ada" },
    ticket: null,
    action: {
      channel: "http",
      operation: "acme.report.create",
      target: "acme",
      request_digest: "sha256:0",
      idempotency_id: null,
    },
    decision: { reference_required: true, authorized_by: "ada", decision_at: AT },
    request: requestFields(null),
  };
  const entries = foldActivity(itemsOf(ticket, intentEvent(1), finishedEvent(1)));
  assert.equal(entries.length, 1);
  assert.ok(entries[0]?.kind === "call");
  assert.deepEqual(entries[0].evidence, ["action.intent", "intent_accepted", "action_finished"]);
});

test("reconciliation adds an entry and leaves the unknown one as it was", () => {
  const entries = foldActivity(itemsOf(intentEvent(2), unobserved(2), reconciled(2)));
  assert.deepEqual(
    entries.map((entry) => [entry.kind, "outcome" in entry ? entry.outcome : null]),
    [
      ["call", "unknown"],
      ["reconciliation", "succeeded"],
    ],
  );
  assert.ok(entries[1]?.kind === "reconciliation" && entries[1].action === "acme.report.create");
});

test("an intent without a result is pending while the process lives, and a gap once it is known to have stopped", () => {
  const pending = foldActivity(itemsOf(opened("genesis"), intentEvent(1)));
  assert.ok(pending[0]?.kind === "call" && pending[0].outcome === "pending" && !pending[0].gap);
  const stopped = foldActivity([...itemsOf(opened("genesis"), intentEvent(1)), opened("crash")]);
  assert.ok(stopped[0]?.kind === "call" && stopped[0].outcome === "unknown" && stopped[0].gap);
  const rotated = foldActivity([...itemsOf(opened("genesis"), intentEvent(1)), opened("rotate")]);
  assert.ok(rotated[0]?.kind === "call" && rotated[0].outcome === "pending");
});

test("a result whose intent cannot be read is shown with the gap before it", () => {
  const [entry] = foldActivity(itemsOf(finishedEvent(1)));
  assert.ok(entry?.kind === "call" && entry.gap && entry.outcome === "succeeded");
});

test("a missing number in the sequence and an unreadable part are gaps", () => {
  const items = itemsOf(opened("genesis"), intentEvent(1), intentEvent(2), intentEvent(3));
  const entries = foldActivity(items.filter((_, index) => index !== 2));
  assert.ok(entries.some((entry) => entry.kind === "gap" && entry.detail.includes("sequence 3 follows 1")));
  const unreadable: LogItem = { kind: "unreadable", segment: 2, frame: 9, detail: "not for this key" };
  assert.ok(foldActivity([unreadable]).some((entry) => entry.kind === "gap" && entry.frame === 9));
});

test("a flood of denials is one entry with its count; a budget denial is a denial", () => {
  const flood: NewEvent = {
    ...envelope("denials_counted", "flood"),
    code: "rate",
    caller: "node",
    count: 900,
    first_at: AT,
    last_at: AT,
  };
  const budget: NewEvent = {
    ...envelope("budget_denied", "budget"),
    run_id: "run_1",
    attempt: 41,
    logical_operation: "acme.report.create",
    channel: "http",
    destination_class: "side_effect",
    outcome: "denied",
    reason: "attempts_exhausted",
    attempts_remaining: 0,
    elapsed_ms: 5,
    reserved_spend_cents: 0,
  };
  const entries = foldActivity(itemsOf(flood, budget));
  assert.deepEqual(
    entries.map((entry) => (entry.kind === "denial" ? [entry.code, entry.count] : entry.kind)),
    [
      ["rate", 900],
      ["attempts_exhausted", 1],
    ],
  );
});

test("a session is one entry with who, why, by whom, how it ended and what its calls came to", () => {
  const entries = foldSessions(
    itemsOf(
      ...sessionEvents("run_1", "ses_1"),
      intentEvent(1),
      finishedEvent(1),
      denied("run_1"),
      unobserved(7),
      ended("run_1", "ses_1"),
    ),
  );
  assert.equal(entries.length, 1);
  const [entry] = entries;
  assert.ok(entry?.kind === "session");
  assert.equal(entry.state, "ended");
  assert.equal(entry.approved_by, "ada");
  assert.equal(entry.validity, "package_record");
  assert.deepEqual(entry.calls, { succeeded: 1, failed: 0, unknown: 1, denied: 1 });
});

test("a run that never got a session is shown as refused, a session without an end as live", () => {
  const [first] = sessionEvents("run_2", "ses_2");
  assert.ok(first);
  const over: NewEvent = { ...envelope("run_ended", "over"), run_id: "run_2", reason: "approval_denied" };
  const refused = foldSessions(itemsOf(first, over));
  assert.ok(refused[0]?.kind === "session" && refused[0].state === "refused");
  const live = foldSessions([...itemsOf(opened("genesis"), ...sessionEvents("run_3", "ses_3")), opened("crash")]);
  assert.ok(live[0]?.kind === "session" && live[0].state === "live" && live[0].gap);
});

test("the folds are pure: the same records give the same journals, and are not changed", () => {
  const items = itemsOf(opened("genesis"), ...sessionEvents("run_1", "ses_1"), intentEvent(1), finishedEvent(1));
  const before = JSON.stringify(items);
  assert.deepEqual(foldActivity(items), foldActivity(items));
  assert.deepEqual(foldSessions(items), foldSessions(items));
  assert.equal(JSON.stringify(items), before);
});

// The commands.

function capture(): CliIo & { readonly lines: string[]; readonly errors: string[] } {
  const lines: string[] = [];
  const errors: string[] = [];
  const refuse = () => Promise.reject(new Error("no terminal"));
  return {
    lines,
    errors,
    out: (line) => lines.push(line),
    err: (line) => errors.push(line),
    isTty: false,
    color: false,
    askSecret: refuse,
    ask: refuse,
    readSecret: refuse,
  };
}

const never = { wallMs: () => Date.parse(AT), sleep: () => Promise.resolve() };

test("gw activity prints one line a call, hides previews and escapes what others wrote", async () => {
  const io = capture();
  assert.equal(await readJournal("activity", { log: folder }, io, never)(keys.readingKey), 0);
  assert.equal(io.lines.length, 5);
  assert.ok(io.lines.some((line) => line.includes("unknown")) && io.lines.some((line) => line.includes("reconciled")));
  const sessions = capture();
  assert.equal(await readJournal("sessions", { log: folder }, sessions, never)(keys.readingKey), 0);
  assert.equal(sessions.lines.length, 1);
  const previews = capture();
  const words = { log: folder, previews: true };
  assert.equal(await readJournal("activity", words, previews, never)(keys.readingKey), 0);
  const told = previews.lines.filter((line) => line.includes("preview_"));
  assert.equal(told.length, 2);
  for (const line of told) assert.match(line, /acme\.report\.plan .*call_9/);
  assert.match(sessions.lines[0] ?? "", /\\u\{202e\}reports\\u\{7\}/);
});

test("gw activity filters by run, caller, action, outcome and time", async () => {
  const count = async (filter: object): Promise<number> => {
    const io = capture();
    await readJournal("activity", { log: folder, json: true, ...filter }, io, never)(keys.readingKey);
    return (JSON.parse(io.lines.join("\n")) as unknown[]).length;
  };
  assert.equal(await count({}), 5);
  assert.equal(await count({ previews: true }), 7);
  assert.equal(await count({ outcome: "unknown" }), 1);
  assert.equal(await count({ outcome: "denied" }), 1);
  assert.equal(await count({ action: "acme.report.create" }), 4);
  assert.equal(await count({ run: "run_2" }), 0);
  assert.equal(await count({ caller: "/usr/bin/node" }), 3);
  assert.equal(await count({ since: "2025-06-15T15:06:40.500Z" }), 0);
  assert.equal(await count({ until: AT }), 0);
});

test("times are said as people say them, and in any offset of RFC 3339", async () => {
  const count = async (filter: object): Promise<number> => {
    const io = capture();
    await readJournal("activity", { log: folder, json: true, ...filter }, io, never)(keys.readingKey);
    return (JSON.parse(io.lines.join("\n")) as unknown[]).length;
  };
  for (const since of ["1h", "today", "yesterday", "2025-06-15", "2025-06-15T17:06:40+02:00", "2025-06-15 15:06Z"])
    assert.equal(await count({ since }), 5, since);
  for (const since of ["2025-06-15T17:06:41+02:00", "2025-06-15T11:06:41-04:00", "2025-06-16"])
    assert.equal(await count({ since }), 0, since);
  assert.equal(await count({ until: "today" }), 0);
  for (const since of ["soon", "1y", "2025-06-15T15:06:40", "2025-02-30", "2025-02-30T10:00:00Z", ""])
    assert.throws(() => readJournal("activity", { log: folder, since }, capture(), never), {
      code: "value_not_allowed",
    });
});

test("a filter that matches nothing says so, and a value that no entry can have is refused", async () => {
  const io = capture();
  assert.equal(await readJournal("activity", { log: folder, run: "run_2" }, io, never)(keys.readingKey), 0);
  assert.deepEqual([io.lines.length, io.errors.length], [0, 1]);
  for (const wrong of [{ outcome: "sucess" }, { limit: "0" }, { limit: "ten" }, { since: "1h", until: "2h" }])
    assert.throws(() => readJournal("activity", { log: folder, ...wrong }, capture(), never), {
      code: "value_not_allowed",
    });
  assert.throws(() => readJournal("sessions", { log: folder, outcome: "succeeded" }, capture(), never));
});

test("the newest rows are the same however little of the log is read for them, over every kind of row and segment", async () => {
  const long = freshFolder();
  for (const part of [0, 1, 2]) {
    const log = await openTestLog(long, { keys, limits: { segmentBytes: 6_000 } });
    for (let id = part * 40 + 1; id <= part * 40 + 40; id++) {
      await log.append([intentEvent(id)]);
      if (id % 7 === 0) await log.append([unobserved(id)]);
      if (id > 2 && (id - 2) % 7 !== 0) await log.append([finishedEvent(id - 2)]);
      if (id % 11 === 0) await log.append([denied("run_1")]);
      if (id % 14 === 3) await log.append([reconciled(id - 3)]);
    }
    await log.close();
  }
  const page = async (limit: number, windowBytes: number): Promise<readonly string[]> => {
    const io = capture();
    const options = { log: long, json: true, limit: String(limit) };
    await readJournal("activity", options, io, { ...never, windowBytes })(keys.readingKey);
    return io.lines;
  };
  let partly = 0;
  for (const limit of [1, 3, 20, 70]) {
    const whole = await page(limit, Number.POSITIVE_INFINITY);
    for (const windowBytes of [300, 900, 2_500, 7_001, 20_000, 50_000]) {
      if (fromNewest(long, windowBytes) !== undefined) partly++;
      assert.deepEqual(await page(limit, windowBytes), whole, `${limit} of ${windowBytes} bytes`);
    }
  }
  assert.ok(partly > 12, "most windows are smaller than the log");
  const rows = capture();
  await readJournal("activity", { log: long, limit: "2" }, rows, { ...never, windowBytes: 4_000 })(keys.readingKey);
  assert.match(rows.errors.join("\n"), /Older ones were not read: --limit N, or --limit all/);
});

test("the newest stands first, a limit keeps the newest, and says how many are older", async () => {
  const whole = capture();
  await readJournal("activity", { log: folder, json: true }, whole, never)(keys.readingKey);
  const frames = (JSON.parse(whole.lines.join("\n")) as { frame: number }[]).map(({ frame }) => frame);
  const newest = Math.max(...frames);
  const two = capture();
  await readJournal("activity", { log: folder, json: true, limit: "1" }, two, never)(keys.readingKey);
  assert.deepEqual(
    (JSON.parse(two.lines.join("\n")) as { frame: number }[]).map(({ frame }) => frame),
    [newest],
  );
  const all = capture();
  await readJournal("activity", { log: folder }, all, never)(keys.readingKey);
  const one = capture();
  await readJournal("activity", { log: folder, limit: "1" }, one, never)(keys.readingKey);
  assert.equal(one.lines.length, 1);
  const words = (line: string | undefined): readonly string[] => (line ?? "").split(/ +/);
  assert.deepEqual(words(one.lines[0]), words(all.lines[0]));
  assert.match(one.errors.join("\n"), /^4 older/);
});

test("rows stand in columns, and what does not fit a narrow terminal stands below its own row", async () => {
  const wide = capture();
  await readJournal("activity", { log: folder }, wide, never)(keys.readingKey);
  const calls = wide.lines.filter((line) => line.includes(" → "));
  assert.equal(new Set(calls.map((line) => line.indexOf("call_"))).size, 1);
  const narrow = { ...capture(), columns: 80 };
  await readJournal("activity", { log: folder }, narrow, never)(keys.readingKey);
  assert.equal(narrow.lines.length, 10);
  assert.ok(narrow.lines.every((line, index) => line.startsWith("  ") === (index % 2 === 1)));
});

test("gw activity --follow prints what comes, a record a line, until it is stopped", async () => {
  const live = freshFolder();
  const log = await openTestLog(live, { keys });
  const io = capture();
  const stop = new AbortController();
  let turn = 0;
  const sleep = async (): Promise<void> => {
    turn++;
    if (turn === 1) await log.append([intentEvent(1), finishedEvent(1)]);
    else stop.abort();
  };
  const ports = { ...never, sleep, signal: stop.signal };
  await readJournal("activity", { log: live, json: true, follow: true }, io, ports)(keys.readingKey);
  assert.equal(io.lines.length, 1);
  assert.equal((JSON.parse(io.lines[0] ?? "") as { outcome: string }).outcome, "succeeded");
  await log.close();
});

test("a key that opens nothing is told so, with exit 1", async () => {
  const io = capture();
  assert.equal(await readJournal("activity", { log: folder }, io, never)(generateKeyPairSync("x25519").privateKey), 1);
  assert.match(io.lines[0] ?? "", /GAP/);
  const out = capture();
  assert.equal(await runAuditExport({ log: folder }, generateKeyPairSync("x25519").privateKey, out), 1);
});

test("gw audit export writes a line a record, people left out unless asked for", async () => {
  const closed = capture();
  assert.equal(await runAuditExport({ log: folder }, keys.readingKey, closed), 0);
  const text = closed.lines.join("\n");
  assert.ok(!text.includes('"ada"'));
  for (const line of closed.lines) assert.ok((JSON.parse(line) as { event: object }).event);
  const open = capture();
  await runAuditExport({ log: folder, people: true }, keys.readingKey, open);
  assert.ok(open.lines.join("\n").includes('"ada"'));
  assert.equal(open.lines.length, closed.lines.length);
});

test("gw audit verify says what is proven, up to where, and what no log can prove", async () => {
  const io = capture();
  const operator = [keys.operator.toString("hex")];
  assert.equal(await runAuditVerify({ log: folder, operator }, io), 0);
  const text = io.lines.join("\n");
  for (const words of ["Intact", "Proven up to frame", "attested by ada", "No log can prove", "checkpoint"]) {
    assert.ok(text.includes(words), words);
  }
  const json = capture();
  await runAuditVerify({ log: folder, operator, json: true }, json);
  const report = JSON.parse(json.lines[0] ?? "") as { verdict: string; sealed: { frame: number } };
  assert.equal(report.verdict, "intact");
});

test("gw audit verify names the first bad frame and exits 1; it exits 2 where it cannot read", async () => {
  const bad = copyFolder(folder);
  const path = join(bad, "0000000001.gwlog");
  const bytes = readFileSync(path);
  const at =
    40 +
    dissect(path)
      .pieces.slice(0, 4)
      .reduce((sum, { body }) => sum + body.length + 48, 0) +
    20;
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(path, bytes);
  const io = capture();
  assert.equal(await runAuditVerify({ log: bad }, io), 1);
  assert.match(io.lines[0] ?? "", /NOT INTACT: frame 4 .*\[frame_link\]/);
  assert.equal(await runAuditVerify({ log: join(bad, "none") }, capture()), 2);
  assert.equal(await runAuditVerify({ log: folder, operator: ["not a key"] }, capture()), 2);
  assert.equal(await runAuditVerify({ log: folder, checkpoint: join(bad, "none") }, capture()), 2);
});

test("gw audit verify takes an operator's key as hex, base64, PEM or a file", async () => {
  const pair = generateKeyPairSync("ed25519");
  const pem = String(pair.publicKey.export({ format: "pem", type: "spki" }));
  const file = join(freshFolder(), "key");
  writeFileSync(file, `${keys.operator.toString("base64")}\n`);
  for (const [key, exit] of [
    [keys.operator.toString("base64"), 0],
    [file, 0],
    [pem, 1],
  ] as const) {
    assert.equal(await runAuditVerify({ log: folder, operator: [key] }, capture()), exit, key);
  }
});

test("gw audit checkpoint prints a note that verify accepts, and none for a log that is not intact", async () => {
  const io = capture();
  assert.equal(await runAuditCheckpoint({ log: folder, vault: null }, keys.approver, io), 0);
  const file = join(freshFolder(), "checkpoint");
  writeFileSync(file, `${io.lines.join("\n")}\n`);
  const operator = [keys.operator.toString("hex")];
  const checked = capture();
  assert.equal(await runAuditVerify({ log: folder, operator, checkpoint: file }, checked), 0);
  assert.ok(checked.lines.some((line) => line.startsWith("The log extends the checkpoint")));
  const bad = copyFolder(folder);
  writeFileSync(join(bad, "0000000001.gwlog"), "");
  assert.equal(await runAuditCheckpoint({ log: bad, vault: null }, keys.approver, capture()), 1);
});
