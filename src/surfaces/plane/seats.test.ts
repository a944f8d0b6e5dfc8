import assert from "node:assert/strict";
import { test } from "node:test";
import { createSeats } from "./seats.ts";

test("a holder that has all its seats gives up its own oldest idle one, and nobody else's", () => {
  const gone: string[] = [];
  const seats = createSeats({ perHolder: 2, total: 10, dropBusy: false });
  seats.take(1, () => gone.push("first of 1"))?.busy();
  seats.take(1, () => gone.push("second of 1"));
  seats.take(2, () => gone.push("first of 2"));
  assert.notEqual(
    seats.take(1, () => gone.push("third of 1")),
    null,
  );
  assert.deepEqual(gone, ["second of 1"]);
  assert.equal(seats.taken, 3);
});

test("where all are busy the newcomer is refused", () => {
  const seats = createSeats({ perHolder: 1, total: 10, dropBusy: false });
  seats.take(1, () => assert.fail("it is being served"))?.busy();
  assert.equal(
    seats.take(1, () => undefined),
    null,
  );
});

test("a full house makes room at the cost of whoever holds most, and of the proven last", () => {
  const gone: string[] = [];
  const seats = createSeats({ perHolder: 8, total: 4, dropBusy: true });
  const operator = seats.take(7, () => gone.push("operator"));
  operator?.stand("approved");
  for (const name of ["a", "b", "c"]) seats.take(1, () => gone.push(name))?.busy();
  for (const holder of [2, 3, 4])
    assert.notEqual(
      seats.take(holder, () => gone.push(`of ${holder}`)),
      null,
    );
  assert.deepEqual(gone.length, 3);
  assert.ok(!gone.includes("operator"));
  assert.ok(gone.includes("a"), String(gone));
});

test("a seat that was left counts no more, however often it is left", () => {
  const seats = createSeats({ perHolder: 1, total: 1, dropBusy: false });
  const seat = seats.take(1, () => undefined);
  seat?.busy();
  seat?.leave();
  seat?.leave();
  assert.equal(seats.taken, 0);
  assert.notEqual(
    seats.take(1, () => undefined),
    null,
  );
});

test("of one user the program with most connections makes room, whatever came first", () => {
  const gone: string[] = [];
  const seats = createSeats({ perHolder: 4, total: 10, dropBusy: false });
  seats.take(1, () => gone.push("quiet"))?.name("quiet");
  for (const each of ["a", "b", "c"]) seats.take(1, () => gone.push(each))?.name("loud");
  for (let more = 0; more < 3; more++) seats.take(1, () => gone.push("newcomer"))?.name("loud");
  assert.deepEqual(gone, ["a", "b", "c"]);
});

test("whoever waits for a person goes after all strangers, and before whoever was approved", () => {
  const gone: string[] = [];
  const seats = createSeats({ perHolder: 3, total: 10, dropBusy: false });
  seats.take(1, () => gone.push("waiting"))?.stand("waiting");
  seats.take(1, () => gone.push("approved"))?.stand("approved");
  seats.take(1, () => gone.push("stranger"));
  const next = () => seats.take(1, () => gone.push("newcomer"))?.stand("approved");
  next();
  next();
  assert.deepEqual(gone, ["stranger", "waiting"]);
});

test("whoever no longer waits is a stranger again", () => {
  const gone: string[] = [];
  const seats = createSeats({ perHolder: 2, total: 10, dropBusy: false });
  const first = seats.take(1, () => gone.push("first"));
  first?.stand("approved");
  seats.take(1, () => gone.push("second"))?.stand("waiting");
  first?.stand("stranger");
  seats.take(1, () => gone.push("third"));
  assert.deepEqual(gone, ["first"]);
});

test("a program that nobody approved and that is busy on more than half of its user's seats makes room for another", () => {
  const gone: string[] = [];
  const seats = createSeats({ perHolder: 4, total: 10, dropBusy: false });
  const sit = (party: string, name: string): ReturnType<typeof seats.take> => {
    const seat = seats.take(1, () => gone.push(name));
    seat?.name(party);
    seat?.busy();
    return seat;
  };
  for (const name of ["a", "b", "c"]) sit("crowd", name);
  sit("other", "other");
  assert.notEqual(sit("newcomer", "newcomer"), null);
  assert.deepEqual(gone, ["a"]);
  assert.equal(sit("third", "third"), null, "two of four are no crowd");
});

test("whoever was approved is not cut short, however many seats it has", () => {
  const seats = createSeats({ perHolder: 2, total: 10, dropBusy: false });
  for (let count = 0; count < 2; count++) {
    const seat = seats.take(1, () => assert.fail("it is being served"));
    seat?.name("approved");
    seat?.stand("approved");
    seat?.busy();
  }
  assert.equal(
    seats.take(1, () => undefined),
    null,
  );
});
