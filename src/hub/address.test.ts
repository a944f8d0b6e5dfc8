import assert from "node:assert/strict";
import { test } from "node:test";
import { readHubAddress } from "./address.ts";

test("an address names a user, a database, and hosts in turn or a socket", () => {
  const two = readHubAddress("postgres://web1@a.example,b.example:6432/gw");
  assert.deepEqual([two.user, two.database], ["web1", "gw"]);
  assert.deepEqual(two.hosts, [
    { host: "a.example", port: 5432 },
    { host: "b.example", port: 6432 },
  ]);
  assert.deepEqual(readHubAddress("postgresql://web1@[::1]:5433/gw").hosts, [{ host: "::1", port: 5433 }]);
  assert.deepEqual(readHubAddress("postgres://web1@/gw?host=/run/postgresql").hosts, [
    { host: "/run/postgresql", port: 5432 },
  ]);
});

test("an address with a password, or with anything that could weaken the way there, is refused", () => {
  for (const url of [
    "postgres://web1:secret@a.example/gw",
    "postgres://a.example/gw",
    "postgres://web1@a.example",
    "postgres://web1@a.example/",
    "postgres://web1@a.example/gw?sslmode=disable",
    "postgres://web1@a.example/gw?host=/tmp",
    "postgres://web1@/gw",
    "postgres://web1@/gw?host=tmp",
    "postgres://web1@a.example:0/gw",
    "postgres://web1@a.example:99999/gw",
    "postgres://web1@a b/gw",
    "postgres://we%00b1@a.example/gw",
    "postgres://%ff@a.example/gw",
    "mysql://web1@a.example/gw",
    `postgres://web1@${"a".repeat(2_000)}/gw`,
  ])
    assert.throws(() => readHubAddress(url), { code: "value_not_allowed" }, url);
});
