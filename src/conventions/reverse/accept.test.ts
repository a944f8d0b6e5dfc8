import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptFit, rankAccept } from "./accept.ts";

test("what a tool would take is named, any, or not what the action asks for", () => {
  const fits = (field: string | null, asked: string | null = null) => acceptFit(field, asked, ["application/acme"]);
  assert.equal(fits("text/html, Application/JSON;q=0.5"), "named");
  assert.equal(fits("application/acme"), "named");
  for (const field of [null, "", " , ", "*/*", "application/*"]) assert.equal(fits(field), "any", String(field));
  for (const field of ["text/html", "text/*"]) assert.equal(fits(field), "no", field);
  assert.equal(fits("text/x-diff", "text/x-diff"), "named");
  assert.equal(fits("text/*", "text/x-diff"), "any");
  assert.equal(fits("text/html", "*/*"), "any");
  // A name for JSON is none for what an action asks for by its own name.
  assert.equal(fits("application/acme", "text/x-diff"), "no");
});

test("what is named first is meant first, and who names nothing means the ordinary answer", () => {
  const rank = (field: string | null, asked: string | null) =>
    rankAccept(acceptFit(field, asked, ["application/acme"]), field, asked);
  const both = "text/x-diff, application/json";
  const order = [
    rank(both, "text/x-diff"),
    rank(both, null),
    rank("application/acme", null),
    rank("*/*", null),
    rank("*/*", "text/x-diff"),
  ];
  assert.deepEqual(
    order,
    order.toSorted((a, b) => b - a),
  );
  assert.equal(new Set(order).size, order.length);
});
