import assert from "node:assert/strict";
import { test } from "node:test";
import { hubLines, waitingKeyLines } from "./status-lines.ts";

const well = {
  ...{ hub_id: "hub_1", gateway: "web1", waits_for_unlock: false, reachable_ms: 3.7, tick: 812, behind: 0 },
  ...{ gateways: 12, silent: [], trouble: null },
};

test("a hub is one line: how far, how many, who is silent, what is wrong; and none where there is no hub", () => {
  assert.deepEqual(hubLines(null), []);
  assert.deepEqual(hubLines(well), ["  hub       4 ms, tick 812, log 0 behind; 12 gateways"]);
  assert.deepEqual(hubLines({ ...well, silent: [{ gateway: "web7", seconds: 40 }] }), [
    "  hub       4 ms, tick 812, log 0 behind; 12 gateways, web7 silent 40 s",
  ]);
  const trouble = { code: "hub_unreachable", message: "It does not answer." };
  assert.deepEqual(hubLines({ ...well, reachable_ms: null, behind: 3, trouble }), [
    "  HUB       tick 812, log 3 behind; hub_unreachable: It does not answer.",
  ]);
  assert.deepEqual(hubLines({ ...well, operations: { term: 3, rows: 5, waiting: 0 } }).slice(1), [
    "  shared    term 3, 5 rows on the hub",
  ]);
  assert.deepEqual(hubLines({ ...well, operations: { term: 3, rows: 5, waiting: 2 } }).slice(1), [
    "  shared    term 3, 5 rows on the hub, 2 not there yet",
  ]);
  assert.deepEqual(hubLines({ ...well, waits_for_unlock: true }), ["  hub       after the next unlock"]);
});

test("a key that every program of the user can ask with lowers protection, and is told where it does", () => {
  const asking = { ...well, unlock_by_hub: true };
  assert.match(
    waitingKeyLines(asking, "guard-rail").join(),
    /^ {2}LOWERED {3}every program of this user can read waiting\.key/,
  );
  assert.deepEqual(waitingKeyLines(asking, "dedicated"), []);
  assert.deepEqual(waitingKeyLines({ ...well, unlock_by_hub: false }, "guard-rail"), []);
  assert.deepEqual(waitingKeyLines(null, "guard-rail"), []);
});

test("each limit of the fleet is a line, with what was taken of it as far as this host knows", () => {
  const limits = [
    { name: "deploys", says: "20 side effects a day with the pack github", used: 3 },
    { name: "mails", says: "5 attempts a day with the credential mail", used: null },
  ];
  assert.deepEqual(hubLines({ ...well, limits }).slice(1), [
    "  limit     deploys: 20 side effects a day with the pack github; 3 taken when this host last looked",
    "  limit     mails: 5 attempts a day with the credential mail; not counted here yet",
  ]);
});

test("a name that another gateway gave itself cannot move the cursor", () => {
  const [line] = hubLines({ ...well, silent: [{ gateway: "web\u001b[2J", seconds: 1 }] });
  assert.ok(line !== undefined && !line.includes("\u001b"));
});
