import assert from "node:assert/strict";
import { test } from "node:test";
import { operationOf } from "../../../conventions/operation/testing/summary.ts";
import { defaults } from "../../../kernel/defaults.ts";
import type { Secret } from "../../../kernel/secret.ts";
import { ringBell } from "./paint.ts";
import { asciiJson, createChanges } from "./run-watch.ts";
import { startSitting } from "./sitting.ts";
import type { TerminalEvents, WatchTerminal } from "./terminal-screen.ts";
import { boardOf } from "./testing/board.ts";
import { openDesk, openTime } from "./testing/desk.ts";
import { viewOf } from "./testing/table.ts";

const PIN = "4711";

function begin(rows = 80) {
  const desk = openDesk();
  const time = openTime();
  const written: string[] = [];
  let events: TerminalEvents | null = null;
  let closed = 0;
  let size = { columns: 100, rows };
  const terminal: WatchTerminal = {
    size: () => size,
    open: (given) => {
      events = given;
    },
    write: (text) => void written.push(text),
    close: () => {
      closed++;
    },
  };
  const checked: string[] = [];
  const heard: string[] = [];
  const sitting = startSitting({
    ...time,
    terminal,
    color: false,
    operator: "ada",
    hasPin: true,
    client: desk.client,
    connect: desk.connect,
    notify: (text) => void heard.push(text),
    addGrant: async () => [],
    answerMs: defaults.watchAnswerMs,
    readWhere: () => ({}),
    async check(which, secret: Secret) {
      const typed = secret.use((bytes) => bytes.toString("utf8"));
      checked.push(`${which} ${typed}`);
      return { kind: "pin", right: typed === PIN };
    },
  });
  const tty = (): TerminalEvents => {
    assert.ok(events !== null);
    return events;
  };
  return {
    desk,
    time,
    written,
    sitting,
    checked,
    heard,
    tty,
    closed: () => closed,
    type: (text: string) => tty().bytes(Buffer.from(text, "utf8")),
    resize(columns: number, lines: number) {
      size = { columns, rows: lines };
      tty().resized();
    },
    text: () => written.join(""),
  };
}

async function withCard(rows = 80) {
  const sat = begin(rows);
  await sat.time.pass(1_000);
  sat.desk.tell(viewOf("apr_1"));
  await sat.time.pass(1_000);
  return sat;
}

test("what is typed of a secret is checked, and is never on the screen", async () => {
  const sat = await withCard();
  assert.ok(sat.text().includes(ringBell("1 card waits for a person")));
  assert.deepEqual(sat.heard, ["1 card waits for a person"]);
  sat.type("a");
  sat.type("4799\u007f\u007f11");
  sat.type("\r");
  await sat.time.pass(300);
  assert.deepEqual(sat.checked, ["pin 4711"]);
  assert.ok(!sat.text().includes(PIN));
  assert.deepEqual(
    sat.desk.decided.map(({ id, decision }) => [id, decision.decision]),
    [["apr_1", "approve"]],
  );
  sat.type("q");
  sat.type("\u0003");
  await sat.time.pass(200);
  assert.deepEqual(await sat.sitting.ended, { waiting: 0, underWay: null });
  assert.equal(sat.closed(), 1);
});

test("a wrong secret decides nothing, Ctrl-U and Escape clear it, and a pasted one is taken", async () => {
  const sat = await withCard();
  sat.type("a0000\r");
  await sat.time.pass(300);
  assert.equal(sat.desk.decided.length, 0);
  sat.type("99\u0015\u001b");
  await sat.time.pass(1_000);
  sat.type("a");
  sat.type(`\u001b[200~${PIN}\n\u001b[201~`);
  sat.type("\r");
  await sat.time.pass(300);
  assert.deepEqual(sat.checked, ["pin 0000", "pin 4711"]);
  assert.equal(sat.desk.decided.length, 1);
  sat.type("\u0003");
  await sat.time.pass(200);
  await sat.sitting.ended;
});

test("keys that piled up while the program did not run are dropped", async () => {
  const sat = await withCard();
  sat.time.jump(defaults.watchStallMs + 200);
  sat.type("dno\r");
  await sat.time.pass(300);
  assert.equal(sat.desk.decided.length, 0);
  await sat.time.pass(1_000);
  sat.type("dno \u001b[200~na\nna\u202e\u001b[201~\r");
  await sat.time.pass(300);
  assert.equal(sat.desk.decided[0]?.decision.reason, "no na na");
  sat.type("\u0003");
  await sat.time.pass(200);
  await sat.sitting.ended;
});

test("a gateway that dies under a decision leaves it unknown, and the sitting goes on", async () => {
  const sat = await withCard();
  sat.desk.die();
  sat.type("d\r");
  await sat.time.pass(200);
  assert.match(sat.text(), /NOT KNOWN|not connected/);
  assert.match(sat.text(), /NOT CONNECTED/);
  sat.desk.up = true;
  await sat.time.pass(3_000);
  assert.match(sat.text(), /connected again/);
  sat.type("\u0003");
  await sat.time.pass(200);
  assert.equal((await sat.sitting.ended).waiting, 1);
});

test("sessions, more time, a new size, a redraw and waking up reach the screen", async () => {
  const sat = await withCard();
  sat.type("e");
  await sat.time.pass(200);
  assert.match(sat.text(), /now has 900 s/);
  sat.type("s");
  await sat.time.pass(200);
  assert.match(sat.text(), /Sessions: 1 live/);
  sat.type("r\r");
  await sat.time.pass(200);
  assert.match(sat.text(), /session ses_1 was revoked/);
  sat.resize(30, 5);
  assert.match(sat.text(), /too small/);
  sat.resize(100, 80);
  const before = sat.written.length;
  sat.tty().woken();
  sat.type("\u000c");
  assert.ok(sat.written.length > before);
  await sat.time.pass(defaults.watchPollMs + 100);
  sat.tty().ended();
  await sat.time.pass(200);
  await sat.sitting.ended;
});

test("the screen is drawn whole every second, whatever others wrote on it", async () => {
  const sat = begin();
  await sat.time.pass(1_500);
  sat.written.length = 0;
  await sat.time.pass(1_200);
  assert.ok(sat.written.some((text) => text.includes("gw watch")));
  sat.tty().ended();
  await sat.time.pass(200);
  await sat.sitting.ended;
});

test("records for programs are ASCII, and the same records", () => {
  const value = { a: "\u202e\u009b東😀\u007f" };
  assert.match(asciiJson(value), /^[ -~]*$/);
  assert.deepEqual(JSON.parse(asciiJson(value)), value);
});

test("operations reach the screen, and cancel, read and details go out by the gateway's own routes", async () => {
  const sat = begin();
  await sat.time.pass(1_000);
  sat.desk.post(boardOf(operationOf("op_1")));
  await sat.time.pass(200);
  assert.match(sat.text(), /1 operation is open/);
  sat.type("o");
  await sat.time.pass(1_000);
  sat.type("\r");
  await sat.time.pass(1_000);
  assert.match(sat.text(), /create_pending -> accepted/);
  sat.type("r");
  await sat.time.pass(1_000);
  assert.match(sat.text(), /read acme\.report\.create \(op_1\): now running at the provider/);
  sat.type("ctoo dear\r");
  await sat.time.pass(200);
  sat.type(`${PIN}\r`);
  await sat.time.pass(300);
  assert.deepEqual(sat.desk.asked, ["show op_1", "reconcile op_1", "cancel op_1 too dear"]);
  assert.ok(!sat.text().includes(PIN));
  sat.type("\u0003");
  await sat.time.pass(200);
  await sat.sitting.ended;
});

test("an errand that the gateway does not answer is not known, and says so", async () => {
  const sat = begin();
  await sat.time.pass(1_000);
  sat.desk.post(boardOf(operationOf("op_1")));
  await sat.time.pass(200);
  sat.type("o");
  await sat.time.pass(1_000);
  sat.desk.up = false;
  sat.type("r");
  await sat.time.pass(200);
  assert.match(sat.text(), /the read of op_1: no answer: it is NOT KNOWN/);
  sat.type("\u0003");
  await sat.time.pass(200);
  await sat.sitting.ended;
});

test("between two boards the screen counts by itself and asks nobody", async () => {
  const sat = begin();
  await sat.time.pass(1_000);
  sat.desk.post(boardOf(operationOf("op_1")));
  await sat.time.pass(200);
  sat.written.length = 0;
  await sat.time.pass(3_000);
  assert.match(sat.text(), /due 1:58/);
  assert.match(sat.text(), /due 1:57/);
  assert.deepEqual(sat.desk.asked, []);
  sat.type("\u0003");
  await sat.time.pass(200);
  await sat.sitting.ended;
});

test("programs are told an operation once for each change, and never for time that passed", () => {
  const changes = createChanges();
  const running = operationOf("op_1");
  assert.deepEqual(changes.news(boardOf(running)), [running]);
  assert.deepEqual(changes.news(boardOf({ ...running, next_poll_in_ms: 1, result_in_ms: 2 })), []);
  const ended = { ...running, state: "succeeded" } as const;
  assert.deepEqual(changes.news(boardOf(ended, operationOf("op_2"))), [operationOf("op_2"), ended]);
});
