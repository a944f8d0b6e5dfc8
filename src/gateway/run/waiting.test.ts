import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied } from "../../kernel/failure.ts";
import { createWaiting } from "./waiting.ts";

const full = (error: unknown) => error instanceof Denied && error.code === "too_many_requests";

test("so many calls of one user wait for a person, and one more when one of them has its answer, whatever that is", async () => {
  const waiting = createWaiting(2);
  const wait = (uid: number) => {
    const answer = Promise.withResolvers<string>();
    return { answer, done: waiting.during(uid, () => answer.promise) };
  };
  const refused = () =>
    assert.rejects(
      waiting.during(1000, () => assert.fail("nobody is asked")),
      full,
    );
  const [first, second] = [wait(1000), wait(1000)];
  await refused();
  const other = wait(1001);
  first.answer.resolve("yes");
  assert.equal(await first.done, "yes");
  const third = wait(1000);
  await refused();
  second.answer.reject(new Error("no"));
  third.answer.resolve("yes");
  await assert.rejects(second.done, /no/);
  await third.done;
  const again = [wait(1000), wait(1000)];
  await refused();
  for (const { answer } of [...again, other]) answer.resolve("yes");
  assert.equal(await createWaiting(1).during(1000, async () => "yes"), "yes");
  assert.deepEqual(await Promise.all([...again, other].map(({ done }) => done)), ["yes", "yes", "yes"]);
});
