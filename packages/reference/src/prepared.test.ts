import assert from "node:assert/strict";
import { test } from "node:test";
import { insertRow, prepared } from "./prepared.ts";

test("a query is written once and takes its values by name, also one that it uses twice", () => {
  let written = 0;
  const query = prepared((db, p: { readonly tenant: string; readonly id: string }) => {
    written++;
    return db
      .selectFrom("projects")
      .select("name")
      .where("tenant_id", "=", p.tenant)
      .where((where) => where.or([where("project_id", "=", p.id), where("name", "=", p.id)]))
      .where("restricted", "=", 0);
  });
  const [first, second] = [query({ tenant: "a", id: "x" }).compile(), query({ tenant: "b", id: "y" }).compile()];
  assert.equal(written, 1);
  assert.equal(first.sql, second.sql);
  assert.deepEqual(first.parameters, ["a", "x", "x", 0]);
  assert.deepEqual(second.parameters, ["b", "y", "y", 0]);
});

test("a row goes in with the columns that it has, and its values never become text of the query", () => {
  const hostile = "'); drop table settings; --";
  const { sql, parameters } = insertRow("settings", { name: hostile, value: "1" }).compile();
  assert.ok(!sql.includes("drop"));
  assert.deepEqual(parameters, [hostile, "1"]);
  const other = insertRow("settings", { value: "2", name: "n" }).compile();
  assert.deepEqual(other.parameters, ["2", "n"]);
  assert.notEqual(other.sql, sql, "another order of columns is another statement");
});
