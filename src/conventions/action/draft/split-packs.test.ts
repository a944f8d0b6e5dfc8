import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { readDocument } from "../../upgrade/document/read-document.ts";
import { buildApi } from "../../upgrade/model/build-api.ts";
import { splitPacks } from "./split-packs.ts";

const get = (tag: string | null, more: JsonObject = {}): JsonObject => ({
  get: { responses: { "200": { description: "fine" } }, ...(tag === null ? {} : { tags: [tag] }), ...more },
});

function split(paths: JsonObject, pack = "acme") {
  const servers = [{ url: "https://api.acme.example" }];
  const root = { openapi: "3.0.3", info: { title: "Acme", version: "2" }, servers, paths };
  const api = buildApi(readDocument("acme.json", Buffer.from(JSON.stringify(root))));
  return splitPacks(api, { pack, operations: "all", origin: null });
}

test("each tag is a pack of its own, in the order of their names, and what has none is together", () => {
  const { packs, leftOut } = split({
    "/a": get("Users"),
    "/b": get("Big Things"),
    "/c": get("Users"),
    "/d": get(null),
  });
  assert.deepEqual(
    packs.map(({ pack, actions }) => `${pack} ${actions.length}`),
    ["acme-big-things 1", "acme-users 2", "acme-other 1"],
  );
  assert.deepEqual(leftOut, []);
});

test("two tags of one name have two, and a name is no longer than a pack's may be", () => {
  const { packs } = split({ "/a": get("Users!"), "/b": get("users"), "/c": get("a".repeat(60)) });
  const names = packs.map(({ pack }) => pack);
  assert.deepEqual(names.toSorted(), [`acme-${"a".repeat(27)}`, "acme-users", "acme-users-2"]);
  assert.ok(names.every((name) => name.length <= 32));
});

test("a tag with more than a pack holds is halved until it fits, and no operation is lost", () => {
  const many = defaults.packActions + 1;
  const paths = Object.fromEntries(Array.from({ length: many }, (_, at) => [`/things/t${at}`, get("things")]));
  const { packs } = split(paths);
  assert.deepEqual(
    packs.map(({ pack }) => pack),
    ["acme-things", "acme-things-2"],
  );
  assert.equal(
    packs.reduce((sum, { actions }) => sum + actions.length, 0),
    many,
  );
  assert.equal(packs[0]?.actions.length, 251);
});

test("a tag of which nothing fits is left out by name, and where nothing at all does, nothing is drafted", () => {
  const unfit = get("odd", {
    parameters: [{ name: "filter", in: "query", style: "deepObject", required: true, schema: { type: "object" } }],
  });
  const { packs, leftOut } = split({ "/a": get("users"), "/b": unfit });
  assert.deepEqual(
    packs.map(({ pack }) => pack),
    ["acme-users"],
  );
  assert.deepEqual(
    leftOut.map(({ operation }) => operation),
    ["GET /b"],
  );
  assert.throws(
    () => split({ "/b": unfit }),
    (error) => error instanceof Denied && error.code === "value_not_allowed",
  );
});
