import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { Run } from "../run/run.ts";
import { learnNames, nameIds } from "./names.ts";

const SPEAKER = { pack: "acme", origin: "https://api.acme.example" };
const ID = "I_kwDOAA01";

const newRun = (): Run => ({}) as Run;
const noteOf = (id: string, name: string): string =>
  `"${id}" is ${name}, as the provider answered acme.things in this run`;

/** How a card names an id after such an answer; null where it does not. */
function nameOf(value: JsonObject, id = ID): string | null {
  const run = newRun();
  learnNames(run, SPEAKER, "acme.things", { ...value, id });
  const [note] = nameIds(run, SPEAKER, { subject: id });
  return note === undefined ? null : (/ is (.*), as the provider/.exec(note)?.[1] ?? note);
}

test("a name says whose it is, or where, in the provider's words and in quotes", () => {
  const repository = { nameWithOwner: "acme/site" };
  for (const [value, name] of [
    [{ nameWithOwner: "acme/site", title: "x" }, '"acme/site"'],
    [{ login: "ada" }, '"ada"'],
    [{ name: "site", owner: { login: "acme" } }, '"acme/site"'],
    [{ title: "Board", owner: { login: "acme" }, url: "https://x" }, '"acme/Board"'],
    [{ title: "Broken", number: 7, repository }, '#7 "Broken" at "acme/site"'],
    [{ number: 7, repository }, '#7 at "acme/site"'],
    [{ title: "Broken", url: "https://acme.example/7" }, '"Broken" at "https://acme.example/7"'],
    [{ url: "https://acme.example/7", number: 1.5 }, '"https://acme.example/7"'],
    [{ url: "https://acme.example/7", number: "7" }, '"https://acme.example/7"'],
    [{ login: 'ada", approved by bob' }, '"ada\\", approved by bob"'],
    [{ login: "x".repeat(121) }, `"${"x".repeat(120)}"`],
    [{ title: "Broken" }, null],
    [{ name: "site", number: 7 }, null],
    [{ owner: { login: "acme" } }, null],
    [{ login: "" }, null],
    [{ login: 7 }, null],
    [{ name: "site", owner: "acme" }, null],
    [{ name: "site", owner: null, repository: null }, null],
    [{ name: "site", owner: ["acme"], url: "https://x" }, '"site" at "https://x"'],
    [{}, null],
  ] as const)
    assert.equal(nameOf(value), name, JSON.stringify(value));
});

test("what people read as it is has no name: what is short, long, a mere number or more than a word", () => {
  const login = { login: "ada" };
  for (const id of ["I_kwDOAA", "a".repeat(128), "1234567a"]) assert.equal(nameOf(login, id), '"ada"', id);
  for (const id of ["I_kwDOA", "a".repeat(129), "12345678", "two words", ""]) assert.equal(nameOf(login, id), null, id);
});

test("ids are found however deep they stand, in the answer and in the input, each once", () => {
  const run = newRun();
  const answer: JsonValue = { data: [{ edges: [{ node: { id: ID, login: "ada" } }, null, "text", 7] }] };
  learnNames(run, SPEAKER, "acme.things", answer);
  assert.deepEqual(nameIds(run, SPEAKER, { a: [{ b: ID }], c: ID, d: 7 }), [noteOf(ID, '"ada"')]);
  assert.deepEqual(nameIds(run, SPEAKER, { a: "I_another_one" }), []);
});

test("no name is another run's, another pack's or another origin's", () => {
  const run = newRun();
  learnNames(run, SPEAKER, "acme.things", { id: ID, login: "ada" });
  assert.deepEqual(nameIds(newRun(), SPEAKER, { a: ID }), []);
  assert.deepEqual(nameIds(run, { ...SPEAKER, pack: "zoo" }, { a: ID }), []);
  assert.deepEqual(nameIds(run, { ...SPEAKER, origin: "https://zoo.example" }, { a: ID }), []);
  learnNames(run, SPEAKER, "acme.things", { id: "I_another_one", login: "bob" });
  assert.equal(nameIds(run, SPEAKER, { a: ID }).length, 1, "what was learnt before stays");
});

test("the newest name counts, and so many are kept, of which the oldest goes first", () => {
  const run = newRun();
  const idOf = (at: number): string => `I_kwDOAA${at}`;
  const learn = (at: number, login: string): void => learnNames(run, SPEAKER, "acme.things", { id: idOf(at), login });
  for (let at = 0; at < 2_000; at++) learn(at, `user-${at}`);
  learn(0, "newer");
  assert.deepEqual([...nameIds(run, SPEAKER, { a: idOf(0), b: idOf(1) })].sort(), [
    noteOf(idOf(0), '"newer"'),
    noteOf(idOf(1), '"user-1"'),
  ]);
  learn(2_000, "one more");
  assert.deepEqual(nameIds(run, SPEAKER, { a: idOf(0), b: idOf(1) }), [noteOf(idOf(0), '"newer"')]);
});

test("a card has eight such lines at most", () => {
  const run = newRun();
  const ids = Array.from({ length: 9 }, (_, at) => `I_kwDOAA${at}`);
  learnNames(
    run,
    SPEAKER,
    "acme.things",
    ids.map((id) => ({ id, login: "ada" })),
  );
  assert.equal(nameIds(run, SPEAKER, { ids }).length, 8);
  assert.equal(nameIds(run, SPEAKER, { ids: ids.slice(1) }).length, 8);
});
