import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type PriceRule, readPrice } from "./price.ts";

const cents: PriceRule = {
  at: { kind: "member", pointer: "/charge/amount" },
  unit: "cents",
  currency: "USD",
  currencyPointer: null,
};
const stated = (rule: PriceRule, amount: string | number | boolean | null): number | null => {
  const price = readPrice(rule, { charge: { amount } }, {});
  return price.kind === "stated" ? price.cents : null;
};

test("whole cents are read as they are, and nothing else is a price in cents", () => {
  for (const [amount, expected] of [
    [0, 0],
    [1234, 1234],
    ["1234", 1234],
    [12.5, null],
    [-1, null],
    [1e21, null],
    ["12,3", null],
    ["0x10", null],
    ["", null],
    [true, null],
    [null, null],
  ] as const) {
    assert.equal(stated(cents, amount), expected, String(amount));
  }
});

test("a decimal is read by the minor units of its currency, and a fraction of the smallest unit counts as one", () => {
  for (const [currency, amount, expected] of [
    ["USD", "12.34", 1234],
    ["USD", 12.34, 1234],
    ["USD", "0.1", 10],
    ["USD", "0.0079", 1],
    ["USD", "4.350", 435],
    ["JPY", "500", 500],
    ["JPY", "500.2", 501],
    ["KWD", "1.5", 1500],
    ["USD", "1.", null],
    ["USD", ".5", null],
    ["USD", "1e2", null],
    ["USD", "-3.00", null],
  ] as const) {
    assert.equal(stated({ ...cents, unit: "decimal", currency }, amount), expected, `${amount} ${currency}`);
  }
});

test("a price in a header is read there, and one in another currency is none", () => {
  const header: PriceRule = { ...cents, at: { kind: "header", name: "x-cost" } };
  assert.deepEqual(readPrice(header, null, { "x-cost": " 7 " }), { kind: "stated", cents: 7 });
  assert.deepEqual(readPrice(header, null, {}), { kind: "unstated", reason: "price_missing" });
  const euros: PriceRule = { ...cents, currency: "EUR", currencyPointer: "/charge/currency" };
  const charge = { amount: 7 };
  assert.equal(readPrice(euros, { charge: { ...charge, currency: "eur" } }, {}).kind, "stated");
  for (const body of [{ charge: { ...charge, currency: "usd" } }, { charge }]) {
    assert.deepEqual(readPrice(euros, body, {}), { kind: "unstated", reason: "price_in_other_currency" });
  }
});

test("every amount with two digits comes back in cents, whatever floating point makes of it", () => {
  fc.assert(
    fc.property(fc.nat(1_000_000_000), (amount) => {
      const text = `${Math.floor(amount / 100)}.${String(amount % 100).padStart(2, "0")}`;
      assert.equal(stated({ ...cents, unit: "decimal" }, text), amount);
      assert.equal(stated({ ...cents, unit: "decimal" }, Number(text)), amount);
    }),
  );
});

test("what is no text and no number is no price, and none is larger than can be counted", () => {
  const decimal: PriceRule = { ...cents, unit: "decimal" };
  for (const amount of [["7"], { toString: "7" }]) {
    assert.deepEqual(readPrice(decimal, { charge: { amount } }, {}), { kind: "unstated", reason: "price_unreadable" });
  }
  const large: PriceRule = { ...decimal, currency: "CLF" };
  assert.equal(stated(large, "900719925474.0991"), Number.MAX_SAFE_INTEGER);
  assert.equal(stated(large, "900719925474.0992"), null);
  assert.equal(stated(large, "900719925474.09911"), null);
  assert.equal(stated({ ...decimal, currency: "UYW" }, "1.23456"), 12_346);
});
