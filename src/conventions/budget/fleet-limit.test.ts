import assert from "node:assert/strict";
import { test } from "node:test";
import { amountOf, type FleetLimit, isCounted } from "./fleet-limit.ts";

const send = { pack: "github", credential: "bot", grant: null, sideEffect: true, cents: 40 };

test("a limit counts sends with its own pack, credential or grant, by what it counts", () => {
  const limit = (counts: FleetLimit["counts"], kind: FleetLimit["of"]["kind"], name: string): FleetLimit => ({
    ...{ name: "one", counts, of: { kind, name }, aDay: 5 },
  });
  assert.equal(amountOf(limit("attempts", "pack", "github"), send), 1);
  assert.equal(isCounted(limit("attempts", "pack", "gitlab"), send), false);
  assert.equal(amountOf(limit("attempts", "credential", "bot"), { ...send, sideEffect: false }), 1);
  assert.equal(isCounted(limit("attempts", "grant", "nightly"), send), false);
  assert.equal(isCounted(limit("attempts", "grant", "nightly"), { ...send, grant: "nightly" }), true);
  assert.equal(amountOf(limit("side_effects", "pack", "github"), send), 1);
  assert.equal(amountOf(limit("side_effects", "pack", "github"), { ...send, sideEffect: false }), 0);
  assert.equal(amountOf(limit("spend_cents", "pack", "github"), send), 40);
  assert.equal(
    amountOf(limit("spend_cents", "pack", "github"), { ...send, cents: -3 }),
    0,
    "what is freed takes nothing",
  );
});
